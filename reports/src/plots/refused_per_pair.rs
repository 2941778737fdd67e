//! Refused ratio per pair, with Erlang B marks where the model holds.

use super::axes::{Labels, WIDTH, heading};
use super::palette::{GRID, INK, MUTED, ORANGE};
use super::pen::{Anchor, Face};
use super::{Figure, PlotError, nothing, pen};
use crate::facts::{PAIRS_SHOWN, pairs_by_offered, ratio, total};
use crate::number::percent;
use crate::run::Artifacts;
use crate::table::width_of;

const TITLE: &str = "Refused per pair";
const ROW: f64 = 24.0;

struct Row {
    name: String,
    ratio: f64,
    floor: Option<f64>,
}

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let pairs = pairs_by_offered(&artifacts.run);
    let mut rows: Vec<Row> = pairs
        .iter()
        .take(PAIRS_SHOWN)
        .map(|p| Row { name: p.pair.clone(), ratio: p.refused_ratio, floor: p.erlang_b })
        .collect();
    if pairs.len() > PAIRS_SHOWN {
        let rest = &pairs[PAIRS_SHOWN..];
        let refused = total(rest.iter().map(|p| p.refused));
        let offered = total(rest.iter().map(|p| p.offered));
        let name = format!("{} more", rest.len());
        rows.push(Row { name, ratio: ratio(refused, offered), floor: None });
    }
    let most = rows.iter().flat_map(|r| [r.ratio, r.floor.unwrap_or(0.0)]).fold(0.0, f64::max);
    let svg = if rows.is_empty() {
        nothing(TITLE, "No jobs by pair were recorded.", false)?
    } else if most == 0.0 {
        nothing(TITLE, "None: no job of any pair was refused.", true)?
    } else {
        draw(&rows, most)?
    };
    Ok(Figure {
        name: "refused-per-pair",
        title: TITLE,
        caption: "Pairs with most jobs first; where a black mark stands, Erlang B applies, and no \
                  scheduler without a queue can stay left of it for long.",
        svg,
    })
}

fn draw(rows: &[Row], most: f64) -> Result<String, PlotError> {
    let labels =
        Labels { title: TITLE, x: "", y: "", legend: &[("refused", ORANGE), ("Erlang B", INK)] };
    let height = 58.0 + ROW * rows.len() as f64;
    pen::svg((WIDTH, height as u32), TITLE, |pen| {
        heading(pen, (0.0, 0.0), pen.width - 24.0, labels.title, labels.legend)?;
        let widest = rows.iter().map(|r| width_of(&r.name)).max().unwrap_or(0) as f64;
        let (left, right) = (30.0 + 7.4 * widest.min(30.0), pen.width - 150.0);
        let x_at = |ratio: f64| left + (right - left) * ratio / most;
        for (i, row) in rows.iter().enumerate() {
            let y = 58.0 + ROW * i as f64;
            let label = Face::new(12.5, INK);
            pen.line(&[(left, y), (right, y)], GRID, 1.0)?;
            pen.text((left - 10.0, y), &row.name, label.at(Anchor::End))?;
            pen.rect((left, y - 7.0), (x_at(row.ratio), y + 7.0), ORANGE)?;
            if let Some(floor) = row.floor {
                let x = x_at(floor);
                pen.line(&[(x, y - 10.0), (x, y + 10.0)], INK, 2.5)?;
            }
            let end = x_at(row.ratio.max(row.floor.unwrap_or(0.0))) + 9.0;
            pen.text((end, y), &percent(row.ratio), Face::new(12.0, MUTED))?;
        }
        Ok(())
    })
}
