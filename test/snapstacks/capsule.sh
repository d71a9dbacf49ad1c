#!/bin/sh
# capsule.sh BUILD: real processes, one of which crashes, saved by snapstacks --save, read by it, gdb and eu-stack: the frames are those of the living
# process, of its core by gcore or createdump, and of that core's capsule. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=$(cd "$1" && pwd)
out=$build/capsule
rm -rf "$out"
mkdir -p "$out"
stacks=$build/tools/snapstacks/snapstacks
. test/support/tap.sh

# frames TARGET OPTION...: frame by frame, without names of threads, which cores do not have
frames() { "$stacks" --plain --all --no-lines "$@" 2>"$out/said" | sed 's/^thread \([0-9]*\).*/thread \1/'; }

# same WHAT FILE FILE: the same frames, and some
same() {
    diff "$2" "$3" >"$out/seen"
    verdict $? "$1: $(grep -c '^frame' "$3") of $(grep -c '^frame' "$2") frames"
    [ "$(grep -c '^frame' "$2")" -gt 20 ] || verdict 1 "$1: frames were expected"
}

# all_ways NAME PID: the living process, its capsule, its core, the core's capsule
all_ways() {
    frames "$2" --save "$out/$1.capsule" >"$out/$1.live"
    frames "$out/$1.capsule" >"$out/$1.read"
    same "$1: capsule beside process" "$out/$1.live" "$out/$1.read"
    if command -v gcore >/dev/null 2>&1 && gcore -o "$out/$1.core" "$2" >"$out/seen" 2>&1; then
        frames "$out/$1.core.$2" --save "$out/$1.again" >"$out/$1.cored"
        same "$1: core by gcore beside process" "$out/$1.live" "$out/$1.cored"
        frames "$out/$1.again" >"$out/$1.reread"
        same "$1: the core's capsule" "$out/$1.live" "$out/$1.reread"
        rm -f "$out/$1.core.$2"
    else
        skip "$1: core by gcore" "no gcore (package gdb)"
    fi
}

# ---- a native program: 50 calls deep, a thread in a callback of libc, another stack in a signal ----
cat >"$out/deep.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int done;
static char stack[1 << 16];
__attribute__((noinline)) int deep(int n)
{
    if (n > 0)
        return deep(n - 1) + done;
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
static int compare(const void *a, const void *b) { return a < b ? deep(5) : deep(6); }
static void handler(int number) { deep(number); }
static void *sort(void *arg) { int four[] = { 4, 3, 2, 1 }; qsort(four, 4, sizeof(int), compare); return arg; }
static void *fall(void *arg)
{
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, 0);
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handler, .sa_flags = SA_ONSTACK }, 0);
    raise(SIGUSR1);
    return arg;
}
/* 80 KB a call: a capsule has holes in such a stack. */
__attribute__((noinline)) static void *wide(void *arg)
{
    volatile char room[80000];
    room[0] = (char)(long)arg;
    if (arg)
        wide((char *)arg - 1);
    else
        deep(3);
    return (void *)(long)room[0];
}
int main(void)
{
    pthread_t one, two, three;
    pthread_create(&one, 0, sort, 0);
    pthread_create(&three, 0, wide, (void *)4);
    pthread_create(&two, 0, fall, 0);
    return deep(50) + done;
}
END
"${CC:-gcc}" -O1 -g -fno-optimize-sibling-calls "$out/deep.c" -o "$out/deep" -lpthread || exit 1
"$out/deep" >"$out/deep.out" &
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
are_ready() { [ "$(grep -c ready "$out/deep.out")" -eq 4 ] && sits "$pid"; }
until_so are_ready
all_ways native "$pid"
size=$(wc -c <"$out/native.capsule")
[ "$size" -lt 100000 ] && [ "$(grep -c '^frame' "$out/native.live")" -gt 80 ]
verdict $? "the capsule of $(grep -c '^frame' "$out/native.live") frames has $size bytes, under 100,000"
if command -v gdb >/dev/null 2>&1; then
    gdb -batch -nx -ex 'thread apply all bt' "$out/deep" "$out/native.capsule" >"$out/seen" 2>&1
    [ "$(grep -c ' in deep (' "$out/seen")" -ge 60 ] && [ "$(grep -c ' main ()' "$out/seen")" -eq 1 ] &&
        grep -q qsort "$out/seen" && grep -q 'signal handler called' "$out/seen"
    verdict $? "gdb shows the stacks of the capsule, to main, through qsort, and below the signal"
