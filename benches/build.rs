//! Tells the program which compiler and target it was built with: instruction counts belong to both.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var("RUSTC").expect("cargo sets RUSTC");
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    let output = Command::new(rustc).arg("--version").output().expect("rustc tells its version");
    let version = String::from_utf8(output.stdout).expect("rustc's version is text");
    println!("cargo::rustc-env=BUILT_BY={}", version.trim());
    println!("cargo::rustc-env=BUILT_FOR={target}");
}
