//! Jobs offered, completed and refused per second.

use super::axes::{Axes, Labels, Part, Scale, WIDTH};
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
        caption: "Offered and completed should lie on each other. Below, on its own scale: jobs \
                  refused for want of a node.",
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
    let end = rows.last().map_or(1.0, |row| row[0]);
    let most = rows.iter().map(|row| row[1].max(row[2])).fold(0.0, f64::max);
    let most_refused = rows.iter().map(|row| row[3]).fold(0.0, f64::max);
    let legend = [("offered", BLUE), ("completed", GREEN)];
    let above = Labels { title: TITLE, x: "", y: "jobs per second", legend: &legend };
    let below = Labels { title: "", x: "time, s", y: "refused per second", legend: &[] };
    pen::svg((WIDTH, 500), TITLE, |pen| {
        let line = |axes: &Axes, i: usize| -> Vec<_> {
            rows.iter().map(|row| axes.at(row[0], row[i])).collect()
        };
        let part = Part { bottom: 310.0, ..Part::whole(pen) };
        let scales = (Scale::exact(0.0, end), Scale::linear(0.0, most * 1.02));
        let axes = Axes::draw(pen, part, scales, &above, |axes| {
            axes.shade_until(pen, artifacts.warmup_s)
        })?;
        pen.line(&line(&axes, 1), BLUE, 1.75)?;
        pen.line(&line(&axes, 2), GREEN, 1.5)?;
        let part = Part { top: 240.0, ..Part::whole(pen) };
        let scales = (Scale::exact(0.0, end), Scale::linear(0.0, most_refused));
        let axes = Axes::draw(pen, part, scales, &below, |axes| {
            axes.shade_until(pen, artifacts.warmup_s)
        })?;
        let refused = line(&axes, 3);
        let mut outline = refused.clone();
        outline.extend([(axes.x_at(end), axes.bottom), (refused[0].0, axes.bottom)]);
        pen.area(&outline, ORANGE, 0.3)?;
        pen.line(&refused, ORANGE, 1.5)
    })
}
