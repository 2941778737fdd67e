//! Latency by percentile, with the x axis by nines.

use hdrhistogram::Histogram;

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{BLUE, Colour, GREEN, ORANGE};
use super::{Figure, PlotError, nothing, pen};
use crate::run::Artifacts;
use crate::summary::to_ms;

const TITLE: &str = "Latency by percentile";
const CAPTION: &str = "Each step to the right drops ninety percent of what was left: read at 99 % \
                       which latency only one job in a hundred exceeds. Flat lines are good, steep \
                       ends are rare but long waits.";
const SERIES: [(&str, &str, Colour); 3] = [
    ("dispatch", "dispatch", ORANGE),
    ("dispatch_net", "dispatch net", BLUE),
    ("response", "response", GREEN),
];
/// Nines shown at most: up to 99.99 %.
const NINES: f64 = 4.0;
/// Points per nine.
const STEPS: u32 = 50;

/// Name, colour and points (nines, ms) of one histogram.
type Line = (&'static str, Colour, Vec<(f64, f64)>);

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let lines: Vec<Line> = SERIES
        .iter()
        .filter_map(|(key, name, colour)| Some((*name, *colour, artifacts.histograms.get(key)?)))
        .filter(|(_, _, histogram)| !histogram.is_empty())
        .map(|(name, colour, histogram)| (name, colour, points(histogram)))
        .collect();
    let svg = draw(TITLE, &lines)?;
    Ok(Figure { name: "latency-percentiles", title: TITLE, caption: CAPTION, svg })
}

/// What was predicted for one latency and what was measured, on one axis.
pub(crate) fn prediction(
    name: &'static str,
    title: &'static str,
    predicted: Option<&Histogram<u64>>,
    measured: Option<&Histogram<u64>>,
) -> Result<Figure, PlotError> {
    let sides = [("predicted", BLUE, predicted), ("measured", ORANGE, measured)];
    let lines: Vec<Line> = sides
        .into_iter()
        .filter_map(|(name, colour, histogram)| Some((name, colour, histogram?)))
        .filter(|(_, _, histogram)| !histogram.is_empty())
        .map(|(name, colour, histogram)| (name, colour, points(histogram)))
        .collect();
    Ok(Figure { name, title, caption: CAPTION, svg: draw(title, &lines)? })
}

fn draw(title: &str, lines: &[Line]) -> Result<String, PlotError> {
    if lines.is_empty() {
        return nothing(title, "No latency was recorded.", false);
    }
    let legend: Vec<(&str, Colour)> = lines.iter().map(|(name, c, _)| (*name, *c)).collect();
    let labels = Labels { title, x: "jobs at or below", y: "latency, ms", legend: &legend };
    let nines = [(0.0, "0 %"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %")];
    let mut ticks: Vec<(f64, String)> = nines.map(|(at, label)| (at, label.into())).into();
    ticks.push((libm::log10(2.0), "50 %".into()));
    let x = Scale::exact(0.0, NINES).with_ticks(ticks);
    let y = Scale::fitting(lines.iter().flat_map(|(_, _, points)| points).map(|(_, ms)| *ms));
    pen::svg((WIDTH, HEIGHT), title, |pen| {
        let axes = Axes::draw(pen, Part::whole(pen), (x, y), &labels, |_| Ok(()))?;
        for (_, colour, points) in lines {
            let points: Vec<_> = points.iter().map(|(x, ms)| axes.at(*x, *ms)).collect();
            pen.line(&points, *colour, 2.0)?;
        }
        Ok(())
    })
}

/// (nines, ms) as far as there are jobs to tell them apart.
fn points(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let known = libm::log10(histogram.len() as f64).clamp(1.0, NINES);
    let steps = (known * f64::from(STEPS)) as u32;
    let at = |step: u32| {
        let nines = f64::from(step) / f64::from(STEPS);
        (nines, to_ms(histogram.value_at_quantile(1.0 - libm::pow(10.0, -nines))))
    };
    (0..=steps).map(at).collect()
}
