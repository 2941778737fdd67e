//! `summary.md`: the summary of one run as GitHub Markdown, with links to the plots.

use std::fmt::Write as _;

use crate::facts;
use crate::plots::Figure;
use crate::run::Run;
use crate::table::{Table, escape_markdown};

/// The summary of a run; `figures` are linked as `plots/NAME.svg`.
pub fn summary(run: &Run, figures: &[Figure]) -> String {
    let mut out = String::new();
    let (word, _) = facts::verdict(run.verdict);
    let _ = writeln!(out, "# {}\n", escape_markdown(&run.scenario.name));
    let _ = writeln!(out, "**Verdict: {word}.** {}\n", escape_markdown(&facts::headline(run)));
    for reason in &run.reasons {
        let _ = writeln!(out, "- {}", escape_markdown(reason));
    }
    if !run.reasons.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{}\n", escape_markdown(&facts::setting(run)));
    let _ = writeln!(out, "| figure | value | |\n| :--- | ---: | :--- |");
    for figure in facts::key_figures(run) {
        let cells = [figure.name, &figure.value, &figure.note].map(escape_markdown);
        let _ = writeln!(out, "| {} | {} | {} |", cells[0], cells[1], cells[2]);
    }
    section(&mut out, "Expectations", &facts::expectations_table(run));
    match &run.duties {
        Some(duties) => {
            section(&mut out, "Duties per instance", &facts::duties_table(duties));
            section(&mut out, "Disturbances", &facts::episodes_table(duties));
        }
        None => of_jobs(&mut out, run),
    }
    section(&mut out, "Rare paths reached", &facts::counts_table("path", &run.sometimes));
    section(&mut out, "Inputs", &facts::inputs_table(run));
    if !figures.is_empty() {
        out.push_str("\n## Plots\n");
    }
    for figure in figures {
        let _ = writeln!(out, "\n![{}](plots/{}.svg)\n", figure.title, figure.name);
        let _ = writeln!(out, "{}", figure.caption);
    }
    let _ = writeln!(out, "\n## Identity\n");
    for (name, value) in identity(run) {
        let _ = writeln!(out, "- {name}: `{value}`");
    }
    out
}

fn of_jobs(out: &mut String, run: &Run) {
    section(out, "Latency", &facts::latency_table(run));
    section(out, "Refused per pair", &facts::pairs_table(run));
    let by_cause = facts::counts_table("cause", &run.refused_by_cause);
    section(out, "Refused by cause", &by_cause);
    section(out, "Accounts", &facts::accounts_table(run));
    let _ = writeln!(out, "\n{}", escape_markdown(&facts::accounts(run)));
    section(out, "Failures by cause", &facts::failures_table(run));
    section(out, "Sockets", &facts::sockets_table(run));
    section(out, "Findings", &facts::findings_table(run));
    section(
        out,
        "Invariants not promised here",
        &facts::counts_table("invariant, times broken", &run.invariants),
    );
}

/// What names this run exactly.
pub(crate) fn identity(run: &Run) -> [(&'static str, String); 6] {
    [
        ("scenario SHA-256", run.scenario.sha256.clone()),
        ("seed", run.seed.to_string()),
        ("digest", run.digest.clone()),
        ("arrivals digest", run.arrivals_digest.clone()),
        ("tool version", run.tool_version.clone()),
        ("events", run.events.to_string()),
    ]
}

fn section(out: &mut String, title: &str, table: &Table) {
    if !table.is_empty() {
        let _ = write!(out, "\n## {title}\n\n{}", table.to_markdown());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_run_reads_well() {
        let figures = crate::plots::figures(&fixture::artifacts()).unwrap();
        insta::assert_snapshot!(summary(&fixture::run(), &figures));
    }

    #[test]
    fn names_cannot_break_out() {
        let text = summary(&fixture::bad_run(), &[]);
        assert!(text.starts_with("# The deployed scheduler \\<as it is> & 中文标题"));
    }
}
