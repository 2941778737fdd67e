//! Several runs of one scenario with different seeds: means with 95 % intervals.

use crate::compare::{columns, in_order};
use crate::run::Run;
use crate::stats::{Interval, interval};
use crate::table::{Align, Cell, Table, csv_text};

/// Columns of `replications.csv` before the metrics.
const HEAD: [&str; 4] = ["seed", "verdict", "digest", "arrivals_digest"];

/// One metric over all replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Dotted path.
    pub metric: String,
    /// Mean and interval.
    pub interval: Interval,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// Every metric that all runs have, in reading order; pairs and bounds included.
pub fn rows(runs: &[Run]) -> Vec<Row> {
    let columns = columns(runs);
    let names = in_order(columns.keys().cloned().collect());
    let row = |metric: String| {
        let values = &columns[&metric];
        Row {
            interval: interval(values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            metric,
        }
    };
    names.into_iter().map(row).collect()
}

/// The metrics worth a line as a table: `wanted` paths in their order, or those that vary.
pub fn table(runs: &[Run], wanted: &[&str]) -> Table {
    let right = ["mean", "± 95 %", "min", "max", "runs"].map(|name| (name, Align::Right));
    let mut columns = vec![("metric", Align::Left)];
    columns.extend(right);
    let mut table = Table::new(&columns);
    let rows = rows(runs);
    let chosen: Vec<&Row> = if wanted.is_empty() {
        let aside = |row: &Row| row.metric.starts_with("pairs.") || row.metric == "events";
        rows.iter().filter(|row| row.min != row.max && !aside(row)).collect()
    } else {
        wanted.iter().filter_map(|name| rows.iter().find(|row| row.metric == *name)).collect()
    };
    for row in chosen {
        table.row([
            Cell::from(row.metric.as_str()),
            Cell::decimal(row.interval.mean),
            row.interval.half.map_or_else(|| Cell::new("–", ""), Cell::decimal),
            Cell::decimal(row.min),
            Cell::decimal(row.max),
            Cell::from(row.interval.n as u64),
        ]);
    }
    table
}

/// A row per run with every metric that all runs have, as CSV with a header.
pub fn csv(runs: &[Run]) -> String {
    let columns = columns(runs);
    let names = in_order(columns.keys().cloned().collect());
    let cells = |(at, run): (usize, &Run)| {
        let verdict = serde_json::to_value(run.verdict).unwrap_or_default();
        let verdict = verdict.as_str().unwrap_or_default().to_owned();
        let mut row =
            vec![run.seed.to_string(), verdict, run.digest.clone(), run.arrivals_digest.clone()];
        row.extend(names.iter().map(|name| columns[name][at].to_string()));
        row
    };
    let rows: Vec<Vec<String>> = runs.iter().enumerate().map(cells).collect();
    let header = HEAD.into_iter().chain(names.iter().map(String::as_str));
    csv_text(header, rows.iter().map(|row| row.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn means_carry_intervals() {
        let runs: Vec<Run> = [0.020, 0.022, 0.027]
            .into_iter()
            .map(|refused_ratio| Run { refused_ratio, ..fixture::run() })
            .collect();
        insta::assert_snapshot!(table(&runs, &[]).to_text(100));
        assert_eq!(table(&runs, &["carried_per_s", "no.such"]).rows().len(), 1);
        assert!(table(&[], &[]).is_empty());
    }

    #[test]
    fn runs_are_rows_of_a_csv_file() {
        let runs = [3, 4].map(|seed| Run { seed, ..fixture::run() });
        let text = csv(&runs);
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(header[..5], ["seed", "verdict", "digest", "arrivals_digest", "carried_per_s"]);
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert_eq!(
            rows.iter().map(|row| (row[0], row[1])).collect::<Vec<_>>(),
            [("3", "ok"), ("4", "ok")]
        );
        assert!(rows.iter().all(|row| row.len() == header.len()));
    }
}
