//! `summary.md`: the summary of a run for a repository or a ticket.

use std::fmt::Write as _;

use crate::facts;
use crate::plots::Plot;
use crate::run::Run;

/// The summary as GitHub Markdown, with links to the plots beside it.
pub fn summary(run: &Run, plots: &[Plot]) -> String {
    let mut text = format!("# {}\n\n{}\n\n", run.scenario.name, facts::headline(run));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}\n", facts::setting(run));
    for reason in &run.reasons {
        let _ = writeln!(text, "- **{reason}**");
    }
    let _ = writeln!(text, "| | | |\n|---|---|---|");
    for figure in facts::key_figures(run) {
        let _ = writeln!(text, "| {} | {} | {} |", figure.name, figure.value, figure.note);
    }
    for (title, table) in [
        ("Latency", facts::latency_table(run)),
        ("Pairs", facts::pairs_table(run)),
        ("Accounts", facts::accounts_table(run)),
        ("Expectations", facts::expectations_table(run)),
        ("Inputs", facts::inputs_table(run)),
    ] {
        if !table.is_empty() {
            let _ = writeln!(text, "\n## {title}\n\n{}", table.to_markdown().trim_end());
        }
    }
    text.push_str("\n## Plots\n");
    for plot in plots {
        let _ = writeln!(text, "\n![{}](plots/{}.svg)\n\n{}", plot.title, plot.file, plot.caption);
    }
    text
}
