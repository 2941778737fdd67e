//! Busy slots and busy scheduler over time.

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{BLUE, PURPLE};
use super::{Figure, PlotError, nothing, pen};
use crate::run::{Artifacts, Kind, Sample};
use crate::timeseries::thin;

const TITLE: &str = "Utilisation over time";

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let svg = if artifacts.timeseries.is_empty() {
        nothing(TITLE, "No time series was recorded.", false)?
    } else {
        draw(artifacts)?
    };
    Ok(Figure {
        name: "utilisation",
        title: TITLE,
        caption: match artifacts.run.kind {
            Kind::Sim => {
                "Whichever line comes nearer to 100 % gives way first: the slots of the nodes, or \
                 the busiest scheduler instance."
            }
            Kind::Load => "The nearer it comes to 100 %, the sooner jobs find no slot.",
        },
        svg,
    })
}

fn draw(artifacts: &Artifacts) -> Result<String, PlotError> {
    let rows = thin(&artifacts.timeseries, 300);
    // How busy a scheduler is cannot be seen from outside.
    let inside = artifacts.run.kind == Kind::Sim;
    let legend = [("slots", BLUE), ("busiest scheduler instance", PURPLE)];
    let legend = if inside { &legend[..] } else { &legend[..1] };
    let labels = Labels { title: TITLE, x: "time, s", y: "busy share", legend };
    let end = rows.last().map_or(1.0, |s| s.t_s);
    // Overselling can push the share above 100 %.
    let most = rows.iter().map(|s| s.utilisation * 100.0).fold(100.0, f64::max);
    let scales = (Scale::exact(0.0, end), Scale::linear(0.0, most).unit(" %"));
    pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
        let axes = Axes::draw(pen, Part::whole(pen), scales, &labels, |axes| {
            axes.shade_until(pen, artifacts.warmup_s)
        })?;
        let line = |value: fn(&Sample) -> f64| -> Vec<_> {
            rows.iter().map(|s| axes.at(s.t_s, 100.0 * value(s))).collect()
        };
        let slots = line(|s| s.utilisation);
        let mut outline = slots.clone();
        outline.extend([(slots[slots.len() - 1].0, axes.bottom), (slots[0].0, axes.bottom)]);
        pen.area(&outline, BLUE, 0.12)?;
        pen.line(&slots, BLUE, 1.75)?;
        if inside {
            pen.line(&line(|s| s.scheduler_busy), PURPLE, 1.75)?;
        }
        Ok(())
    })
}
