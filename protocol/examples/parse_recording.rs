//! Parses every message of a recorded exchange in its direction and counts them by type.
//!
//! `cargo run --release -p lingua-protocol --example parse_recording -- FILE [REFUSED]`
//!
//! FILE holds one JSON object a line: `socket` ("node" or "session"), `dir` ("c2s" or "s2c") and
//! `msg`. Lines of another `dir` are events of the recorder. REFUSED says how many of its messages
//! are wrong on purpose (0 without it). Exits 1 when another number is refused, 2 on bad usage.

use std::collections::BTreeMap;
use std::process::ExitCode;

use lingua_protocol::{FromNode, FromSession, ToNode, ToSession};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Line<'a> {
    socket: &'a str,
    dir: &'a str,
    #[serde(borrow)]
    msg: &'a RawValue,
}

/// Parses, writes and parses again.
macro_rules! check {
    ($direction:ident, $frame:expr) => {{
        let message = $direction::parse($frame).map_err(|error| error.to_string())?;
        let mut written = Vec::new();
        message.to_json(&mut written);
        match $direction::parse(&written) {
            Ok(again) if again == message => Ok((stringify!($direction), message.type_name())),
            Ok(_) => Err("reads otherwise when it is written".to_owned()),
            Err(error) => Err(format!("is refused when it is written: {error}")),
        }
    }};
}

/// Direction and type of the message of a line, or nothing where it holds none.
fn message(line: &str) -> Result<Option<(&'static str, &'static str)>, String> {
    let line: Line<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let frame = line.msg.get();
    match (line.socket, line.dir) {
        ("node", "c2s") => check!(FromNode, frame).map(Some),
        ("node", "s2c") => check!(ToNode, frame).map(Some),
        ("session", "c2s") => check!(FromSession, frame).map(Some),
        ("session", "s2c") => check!(ToSession, frame).map(Some),
        _ => Ok(None),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, wrong) = match arguments.as_slice() {
        [path] => (path, Ok(0)),
        [path, wrong] => (path, wrong.parse::<u32>()),
        _ => (&String::new(), "".parse()),
    };
    let Ok(wrong) = wrong else {
        eprintln!("usage: parse_recording FILE [REFUSED]");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let mut counts = BTreeMap::new();
    let (mut events, mut refused) = (0, 0_u32);
    for (index, line) in text.lines().enumerate() {
        match message(line) {
            Ok(Some(kind)) => *counts.entry(kind).or_insert(0_u32) += 1,
            Ok(None) => events += 1,
            Err(error) => {
                refused += 1;
                println!("{path}:{}: {error}", index + 1);
            }
        }
    }
    for ((direction, name), count) in counts {
        println!("{direction:<12} {name:<20} {count:>6}");
    }
    println!(
        "{events} lines without a message, {refused} messages refused, {wrong} expected to be"
    );
    if refused == wrong { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
