//! How a peer's own bytes are shown in an error.

use std::fmt::Write as _;

/// Most characters of a value in an error.
const CHARS: usize = 64;

/// The text cut to 64 characters, with characters that steer a terminal escaped.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(CHARS) + 4);
    let mut chars = text.chars();
    for c in chars.by_ref().take(CHARS) {
        if c.is_control() || is_invisible(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Marks of direction, joiners and line separators: they reorder or hide what follows.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
