//! Pictures of a run as SVG: no fonts are read, so equal runs give equal bytes.

mod bars;
mod lines;

use crate::run::Artifacts;

/// One picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// File name without its ending.
    pub file: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How to read it, in a sentence.
    pub caption: &'static str,
    /// The picture.
    pub svg: String,
}

/// All pictures of a run, in the order they are shown.
pub fn all(artifacts: &Artifacts) -> Vec<Plot> {
    vec![
        Plot {
            file: "latency-percentiles",
            title: "Latency by percentile",
            caption: "Each step to the right is ten times rarer. A line that bends up late says \
                      that few jobs wait long; one that is high everywhere, that all do.",
            svg: lines::percentiles(artifacts),
        },
        Plot {
            file: "jobs-over-time",
            title: "Jobs over time",
            caption: "Offered and completed should lie on each other; what is refused or failed \
                      opens a gap. The shaded part is the warm-up, which is not counted.",
            svg: lines::jobs(artifacts),
        },
        Plot {
            file: "latency-over-time",
            title: "Dispatch latency over time",
            caption: "Median and 99th percentile of each interval, hangover included.",
            svg: lines::latency(artifacts),
        },
        Plot {
            file: "utilisation",
            title: "Utilisation over time",
            caption: "Share of all slots in service that are busy, and of the busiest scheduler's \
                      time.",
            svg: lines::utilisation(artifacts),
        },
        Plot {
            file: "oversold",
            title: "Overselling",
            caption: "Assignments beyond a node's max_jobs, by the size of the excess. Nothing \
                      here is what you want.",
            svg: bars::oversold(artifacts),
        },
        Plot {
            file: "jobs-per-node",
            title: "Jobs per node",
            caption: "Jobs per slot of every node, sorted; the dashed line is the fair share. \
                      A steep curve is skew.",
            svg: bars::per_node(artifacts),
        },
        Plot {
            file: "refused-per-pair",
            title: "Refused per pair",
            caption: "Share of refused jobs of each directed pair.",
            svg: bars::per_pair(artifacts),
        },
    ]
}

/// Size of a picture.
const SIZE: (u32, u32) = (900, 340);

/// Colours that stay apart for colour-blind readers (Okabe and Ito).
mod colour {
    use plotters::style::RGBColor;

    pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
    pub(super) const ORANGE: RGBColor = RGBColor(213, 94, 0);
    pub(super) const GREEN: RGBColor = RGBColor(0, 158, 115);
    pub(super) const PINK: RGBColor = RGBColor(204, 121, 167);
    pub(super) const INK: RGBColor = RGBColor(60, 66, 76);
    pub(super) const GRID: RGBColor = RGBColor(228, 232, 238);
    pub(super) const SHADE: RGBColor = RGBColor(240, 241, 244);
}

/// Draws with a closure. A picture that cannot be drawn (it never should) is an empty one.
fn svg(
    draw: impl FnOnce(
        &plotters::drawing::DrawingArea<plotters::backend::SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), String>,
) -> String {
    let mut text = String::new();
    {
        use plotters::drawing::IntoDrawingArea as _;
        let backend = plotters::backend::SVGBackend::with_string(&mut text, SIZE);
        let area = backend.into_drawing_area();
        let drawn = area.fill(&plotters::style::WHITE).map_err(|error| error.to_string());
        let drawn = drawn.and_then(|()| draw(&area));
        debug_assert!(drawn.is_ok(), "{drawn:?}");
        let presented = area.present();
        debug_assert!(presented.is_ok(), "{presented:?}");
    }
    text
}

/// An upper end for an axis: a little above the largest value, never zero.
fn top(values: impl Iterator<Item = f64>) -> f64 {
    let max = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if max > 0.0 { max * 1.08 } else { 1.0 }
}
