//! Columns side by side, within a width.

use comfy_table::{CellAlignment, ContentArrangement, TableComponent, presets};

use crate::Style;
use crate::column::Column;

/// A table as texts.
pub(crate) struct Grid {
    /// May have several lines each.
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Which columns are numbers; they stand right, texts left.
    pub(crate) numbers: Vec<bool>,
}

impl Grid {
    /// The first `left` columns are texts, the others numbers.
    pub(crate) fn new<T: Into<String>>(
        heads: impl IntoIterator<Item = T>,
        rows: impl IntoIterator<Item = Vec<String>>,
        left: usize,
    ) -> Self {
        let heads: Vec<String> = heads.into_iter().map(Into::into).collect();
        let numbers = (0..heads.len()).map(|place| place >= left).collect();
        Self { heads, rows: rows.into_iter().collect(), numbers }
    }

    fn of(columns: &[&Column]) -> Self {
        let row = |row: usize| columns.iter().map(|column| column.cells[row].clone()).collect();
        Self {
            heads: columns.iter().map(|column| column.heading.join("\n")).collect(),
            rows: (0..columns.first().map_or(0, |column| column.cells.len())).map(row).collect(),
            numbers: columns.iter().map(|column| column.number).collect(),
        }
    }

    fn lines(&self, gap: u16) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_style(TableComponent::HeaderLines, '\u{2500}');
        table.set_style(TableComponent::MiddleHeaderIntersections, '\u{2500}');
        table.set_header(&self.heads);
        for row in &self.rows {
            table.add_row(row);
        }
        for (column, &number) in table.column_iter_mut().zip(&self.numbers) {
            column.set_cell_alignment(if number { CellAlignment::Right } else { CellAlignment::Left });
            column.set_padding((0, gap));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// For a terminal, with `gap` spaces between columns, without a newline at the end.
    pub(crate) fn draw(&self, gap: u16, style: Style) -> String {
        let mut lines = self.lines(gap);
        let heading = self.heads.iter().map(|head| head.split('\n').count()).max().unwrap_or(0);
        for line in lines.iter_mut().take(heading + 1) {
            *line = dim(line, style);
        }
        lines.join("\n")
    }

    /// As Markdown.
    pub(crate) fn pipes(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<&str> = self.numbers.iter().map(|&number| if number { "--:" } else { "---" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{}|\n{rows}", line(&self.heads), rule.join("|"))
    }
}

/// The columns to show within `width`: by importance, whole ranks while they fit.
pub(crate) fn fitting(columns: &[Column], width: Option<usize>) -> Vec<&Column> {
    let Some(width) = width else { return columns.iter().collect() };
    let mut ranks = vec![0];
    for rank in 1..=columns.iter().map(|column| column.rank).max().unwrap_or(0) {
        ranks.push(rank);
        if Grid::of(&of_ranks(columns, &ranks)).lines(1).iter().any(|line| line.chars().count() > width) {
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
    Grid::of(columns).draw(1, style)
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
