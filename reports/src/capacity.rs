//! Rows of the capacity matrices: as a table, as `capacity.csv`, as a heat map.

use serde::{Deserialize, Serialize};

use crate::number::decimal;
use crate::plots::HeatMap;
use crate::table::{Align, Cell, Table};

/// The largest rate found under an expectation, with all that it stands on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRow {
    /// Nodes.
    pub nodes: u64,
    /// Selection policy.
    pub policy: String,
    /// Scheduler instances.
    pub instances: u32,
    /// Offered load as a share of all slots, where it was held.
    pub load: Option<f64>,
    /// Largest rate in jobs per second that met the expectation; absent: none did, or not known yet.
    pub largest_rate: Option<f64>,
    /// Half width of its 95 % interval.
    pub ci95: Option<f64>,
    /// What gives way first beyond it.
    pub first_limit: String,
    /// The expectation it was searched under.
    pub expectation: String,
    /// Inputs that were measured, by name.
    pub measured: Vec<String>,
    /// Inputs that were assumed, by name.
    pub assumed: Vec<String>,
    /// Seed.
    pub seed: u64,
    /// The command that makes this row.
    pub command: String,
}

/// An axis of a heat map over capacity rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Number of nodes.
    Nodes,
    /// Selection policy.
    Policy,
    /// Scheduler instances.
    Instances,
    /// Offered load.
    Load,
}

impl Axis {
    fn title(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Policy => "policy",
            Self::Instances => "scheduler instances",
            Self::Load => "offered load",
        }
    }

    fn label(self, row: &CapacityRow) -> String {
        match self {
            Self::Nodes => crate::number::count(row.nodes),
            Self::Policy => row.policy.clone(),
            Self::Instances => row.instances.to_string(),
            Self::Load => row.load.map_or_else(|| "–".into(), decimal),
        }
    }
}

/// The rows as a table; its CSV is `capacity.csv`.
pub fn table(rows: &[CapacityRow]) -> Table {
    let mut table = Table::new(&[
        ("nodes", Align::Right),
        ("policy", Align::Left),
        ("instances", Align::Right),
        ("load", Align::Right),
        ("largest rate, jobs/s", Align::Right),
        ("± 95 %", Align::Right),
        ("first limit", Align::Left),
        ("expectation", Align::Left),
        ("measured", Align::Left),
        ("assumed", Align::Left),
        ("seed", Align::Right),
        ("command", Align::Left),
    ]);
    for row in rows {
        let origin = [
            Cell::from(row.expectation.as_str()),
            Cell::from(row.measured.join(", ")),
            Cell::from(row.assumed.join(", ")),
            Cell::new(row.seed.to_string(), row.seed.to_string()),
            Cell::from(row.command.as_str()),
        ];
        table.row(found(row).into_iter().chain(origin));
    }
    table
}

/// The rows without what only reproduces them: narrow enough for a terminal.
pub fn short_table(rows: &[CapacityRow]) -> Table {
    let mut table = Table::new(&[
        ("nodes", Align::Right),
        ("policy", Align::Left),
        ("instances", Align::Right),
        ("load", Align::Right),
        ("jobs/s", Align::Right),
        ("± 95 %", Align::Right),
        ("first limit", Align::Left),
    ]);
    for row in rows {
        table.row(found(row));
    }
    table
}

/// The columns that both tables have.
fn found(row: &CapacityRow) -> [Cell; 7] {
    let known = |value: Option<f64>| value.map_or_else(|| Cell::new("–", ""), Cell::decimal);
    [
        Cell::from(row.nodes),
        Cell::from(row.policy.as_str()),
        Cell::from(u64::from(row.instances)),
        known(row.load),
        known(row.largest_rate),
        known(row.ci95),
        Cell::from(row.first_limit.as_str()),
    ]
}

/// `capacity.csv`: every column, every digit.
pub fn csv(rows: &[CapacityRow]) -> String {
    table(rows).to_csv()
}

/// The largest rate over two axes; where several rows fall in one cell the smallest stands,
/// which is the one a planner can rely on. Labels keep the order of the rows.
pub fn heat_map(rows: &[CapacityRow], x: Axis, y: Axis) -> HeatMap {
    let (mut columns, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for row in rows {
        for (axis, labels) in [(x, &mut columns), (y, &mut lines)] {
            let label = axis.label(row);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    let cell = |line: &String, column: &String| {
        rows.iter()
            .filter(|row| x.label(row) == *column && y.label(row) == *line)
            .filter_map(|row| row.largest_rate)
            .reduce(f64::min)
    };
    let values = lines
        .iter()
        .map(|line| columns.iter().map(|column| cell(line, column)).collect())
        .collect();
    HeatMap {
        title: "Largest rate that meets the expectation".into(),
        x_title: x.title().into(),
        y_title: y.title().into(),
        unit: "jobs/s".into(),
        x: columns,
        y: lines,
        values,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Vec<CapacityRow> {
        let mut rows = Vec::new();
        for nodes in [50, 100, 200, 500, 1000] {
            for (i, policy) in ["sample-reserve", "sample-scan", "power-of-d"].iter().enumerate() {
                let rate = nodes as f64 * (1.4 + 0.25 * i as f64);
                rows.push(CapacityRow {
                    nodes,
                    policy: (*policy).into(),
                    instances: 1,
                    load: None,
                    largest_rate: (nodes < 1000 || i > 0).then_some(rate),
                    ci95: Some(rate * 0.01),
                    first_limit: if nodes < 500 { "slots of pair zh:en" } else { "scheduler CPU" }
                        .into(),
                    expectation: "refused_ratio ≤ 0.01".into(),
                    measured: vec!["costs".into()],
                    assumed: vec!["service time".into(), "store latency".into()],
                    seed: 7,
                    command: format!(
                        "lingua capacity scenarios/pair.toml --set nodes.0.count={nodes}"
                    ),
                });
            }
        }
        rows
    }

    #[test]
    fn rows_become_a_table_and_csv() {
        let rows = sample();
        insta::assert_snapshot!(short_table(&rows[..4]).to_text(100));
        let csv = csv(&rows);
        assert_eq!(csv.lines().count(), rows.len() + 1);
        assert!(csv.contains("\"service time, store latency\""));
    }

    #[test]
    fn unknown_cells_stay_open() {
        let map = heat_map(&sample(), Axis::Nodes, Axis::Policy);
        assert_eq!(map.x, ["50", "100", "200", "500", "1,000"]);
        assert_eq!(map.values[0][4], None);
        assert_eq!(map.values[1][0], Some(82.5));
        assert!(crate::plots::heat_map(&map).is_ok());
        assert!(heat_map(&[], Axis::Load, Axis::Instances).x.is_empty());
    }
}
