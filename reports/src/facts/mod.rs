//! What a run says, in words and tables: the one source of terminal, Markdown and page.

mod duties;
mod load;
mod tables;

use std::collections::BTreeMap;

pub use self::duties::*;
pub use self::load::*;
pub use self::tables::*;

use crate::number::{count, counted, decimal, ms, percent};
use crate::run::{Expectation, Kind, Run, Summary, Verdict};

/// How a figure should make the reader feel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Just a number.
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Wrong.
    Bad,
}

impl Tone {
    /// Lowercase name, as the page's style sheet has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One key figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFigure {
    /// What it is.
    pub name: &'static str,
    /// The number with its unit.
    pub value: String,
    /// What stands behind it.
    pub note: String,
    /// How it should make the reader feel.
    pub tone: Tone,
}

/// The whole run in one or two sentences of plain words.
pub fn headline(run: &Run) -> String {
    let text = run.duties.as_ref().map_or_else(|| of_jobs(run), duties::headline);
    match run.verdict {
        Verdict::Void => format!("Void, not to be trusted. {text}"),
        Verdict::InvariantBroken => format!("Stopped by a broken invariant. {text}"),
        Verdict::Ok | Verdict::ExpectationFailed => text,
    }
}

fn of_jobs(run: &Run) -> String {
    let verb = if run.refused_ratio > 0.0 {
        format!("refuses {}", percent(run.refused_ratio))
    } else {
        "refuses none".into()
    };
    let mut text = format!("Carries {} jobs/s, {verb}", decimal(run.carried_per_s));
    let net = &run.latency_ms.dispatch_net;
    if net.count > 0 {
        text += &format!(", and 99 % of jobs reach a node within {}", ms(net.p99));
    }
    text += match run.oversold.assignments {
        0 => "; no node is oversold.".into(),
        n => format!("; {} oversold a node.", counted(n, "assignment")),
    }
    .as_str();
    if !run.first_limit.is_empty() {
        let left = percent(run.headroom);
        text += &format!(" First to give way: {}, with {left} headroom.", run.first_limit);
    }
    text
}

/// The verdict in words.
pub fn verdict(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Ok => ("ok", Tone::Good),
        Verdict::ExpectationFailed => ("expectation failed", Tone::Warn),
        Verdict::Void => ("void", Tone::Bad),
        Verdict::InvariantBroken => ("invariant broken", Tone::Bad),
    }
}

/// How the run was made: `simulated`, `measured`.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Sim => "simulated",
        Kind::Load => "measured over real sockets",
    }
}

/// The settings worth seeing, in one line.
pub fn setting(run: &Run) -> String {
    let mut parts = vec![
        kind(run.kind).to_string(),
        format!("seed {}", run.seed),
        format!("{} s counted", decimal(run.duration_s)),
    ];
    parts.extend(run.setting.iter().map(|(name, value)| format!("{name} {value}")));
    parts.join(" · ")
}

/// The figures every reader looks for first, in the order they are looked for.
pub fn key_figures(run: &Run) -> Vec<KeyFigure> {
    if let Some(duties) = &run.duties {
        return duties::key_figures(duties);
    }
    let jobs = &run.jobs;
    let mut figures = vec![
        KeyFigure {
            name: "carried",
            value: format!("{} jobs/s", decimal(run.carried_per_s)),
            note: format!("{} of {} offered jobs", count(jobs.completed), count(jobs.offered)),
            tone: Tone::Plain,
        },
        refused(run),
        latency("dispatch net", &run.latency_ms.dispatch_net, "without the hangover"),
        latency("dispatch", &run.latency_ms.dispatch, "last chunk to the job at the node"),
        latency("response", &run.latency_ms.response, "intended start to the answer"),
        KeyFigure {
            name: "utilisation",
            value: percent(run.utilisation),
            note: "busy slots of all slots, time average".into(),
            tone: Tone::Plain,
        },
        oversold(run),
        affinity(run),
    ];
    if run.broken_segments.count > 0 {
        figures.push(KeyFigure {
            name: "broken segments",
            value: count(run.broken_segments.count),
            note: format!("{} s of speech lost", decimal(run.broken_segments.lost_speech_s)),
            tone: Tone::Warn,
        });
    }
    figures.push(KeyFigure {
        name: "fairness",
        value: format!("{} × mean", decimal(run.fairness.max_over_mean)),
        note: format!("busiest node; Jain index {}", decimal(run.fairness.jain)),
        tone: Tone::Plain,
    });
    if let Some(load) = &run.load {
        figures.extend(load::figures(load));
        return figures;
    }
    figures.push(scheduler(run));
    let limit = if run.first_limit.is_empty() { "unknown" } else { &run.first_limit };
    figures.push(KeyFigure {
        name: "first limit",
        value: limit.into(),
        note: format!("gives way first; headroom {}", percent(run.headroom)),
        tone: if run.headroom <= 0.0 { Tone::Warn } else { Tone::Plain },
    });
    figures
}

