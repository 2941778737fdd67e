//! Duties per instance over time, with what happened.

use super::axes::{Axes, HEIGHT, Labels, Part, Scale, WIDTH};
use super::palette::{MUTED, line_colour};
use super::pen::{Anchor, Face};
use super::{Figure, PlotError, nothing, pen};
use crate::duties::{DutySample, Episode};
use crate::run::Artifacts;

const TITLE: &str = "Duties per instance over time";
/// Instances named in the legend.
const NAMED_MAX: usize = 8;
/// Disturbances that are numbered.
const NUMBERED_MAX: usize = 40;

pub(super) fn figure(artifacts: &Artifacts) -> Result<Figure, PlotError> {
    let episodes = artifacts.run.duties.as_ref().map_or(&[][..], |duties| &duties.episodes);
    let svg = if artifacts.duties.is_empty() {
        nothing(TITLE, "Nobody held anything.", false)?
    } else {
        draw(&artifacts.duties, episodes)?
    };
    Ok(Figure {
        name: "duties",
        title: TITLE,
        caption: "Duties whose runs may go on, one line for each instance. A dashed line is the \
                  disturbance of that number in the table; the first is the start.",
        svg,
    })
}

fn draw(samples: &[DutySample], episodes: &[Episode]) -> Result<String, PlotError> {
    let instances = samples.iter().map(|s| s.instance).max().unwrap_or(0) as usize + 1;
    let names: Vec<String> = (0..instances.min(NAMED_MAX)).map(|i| i.to_string()).collect();
    let legend: Vec<_> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), line_colour(i))).collect();
    let labels = Labels { title: TITLE, x: "time, s", y: "duties", legend: &legend };
    let end = samples.iter().map(|s| s.t_s).fold(0.0, f64::max);
    let most = samples.iter().map(|s| f64::from(s.held)).fold(1.0, f64::max);
    let scales = (Scale::exact(0.0, end), Scale::linear(0.0, most * 1.05));
    pen::svg((WIDTH, HEIGHT), TITLE, |pen| {
        let axes = Axes::draw(pen, Part::whole(pen), scales, &labels, |_| Ok(()))?;
        for (at, episode) in episodes.iter().enumerate().skip(1).take(NUMBERED_MAX) {
            let x = axes.x_at(episode.at_s);
            pen.dashed((x, axes.top), (x, axes.bottom), MUTED)?;
            let face = Face::new(11.0, MUTED).at(Anchor::Middle);
            pen.text((x, axes.top - 8.0), &(at + 1).to_string(), face)?;
        }
        for instance in 0..instances {
            for stretch in stretches(samples, instance as u32) {
                let points: Vec<_> = stretch
                    .iter()
                    .map(|s| (axes.x_at(s.t_s), axes.y_at(f64::from(s.held))))
                    .collect();
                pen.line(&steps(&points), line_colour(instance), 1.75)?;
            }
        }
        Ok(())
    })
}

/// The samples of one instance, apart where it was not up.
fn stretches(samples: &[DutySample], instance: u32) -> Vec<Vec<DutySample>> {
    let mut times: Vec<f64> = samples.iter().map(|s| s.t_s).collect();
    times.dedup();
    let mut all = vec![Vec::new()];
    let mut own = samples.iter().filter(|s| s.instance == instance).peekable();
    for t in times {
        match own.next_if(|s| s.t_s == t) {
            Some(sample) => all.last_mut().into_iter().for_each(|stretch| stretch.push(*sample)),
            None if all.last().is_some_and(|stretch| !stretch.is_empty()) => all.push(Vec::new()),
            None => {}
        }
    }
    all
}

/// A level holds until the next one.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(points.len() * 2);
    for pair in points.windows(2) {
        line.extend([pair[0], (pair[1].0, pair[0].1)]);
    }
    line.extend(points.last());
    line
}
