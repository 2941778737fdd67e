//! What a run over real sockets says about the load and its sockets.

use super::{KeyFigure, Tone, ratio, total};
use crate::load::Load;
use crate::number::{count, counted, decimal, percent};
use crate::run::Run;
use crate::table::{Align, Cell, Table};

/// Key figures of what should not happen, and of crashes that the scenario planned.
pub(super) fn figures(load: &Load) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
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
            value: counted(load.skew.nodes, "node"),
            note: format!("up to {} sigma above their equals", decimal(load.skew.sigmas)),
            tone: Tone::Bad,
        });
    }
    for outage in &load.outages {
        let (sockets, down) = (count(outage.sockets), decimal(outage.down_s));
        figures.push(KeyFigure {
            name: "back after",
            value: format!("{} s", decimal(outage.back_s)),
            note: format!("99 % of {sockets} sockets, once the scheduler was up; down {down} s"),
            tone: Tone::Plain,
        });
    }
    figures
}

/// How well the generator kept its plan; empty for a simulated run.
pub fn generator_table(run: &Run) -> Table {
    let mut table =
        Table::new(&[("generator", Align::Left), ("value", Align::Right), ("", Align::Left)]);
    let Some(load) = &run.load else { return table };
    let lag = run.latency_ms.send_lag;
    let mut rows = vec![
        (
            "plan kept",
            percent(load.achieved),
            format!("sent of {} jobs/s planned", decimal(load.planned_per_s)),
        ),
        (
            "send lag",
            format!("{} / {} ms", decimal(lag.p50), decimal(lag.p99)),
            format!("p50 / p99; by the generator's own fault {} ms", decimal(load.own_lag_p99_ms)),
        ),
        (
            "processor",
            share(load.generator_cpu),
            format!(
                "of one core; waited {} for one; {} KiB per socket held",
                share(load.generator_starved),
                load.kib_per_socket.map_or_else(|| "unknown".to_owned(), decimal)
            ),
        ),
        (
            "burstiness",
            format!("{} ×", decimal(load.burstiness.peak_over_mean_1ms)),
            format!(
                "peak over mean per 1 ms; {} × per 10 ms",
                decimal(load.burstiness.peak_over_mean_10ms)
            ),
        ),
        supply(
            "descriptors",
            load.preflight.descriptors_needed,
            load.preflight.descriptors_allowed,
        ),
        supply("ports", load.preflight.ports_needed, load.preflight.ports_allowed),
        chunks(load),
    ];
    if load.shard.of > 1 {
        rows.push(("shard", load.shard.to_string(), "part of the plan".to_owned()));
    }
    for (name, value, note) in rows {
        table.row([name.to_owned(), value, note].map(Cell::from));
    }
    table
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "unknown".to_owned(), percent)
}

fn supply(name: &'static str, needed: u64, allowed: u64) -> (&'static str, String, String) {
    let short = if needed > allowed { ": too few" } else { "" };
    (name, count(needed), format!("needed, {} allowed{short}", count(allowed)))
}

fn chunks(load: &Load) -> (&'static str, String, String) {
    let chunks = &load.chunks;
    let note = format!(
        "{} in jobs, {} refused, {} open, {} lost ({}); {} MB",
        count(chunks.in_jobs),
        count(chunks.in_refused),
        count(chunks.open),
        count(chunks.lost),
        percent(ratio(chunks.lost, chunks.sent)),
        decimal(chunks.bytes as f64 / 1e6)
    );
    ("chunks of audio", count(chunks.sent), note)
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
