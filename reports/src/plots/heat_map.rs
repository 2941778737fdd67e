//! A matrix of values as shaded cells, for capacity tables.

use super::axes::{WIDTH, heading};
use super::palette::{INK, MUTED, SHADE, heat, on_heat};
use super::pen::{Anchor, Face, Pen};
use super::{PlotError, nothing, pen};
use crate::number::decimal;
use crate::table::width_of;

/// What a heat map shows.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// What it is.
    pub title: String,
    /// Title of the x axis.
    pub x_title: String,
    /// Title of the y axis.
    pub y_title: String,
    /// Unit of the values.
    pub unit: String,
    /// Names of the columns.
    pub x: Vec<String>,
    /// Names of the rows.
    pub y: Vec<String>,
    /// Values by row and column; an unknown one is absent.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Draws a heat map; a cell that is missing or no number stays grey.
pub fn heat_map(map: &HeatMap) -> Result<String, PlotError> {
    if map.x.is_empty() || map.y.is_empty() {
        return nothing(&map.title, "There is nothing to show.", false);
    }
    let row = 40.0_f64;
    let height = 112.0 + row * map.y.len() as f64;
    pen::svg((WIDTH, height as u32), &map.title, |pen| {
        heading(pen, (0.0, 0.0), pen.width, &map.title, &[])?;
        let note = Face::new(12.0, MUTED).at(Anchor::End);
        pen.text((pen.width - 24.0, 24.0), &format!("unit: {}", map.unit), note)?;
        let widest = map.y.iter().map(|name| width_of(name)).max().unwrap_or(0) as f64;
        let left = 58.0 + 7.2 * widest.min(40.0);
        let size = ((pen.width - 24.0 - left) / map.x.len() as f64, row);
        cells(pen, map, (left, 50.0), size)?;
        let label = Face::new(12.0, MUTED).at(Anchor::Middle);
        let middle = f64::midpoint(left, pen.width - 24.0);
        pen.text((middle, pen.height - 16.0), &map.x_title, label)?;
        let side = 50.0 + row * map.y.len() as f64 / 2.0;
        pen.text((18.0, side), &map.y_title, label.upwards())
    })
}

fn cells(
    pen: &Pen<'_>,
    map: &HeatMap,
    (left, top): (f64, f64),
    (width, height): (f64, f64),
) -> Result<(), PlotError> {
    let known = || map.values.iter().flatten().flatten().copied().filter(|v| v.is_finite());
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    for (j, name) in map.y.iter().enumerate() {
        let y = top + height * j as f64;
        let middle = y + height / 2.0;
        pen.text((left - 10.0, middle), name, Face::new(12.0, INK).at(Anchor::End))?;
        for i in 0..map.x.len() {
            let x = left + width * i as f64;
            let corners = ((x + 1.0, y + 1.0), (x + width - 1.0, y + height - 1.0));
            let centre = (x + width / 2.0, middle);
            let value = map.values.get(j).and_then(|row| row.get(i)).copied().flatten();
            let Some(value) = value.filter(|v| v.is_finite()) else {
                pen.rect(corners.0, corners.1, SHADE)?;
                pen.text(centre, "–", Face::new(12.0, MUTED).at(Anchor::Middle))?;
                continue;
            };
            let share = if high > low { (value - low) / (high - low) } else { 0.5 };
            pen.rect(corners.0, corners.1, heat(share))?;
            let face = Face::new(12.0, on_heat(share)).at(Anchor::Middle);
            pen.text(centre, &decimal(value), face)?;
        }
    }
    let below = top + height * map.y.len() as f64 + 14.0;
    for (i, name) in map.x.iter().enumerate() {
        let centre = (left + width * (i as f64 + 0.5), below);
        pen.text(centre, name, Face::new(12.0, INK).at(Anchor::Middle))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_no_numbers_are_drawn_grey() {
        let map = HeatMap {
            title: "Largest rate".into(),
            x_title: "instances".into(),
            y_title: "nodes".into(),
            unit: "jobs/s".into(),
            x: vec!["1".into(), "2".into()],
            y: vec!["100".into(), "200".into()],
            values: vec![vec![Some(1.0), None], vec![Some(f64::NAN)]],
        };
        let svg = heat_map(&map).unwrap();
        assert_eq!(svg.matches('–').count(), 3);
        assert!(heat_map(&HeatMap { x: Vec::new(), ..map }).is_ok());
    }
}
