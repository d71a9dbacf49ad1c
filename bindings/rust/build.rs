//! Links libsnapwalk.so: from the folder that SNAPWALK_LIB_DIR names, or where the linker finds it.

fn main() {
    println!("cargo:rerun-if-env-changed=SNAPWALK_LIB_DIR");
    if let Ok(folder) = std::env::var("SNAPWALK_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=snapwalk");
}
