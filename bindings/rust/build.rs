//! Links libsnapwalk.so: from the folder that SNAPWALK_LIB_DIR names, else the one that pkg-config says, else where the
//! linker finds it.

use std::process::Command;

/// What pkg-config knows as the folder of the installed library.
fn installed() -> Option<String> {
    let out = Command::new("pkg-config").args(["--variable=libdir", "snapwalk"]).output().ok()?;
    let folder = String::from_utf8(out.stdout).ok()?.trim().to_string();
    (out.status.success() && !folder.is_empty()).then_some(folder)
}

fn main() {
    for name in ["SNAPWALK_LIB_DIR", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if let Some(folder) = std::env::var("SNAPWALK_LIB_DIR").ok().or_else(installed) {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=snapwalk");
}
