//! Jobs offered, completed and refused per second.

use super::axes::{Axes, HEIGHT, Labels, Scale, WIDTH};
use super::palette::{BLUE, GREEN, ORANGE};
use super::{Figure, PlotError, nothing, pen};
use crate::run::{Artifacts, Sample};
use crate::timeseries::thin;

const TITLE: &str = "Jobs over time";

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let svg = if artifacts.timeseries.is_empty() {
        nothing(TITLE, "No time series was recorded.", false)?
    } else {
        draw(artifacts)?
    };
    Ok(Figure {
        name: "refusals-over-time",
        title: TITLE,
        caption: "Offered and completed should lie on each other; the filled area at the foot is \
                  what was refused for want of a node.",
        svg,
    })
}

/// A row as rates: (time, offered, completed, refused) per second.
fn rates(rows: &[Sample]) -> Vec<[f64; 4]> {
    let mut before = 0.0;
    let mut out = Vec::with_capacity(rows.len());
    for s in rows {
        let span = if s.t_s > before { s.t_s - before } else { 1.0 };
        before = s.t_s;
        out.push([s.t_s, s.offered as f64, s.completed as f64, s.refused as f64].map(|v| v / span));
        if let Some(row) = out.last_mut() {
            row[0] = s.t_s;
        }
    }
    out
}

fn draw(artifacts: &Artifacts) -> Result<String, PlotError> {
    let rows = rates(&thin(&artifacts.timeseries, 300));
    let legend = [("offered", BLUE), ("completed", GREEN), ("refused", ORANGE)];
    let labels = Labels { title: TITLE, x: "time, s", y: "jobs per second", legend: &legend };
    let end = rows.last().map_or(1.0, |row| row[0]);
    let most = rows.iter().flat_map(|row| row[1..].iter().copied()).fold(0.0, f64::max);
    let scales = (Scale::exact(0.0, end), Scale::linear(0.0, most * 1.02));
    pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
        let axes = Axes::draw(pen, (0.0, pen.width), scales, &labels, |axes| {
            axes.shade_until(pen, artifacts.warmup_s)
        })?;
        let line =
            |i: usize| -> Vec<_> { rows.iter().map(|row| axes.at(row[0], row[i])).collect() };
        let refused = line(3);
        let mut outline = refused.clone();
        outline.extend([axes.at(end, 0.0), (refused[0].0, axes.bottom)]);
        pen.line(&line(1), BLUE, 1.75)?;
        pen.line(&line(2), GREEN, 1.5)?;
        pen.area(&outline, ORANGE, 0.35)?;
        pen.line(&refused, ORANGE, 1.5)
    })
}
