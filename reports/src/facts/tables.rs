//! The tables of a run.

use std::collections::BTreeMap;

use super::{demand, ratio, total};
use crate::run::{PairRow, Run, Summary};
use crate::table::{Align, Cell, Table};

/// Pairs listed one by one; the rest is summed.
pub const PAIRS_SHOWN: usize = 12;

/// Accounts as a table, with the three ends that must be zero.
pub fn accounts_table(run: &Run) -> Table {
    let j = &run.jobs;
    let mut table =
        Table::new(&[("jobs", Align::Left), ("count", Align::Right), ("of offered", Align::Right)]);
    let rows = [
        ("offered", j.offered),
        ("completed", j.completed),
        ("failed", j.failed),
        ("refused", j.refused),
        ("timed out", j.timed_out),
        ("lost (must be zero)", j.lost),
        ("in flight at the end", j.in_flight),
        ("never sent", j.never_sent),
        ("duplicate answers (must be zero)", j.duplicate),
        ("reordered answers (must be zero)", j.reordered),
    ];
    for (name, n) in rows {
        table.row([Cell::from(name), Cell::from(n), Cell::percent(ratio(n, j.offered))]);
    }
    table
}

/// Latency summaries, one row each; those without values are left out.
pub fn latency_table(run: &Run) -> Table {
    let mut columns = vec![("latency, ms", Align::Left)];
    let names = ["count", "mean", "p50", "p90", "p99", "p99.9", "max"];
    columns.extend(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(&columns);
    for (name, s) in latencies(run).into_iter().filter(|(_, s)| s.count > 0) {
        let values = [s.mean, s.p50, s.p90, s.p99, s.p999, s.max];
        let start = [Cell::from(name), Cell::from(s.count)];
        table.row(start.into_iter().chain(values.map(Cell::decimal)));
    }
    table
}

/// The latency summaries of a run by name, in the order they are shown.
pub fn latencies(run: &Run) -> [(&'static str, Summary); 7] {
    let l = &run.latency_ms;
    [
        ("dispatch", l.dispatch),
        ("dispatch net", l.dispatch_net),
        ("response", l.response),
        ("service", l.service),
        ("wait for a slot", l.wait),
        ("store operation", l.store),
        ("send lag", l.send_lag),
    ]
}

/// Refusals per pair: those with most jobs one by one, the rest summed.
pub fn pairs_table(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("pair", Align::Left),
        ("nodes", Align::Right),
        ("slots", Align::Right),
        ("offered", Align::Right),
        ("refused", Align::Right),
        ("ratio", Align::Right),
        ("Erlang B", Align::Right),
        ("z", Align::Right),
    ]);
    let pairs = pairs_by_offered(run);
    let absent = || Cell::new("not applicable", "");
    for p in pairs.iter().take(PAIRS_SHOWN) {
        table.row([
            Cell::from(p.pair.as_str()),
            Cell::from(u64::from(p.nodes)),
            Cell::from(u64::from(p.slots)),
            Cell::from(p.offered),
            Cell::from(p.refused),
            Cell::percent(p.refused_ratio),
            p.erlang_b.map_or_else(absent, Cell::percent),
            p.z.map_or_else(
                || Cell::new("–", ""),
                |z| Cell::new(format!("{z:+.1}"), z.to_string()),
            ),
        ]);
    }
    if pairs.len() > PAIRS_SHOWN {
        let rest = &pairs[PAIRS_SHOWN..];
        let offered = total(rest.iter().map(|p| p.offered));
        let refused = total(rest.iter().map(|p| p.refused));
        table.row([
            Cell::from(format!("{} more", rest.len())),
            Cell::from(""),
            Cell::from(""),
            Cell::from(offered),
            Cell::from(refused),
            Cell::percent(ratio(refused, offered)),
        ]);
    }
    table
}

/// Pairs, most jobs first; equal ones by name.
pub fn pairs_by_offered(run: &Run) -> Vec<&PairRow> {
    let mut pairs: Vec<&PairRow> = run.pairs.iter().collect();
    pairs.sort_by(|a, b| b.offered.cmp(&a.offered).then_with(|| a.pair.cmp(&b.pair)));
    pairs
}

/// Expectations and what was found.
pub fn expectations_table(run: &Run) -> Table {
    let mut table =
        Table::new(&[("", Align::Left), ("expected", Align::Left), ("found", Align::Right)]);
    for e in &run.expectations {
        table.row([
            Cell::from(if e.met { "met" } else { "FAILED" }),
            Cell::from(demand(e)),
            e.found.map_or_else(|| Cell::new("no such value", ""), Cell::decimal),
        ]);
    }
    table
}

/// A table of counts by name.
pub fn counts_table(name: &str, counts: &BTreeMap<String, u64>) -> Table {
    let mut table = Table::new(&[(name, Align::Left), ("times", Align::Right)]);
    for (name, n) in counts {
        table.row([Cell::from(name.as_str()), Cell::from(*n)]);
    }
    table
}

/// Where the inputs come from.
pub fn inputs_table(run: &Run) -> Table {
    let mut table = Table::new(&[("input", Align::Left), ("comes from", Align::Left)]);
    for (name, origin) in &run.inputs {
        table.row([Cell::from(name.as_str()), Cell::from(origin.as_str())]);
    }
    table
}
