//! How much a test does: little by default, as much as is wanted by environment variable.

use std::str::FromStr;

/// `LINGUA_OPERATIONS`, or the test's own number.
pub(crate) fn operations<T: FromStr>(default: T) -> T {
    number("LINGUA_OPERATIONS").unwrap_or(default)
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`: write a number, as 100000")))
}

/// `LINGUA_SEED`, or the test's own seed.
pub(crate) fn seed(default: u64) -> u64 {
    number("LINGUA_SEED").unwrap_or(default)
}
