//! Columns side by side, within a width.

use comfy_table::{CellAlignment, ContentArrangement, TableComponent, presets};

use crate::Style;
use crate::column::Column;

/// Lines of a heading, including the rule below it.
const HEADING: usize = 4;

/// Lines of a table, headings first; the first `left` columns are text, the others numbers.
pub(crate) struct Grid {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) left: usize,
}

/// The columns to show within `width`: by importance, whole ranks while they fit.
pub(crate) fn fitting(columns: &[Column], width: Option<usize>) -> Vec<&Column> {
    let Some(width) = width else { return columns.iter().collect() };
    let mut ranks = vec![0];
    for rank in 1..=columns.iter().map(|column| column.rank).max().unwrap_or(0) {
        ranks.push(rank);
        if lines(&of_ranks(columns, &ranks)).iter().any(|line| line.chars().count() > width) {
            ranks.pop();
        }
    }
    of_ranks(columns, &ranks)
}

fn of_ranks<'a>(columns: &'a [Column], ranks: &[u8]) -> Vec<&'a Column> {
    columns.iter().filter(|column| ranks.contains(&column.rank)).collect()
}

/// The table of these columns, without a newline at the end.
pub(crate) fn draw(columns: &[&Column], style: Style) -> String {
    let mut lines = lines(columns);
    for line in &mut lines[..HEADING] {
        *line = dim(line, style);
    }
    lines.join("\n")
}

fn lines(columns: &[&Column]) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_style(TableComponent::HeaderLines, '\u{2500}');
    table.set_style(TableComponent::MiddleHeaderIntersections, '\u{2500}');

    table.set_header(columns.iter().map(|column| column.heading.join("\n")));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(columns.iter().map(|column| &column.cells[row]));
    }
    for (shown, column) in table.column_iter_mut().zip(columns) {
        shown.set_cell_alignment(if column.number { CellAlignment::Right } else { CellAlignment::Left });
        shown.set_padding((0, 1));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

pub(crate) fn bold(text: &str, style: Style) -> String {
    escape(text, "1", style)
}

pub(crate) fn dim(text: &str, style: Style) -> String {
    escape(text, "2", style)
}

fn escape(text: &str, code: &str, style: Style) -> String {
    if style.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Breaks a text at spaces; without a width at 110 characters.
pub fn wrap(text: &str, width: Option<usize>) -> String {
    let width = width.unwrap_or(110).min(110);
    let mut wrapped = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + 1 + length <= width;
            wrapped.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        wrapped.push_str(word);
        used += length;
    }
    wrapped
}
