//! One table, rendered for a terminal, for Markdown and as CSV.

use std::fmt::Write as _;

use crate::number;

/// Width that terminal output keeps to.
pub const WIDTH: usize = 100;

/// Where a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell: what is read, and what a program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    shown: String,
    raw: String,
    code: bool,
}

impl Cell {
    /// A cell that a program reads otherwise than a person.
    pub fn new(shown: impl Into<String>, raw: impl Into<String>) -> Self {
        Self { shown: shown.into(), raw: raw.into(), code: false }
    }

    /// A command, kept to the letter in Markdown. A back quote or a line end would break out of
    /// the code and becomes a space.
    pub fn code(text: &str) -> Self {
        let text = text.replace(['`', '\n', '\r'], " ");
        Self { shown: text.clone(), raw: text, code: true }
    }

    /// A value shown with three significant digits.
    pub fn decimal(value: f64) -> Self {
        Self::new(number::decimal(value), value.to_string())
    }

    /// A ratio shown as a percentage.
    pub fn percent(ratio: f64) -> Self {
        Self::new(number::percent(ratio), ratio.to_string())
    }

    /// What a person reads.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { raw: text.clone(), shown: text, code: false }
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::new(number::count(value), value.to_string())
    }
}

/// Rows under named columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_string(), *align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells stay empty, cells beyond the last column are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), Cell::from(""));
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Plain text at most `max_width` wide: wide columns of words are wrapped.
    pub fn to_text(&self, max_width: usize) -> String {
        let widths = self.widths(max_width);
        let mut text = String::new();
        let header: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        self.write_row(&mut text, &header, &widths);
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        text.push_str(&rule.join("  "));
        text.push('\n');
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(Cell::shown).collect();
            self.write_row(&mut text, &cells, &widths);
        }
        text
    }

    /// A GitHub Markdown table.
    pub fn to_markdown(&self) -> String {
        let mut text = String::from("|");
        for (name, _) in &self.columns {
            let _ = write!(text, " {} |", escape_markdown(name));
        }
        text.push_str("\n|");
        for (_, align) in &self.columns {
            text.push_str(if *align == Align::Right { " ---: |" } else { " :--- |" });
        }
        text.push('\n');
        for row in &self.rows {
            text.push('|');
            for cell in row {
                let _ = if cell.code {
                    write!(text, " `{}` |", cell.shown.replace('|', "\\|"))
                } else {
                    write!(text, " {} |", escape_markdown(&cell.shown))
                };
            }
            text.push('\n');
        }
        text
    }

    /// CSV with a header; numbers without grouping and with every digit.
    pub fn to_csv(&self) -> String {
        let header = self.columns.iter().map(|(name, _)| name.as_str());
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| cell.raw.as_str()));
        csv_text(header, rows)
    }

    /// Natural widths, the widest columns of words narrowed until the whole fits.
    fn widths(&self, max_width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| width_of(name)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(width_of(&cell.shown));
            }
        }
        let gaps = 2 * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > max_width {
            let words = |i: &usize| self.columns[*i].1 == Align::Left && widths[*i] > 8;
            let Some(widest) = (0..widths.len()).filter(words).max_by_key(|i| widths[*i]) else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }

    fn write_row(&self, text: &mut String, cells: &[&str], widths: &[usize]) {
        let wrapped: Vec<Vec<String>> =
            cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
        let lines = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..lines {
            let mut row = String::new();
            for (i, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                let part = cell.get(line).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(width_of(part)));
                if i > 0 {
                    row.push_str("  ");
                }
                match self.columns[i].1 {
                    Align::Left => row.extend([part, pad.as_str()]),
                    Align::Right => row.extend([pad.as_str(), part]),
                }
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
}

/// CSV text of a header and rows.
pub(crate) fn csv_text<'a, R>(
    header: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = R>,
) -> String
where
    R: Iterator<Item = &'a str>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory fails only where rows differ in length, which a table rules out.
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Columns a terminal gives to a text; ideographs take two.
pub fn width_of(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0x0300..=0x036F | 0x200B..=0x200F => 0,
            0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF => 2,
            0xFE30..=0xFE4F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF => 2,
            0x20000..=0x3FFFD => 2,
            _ => 1,
        })
        .sum()
}

/// Breaks a text at spaces into lines at most `width` wide; a longer word is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    // An ideograph needs two columns, so a narrower line could never hold one.
    let width = width.max(2);
    let (mut lines, mut line) = (Vec::new(), String::new());
    for mut word in text.split(' ') {
        if !line.is_empty() {
            if width_of(&line) + 1 + width_of(word) <= width {
                line.push(' ');
            } else {
                lines.push(std::mem::take(&mut line));
            }
        }
        while width_of(word) > width {
            let (start, rest) = word.split_at(cut_at(word, width));
            lines.push(start.into());
            word = rest;
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Byte where a text reaches `width` columns.
fn cut_at(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += width_of(c.encode_utf8(&mut [0; 4]));
        if used > width {
            return at;
        }
    }
    text.len()
}

/// Keeps a text from breaking out of a Markdown table cell or turning into markup.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => safe.extend(['\\', c]),
            '\n' | '\r' => safe.push(' '),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[("pair", Align::Left), ("refused", Align::Right)]);
        table.row([Cell::from("zh:en"), Cell::from(1234)]);
        table.row([Cell::from("中文|b"), Cell::percent(0.0125)]);
        table
    }

    #[test]
    fn text_lines_up_even_with_ideographs() {
        insta::assert_snapshot!(sample().to_text(WIDTH), @r"
        pair    refused
        ──────  ───────
        zh:en     1,234
        中文|b   1.25 %
        ");
    }

    #[test]
    fn a_command_is_kept_to_the_letter() {
        let mut table = Table::new(&[("command", Align::Left)]);
        table.row([Cell::code("run --set a_b=[1] | `x`")]);
        assert!(table.to_markdown().ends_with("| `run --set a_b=[1] \\|  x ` |\n"));
    }

    #[test]
    fn markdown_is_escaped() {
        insta::assert_snapshot!(sample().to_markdown(), @r"
        | pair | refused |
        | :--- | ---: |
        | zh:en | 1,234 |
        | 中文\|b | 1.25 % |
        ");
    }

    #[test]
    fn csv_is_for_programs() {
        assert_eq!(sample().to_csv(), "pair,refused\nzh:en,1234\n中文|b,0.0125\n");
    }

    #[test]
    fn wide_words_wrap_and_fit() {
        let mut table = Table::new(&[("command", Align::Left), ("n", Align::Right)]);
        table.row([Cell::from("run scenarios/a.toml --set nodes.0.count=200"), Cell::from(1)]);
        table.row([Cell::from("x".repeat(50)), Cell::from(2)]);
        let text = table.to_text(30);
        assert!(text.lines().all(|line| width_of(line) <= 30), "{text}");
        assert!(text.contains("--set"));
    }
}