fn refused(run: &Run) -> KeyFigure {
    let floor = run.erlang_b.map_or_else(
        || "Erlang B not applicable".into(),
        |floor| format!("Erlang B over all slots {}", percent(floor)),
    );
    KeyFigure {
        name: "refused",
        value: percent(run.refused_ratio),
        note: format!("{}; {floor}", counted(run.jobs.refused, "job")),
        tone: if run.jobs.refused == 0 { Tone::Good } else { Tone::Plain },
    }
}

fn latency(name: &'static str, summary: &Summary, what: &str) -> KeyFigure {
    if summary.count == 0 {
        let note = what.to_string();
        return KeyFigure { name, value: "none measured".into(), note, tone: Tone::Plain };
    }
    KeyFigure {
        name,
        value: format!("{} / {} ms", decimal(summary.p50), decimal(summary.p99)),
        note: format!("p50 / p99; {what}"),
        tone: Tone::Plain,
    }
}

fn oversold(run: &Run) -> KeyFigure {
    let o = &run.oversold;
    let (note, tone) = if o.assignments == 0 {
        ("no assignment ever exceeded a node's max_jobs".into(), Tone::Good)
    } else {
        let note = format!(
            "on {}, at most {} above max_jobs, {} excess seconds",
            counted(o.nodes, "node"),
            o.max_excess,
            decimal(o.excess_seconds)
        );
        (note, Tone::Bad)
    };
    KeyFigure { name: "oversold", value: counted(o.assignments, "assignment"), note, tone }
}

fn affinity(run: &Run) -> KeyFigure {
    let a = &run.affinity;
    let name = "affinity kept";
    if a.expected == 0 {
        let note = "no job was bound to its session's node".into();
        return KeyFigure { name, value: "none expected".into(), note, tone: Tone::Plain };
    }
    let mut note = format!("{} of {} expected", count(a.kept), count(a.expected));
    if !a.fallback.is_empty() {
        note += &format!("; missed: {}", by_cause(&a.fallback));
    }
    note += &format!("; violated: {}", count(a.violated));
    let tone = if a.violated > 0 { Tone::Bad } else { Tone::Plain };
    KeyFigure { name, value: percent(a.kept as f64 / a.expected as f64), note, tone }
}

fn scheduler(run: &Run) -> KeyFigure {
    let s = &run.scheduler;
    let ops = decimal(run.store.ops_per_job);
    KeyFigure {
        name: "scheduler busy",
        value: percent(s.busy),
        note: format!(
            "busiest of {}; {} of it lock waits; store busy {}, {ops} operations per job",
            counted(u64::from(s.instances), "instance"),
            percent(s.lock_wait),
            percent(run.store.busy),
        ),
        tone: if s.busy > 0.9 { Tone::Warn } else { Tone::Plain },
    }
}

/// `8 full, 2 offline`: counts by cause, most frequent first.
pub fn by_cause(counts: &BTreeMap<String, u64>) -> String {
    let mut causes: Vec<(&String, u64)> = counts.iter().map(|(name, n)| (name, *n)).collect();
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let shown: Vec<String> =
        causes.iter().map(|(name, n)| format!("{} {name}", count(*n))).collect();
    shown.join(", ")
}

/// Where every offered job ended, as a sum that must add up.
pub fn accounts(run: &Run) -> String {
    let j = &run.jobs;
    let sum = format!(
        "offered {} = completed {} + failed {} + refused {} + timed out {} + lost {} + in flight {} \
         + never sent {}",
        count(j.offered),
        count(j.completed),
        count(j.failed),
        count(j.refused),
        count(j.timed_out),
        count(j.lost),
        count(j.in_flight),
        count(j.never_sent)
    );
    match j.balance() {
        0 => sum,
        gap => format!("{sum}; THE ACCOUNTS DO NOT ADD UP: {} unexplained", gap),
    }
}

/// `2 ≤ jobs.lost ≤ 3`: what an expectation demands.
pub fn demand(e: &Expectation) -> String {
    match (e.min, e.max) {
        (Some(min), Some(max)) if min == max => format!("{} = {min}", e.metric),
        (Some(min), Some(max)) => format!("{min} ≤ {} ≤ {max}", e.metric),
        (Some(min), None) => format!("{} ≥ {min}", e.metric),
        (None, Some(max)) => format!("{} ≤ {max}", e.metric),
        (None, None) => format!("{} exists", e.metric),
    }
}

/// `part / whole`, zero of nothing.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A sum that saturates: a record read from a file may hold anything.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
