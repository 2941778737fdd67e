//! The summary of one run for a terminal: plain text, at most 100 columns.

use crate::duties::Duties;
use crate::facts::{self, Tone};
use crate::run::Run;
use crate::table::{WIDTH, width_of, wrap};

/// Columns the name and value of a key figure take before its note.
const NAME: usize = 17;
const VALUE: usize = 21;

/// The summary of a run; with colours (ANSI escapes) only when asked.
pub fn summary(run: &Run, colour: bool) -> String {
    let paint = Paint { colour };
    let mut out = String::new();
    title(&mut out, run, &paint);
    for figure in facts::key_figures(run) {
        let value = paint.tone(&pad(&figure.value, VALUE), figure.tone);
        let name = paint.dim(&pad(figure.name, NAME));
        let mut notes = wrap(&figure.note, WIDTH - NAME - VALUE - 6).into_iter();
        let first = notes.next().unwrap_or_default();
        line(&mut out, &format!("  {name}{value}  {}", paint.dim(&first)));
        for note in notes {
            line(&mut out, &format!("{}{}", " ".repeat(NAME + VALUE + 4), paint.dim(&note)));
        }
    }
    match &run.duties {
        Some(duties) => of_duties(&mut out, duties, &paint),
        None => of_jobs(&mut out, run, &paint),
    }
    expectations(&mut out, run, &paint);
    line(&mut out, "");
    line(&mut out, &format!("  digest    {}", run.digest));
    line(&mut out, &format!("  arrivals  {}", run.arrivals_digest));
    out
}

fn of_duties(out: &mut String, duties: &Duties, paint: &Paint) {
    let instances = facts::duties_table(duties).to_text(WIDTH - 2);
    section(out, "duties per instance", &instances, paint);
    section(out, "disturbances", &facts::episodes_table(duties).to_text(WIDTH - 2), paint);
}

fn of_jobs(out: &mut String, run: &Run, paint: &Paint) {
    section(out, "latency", &facts::latency_table(run).to_text(WIDTH - 2), paint);
    if !run.pairs.is_empty() {
        let pairs = facts::pairs_table(run).to_text(WIDTH - 2);
        section(out, "refused per pair", &pairs, paint);
    }
    if !run.refused_by_cause.is_empty() {
        section(out, "refused by cause", &facts::by_cause(&run.refused_by_cause), paint);
    }
    section(out, "accounts", &facts::accounts(run), paint);
    endings(out, run);
}

fn title(out: &mut String, run: &Run, paint: &Paint) {
    let (word, tone) = facts::verdict(run.verdict);
    let room = WIDTH.saturating_sub(width_of(word) + 2);
    let mut name = wrap(&run.scenario.name, room).into_iter();
    let first = name.next().unwrap_or_default();
    line(out, &format!("{}  {}", paint.bold(&pad(&first, room)), paint.tone(word, tone)));
    name.for_each(|rest| line(out, &paint.bold(&rest)));
    line(out, &paint.dim(&"─".repeat(WIDTH)));
    for words in wrap(&facts::setting(run), WIDTH) {
        line(out, &paint.dim(&words));
    }
    line(out, "");
    for words in wrap(&facts::headline(run), WIDTH) {
        line(out, &words);
    }
    for reason in &run.reasons {
        for (i, words) in wrap(reason, WIDTH - 4).into_iter().enumerate() {
            let mark = if i == 0 { "!" } else { " " };
            line(out, &paint.tone(&format!("  {mark} {words}"), tone));
        }
    }
    line(out, "");
}

/// Names the ends that must be zero only where they are not.
fn endings(out: &mut String, run: &Run) {
    let j = &run.jobs;
    for (n, what) in [(j.lost, "lost"), (j.duplicate, "duplicate"), (j.reordered, "reordered")] {
        if n > 0 {
            line(out, &format!("  ! {} {what}: must be zero", crate::number::count(n)));
        }
    }
    let broken: Vec<String> = run
        .invariants
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(name, n)| format!("{name} × {}", crate::number::count(*n)))
        .collect();
    if !broken.is_empty() {
        line(out, &format!("  not promised and broken: {}", broken.join(", ")));
    }
}

fn expectations(out: &mut String, run: &Run, paint: &Paint) {
    if run.expectations.is_empty() {
        return;
    }
    let met = run.expectations.iter().filter(|e| e.met).count();
    let head = format!("expectations: {met} of {} met", run.expectations.len());
    section(out, &head, &facts::expectations_table(run).to_text(WIDTH - 2), paint);
}

fn section(out: &mut String, name: &str, body: &str, paint: &Paint) {
    line(out, "");
    line(out, &paint.bold(name));
    for row in body.lines() {
        for (i, words) in wrap_long(row).into_iter().enumerate() {
            let indent = if i == 0 { "  " } else { "    " };
            line(out, &format!("{indent}{words}"));
        }
    }
}

/// Leaves lines of a table as they are, which keeps their alignment, and wraps prose.
fn wrap_long(row: &str) -> Vec<String> {
    if width_of(row) <= WIDTH - 2 { vec![row.into()] } else { wrap(row, WIDTH - 4) }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(width_of(text))))
}

/// Colours, or none.
struct Paint {
    colour: bool,
}

impl Paint {
    fn wrap(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
    }

    fn bold(&self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn tone(&self, text: &str, tone: Tone) -> String {
        match tone {
            Tone::Plain => self.bold(text),
            Tone::Good => self.wrap("1;32", text),
            Tone::Warn => self.wrap("1;33", text),
            Tone::Bad => self.wrap("1;31", text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_run_reads_well() {
        insta::assert_snapshot!(summary(&fixture::run(), false));
    }

    #[test]
    fn a_bad_run_says_so() {
        insta::assert_snapshot!(summary(&fixture::bad_run(), false));
    }

    #[test]
    fn it_fits_and_is_plain_unless_asked() {
        for run in [fixture::run(), fixture::bad_run()] {
            let text = summary(&run, false);
            assert!(!text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(width_of(line) <= WIDTH, "{line}");
            }
            assert!(summary(&run, true).contains("\u{1b}[1"));
        }
    }
}
