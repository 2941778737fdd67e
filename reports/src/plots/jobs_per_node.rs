//! Jobs per slot of every node, busiest first, with the fair share.

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{BLUE, INK};
use super::pen::{Anchor, Face};
use super::{Figure, PlotError, nothing, pen};
use crate::facts::total;
use crate::number;
use crate::run::Artifacts;

const TITLE: &str = "Jobs per node";
/// Up to so many nodes have a bar of their own.
const BARS: usize = 240;

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let mut shares: Vec<f64> = artifacts
        .node_jobs
        .iter()
        .map(|(_, slots, jobs)| *jobs as f64 / f64::from((*slots).max(1)))
        .collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    let svg = if shares.is_empty() {
        nothing(TITLE, "No jobs per node were recorded.", false)?
    } else {
        draw(artifacts, &shares)?
    };
    Ok(Figure {
        name: "jobs-per-node",
        title: TITLE,
        caption: "Nodes from the busiest to the idlest, by jobs per slot; the dashed line is the \
                  fair share, so a level top means that nobody is favoured.",
        svg,
    })
}

fn draw(artifacts: &Artifacts, shares: &[f64]) -> Result<String, PlotError> {
    let slots: u64 = artifacts.node_jobs.iter().map(|(_, slots, _)| u64::from(*slots)).sum();
    let jobs = total(artifacts.node_jobs.iter().map(|(_, _, jobs)| *jobs));
    let fair = jobs as f64 / slots.max(1) as f64;
    let x_title = format!("{}, busiest first", number::counted(shares.len() as u64, "node"));
    let labels = Labels { title: TITLE, x: &x_title, y: "jobs per slot", legend: &[] };
    let x = Scale::exact(0.0, shares.len() as f64).with_ticks(Vec::new());
    let y = Scale::exact(0.0, shares[0].max(fair) * 1.15);
    pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
        let axes = Axes::draw(pen, Part::whole(pen), (x, y), &labels, |_| Ok(()))?;
        if shares.len() <= BARS {
            for (i, share) in shares.iter().enumerate() {
                let left = axes.at(i as f64 + 0.1, *share);
                pen.rect(left, (axes.x_at(i as f64 + 0.9), axes.bottom), BLUE)?;
            }
        } else {
            let mut outline = vec![(axes.left, axes.bottom)];
            outline.extend(shares.iter().enumerate().map(|(i, s)| axes.at(i as f64 + 0.5, *s)));
            outline.push((axes.right, axes.bottom));
            pen.area(&outline, BLUE, 0.85)?;
        }
        let y = axes.y_at(fair);
        pen.dashed((axes.left, y), (axes.right, y), INK)?;
        let note = format!("fair share {}", number::decimal(fair));
        pen.text((axes.right, y - 12.0), &note, Face::new(12.0, INK).at(Anchor::End))
    })
}
