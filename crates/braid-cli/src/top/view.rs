//! The table on a terminal, in full width.

use std::io;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Sparkline, Table, Wrap};

use super::choice::{Choice, Sort};
use crate::Failure;
use crate::failure::FAILED;
use crate::live::{Connection, Finding, Limit, Sampler, Step, Subflow};
use crate::terminal;

/// A column and its content. Numbers are aligned right.
struct Column {
    title: &'static str,
    is_number: bool,
    /// Columns with a larger rank are dropped first; 0 always stays.
    rank: u8,
    cell: fn(&Connection, &Subflow) -> String,
}

const COLUMNS: [Column; 21] = [
    Column { title: "CONN", is_number: false, rank: 0, cell: |connection, _| connection.name() },
    Column { title: "SF", is_number: true, rank: 0, cell: |_, subflow| subflow.number.to_string() },
    Column { title: "ALGORITHM", is_number: false, rank: 0, cell: |_, subflow| subflow.algorithm.clone() },
    Column { title: "LINE", is_number: false, rank: 0, cell: |_, subflow| subflow.line.clone() },
    Column { title: "RATE", is_number: true, rank: 0, cell: |_, subflow| rate(subflow.rate_bps) },
    Column { title: "IN", is_number: true, rank: 1, cell: |_, subflow| rate(subflow.received_bps) },
    Column {
        title: "RTT",
        is_number: true,
        rank: 0,
        cell: |_, subflow| current(subflow, milliseconds(subflow.flow.srtt_us)),
    },
    Column {
        title: "BASE",
        is_number: true,
        rank: 0,
        cell: |_, subflow| milliseconds(subflow.flow.min_rtt_us),
    },
    Column { title: "CWND", is_number: true, rank: 0, cell: |_, subflow| subflow.flow.cwnd.to_string() },
    Column {
        title: "LOSS%",
        is_number: true,
        rank: 0,
        cell: |_, subflow| current(subflow, format!("{:.2}", subflow.recent_loss * 100.0)),
    },
    Column { title: "LIMIT", is_number: false, rank: 0, cell: |_, subflow| subflow.limit.name().into() },
    Column {
        title: "GRP",
        is_number: false,
        rank: 0,
        cell: |connection, subflow| if connection.receives() { "peer".into() } else { subflow.group() },
    },
    Column { title: "LOCAL", is_number: false, rank: 2, cell: |_, subflow| subflow.local.to_string() },
    Column { title: "REMOTE", is_number: false, rank: 3, cell: |_, subflow| subflow.remote.to_string() },
    Column {
        title: "HINT",
        is_number: false,
        rank: 4,
        cell: |_, subflow| subflow.hint.map_or("-".into(), |hint| hint.to_string()),
    },
    Column { title: "STATE", is_number: false, rank: 4, cell: |_, subflow| subflow.state().into() },
    Column {
        title: "NAMESPACE",
        is_number: false,
        rank: 5,
        cell: |connection, _| connection.namespace.clone(),
    },
    Column {
        title: "FLIGHT",
        is_number: true,
        rank: 6,
        cell: |_, subflow| subflow.flow.in_flight.to_string(),
    },
    Column {
        title: "SSTHR",
        is_number: true,
        rank: 7,
        cell: |_, subflow| subflow.ssthresh().map_or("-".into(), |ssthresh| ssthresh.to_string()),
    },
    Column { title: "ACKED", is_number: true, rank: 8, cell: |_, subflow| bytes(subflow.flow.bytes_acked) },
    Column {
        title: "RECEIVED",
        is_number: true,
        rank: 9,
        cell: |_, subflow| bytes(subflow.flow.bytes_received),
    },
];

/// A dash where nothing is acknowledged, so that the value is an old one.
fn current(subflow: &Subflow, text: String) -> String {
    if matches!(subflow.limit, Limit::Dead | Limit::Opening) { "-".into() } else { text }
}

/// In bytes with three significant digits.
fn bytes(count: u64) -> String {
    rate(count as f64)
}

