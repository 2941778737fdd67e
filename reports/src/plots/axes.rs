//! Axes: scales with round ticks, a light grid, titles and a legend.

use super::PlotError;
use super::palette::{Colour, GRID, INK, MUTED, SHADE};
use super::pen::{Anchor, Face, Pen};
use crate::number;
use crate::table::width_of;

/// Width of a figure in page pixels.
pub(crate) const WIDTH: u32 = 900;
/// Height of most figures.
pub(crate) const HEIGHT: u32 = 360;

/// Values along one axis.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// From `low` to at least `high` in even steps, whose ends are round.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high > low && high.is_finite() { high } else { low + 1.0 };
        let step = round_step((high - low) / 5.0);
        let (first, last) = ((low / step).floor(), (high / step - 1e-9).ceil());
        let count = (last - first) as u32;
        let values: Vec<f64> = (0..=count).map(|i| (first + f64::from(i)) * step).collect();
        let digits = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 9.0) as usize;
        let label = |value: &f64| {
            let whole = digits == 0 && *value >= 0.0;
            if whole { number::count(value.round() as u64) } else { format!("{value:.digits$}") }
        };
        let ticks = values.iter().map(|value| (*value, label(value))).collect();
        Self { low: first * step, high: last * step, log: false, ticks }
    }

    /// Exactly from `low` to `high`, with ticks at round values.
    pub(crate) fn exact(low: f64, high: f64) -> Self {
        let mut scale = Self::linear(low, high);
        if low.is_finite() && high.is_finite() && high > low {
            (scale.low, scale.high) = (low, high);
        }
        let (low, high) = (scale.low, scale.high);
        scale.ticks.retain(|(value, _)| (low..=high).contains(value));
        scale
    }

    /// By decades, with ticks at 1, 2 and 5.
    pub(crate) fn log(low: f64, high: f64) -> Self {
        let low = if low.is_nan() { 1e-9 } else { low.clamp(1e-9, 1e15) };
        let high = high.max(low * 10.0).min(1e16);
        let (first, last) = (libm::floor(libm::log10(low)), libm::ceil(libm::log10(high)));
        let few = high / low <= 1000.0;
        let mut ticks = Vec::new();
        for decade in first as i32..=last as i32 {
            for factor in [1.0, 2.0, 5.0] {
                let value = factor * libm::pow(10.0, f64::from(decade));
                if (factor == 1.0 || few) && value >= low * 0.999 && value <= high * 1.001 {
                    ticks.push((value, plain(value)));
                }
            }
        }
        Self { low, high, log: true, ticks }
    }

    /// From zero, or by decades where the values lie far apart, or around them where they lie so
    /// close together that a line from zero would look flat.
    pub(crate) fn fitting(values: impl Iterator<Item = f64> + Clone) -> Self {
        let high = values.clone().fold(0.0, f64::max);
        let low = values.filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        if low.is_finite() && high / low > 20.0 {
            Self::log(low * 0.8, high * 1.2)
        } else if low.is_finite() && low > 0.6 * high {
            let room = (high - low).max(high * 0.01);
            Self::linear(low - 0.15 * room, high + 0.1 * room)
        } else {
            Self::linear(0.0, high * 1.05)
        }
    }

    /// The same scale with its own ticks.
    pub(crate) fn with_ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    /// Each label followed by a unit.
    pub(crate) fn unit(mut self, unit: &str) -> Self {
        for (_, label) in &mut self.ticks {
            label.push_str(unit);
        }
        self
    }

    /// Where a value lies, 0..=1.
    fn share(&self, value: f64) -> f64 {
        let share = if self.log {
            let (low, high) = (libm::log10(self.low), libm::log10(self.high));
            (libm::log10(value.max(self.low)) - low) / (high - low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0)
    }
}

/// What stands around a plot.
pub(crate) struct Labels<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// Names and colours of the series, at the top right.
    pub(crate) legend: &'a [(&'a str, Colour)],
}

/// A part of a figure, in page pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Part {
    /// The whole figure.
    pub(crate) fn whole(pen: &Pen<'_>) -> Self {
        Self { left: 0.0, right: pen.width, top: 0.0, bottom: pen.height }
    }
}

/// A drawn pair of axes; maps values to page pixels.
pub(crate) struct Axes {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    x: Scale,
    y: Scale,
}

