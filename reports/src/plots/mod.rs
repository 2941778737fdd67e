//! Figures as SVG, one file per figure, drawn without fonts so that bytes do not depend on a machine.

mod axes;
mod duties;
mod heat_map;
mod jobs_per_node;
mod latency_over_time;
mod overselling;
mod palette;
mod pen;
mod percentiles;
mod policies;
mod refusals;
mod refused_per_pair;
mod utilisation;

pub use heat_map::{HeatMap, heat_map};
pub(crate) use percentiles::prediction;
pub use policies::{Bar, policies};

use self::palette::{GREEN, INK, MUTED};
use self::pen::{Anchor, Face};
use crate::run::Artifacts;

/// Why a figure could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw the figure: {0}")]
pub struct PlotError(String);

impl PlotError {
    fn new(cause: impl std::fmt::Display) -> Self {
        Self(cause.to_string())
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How to read it, one sentence.
    pub caption: &'static str,
    /// The drawing.
    pub svg: String,
}

/// All figures of a run, in reading order.
pub fn figures(artifacts: &Artifacts) -> Result<Vec<Figure>, PlotError> {
    if artifacts.run.duties.is_some() {
        return Ok(vec![duties::figure(artifacts)?]);
    }
    Ok(vec![
        percentiles::figure(artifacts)?,
        latency_over_time::figure(artifacts)?,
        refusals::figure(artifacts)?,
        utilisation::figure(artifacts)?,
        refused_per_pair::figure(artifacts)?,
        jobs_per_node::figure(artifacts)?,
        overselling::figure(artifacts)?,
    ])
}

/// A calm picture that says there is nothing to see; `good` when that is the wish.
fn nothing(title: &str, words: &str, good: bool) -> Result<String, PlotError> {
    pen::svg((axes::WIDTH, 180), &format!("{title}: {words}"), |pen| {
        axes::heading(pen, (0.0, 0.0), pen.width, title, &[])?;
        let centre = (pen.width / 2.0, 84.0);
        if good {
            pen.dot(centre, 24.0, GREEN)?;
            let (x, y) = centre;
            let tick = [(x - 10.0, y), (x - 3.0, y + 8.0), (x + 11.0, y - 8.0)];
            pen.line(&tick, palette::PAPER, 4.0)?;
        }
        let colour = if good { INK } else { MUTED };
        let below = (pen.width / 2.0, if good { 136.0 } else { 96.0 });
        pen.text(below, words, Face::new(14.0, colour).at(Anchor::Middle))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::run::Run;

    #[test]
    fn every_figure_is_drawn_and_alike_each_time() {
        let artifacts = fixture::artifacts();
        let drawn = figures(&artifacts).unwrap();
        assert_eq!(drawn, figures(&artifacts).unwrap());
        for figure in drawn {
            assert!(figure.svg.starts_with("<svg width=\"900\""), "{}", figure.name);
            assert!(figure.svg.trim_end().ends_with("</svg>"), "{}", figure.name);
            assert!(!figure.svg.contains("NaN"), "{}", figure.name);
        }
    }

    #[test]
    fn a_run_of_nothing_can_be_drawn() {
        let empty = Artifacts {
            run: Run { duties: None, ..crate::metrics::blank() },
            histograms: [].into(),
            timeseries: Vec::new(),
            node_jobs: Vec::new(),
            ..fixture::artifacts()
        };
        assert_eq!(figures(&empty).unwrap().len(), 7);
    }
}
