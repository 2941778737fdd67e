//! Dispatch latency over time: median and 99th percentile.

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{BLUE, ORANGE};
use super::{Figure, PlotError, nothing, pen};
use crate::run::{Artifacts, Sample};
use crate::timeseries::thin;

const TITLE: &str = "Dispatch latency over time";

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let rows: Vec<Sample> =
        thin(&artifacts.timeseries, 400).into_iter().filter(|s| s.dispatch_p99_ms > 0.0).collect();
    let svg = if rows.is_empty() {
        nothing(TITLE, "No latency was recorded over time.", false)?
    } else {
        draw(artifacts, &rows)?
    };
    Ok(Figure {
        name: "latency-over-time",
        title: TITLE,
        caption: "The median and the slowest one in a hundred of each moment; a gap that opens \
                  between the two lines is a queue that builds up somewhere.",
        svg,
    })
}

fn draw(artifacts: &Artifacts, rows: &[Sample]) -> Result<String, PlotError> {
    let legend = [("p50", BLUE), ("p99", ORANGE)];
    let labels = Labels { title: TITLE, x: "time, s", y: "dispatch latency, ms", legend: &legend };
    let end = rows.last().map_or(1.0, |s| s.t_s);
    let x = Scale::exact(0.0, end);
    let y = Scale::fitting(rows.iter().flat_map(|s| [s.dispatch_p50_ms, s.dispatch_p99_ms]));
    pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
        let axes = Axes::draw(pen, Part::whole(pen), (x, y), &labels, |axes| {
            axes.shade_until(pen, artifacts.warmup_s)
        })?;
        let line = |value: fn(&Sample) -> f64| -> Vec<_> {
            rows.iter().map(|s| axes.at(s.t_s, value(s))).collect()
        };
        pen.line(&line(|s| s.dispatch_p99_ms), ORANGE, 1.5)?;
        pen.line(&line(|s| s.dispatch_p50_ms), BLUE, 1.75)
    })
}