else
    skip "gdb shows the stacks of the capsule" "no gdb"
fi
if command -v eu-stack >/dev/null 2>&1; then
    eu-stack --core="$out/native.capsule" >"$out/seen" 2>&1
    [ "$(grep -c ' deep$' "$out/seen")" -ge 60 ] && [ "$(grep -c ' main$' "$out/seen")" -eq 1 ] && ! grep -q '^eu-stack' "$out/seen"
    verdict $? "eu-stack shows the stacks of the capsule, without being told the program"
else
    skip "eu-stack shows the stacks of the capsule" "no eu-stack (package elfutils)"
fi
printf x | dd of="$out/native.capsule" bs=1 seek=70000000 conv=notrunc 2>/dev/null
frames "$out/native.capsule" >"$out/native.long"
same "native: bytes behind the end do not matter" "$out/native.live" "$out/native.long"
kill -KILL "$pid"

# ---- a crash: the handler has the tool write the capsule; another thread's stack is overwritten ----
cat >"$out/crash.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static char stack[1 << 16], number[16];
static char *command[] = { 0, "--plain", "--all", "--no-lines", "--output", 0, "--save", 0, number, 0 };
static int ends[2];
/* vfork, execve and waitpid may be called in a handler; this thread waits while the tool looks at the process. */
static void on_crash(int signal)
{
    (void)signal;
    const pid_t child = vfork();
    if (child == 0) {
        execve(command[0], command, (char *[]){ 0 });
        _exit(127);
    }
    waitpid(child, 0, 0);
    _exit(0);
}
__attribute__((noinline)) static void overwrite(unsigned long *from)
{
    for (int i = 0; i < 24; i++)
        from[i] = 0x1234567 * (i + 1); /* the caller's frame, its return address, and what is behind it */
    (void)!write(ends[1], "", 1);
    for (;;)
        pause();
}
__attribute__((noinline)) static void *lose(void *arg)
{
    volatile unsigned long own[2] = { (unsigned long)arg, 1 };
    overwrite((unsigned long *)own);
    return (void *)own[1];
}
__attribute__((noinline)) static int fall(int depth, volatile int *at) { return depth ? fall(depth - 1, at) + 1 : *at; }
int main(int argc, char **argv)
{
    pthread_t one;
    char byte;
    (void)argc;
    command[0] = argv[1];
    command[5] = argv[2];
    command[7] = argv[3];
    snprintf(number, sizeof number, "%d", (int)getpid());
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, 0);
    sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = on_crash, .sa_flags = SA_ONSTACK }, 0);
    if (pipe(ends) != 0 || pthread_create(&one, 0, lose, 0) != 0 || read(ends[0], &byte, 1) != 1)
        return 1;
    return fall(30, (volatile int *)8);
}
END
"${CC:-gcc}" -O1 -g -fno-optimize-sibling-calls "$out/crash.c" -o "$out/crash" -lpthread 2>"$out/seen" &&
    timeout 600 "$out/crash" "$stacks" "$out/crash.plain" "$out/crash.capsule" >"$out/seen" 2>&1
verdict $? "a handler has a capsule written"
sed 's/^thread \([0-9]*\).*/thread \1/' "$out/crash.plain" >"$out/crash.live"
frames "$out/crash.capsule" >"$out/crash.read"
same "crash: capsule beside process" "$out/crash.live" "$out/crash.read"
[ "$(grep -c ' crash!fall+' "$out/crash.read")" -eq 31 ] && grep -q ' crash!main+' "$out/crash.read"
verdict $? "crash: the capsule leads from the handler to what crashed, and to main"
[ "$(grep '^stop ' "$out/crash.read" | grep -vc root)" -eq 1 ]
verdict $? "crash: a walk that failed is in it, and fails in the same way: $(grep '^stop ' "$out/crash.read" | grep -v root | head -n 1)"

