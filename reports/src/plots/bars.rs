//! Bars: overselling, jobs per node, refusals per pair.

use plotters::prelude::*;

use crate::facts;
use crate::plots::{colour, svg, top};
use crate::run::Artifacts;

/// Most bars of one picture.
const BARS_MAX: usize = 30;

pub(super) fn oversold(artifacts: &Artifacts) -> String {
    let histogram = &artifacts.run.oversold.excess_histogram;
    let bars: Vec<(String, f64)> = histogram
        .iter()
        .take(BARS_MAX)
        .map(|(excess, n)| (format!("+{excess}"), *n as f64))
        .collect();
    if bars.is_empty() {
        return none("No node was ever given more jobs than its max_jobs.");
    }
    draw(&bars, "jobs beyond max_jobs", "assignments", None)
}

pub(super) fn per_node(artifacts: &Artifacts) -> String {
    let mut shares: Vec<f64> = artifacts
        .node_jobs
        .iter()
        .map(|&(_, max_jobs, jobs)| jobs as f64 / f64::from(max_jobs.max(1)))
        .collect();
    if shares.is_empty() {
        return none("There is no node.");
    }
    shares.sort_by(|a, b| b.total_cmp(a));
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    // More nodes than bars: each bar stands for the same number of neighbours.
    let step = shares.len().div_ceil(300);
    let bars: Vec<(String, f64)> = shares
        .chunks(step)
        .enumerate()
        .map(|(at, part)| {
            (format!("{}", at * step + 1), part.iter().sum::<f64>() / part.len() as f64)
        })
        .collect();
    draw(&bars, "nodes, the busiest first", "jobs per slot", Some(mean))
}

pub(super) fn per_pair(artifacts: &Artifacts) -> String {
    let pairs = facts::pairs_by_offered(&artifacts.run);
    let bars: Vec<(String, f64)> = pairs
        .iter()
        .take(BARS_MAX)
        .map(|row| (row.pair.clone(), 100.0 * row.refused_ratio))
        .collect();
    if bars.iter().all(|(_, share)| *share == 0.0) {
        return none("No job was refused.");
    }
    let floor = artifacts.run.erlang_b.map(|share| 100.0 * share);
    draw(&bars, "directed pair, most offered first", "percent refused", floor)
}

/// A friendly picture for nothing to show.
fn none(sentence: &str) -> String {
    svg(|area| {
        let (width, height) = area.dim_in_pixel();
        let style = ("sans-serif", 20, &colour::GREEN).into_text_style(area);
        let style = style.pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Center,
        ));
        let middle = (width as i32 / 2, height as i32 / 2);
        area.draw(&Text::new(sentence, middle, style)).map_err(|error| error.to_string())
    })
}

fn draw(bars: &[(String, f64)], x_name: &str, y_name: &str, mark: Option<f64>) -> String {
    let high = top(bars.iter().map(|&(_, value)| value).chain(mark));
    let count = bars.len();
    let text = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    svg(|area| {
        let mut chart = ChartBuilder::on(area)
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..count as f64, 0.0..high)
            .map_err(text)?;
        let name = |at: &f64| {
            let index = *at as usize;
            let exact = (*at - index as f64 - 0.5).abs() < 0.5;
            bars.get(index).filter(|_| exact).map_or_else(String::new, |(name, _)| name.clone())
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE.mix(0.0))
            .bold_line_style(colour::GRID)
            .axis_style(colour::INK)
            .label_style(("sans-serif", 13, &colour::INK))
            .x_labels(count.min(14))
            .y_labels(6)
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(&name)
            .draw()
            .map_err(text)?;
        let gap = if count > 60 { 0.0 } else { 0.12 };
        let bar = |(at, (_, value)): (usize, &(String, f64))| {
            let left = at as f64 + gap;
            let right = (at + 1) as f64 - gap;
            Rectangle::new([(left, 0.0), (right, *value)], colour::BLUE.filled())
        };
        chart.draw_series(bars.iter().enumerate().map(bar)).map_err(text)?;
        if let Some(mark) = mark {
            let line = [(0.0, mark), (count as f64, mark)];
            let style = colour::ORANGE.stroke_width(2);
            chart.draw_series(DashedLineSeries::new(line, 8, 6, style)).map_err(text)?;
        }
        Ok(())
    })
}