/// In milliseconds with three significant digits.
fn milliseconds(us: u32) -> String {
    let ms = f64::from(us) / 1e3;
    match us {
        0 => "-".into(),
        1..10_000 => format!("{ms:.2}"),
        10_000..100_000 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

/// In bits per second with three significant digits.
fn rate(bps: f64) -> String {
    // The sum of no rates is -0.
    let mut scaled = bps + 0.0;
    for unit in ["", "k", "M", "G"] {
        if scaled < 999.5 || unit == "G" {
            return match (unit, scaled) {
                ("", _) => format!("{scaled:.0}"),
                (_, ..9.995) => format!("{scaled:.2}{unit}"),
                (_, ..99.95) => format!("{scaled:.1}{unit}"),
                _ => format!("{scaled:.0}{unit}"),
            };
        }
        scaled /= 1000.0;
    }
    unreachable!("the last unit takes all")
}

/// The columns that fit.
struct Grid {
    columns: Vec<Filled>,
}

/// A column with its width and the text of each row.
struct Filled {
    column: &'static Column,
    width: usize,
    cells: Vec<String>,
}

impl Filled {
    fn new(column: &'static Column, rows: &[(&Connection, &Subflow)]) -> Self {
        let cells: Vec<String> =
            rows.iter().map(|(connection, subflow)| (column.cell)(connection, subflow)).collect();
        // Minimum width, so that the table does not jump when a number gains a digit.
        let least = if column.is_number && column.title != "SF" { 5 } else { 0 };
        let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        Self { width: widest.max(column.title.len()).max(least), column, cells }
    }

    fn aligned(&self, text: &str) -> String {
        let width = self.width;
        if self.column.is_number { format!("{text:>width$}") } else { format!("{text:<width$}") }
    }
}

impl Grid {
    /// For the visible rows only.
    fn new(rows: &[(&Connection, &Subflow)], width: usize) -> Self {
        let mut ranks: Vec<u8> = COLUMNS.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let filled: Vec<Filled> = COLUMNS.iter().map(|column| Filled::new(column, rows)).collect();
        let taken = |most: u8| -> usize {
            let fitting = filled.iter().filter(|filled| filled.column.rank <= most);
            fitting.map(|filled| filled.width + 1).sum::<usize>() - 1
        };
        let most =
            ranks.into_iter().take_while(|&rank| rank == 0 || taken(rank) <= width).last().unwrap_or(0);
        Self { columns: filled.into_iter().filter(|filled| filled.column.rank <= most).collect() }
    }

    fn title(&self) -> Vec<String> {
        self.columns.iter().map(|filled| filled.aligned(filled.column.title)).collect()
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let count = self.columns.first().map_or(0, |filled| filled.cells.len());
        (0..count).map(|at| self.columns.iter().map(|filled| filled.aligned(&filled.cells[at])).collect())
    }
}

fn rows(connections: &[Connection]) -> impl Iterator<Item = (&Connection, &Subflow)> {
    connections
        .iter()
        .flat_map(|connection| connection.subflows.iter().map(move |subflow| (connection, subflow)))
}

/// The table as text.
pub(super) fn text(connections: &[Connection], width: usize) -> String {
    let grid = Grid::new(&rows(connections).collect::<Vec<_>>(), width);
    let mut text = String::new();
    for row in std::iter::once(grid.title()).chain(grid.rows()) {
        let line: String = row.join(" ").chars().take(width).collect();
        text.extend([line.trim_end(), "\n"]);
    }
    text
}

/// Shows it until the user quits.
pub(super) fn live(sampler: Sampler, choice: Choice, interval: Duration) -> Result<(), Failure> {
    if !io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(Failure::bad_input(
            "standard output is no terminal",
            "use --once for a table or --json for a document per refresh",
        ));
    }
    let mut screen = ratatui::try_init()
        .map_err(|error| Failure::new(FAILED, format!("cannot take over the terminal: {error}")))?;
    let result = Live::new(sampler, choice, interval).run(&mut screen);
    ratatui::restore();
    result.map_err(|error| Failure::stdout(&error))
}

/// Content of the screen between its first and its last line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Table,
    /// The history of the connection under the cursor.
    History,
    Warnings,
}

struct Live {
    sampler: Sampler,
    choice: Choice,
    interval: Duration,
    /// The filter is being edited.
    typing: bool,
    is_paused: bool,
    page: Page,
    /// The row under the cursor, and the first visible row.
    row: usize,
    first: usize,
    /// Number of rows that fit.
    room: usize,
    connections: Vec<Connection>,
    warnings: Vec<Finding>,
}

