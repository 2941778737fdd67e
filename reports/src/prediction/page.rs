//! `comparison.html`: one self-contained page about a prediction and its measurement.

use askama::Template;

use super::{Agreement, Prediction};
use crate::plots::Figure;
use crate::table::{Align, Table};

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page<'a> {
    title: &'a str,
    verdict: &'static str,
    tone: &'static str,
    headline: String,
    notes: &'a [String],
    figures: &'a [Figure],
    table: Table,
    tones: Vec<&'static str>,
}

impl Page<'_> {
    fn right(align: &Align) -> bool {
        *align == Align::Right
    }
}

pub(super) fn page(prediction: &Prediction) -> Result<String, askama::Error> {
    let (verdict, tone) = if prediction.agrees() { ("agrees", "good") } else { ("differs", "bad") };
    let tone_of = |agreement| match agreement {
        Agreement::Agrees => "good",
        Agreement::Differs => "bad",
        Agreement::NotJudged => "plain",
    };
    let page = Page {
        title: &prediction.scenario,
        verdict,
        tone,
        headline: prediction.headline(),
        notes: &prediction.notes,
        figures: &prediction.figures,
        table: prediction.table(),
        tones: prediction.quantities.iter().map(|q| tone_of(q.agreement())).collect(),
    };
    let mut text = page.render()?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
