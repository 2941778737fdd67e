//! `report.html`: one self-contained page about one run.

use askama::Template;

use crate::duties::Duties;
use crate::facts::{self, KeyFigure};
use crate::markdown::identity;
use crate::plots::Figure;
use crate::run::Run;
use crate::table::{Align, Table};

/// What the template shows.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    run: &'a Run,
    verdict: &'static str,
    tone: &'static str,
    headline: String,
    setting: String,
    key_figures: Vec<KeyFigure>,
    figures: &'a [Figure],
    tables: Vec<Section>,
    accounts: String,
    identity: [(&'static str, String); 6],
    command: String,
}

/// A table with its heading and a sentence that explains it.
struct Section {
    title: &'static str,
    words: &'static str,
    table: Table,
}

impl Section {
    fn right(align: &Align) -> bool {
        *align == Align::Right
    }
}

/// The page of a run with its figures inlined.
pub fn page(run: &Run, figures: &[Figure]) -> Result<String, askama::Error> {
    let (verdict, tone) = facts::verdict(run.verdict);
    let page = Page {
        run,
        verdict,
        tone: tone.name(),
        headline: glue(&facts::headline(run)),
        setting: facts::setting(run),
        key_figures: facts::key_figures(run).into_iter().map(glued).collect(),
        figures,
        tables: sections(run),
        accounts: facts::accounts(run),
        identity: identity(run),
        command: command(run),
    };
    let mut text = page.render()?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Keeps numbers and their units on one line.
fn glue(text: &str) -> String {
    [" ms", " %", " jobs/s", " ×"].iter().fold(text.to_string(), |text, unit| {
        let spaced = unit.replace(' ', "\u{a0}");
        // Only after a digit: other words may break.
        (0..=9).fold(text, |text, digit| {
            text.replace(&format!("{digit}{unit}"), &format!("{digit}{spaced}"))
        })
    })
}

fn glued(figure: KeyFigure) -> KeyFigure {
    KeyFigure { value: glue(&figure.value), note: glue(&figure.note), ..figure }
}

/// How to get the same run again.
fn command(run: &Run) -> String {
    let verb = match run.kind {
        crate::run::Kind::Sim => "sim",
        crate::run::Kind::Load => "load",
    };
    format!("lingua {verb} SCENARIO.toml --seed {} --out DIR", run.seed)
}

fn sections(run: &Run) -> Vec<Section> {
    let section = |title, words, table| Section { title, words, table };
    let expectations = section(
        "Expectations",
        "What the scenario demands of this run, and what was found.",
        facts::expectations_table(run),
    );
    let mut sections = vec![expectations];
    match &run.duties {
        Some(duties) => sections.extend(of_duties(duties)),
        None => sections.extend(of_jobs(run)),
    }
    sections.extend([
        section(
            "Rare paths reached",
            "A path that was never reached was not tested by this run.",
            facts::counts_table("path", &run.sometimes),
        ),
        section(
            "Inputs",
            "Numbers are as good as what goes in: measured on a machine, or assumed.",
            facts::inputs_table(run),
        ),
    ]);
    sections.retain(|section| !section.table.is_empty());
    sections
}

fn of_duties(duties: &Duties) -> [Section; 2] {
    let section = |title, words, table| Section { title, words, table };
    [
        section(
            "Duties per instance",
            "At the end, at most, and over the whole run. The limit is what an instance acquires \
             by what it knows.",
            facts::duties_table(duties),
        ),
        section(
            "Disturbances",
            "From the start and from each disturbance to the next: how many duties nobody could \
             run, for how long one of them, and when all were held again.",
            facts::episodes_table(duties),
        ),
    ]
}

fn of_jobs(run: &Run) -> Vec<Section> {
    let section = |title, words, table| Section { title, words, table };
    vec![
        section(
            "Latency",
            "Milliseconds. Dispatch net is dispatch without the configured hangover; goals and \
             limits mean dispatch net.",
            facts::latency_table(run),
        ),
        section(
            "Refused per pair",
            "Pairs with most jobs first. Erlang B is the floor for a scheduler without a queue; \
             it applies where a pair's nodes serve no other pair. z is the distance from it in \
             standard errors.",
            facts::pairs_table(run),
        ),
        section(
            "Refused by cause",
            "Why jobs got no node.",
            facts::counts_table("cause", &run.refused_by_cause),
        ),
        section("Accounts", "Where every offered job ended.", facts::accounts_table(run)),
        section(
            "Failures by cause",
            "Why jobs and sockets came to a bad end.",
            facts::failures_table(run),
        ),
        section(
            "Sockets",
            "Who closed what before the plan's end. A close by the scheduler has a reason; one by \
             the network has none.",
            facts::sockets_table(run),
        ),
        section(
            "Findings",
            "What a scheduler must never do, seen from both ends. Zero: looked for and not found.",
            facts::findings_table(run),
        ),
        section(
            "Invariants not promised here",
            "What this configuration does not promise is counted; a promised invariant that breaks \
             ends the run.",
            facts::counts_table("invariant, times broken", &run.invariants),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_page_needs_no_network_and_escapes_what_it_shows() {
        let artifacts = fixture::artifacts();
        let figures = crate::plots::figures(&artifacts).unwrap();
        let text = page(&fixture::bad_run(), &figures).unwrap();
        for outside in ["src=", "href=\"http", "@import", "url(", "<script"] {
            assert!(!text.contains(outside), "{outside}");
        }
        assert!(text.contains("The deployed scheduler &#60;as it is&#62;"));
        assert_eq!(text.matches("<svg ").count(), figures.len());
    }
}
