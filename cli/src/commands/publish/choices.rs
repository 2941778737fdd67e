//! What each design choice costs.

use std::path::Path;

use lingua_reports::number::{decimal, percent};
use lingua_reports::run::Run;
use lingua_reports::table::{Align, Cell, Table};
use lingua_reports::theory;

use super::choice_cases::groups;
use super::replicated::{Replicated, command, replicate};
use crate::failure::Failure;

pub(super) fn table(dir: &Path, threads: usize) -> Result<String, Failure> {
    let mut table = Table::new(&[
        ("choice", Align::Left),
        ("refused", Align::Right),
        ("Erlang B", Align::Right),
        ("dispatch p99 ms", Align::Right),
        ("response p99 ms", Align::Right),
        ("oversold", Align::Right),
        ("busiest/mean", Align::Right),
        ("nodes used", Align::Right),
        ("busy slots per node", Align::Right),
        ("affinity kept", Align::Right),
        ("broken segments", Align::Right),
        ("speech lost s", Align::Right),
        ("first limit", Align::Left),
        ("inputs", Align::Left),
        ("command", Align::Left),
    ]);
    for (file, cases) in groups() {
        let found = replicate(&dir.join(file), &cases, threads)?;
        for (case, runs) in cases.iter().zip(&found) {
            let mut cells: Vec<Cell> = vec![Cell::from(case.name.as_str())];
            cells.extend(figures(runs).map(Cell::from));
            cells.push(Cell::code(&command(file, case)));
            table.row(cells);
        }
    }
    Ok(format!(
        "\n## What each design choice costs\n\n{}\nOne block per scenario; within a block all rows \
         with the same load met the same arrivals. Erlang B is the floor that no scheduler without \
         a queue can beat, shown where its model holds. Nodes used: those that got a job, of those \
         in service at the end. A pinned session refuses at least Erlang B of the slots that its \
         pool has left: {} where 200 slots meet 320 jobs. Below 60 s an affinity ends before \
         speakers who pause go on. The documented reservation compares strings, and \"2\" is not \
         less than \"10\". Oversold, affinity and segments are counts per run.\n",
        table.to_markdown(),
        percent(theory::erlang_b(200, 320.0)),
    ))
}

/// Mean number of busy slots of a node.
fn busy_slots(run: &Run) -> f64 {
    let setting = |name: &str| run.setting.get(name).and_then(|text| text.parse::<f64>().ok());
    let nodes = setting("nodes").unwrap_or(0.0).max(1.0);
    run.utilisation * setting("slots").unwrap_or(0.0) / nodes
}

fn figures(runs: &Replicated) -> [String; 13] {
    let erlang_b = runs.first().erlang_b.is_some();
    let erlang_b = erlang_b.then(|| runs.mean(|run| run.erlang_b.unwrap_or(0.0)));
    let kept = runs.mean(|run| run.affinity.kept as f64);
    let expected = runs.mean(|run| run.affinity.expected as f64);
    [
        runs.percent(|run| run.refused_ratio),
        erlang_b.map_or_else(|| "n/a".to_owned(), percent),
        runs.decimal(|run| run.latency_ms.dispatch_net.p99),
        runs.decimal(|run| run.latency_ms.response.p99),
        runs.decimal(|run| run.oversold.assignments as f64),
        runs.decimal(|run| run.fairness.max_over_mean),
        runs.nodes_used(),
        runs.decimal(busy_slots),
        format!("{} of {}", decimal(kept), decimal(expected)),
        runs.decimal(|run| run.broken_segments.count as f64),
        runs.decimal(|run| run.broken_segments.lost_speech_s),
        runs.first_limit(),
        runs.inputs(),
    ]
}
