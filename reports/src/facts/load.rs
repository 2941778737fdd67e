//! Figures and tables that only a run over real sockets has.

use super::{KeyFigure, Tone, by_cause, total};
use crate::load::{Load, Sockets};
use crate::number::{count, decimal, percent};
use crate::run::Run;
use crate::table::{Align, Cell, Table};

/// How the load was made, and what the judge saw.
pub(super) fn figures(load: &Load) -> Vec<KeyFigure> {
    let mut figures = vec![
        sockets("node sockets", &load.nodes),
        sockets("session sockets", &load.sessions),
        chunks(load),
        lag(load),
        generator(load),
    ];
    if load.shard.of > 1 {
        let note = "part of the plan: see lingua merge".to_owned();
        let value = load.shard.to_string();
        figures.push(KeyFigure { name: "shard", value, note, tone: Tone::Plain });
    }
    let across = &load.across;
    if across.hosted > 0 {
        let (answered, heard) = (count(across.answered), count(across.heard));
        figures.push(KeyFigure {
            name: "across shards",
            value: format!("{} jobs", count(across.hosted)),
            note: format!(
                "of sessions of other shards; {answered} answered, {heard} answers of other \
                 shards' nodes heard"
            ),
            tone: Tone::Plain,
        });
    }
    if load.freezes.count > 0 {
        figures.push(KeyFigure {
            name: "freezes",
            value: count(load.freezes.count),
            note: format!("nothing came for up to {} s", decimal(load.freezes.longest_s)),
            tone: Tone::Bad,
        });
    }
    if load.skew.nodes > 0 {
        figures.push(KeyFigure {
            name: "skew",
            value: format!("{} nodes", count(load.skew.nodes)),
            note: format!("up to {} sigma above their equals", decimal(load.skew.sigmas)),
            tone: Tone::Bad,
        });
    }
    for outage in &load.outages {
        let (sockets, down) = (count(outage.sockets), decimal(outage.down_s));
        let back = outage.back_s.map(|span| format!("{} s", decimal(span)));
        figures.push(KeyFigure {
            name: "back after",
            tone: if back.is_some() { Tone::Plain } else { Tone::Bad },
            value: back.unwrap_or_else(|| "never".to_owned()),
            note: format!("99 % of {sockets} sockets, once the scheduler was up; down {down} s"),
        });
    }
    let causes = [
        ("failed by cause", &load.failed_by_cause),
        ("timed out", &load.timed_out_by_cause),
        ("judge", &load.findings),
    ];
    for (name, causes) in causes.into_iter().filter(|(_, causes)| !causes.is_empty()) {
        let value = count(causes.values().sum());
        figures.push(KeyFigure { name, value, note: by_cause(causes), tone: Tone::Warn });
    }
    figures
}

fn sockets(name: &'static str, book: &Sockets) -> KeyFigure {
    let mut note = format!(
        "{} requested, {} established, {} closed by us",
        count(book.requested),
        count(book.established),
        count(book.closed_by_us)
    );
    if !book.failed.is_empty() {
        note += &format!("; not opened: {}", by_cause(&book.failed));
    }
    if !book.closed_by_scheduler.is_empty() {
        note += &format!("; closed by the scheduler: {}", by_cause(&book.closed_by_scheduler));
    }
    if book.closed_silently > 0 {
        note += &format!("; dropped by it without a word: {}", count(book.closed_silently));
    }
    let value = format!("{} held", count(book.held));
    let tone = if book.closed_silently > 0 { Tone::Bad } else { Tone::Plain };
    KeyFigure { name, value, note, tone }
}

fn chunks(load: &Load) -> KeyFigure {
    let chunks = &load.chunks;
    KeyFigure {
        name: "chunks",
        value: format!("{} sent", count(chunks.sent)),
        note: format!(
            "{} MB of audio; in jobs {}, refused {}, open {}, lost {}",
            decimal(chunks.bytes as f64 / 1e6),
            count(chunks.in_jobs),
            count(chunks.in_refused),
            count(chunks.open),
            count(chunks.lost)
        ),
        tone: if chunks.lost > 0 { Tone::Bad } else { Tone::Plain },
    }
}

fn lag(load: &Load) -> KeyFigure {
    let bursts = &load.burstiness;
    KeyFigure {
        name: "own send lag",
        value: format!("{} ms", decimal(load.own_lag_p99_ms)),
        note: format!(
            "p99; {} of {} utterances/s sent; peak over mean {} per ms, {} per 10 ms",
            percent(load.achieved),
            decimal(load.planned_per_s),
            decimal(bursts.peak_over_mean_1ms),
            decimal(bursts.peak_over_mean_10ms)
        ),
        tone: Tone::Plain,
    }
}

fn generator(load: &Load) -> KeyFigure {
    let share = |share: Option<f64>| share.map_or_else(|| "unknown".into(), percent);
    let allowed = &load.preflight;
    let mut note = format!(
        "of one core; waited {} for one; {} of {} descriptors, {} of {} ports",
        share(load.generator_starved),
        count(allowed.descriptors_needed),
        count(allowed.descriptors_allowed),
        count(allowed.ports_needed),
        count(allowed.ports_allowed)
    );
    if let Some(kib) = load.kib_per_socket {
        note += &format!("; {} KiB per socket", decimal(kib));
    }
    KeyFigure { name: "generator", value: share(load.generator_cpu), note, tone: Tone::Plain }
}

/// What became of the sockets; empty for a simulated run.
pub fn sockets_table(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("sockets", Align::Left),
        ("requested", Align::Right),
        ("established", Align::Right),
        ("at most", Align::Right),
        ("held", Align::Right),
        ("closed by us", Align::Right),
        ("by the scheduler", Align::Right),
        ("silently", Align::Right),
    ]);
    let Some(load) = &run.load else { return table };
    for (name, sockets) in [("nodes", &load.nodes), ("sessions", &load.sessions)] {
        table.row([
            Cell::from(name),
            Cell::from(sockets.requested),
            Cell::from(sockets.established),
            Cell::from(sockets.held_max),
            Cell::from(sockets.held),
            Cell::from(sockets.closed_by_us),
            Cell::from(total(sockets.closed_by_scheduler.values().copied())),
            Cell::from(sockets.closed_silently),
        ]);
    }
    table
}

/// What the scheduler did that it must not; empty for a simulated run.
pub fn findings_table(run: &Run) -> Table {
    let mut table = Table::new(&[("finding", Align::Left), ("times", Align::Right)]);
    let Some(load) = &run.load else { return table };
    for (name, n) in &load.findings {
        table.row([Cell::from(name.replace('_', " ")), Cell::from(*n)]);
    }
    table
}

/// Why jobs and sockets came to a bad end; empty for a simulated run.
pub fn failures_table(run: &Run) -> Table {
    let mut table =
        Table::new(&[("what", Align::Left), ("cause", Align::Left), ("times", Align::Right)]);
    let Some(load) = &run.load else { return table };
    for (what, causes) in [
        ("job failed", &load.failed_by_cause),
        ("job timed out", &load.timed_out_by_cause),
        ("node not connected", &load.nodes.failed),
        ("node closed by the scheduler", &load.nodes.closed_by_scheduler),
        ("session not connected", &load.sessions.failed),
        ("session closed by the scheduler", &load.sessions.closed_by_scheduler),
    ] {
        for (cause, n) in causes {
            table.row([Cell::from(what), Cell::from(cause.as_str()), Cell::from(*n)]);
        }
    }
    table
}
