//! One number of several policies (or any other choice) side by side.

use super::axes::{WIDTH, heading};
use super::palette::{BLUE, GRID, INK, MUTED};
use super::pen::{Anchor, Face};
use super::{PlotError, nothing, pen};
use crate::number::{decimal, percent};
use crate::table::width_of;

const ROW: f64 = 34.0;

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Name of the policy.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Half width of the 95 % interval, where it is known.
    pub half: Option<f64>,
    /// What theory says, where it says something.
    pub theory: Option<f64>,
}

/// Bars side by side; values are shown with `unit`, as percentages where that is `%`.
pub fn policies(title: &str, unit: &str, bars: &[Bar]) -> Result<String, PlotError> {
    let top = |b: &Bar| (b.value + b.half.unwrap_or(0.0)).max(b.theory.unwrap_or(0.0));
    let most = bars.iter().map(top).filter(|v| v.is_finite()).fold(0.0, f64::max);
    if bars.is_empty() {
        return nothing(title, "There is nothing to compare.", false);
    }
    let most = if most > 0.0 { most } else { 1.0 };
    let shown = |value: f64| match unit {
        "%" => percent(value),
        _ => format!("{} {unit}", decimal(value)),
    };
    let height = 64.0 + ROW * bars.len() as f64;
    pen::svg((WIDTH, height as u32), title, |pen| {
        let theory = bars.iter().any(|b| b.theory.is_some());
        let legend: &[_] = if theory { &[("theory", INK)] } else { &[] };
        heading(pen, (0.0, 0.0), pen.width - 24.0, title, legend)?;
        let widest = bars.iter().map(|b| width_of(&b.name)).max().unwrap_or(0) as f64;
        let (left, right) = (30.0 + 7.4 * widest.min(48.0), pen.width - 150.0);
        let x_at = |value: f64| left + (right - left) * (value / most).clamp(0.0, 1.0);
        for (i, bar) in bars.iter().enumerate() {
            let y = 66.0 + ROW * i as f64;
            pen.line(&[(left, y), (right, y)], GRID, 1.0)?;
            pen.text((left - 10.0, y), &bar.name, Face::new(12.5, INK).at(Anchor::End))?;
            pen.rect((left, y - 10.0), (x_at(bar.value), y + 10.0), BLUE)?;
            if let Some(half) = bar.half {
                let (low, high) = (x_at(bar.value - half), x_at(bar.value + half));
                pen.line(&[(low, y), (high, y)], MUTED, 1.5)?;
                pen.line(&[(low, y - 5.0), (low, y + 5.0)], MUTED, 1.5)?;
                pen.line(&[(high, y - 5.0), (high, y + 5.0)], MUTED, 1.5)?;
            }
            if let Some(theory) = bar.theory {
                let x = x_at(theory);
                pen.line(&[(x, y - 14.0), (x, y + 14.0)], INK, 2.5)?;
            }
            pen.text((x_at(top(bar)) + 9.0, y), &shown(bar.value), Face::new(12.0, MUTED))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_do_no_harm() {
        let bar = |value| Bar { name: "sample-scan".into(), value, half: Some(0.1), theory: None };
        for values in [vec![], vec![bar(0.0)], vec![bar(f64::NAN), bar(2.0), bar(-1.0)]] {
            assert!(policies("Refused", "%", &values).is_ok());
        }
    }
}
