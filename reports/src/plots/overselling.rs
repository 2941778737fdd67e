//! Overselling: by how much, and for how long.

use std::collections::BTreeMap;

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{Colour, INK, ORANGE, PURPLE};
use super::pen::{Anchor, Face, Pen};
use super::{Figure, PlotError, nothing, pen};
use crate::number;
use crate::run::Artifacts;

const TITLE: &str = "Overselling";

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let o = &artifacts.run.oversold;
    let svg = if o.assignments == 0 {
        nothing(TITLE, "None: no assignment ever exceeded a node's max_jobs.", true)?
    } else {
        pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
            let middle = pen.width / 2.0;
            let excess = Labels {
                title: "Oversold assignments by excess",
                x: "jobs above max_jobs",
                y: "assignments",
                legend: &[],
            };
            bars(
                pen,
                Part { right: middle, ..Part::whole(pen) },
                &o.excess_histogram,
                &excess,
                ORANGE,
            )?;
            let spells = Labels {
                title: "Oversold spells by length",
                x: "length at most, ms",
                y: "spells",
                legend: &[],
            };
            bars(
                pen,
                Part { left: middle, ..Part::whole(pen) },
                &o.duration_histogram_ms,
                &spells,
                PURPLE,
            )
        })?
    };
    Ok(Figure {
        name: "overselling",
        title: TITLE,
        caption: "How far above their max_jobs nodes were pushed, and for how long; an empty \
                  picture is the goal.",
        svg,
    })
}

fn bars(
    pen: &Pen<'_>,
    part: Part,
    counts: &BTreeMap<u64, u64>,
    labels: &Labels<'_>,
    colour: Colour,
) -> Result<(), PlotError> {
    let most = counts.values().copied().max().unwrap_or(1) as f64;
    // Many bars would crowd their labels, so only every n-th is named.
    let every = counts.len().div_ceil(8).max(1);
    let named = |(i, bound): (usize, &u64)| (i as f64 + 0.5, number::count(*bound));
    let ticks = counts.keys().enumerate().step_by(every).map(named).collect();
    let x = Scale::exact(0.0, counts.len() as f64).with_ticks(ticks);
    let scales = (x, Scale::linear(0.0, most * 1.1));
    let axes = Axes::draw(pen, part, scales, labels, |_| Ok(()))?;
    for (i, n) in counts.values().enumerate() {
        let (left, right) = (axes.x_at(i as f64 + 0.15), axes.x_at(i as f64 + 0.85));
        let top = axes.y_at(*n as f64);
        pen.rect((left, top), (right, axes.bottom), colour)?;
        if counts.len() <= 12 {
            let above = (f64::midpoint(left, right), top - 9.0);
            pen.text(above, &number::count(*n), Face::new(11.0, INK).at(Anchor::Middle))?;
        }
    }
    Ok(())
}