impl Axes {
    /// Draws grid, ticks, titles and legend over a part of the figure. What `below` draws lies
    /// under the grid.
    pub(crate) fn draw(
        pen: &Pen<'_>,
        part: Part,
        (x, y): (Scale, Scale),
        labels: &Labels<'_>,
        below: impl FnOnce(&Self) -> Result<(), PlotError>,
    ) -> Result<Self, PlotError> {
        let widest = y.ticks.iter().map(|(_, label)| width_of(label)).max().unwrap_or(0);
        let axes = Self {
            left: part.left + (44.0 + 6.6 * widest as f64).max(78.0),
            right: part.right - 24.0,
            top: part.top + 58.0,
            bottom: part.bottom - 56.0,
            x,
            y,
        };
        below(&axes)?;
        axes.grid(pen)?;
        heading(pen, (part.left, part.top), axes.right, labels.title, labels.legend)?;
        let label = Face::new(12.0, MUTED).at(Anchor::Middle);
        let middle = (f64::midpoint(axes.left, axes.right), part.bottom - 16.0);
        pen.text(middle, labels.x, label)?;
        let side = (part.left + 18.0, f64::midpoint(axes.top, axes.bottom));
        pen.text(side, labels.y, label.upwards())?;
        Ok(axes)
    }

    fn grid(&self, pen: &Pen<'_>) -> Result<(), PlotError> {
        let label = Face::new(12.0, MUTED);
        for (value, text) in &self.y.ticks {
            let y = self.y_at(*value);
            pen.line(&[(self.left, y), (self.right, y)], GRID, 1.0)?;
            pen.text((self.left - 9.0, y), text, label.at(Anchor::End))?;
        }
        for (value, text) in &self.x.ticks {
            let x = self.x_at(*value);
            pen.line(&[(x, self.bottom), (x, self.bottom + 5.0)], MUTED, 1.0)?;
            pen.text((x, self.bottom + 17.0), text, label.at(Anchor::Middle))?;
        }
        pen.line(&[(self.left, self.bottom), (self.right, self.bottom)], MUTED, 1.0)
    }

    /// Shades the warm-up and names it.
    pub(crate) fn shade_until(&self, pen: &Pen<'_>, end: f64) -> Result<(), PlotError> {
        let x = self.x_at(end);
        if x - self.left < 1.0 {
            return Ok(());
        }
        pen.rect((self.left, self.top), (x, self.bottom), SHADE)?;
        if x - self.left > 56.0 {
            let at = (self.left + 6.0, self.top + 10.0);
            pen.text(at, "warm-up", Face::new(11.0, MUTED))?;
        }
        Ok(())
    }

    /// Page x of a value.
    pub(crate) fn x_at(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.x.share(value)
    }

    /// Page y of a value.
    pub(crate) fn y_at(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * self.y.share(value)
    }

    /// Page position of a point.
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x_at(x), self.y_at(y))
    }
}

/// Title at the left, legend at the right.
pub(crate) fn heading(
    pen: &Pen<'_>,
    (left, top): (f64, f64),
    right: f64,
    title: &str,
    legend: &[(&str, Colour)],
) -> Result<(), PlotError> {
    pen.text((left + 12.0, top + 24.0), title, Face::new(15.0, INK).bold())?;
    // Without font files the width is a guess; the room left is on the generous side.
    let room = |name: &str| 26.0 + 6.7 * width_of(name) as f64;
    let mut x = right - legend.iter().map(|(name, _)| room(name)).sum::<f64>();
    x -= 18.0 * legend.len().saturating_sub(1) as f64;
    for (name, colour) in legend {
        pen.line(&[(x, top + 24.0), (x + 18.0, top + 24.0)], *colour, 3.0)?;
        pen.text((x + 25.0, top + 24.0), name, Face::new(12.0, INK))?;
        x += room(name) + 18.0;
    }
    Ok(())
}

/// The next of 1, 2, 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(step)));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

fn plain(value: f64) -> String {
    if value >= 1.0 { number::count(value.round() as u64) } else { format!("{}", round(value)) }
}

/// Removes what multiplying powers of ten leaves at the end.
fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&Scale::linear(0.0, 9.3)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.03))[1], "0.01");
        assert_eq!(
            labels(&Scale::log(0.5, 120.0)),
            ["0.5", "1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(labels(&Scale::linear(0.0, 0.0)).len(), 6);
    }

    #[test]
    fn odd_values_stay_inside() {
        let scale = Scale::log(1.0, 100.0);
        assert_eq!((scale.share(0.0), scale.share(1e9)), (0.0, 1.0));
        assert_eq!(scale.share(10.0), 0.5);
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.0] {
            for scale in [Scale::linear(0.0, odd), Scale::exact(odd, 1.0), Scale::log(odd, odd)] {
                assert!(scale.ticks.len() < 60, "{odd}");
            }
            assert!(Scale::fitting([odd, 3.0].into_iter()).ticks.len() < 60, "{odd}");
        }
    }
}
