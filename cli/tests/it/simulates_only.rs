//! A build without the feature `live`.

use std::path::Path;

use crate::{lingua, text};

#[test]
fn a_command_that_is_not_built_names_the_build_that_has_it() {
    for args in [&["serve"][..], &["load", "x.toml", "--target", "ws://127.0.0.1:1"], &["redis"]] {
        let out = lingua(Path::new("."), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stdout));
        let told = text(&out.stderr);
        assert!(told.contains("`cargo build --release`"), "{args:?}: {told}");
    }
    let told = text(&lingua(Path::new("."), &["simm"]).stderr);
    assert!(told.contains("'sim'"), "{told}");
}
