//! Counts the instructions of one subject: this program runs itself under valgrind.
//!
//! Callgrind collects only inside [`counted`], so neither building a subject nor restoring it is in
//! the count.

use std::hint::black_box;
use std::io::ErrorKind;
use std::process::Command;

use super::GateError;
use crate::subjects::{Entry, Subject};

/// Callgrind compares it with the whole demangled name.
const COUNTED: &str = "--toggle-collect=*gate::callgrind::counted*";

/// Kept from the environment; all else could move the stack or change the tool.
const KEPT: [&str; 2] = ["PATH", "VALGRIND_LIB"];

/// The C library copies memory by what the processor can do; the plainest way counts alike on all.
const PLAIN_LIBC: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-AVX512VL,-ERMS,-FSRM");

/// Instructions of a subject's counted runs. A planted slowdown adds a tenth to them.
///
/// # Errors
/// Valgrind is missing, or the subject does not run under it.
pub fn count(entry: &Entry, planted: bool) -> Result<u64, GateError> {
    let program = std::env::current_exe()
        .map_err(|source| GateError::Run { what: "this program", source })?;
    let mut command = Command::new("valgrind");
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env(PLAIN_LIBC.0, PLAIN_LIBC.1);
    command.args(["--command-line-only=yes", "--tool=callgrind"]);
    command.args(["--callgrind-out-file=/dev/null", "--collect-atstart=no", COUNTED]);
    command.arg(program).args(["subject", entry.name]);
    if planted {
        command.arg("--plant");
    }
    let output = command.output().map_err(|source| match source.kind() {
        ErrorKind::NotFound => GateError::NoValgrind,
        _ => GateError::Run { what: "valgrind", source },
    })?;
    let told = String::from_utf8_lossy(&output.stderr);
    match collected(&told) {
        Some(count) if output.status.success() && count > 0 => Ok(count),
        _ => Err(GateError::NotCounted { subject: entry.name, told: tail(&told) }),
    }
}

/// Runs a subject: as often as it is counted to warm up, then counted.
pub fn run(entry: &Entry, planted: bool) {
    let mut subject = entry.prepare();
    for _ in 0..entry.runs {
        subject.restore();
        black_box(subject.run());
    }
    let extra = if planted { entry.runs / 10 } else { 0 };
    for _ in 0..entry.runs + extra {
        subject.restore();
        counted(subject.as_mut());
    }
}

#[inline(never)]
fn counted(subject: &mut dyn Subject) {
    black_box(subject.run());
}

/// The sum that callgrind prints at its end.
fn collected(told: &str) -> Option<u64> {
    told.lines().rev().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

fn tail(told: &str) -> String {
    let lines: Vec<&str> = told.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_callgrind_prints() {
        let told =
            "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n==7== I   refs: 123,456";
        assert_eq!(collected(told), Some(123_456));
        assert_eq!(collected("==7== Collected : \n"), None);
        assert_eq!(collected(""), None);
    }
}