impl Live {
    fn new(sampler: Sampler, choice: Choice, interval: Duration) -> Self {
        Self {
            sampler,
            choice,
            interval,
            typing: false,
            is_paused: false,
            page: Page::Table,
            row: 0,
            first: 0,
            room: 1,
            connections: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn run(&mut self, screen: &mut ratatui::DefaultTerminal) -> io::Result<()> {
        loop {
            if !self.is_paused {
                self.connections = self.sampler.take().1;
                self.warnings = self.sampler.findings(&self.connections);
            }
            let next = Instant::now() + self.interval;
            screen.draw(|frame| self.draw(frame))?;
            while event::poll(next.saturating_duration_since(Instant::now()))? {
                match event::read()? {
                    Event::Key(key) if key.kind == KeyEventKind::Press && !self.key(key) => return Ok(()),
                    _ => screen.draw(|frame| self.draw(frame))?,
                };
            }
        }
    }

    /// Handles a key; returns whether to continue.
    fn key(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return false;
        }
        let turn = |page, other| if page == other { Page::Table } else { other };
        match key.code {
            KeyCode::Enter if self.typing => self.typing = false,
            KeyCode::Esc if self.typing => {
                self.typing = false;
                self.choice.filter.clear();
            }
            KeyCode::Backspace if self.typing => {
                self.choice.filter.pop();
            }
            KeyCode::Char(letter) if self.typing => self.choice.filter.push(letter),
            KeyCode::Esc if self.page != Page::Table => self.page = Page::Table,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Enter => self.page = turn(self.page, Page::History),
            KeyCode::Char('w') => self.page = turn(self.page, Page::Warnings),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char(' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('a') => self.choice.all = !self.choice.all,
            // The next draw limits the values.
            KeyCode::Up => self.row = self.row.saturating_sub(1),
            KeyCode::Down => self.row += 1,
            KeyCode::PageUp => self.row = self.row.saturating_sub(self.room),
            KeyCode::PageDown => self.row += self.room,
            KeyCode::Home => self.row = 0,
            KeyCode::End => self.row = usize::MAX / 2,
            KeyCode::Char('s') => {
                self.choice.sort = match self.choice.sort {
                    Sort::Rate => Sort::Cwnd,
                    Sort::Cwnd => Sort::Srtt,
                    Sort::Srtt => Sort::Queue,
                    Sort::Queue => Sort::Loss,
                    Sort::Loss => Sort::Algorithm,
                    Sort::Algorithm => Sort::Rate,
                }
            }
            _ => {}
        }
        true
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
                .areas(frame.area());
        let shown = self.choice.of(self.connections.clone());
        let rows: usize = shown.iter().map(|connection| connection.subflows.len()).sum();
        self.room = usize::from(body.height).saturating_sub(1).max(1);
        self.row = self.row.min(rows.saturating_sub(1));
        self.first = self.first.min(self.row).max((self.row + 1).saturating_sub(self.room));
        if self.first + self.room > rows {
            self.first = rows.saturating_sub(self.room);
        }
        frame.render_widget(Line::from(self.summary(&shown, rows)).style(Modifier::BOLD), head);
        match self.page {
            Page::Warnings => self.draw_warnings(frame, body),
            _ if shown.is_empty() => {
                let hint = if self.choice.filter.is_empty() && !self.choice.all {
                    "No connection uses an algorithm of Braid's. `braid status` shows what is loaded; a shows all TCP."
                } else {
                    "No connection fits."
                };
                frame.render_widget(Paragraph::new(hint).wrap(Wrap { trim: true }), body);
            }
            Page::Table => self.draw_table(frame, body, &shown),
            Page::History => draw_history(frame, body, under(&shown, self.row), &self.sampler),
        }
        frame.render_widget(Line::from(self.keys()), foot);
    }

    fn summary(&self, shown: &[Connection], rows: usize) -> String {
        let subflows = || shown.iter().flat_map(|connection| &connection.subflows);
        let what = if self.choice.all { "all TCP" } else { "Braid's" };
        let paused = if self.is_paused { " PAUSED" } else { "" };
        let part = match self.page {
            Page::Table if rows > self.room => format!(" ({}-{})", self.first + 1, self.first + self.room),
            _ => String::new(),
        };
        format!(
            "braid top{paused}: {what}, {} connections, {rows} subflows{part}, {}bit/s out, {} in",
            shown.len(),
            rate(subflows().map(|subflow| subflow.rate_bps).sum()),
            rate(subflows().map(|subflow| subflow.received_bps).sum()),
        )
    }

    fn keys(&self) -> String {
        if self.typing {
            return format!("filter: {}_   Enter keeps it, Esc clears it", self.choice.filter);
        }
        if self.page != Page::Table {
            return "Esc back to the table   space pause   q quit".into();
        }
        let filter = if self.choice.filter.is_empty() { "none" } else { &self.choice.filter };
        let sort = format!("{:?}", self.choice.sort).to_lowercase();
        let warnings = match self.warnings.len() {
            0 => String::new(),
            n => format!("w {n} WARNINGS   "),
        };
        format!("{warnings}s sort: {sort}   / filter: {filter}   Enter history   a all   q quit")
    }

    fn draw_table(&self, frame: &mut Frame<'_>, body: Rect, shown: &[Connection]) {
        let seen: Vec<_> = rows(shown).skip(self.first).take(self.room).collect();
        let grid = Grid::new(&seen, usize::from(body.width));
        let widths: Vec<Constraint> =
            grid.columns.iter().map(|filled| Constraint::Length(filled.width as u16)).collect();
        // Without colour, underlined.
        let style = if terminal::style().colour { Modifier::REVERSED } else { Modifier::UNDERLINED };
        let rows = grid.rows().enumerate().map(|(at, cells)| {
            let is_chosen = self.first + at == self.row;
            Row::new(cells).style(if is_chosen { Modifier::BOLD } else { Modifier::empty() })
        });
        let table = Table::new(rows, widths).column_spacing(1).header(Row::new(grid.title()).style(style));
        frame.render_widget(table, body);
    }

    fn draw_warnings(&self, frame: &mut Frame<'_>, body: Rect) {
        let text = if self.warnings.is_empty() {
            "Nothing to warn of.".to_owned()
        } else {
            let each: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
            each.join("\n")
        };
        frame.render_widget(
            Paragraph::new(text).wrap(Wrap { trim: false }).scroll((self.row as u16, 0)),
            body,
        );
    }
}

/// The connection of a row of the table.
fn under(shown: &[Connection], row: usize) -> &Connection {
    let mut before = 0;
    let holds = |connection: &&Connection| {
        before += connection.subflows.len();
        row < before
    };
    shown.iter().find(holds).unwrap_or(&shown[shown.len() - 1])
}

/// Its name, the height of its bars, and its latest value as text.
type HistoryLine = (&'static str, fn(&Step) -> u64, fn(&Step) -> String);

/// Rate, RTT and window of each subflow over the latest samples, the newest at the right.
fn draw_history(frame: &mut Frame<'_>, body: Rect, connection: &Connection, sampler: &Sampler) {
    let title = format!("Connection {}, the latest samples, newest at the right:", connection.name());
    frame.render_widget(Line::from(title), Rect { height: 1, ..body });
    let lines: [HistoryLine; 4] = [
        ("rate", |step| step.rate_bps as u64, |step| rate(step.rate_bps)),
        ("in", |step| step.received_bps as u64, |step| rate(step.received_bps)),
        ("RTT", |step| u64::from(step.srtt_us), |step| milliseconds(step.srtt_us)),
        ("cwnd", |step| u64::from(step.cwnd), |step| step.cwnd.to_string()),
    ];
    let mut y = body.y + 1;
    for subflow in &connection.subflows {
        for (name, value, text) in lines {
            let values: Vec<u64> = sampler.history(subflow.cookie).map(value).collect();
            let Some(last) = sampler.history(subflow.cookie).last() else { continue };
            // A subflow that only sends has no line for received data, and vice versa.
            if y >= body.bottom() || values.iter().all(|&value| value == 0) {
                continue;
            }
            let label = format!("{:>2} {:<10.10} {name:<4} {:>6} ", subflow.number, subflow.line, text(last));
            let width = label.chars().count() as u16;
            let line = Rect { x: body.x, y, width: body.width, height: 1 };
            frame.render_widget(Line::from(label), line);
            let room = usize::from(body.width.saturating_sub(width));
            let latest = &values[values.len().saturating_sub(room)..];
            let chart = Rect { x: body.x + width, width: room as u16, ..line };
            frame.render_widget(Sparkline::default().data(latest), chart);
            y += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_have_three_significant_digits() {
        let rates = [
            (0.0, "0"),
            (-0.0, "0"),
            (999.0, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (1.5e8, "150M"),
            (2e12, "2000G"),
        ];
        for (bps, text) in rates {
            assert_eq!(rate(bps), text);
        }
        for (us, text) in [(0, "-"), (50, "0.05"), (9_999, "10.00"), (12_340, "12.3"), (250_000, "250")] {
            assert_eq!(milliseconds(us), text);
        }
    }
}
