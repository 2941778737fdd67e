//! A report for people and for build servers, and the list of behaviours.

use std::fmt::Write as _;

use lingua_reports::junit::escape;
use lingua_reports::table::{Align, Table, WIDTH, wrap};

use crate::probe::behaviours::BEHAVIOURS;
use crate::probe::log::Line;
use crate::probe::run::Report;
use crate::probe::verdict::{Answer, Verdict};

/// Last frames that are shown of a behaviour that failed.
const SHOWN: usize = 10;
/// Rows that one of them takes at most.
const ROWS: usize = 2;

/// The report as a table of at most 100 columns, and the last frames of what failed.
pub fn table(report: &Report) -> String {
    let mut table =
        Table::new(&[("behaviour", Align::Left), ("verdict", Align::Left), ("found", Align::Left)]);
    for answer in &report.behaviours {
        table.row([
            answer.name.into(),
            answer.verdict.to_string().into(),
            answer.found.as_str().into(),
        ]);
    }
    let mut out = table.to_text(WIDTH);
    for answer in report.behaviours.iter().filter(|answer| answer.verdict == Verdict::Fail) {
        let lines = &answer.evidence.lines;
        let _ = writeln!(out, "\n{} · the last of {} frames", answer.name, lines.len());
        for line in &lines[lines.len().saturating_sub(SHOWN)..] {
            write_line(&mut out, line);
        }
    }
    let count = |verdict| report.count(verdict);
    let _ = writeln!(
        out,
        "\n{}: {} passed, {} failed, {} unsupported, {} not run, in {:.0} s",
        report.target,
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::Unsupported),
        count(Verdict::NotRun),
        report.took_ms as f64 / 1_000.0
    );
    out
}

fn write_line(out: &mut String, line: &Line) {
    let head = format!("{:>8} ms  {:<10} {} ", line.ms, line.peer, line.way.arrow());
    let indent = head.chars().count();
    for (n, part) in wrap(&line.frame, WIDTH - indent).iter().take(ROWS).enumerate() {
        let head = if n == 0 { head.clone() } else { " ".repeat(indent) };
        let _ = writeln!(out, "{head}{part}");
    }
}

/// The report as JUnit XML: a case for each behaviour.
pub fn junit(report: &Report) -> String {
    let (failed, skipped) = (
        report.count(Verdict::Fail),
        report.count(Verdict::Unsupported) + report.count(Verdict::NotRun),
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"lingua probe {}\" tests=\"{}\" failures=\"{failed}\" \
         skipped=\"{skipped}\" time=\"{:.3}\">",
        escape(&report.target),
        report.behaviours.len(),
        report.took_ms as f64 / 1_000.0
    );
    for answer in &report.behaviours {
        let case = format!(
            "  <testcase classname=\"lingua.probe\" name=\"{}\" time=\"{:.3}\"",
            answer.name,
            answer.took_ms as f64 / 1_000.0
        );
        let found = escape(&answer.found);
        let _ = match answer.verdict {
            Verdict::Pass => writeln!(out, "{case}/>"),
            Verdict::Fail => writeln!(
                out,
                "{case}>\n    <failure message=\"{found}\">{}</failure>\n  </testcase>",
                escape(&frames(answer))
            ),
            Verdict::Unsupported | Verdict::NotRun => {
                writeln!(out, "{case}>\n    <skipped message=\"{found}\"/>\n  </testcase>")
            }
        };
    }
    out.push_str("</testsuite>\n");
    out
}

fn frames(answer: &Answer) -> String {
    let mut out = String::new();
    for line in &answer.evidence.lines {
        let _ = writeln!(out, "{} ms {} {} {}", line.ms, line.peer, line.way.arrow(), line.frame);
    }
    out
}

/// Every behaviour with what it asks.
pub fn list() -> String {
    let mut table = Table::new(&[("behaviour", Align::Left), ("a scheduler must", Align::Left)]);
    for behaviour in BEHAVIOURS {
        table.row([behaviour.name.into(), behaviour.explains.into()]);
    }
    table.to_text(WIDTH)
}
