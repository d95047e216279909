// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles the library in one file: vendor/drystone.c of a packaged crate, else what scripts/amalgam of the tree writes.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn source() -> PathBuf {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let vendored = here.join("vendor");

    for file in ["build.rs", "src/sizes.c"] {
        println!("cargo:rerun-if-changed={file}");
    }
    if vendored.join("drystone.c").exists() {
        println!("cargo:rerun-if-changed=vendor");
        return vendored;
    }
    let tree = here.join("../../..");
    let made = Path::new(&env::var("OUT_DIR").unwrap()).join("amalgam");
    let done = Command::new(tree.join("scripts/amalgam")).arg(&made).status();
    assert!(matches!(done, Ok(status) if status.success()), "scripts/amalgam fails: {done:?}");
    for folder in ["src", "include", "scripts/amalgam"] {
        println!("cargo:rerun-if-changed={}", tree.join(folder).display());
    }
    made
}

/// Code in a section of its own, so that stacks leave out the library's frames (src/port/unix/stack.c). Without objcopy, or one that
/// knows the target, they have them.
fn set_apart(objects: &[PathBuf]) {
    for object in objects {
        let _ = Command::new("objcopy")
            .args(["--rename-section", ".text=dry_text", "--rename-section", ".text.unlikely=dry_text"])
            .arg(object)
            .status();
    }
}

fn main() {
    let source = source();
    let mut build = cc::Build::new();

    build
        .file(source.join("drystone.c"))
        .file("src/sizes.c")
        .include(&source)
        .std("gnu11")
        .opt_level(2) // the sequences need it, in a debug build, too
        .warnings(false);
    for flag in [
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        "-fno-omit-frame-pointer",
        "-DDRY_FRAME_POINTERS",
        "-fno-function-sections",
    ] {
        build.flag(flag);
    }
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("musl") {
        build.flag("-ftls-model=initial-exec");
    }
    if env::var_os("CARGO_FEATURE_OVERRIDE").is_some() {
        build.define("DRYSTONE_OVERRIDE", None).flag("-fexceptions");
        for name in ["malloc", "calloc", "realloc", "free"] {
            build.flag(format!("-fno-builtin-{name}"));
        }
    }
    let objects = build.compile_intermediates();
    let mut archive = cc::Build::new();

    set_apart(&objects);
    if env::var_os("CARGO_FEATURE_OVERRIDE").is_some() {
        // All of it, for no symbol asks for what replaces libc's.
        archive.link_lib_modifier("+whole-archive");
    }
    archive.objects(&objects).compile("drystone");
    println!("cargo:include={}", source.display());
}