# ---- .NET ----
. mk/sample.sh
# stands_at_work PID: stopped, it shows where it works; otherwise it goes on.
stands_at_work() {
    kill -STOP "$1"
    [ "$(frames "$1" | awk '$4 == "jit" || $4 == "ngen"' | wc -l)" -lt 10 ] || return 0
    kill -CONT "$1"
    return 1
}
if have_dotnet; then
    dotnet_build test/profiler/workload profiled
    mkfifo "$out/stdin"
    dotnet "$build/dotnet/profiled/profiled.dll" ready 3 <"$out/stdin" >"$out/dotnet.out" 2>&1 &
    exec 3>"$out/stdin"
    until_so is_ready "$out/dotnet.out" $!
    pid=$(awk '/^ready/ { print $2 }' "$out/dotnet.out")
    until_so stands_at_work "$pid"
    all_ways dotnet "$pid"
    createdump=$(ls "$(dirname "$(readlink -f "$(command -v dotnet)")")"/shared/Microsoft.NETCore.App/10.*/createdump 2>/dev/null | tail -n 1)
    if [ -n "$createdump" ] && "$createdump" --full -f "$out/dotnet.dump" "$pid" >"$out/seen" 2>&1; then
        frames "$out/dotnet.dump" --save "$out/dotnet.again" >"$out/dotnet.cored"
        same "dotnet: core by createdump beside process" "$out/dotnet.live" "$out/dotnet.cored"
        frames "$out/dotnet.again" >"$out/dotnet.reread"
        same "dotnet: that core's capsule" "$out/dotnet.live" "$out/dotnet.reread"
        # The smallest kind has of a method what its writer's own walk has met: of one that is prepared just now, less.
        "$createdump" --normal -f "$out/dotnet.dump" "$pid" >"$out/seen" 2>&1
        frames "$out/dotnet.dump" >"$out/dotnet.small"
        diff "$out/dotnet.live" "$out/dotnet.small" >"$out/seen"
        differ=$(grep -c '^<' "$out/seen")
        [ $((20 * differ)) -lt "$(grep -c . "$out/dotnet.live")" ]
        verdict $? "dotnet: small core by createdump: $differ of $(grep -c . "$out/dotnet.live") lines differ, under a twentieth"
        rm -f "$out/dotnet.dump"
    else
        skip "dotnet: core by createdump" "createdump is not there, or may not look at the process"
    fi
    managed=$(awk '$4 == "jit" || $4 == "ngen"' "$out/dotnet.read" | grep -vc '?')
    [ "$managed" -ge 10 ]
    verdict $? "$managed managed frames of the capsule have names; $(grep -c '^frame' "$out/dotnet.read") frames in $(wc -c <"$out/dotnet.capsule") bytes"
    kill -KILL "$pid"
    exec 3>&-
else
    skip ".NET" "no .NET SDK 10"
fi

# ---- Node: of its heap what names are made of, no page that was only looked at for code ----
if command -v node >/dev/null 2>&1; then
    mkfifo "$out/node.in"
    exec 4<>"$out/node.in" # it stays as long as this is open
    node test/debuggers/programs/rooms.js <&4 >"$out/node.out" 2>"$out/seen" &
    pid=$!
    until_so is_ready "$out/node.out" "$pid"
    until_so sits "$pid"
    kill -STOP "$pid"
    frames "$pid" --save "$out/node.capsule" >"$out/node.live"
    frames "$out/node.capsule" >"$out/node.read"
    same "node: capsule beside process" "$out/node.live" "$out/node.read"
    size=$(wc -c <"$out/node.capsule")
    [ $((size * 50)) -lt $((100000 * $(grep -c '^frame' "$out/node.live"))) ]
    verdict $? "node: $(grep -c '^frame' "$out/node.live") frames in $size bytes, under 100,000 for 50"
    kill -KILL "$pid"
else
    skip "node" "no node"
fi
exit $status
