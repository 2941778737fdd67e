//! Variants of one scenario side by side.

use lingua_reports::number;
use lingua_reports::run::Run;
use lingua_reports::table::{Align, Cell, Table};

/// One row per variant. The columns are those that tell the variants apart.
pub(crate) fn table(rows: &[(&str, &Run)]) -> Table {
    if rows.iter().any(|(_, run)| run.duties.is_some()) {
        return of_duties(rows);
    }
    let affinity = rows.iter().any(|(_, run)| run.affinity.expected > 0);
    let mut columns = vec![
        ("variant", Align::Left),
        ("carried/s", Align::Right),
        ("refused", Align::Right),
        ("oversold", Align::Right),
        ("max/mean", Align::Right),
        ("p99 ms", Align::Right),
    ];
    if affinity {
        columns.extend([
            ("kept", Align::Right),
            ("expected", Align::Right),
            ("broken", Align::Right),
            ("lost s", Align::Right),
        ]);
    }
    let mut table = Table::new(&columns);
    for (name, run) in rows {
        let mut cells = vec![
            text(name),
            text(&number::decimal(run.carried_per_s)),
            text(&number::percent(run.refused_ratio)),
            text(&number::count(run.oversold.assignments)),
            text(&number::decimal(run.fairness.max_over_mean)),
            text(&number::decimal(run.latency_ms.response.p99)),
        ];
        if affinity {
            cells.extend([
                text(&number::count(run.affinity.kept)),
                text(&number::count(run.affinity.expected)),
                text(&number::count(run.broken_segments.count)),
                text(&number::decimal(run.broken_segments.lost_speech_s)),
            ]);
        }
        table.row(cells);
    }
    table
}

fn of_duties(rows: &[(&str, &Run)]) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("variant", Align::Left),
        right("all held, s"),
        right("longest, s"),
        right("unheld"),
        right("max/mean"),
        right("moved"),
        right("stale"),
        right("alarms"),
    ]);
    for (name, run) in rows {
        let Some(duties) = &run.duties else { continue };
        table.row([
            text(name),
            text(&number::decimal(duties.all_held_again_s)),
            text(&number::decimal(duties.longest_unheld_s)),
            text(&number::count(duties.unheld_at_end)),
            text(&number::decimal(duties.max_over_mean)),
            text(&number::count(duties.moves)),
            text(&number::count(duties.writes.stale)),
            text(&number::count(duties.alarms)),
        ]);
    }
    table
}

fn text(shown: &str) -> Cell {
    Cell::new(shown, shown)
}
