# Shell functions that build the single-stepping tools: against ptrace for x64, against qemu's stub for ARM64.
# The caller sets $build, a build folder with libsnapwalk.a (or $archive, another one), and stands in the top folder.

# step_tool MACHINE OUT MAIN.c...: MAIN.c and more beside what all the tools share.
step_tool() {
    case $1 in
    arm64) machine_files="shadow_a64 target_qemu stub" machine_libs=-lcapstone ;;
    *) machine_files="shadow_x64 target_ptrace" machine_libs= ;;
    esac
    tool=$2
    shift 2
    mkdir -p "$(dirname "$tool")"
    # shellcheck disable=SC2046,SC2086
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror -O2 -g \
        -Iinclude -Ilib -Isrc -Itest/step "$@" \
        $(printf 'test/step/%s.c ' beside judge score shadow symbols target trace $machine_files) \
        "${archive:-$build/libsnapwalk.a}" -lZydis -lelf -llzma $machine_libs -o "$tool"
}
