//! Lingua command line.
fn main() {}
