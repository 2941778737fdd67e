//! One self-contained page that a person enjoys reading.

use askama::Template;

use crate::facts::{self, KeyFigure};
use crate::plots::Plot;
use crate::run::Artifacts;
use crate::table::Table;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'a str,
    headline: String,
    setting: String,
    verdict: &'static str,
    tone: &'static str,
    reasons: &'a [String],
    figures: Vec<KeyFigure>,
    plots: &'a [Plot],
    tables: Vec<Named>,
    digest: &'a str,
    sha256: &'a str,
    seed: u64,
}

struct Named {
    title: &'static str,
    table: Table,
}

/// The page of a run.
pub fn page(artifacts: &Artifacts, plots: &[Plot]) -> String {
    let run = &artifacts.run;
    let (verdict, tone) = facts::verdict(run.verdict);
    let tables = [
        ("Latency", facts::latency_table(run)),
        ("Refused per pair", facts::pairs_table(run)),
        ("Accounts", facts::accounts_table(run)),
        ("Expectations", facts::expectations_table(run)),
        ("Rare paths reached", facts::counts_table("path", &run.sometimes)),
        ("Where the inputs come from", facts::inputs_table(run)),
    ];
    let page = Page {
        title: &run.scenario.name,
        headline: facts::headline(run),
        setting: facts::setting(run),
        verdict,
        tone: tone.name(),
        reasons: &run.reasons,
        figures: facts::key_figures(run),
        plots,
        tables: tables
            .into_iter()
            .filter(|(_, table)| !table.is_empty())
            .map(|(title, table)| Named { title, table })
            .collect(),
        digest: &run.digest,
        sha256: &run.scenario.sha256,
        seed: run.seed,
    };
    // The template has no fallible part.
    page.render().unwrap_or_default()
}
