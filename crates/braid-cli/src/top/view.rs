//! The table on a terminal, as wide as that is.

use std::io;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};

use super::sample::{Connection, Sampler, Subflow};
use super::{Choice, Sort};
use crate::Failure;
use crate::failure::FAILED;
use crate::terminal;

/// A column, and what stands in it. Numbers are flush right.
struct Column {
    title: &'static str,
    is_number: bool,
    /// Columns with a larger one are left out first where there is no room; 0 always stays.
    rank: u8,
    cell: fn(&Connection, &Subflow) -> String,
}

const COLUMNS: [Column; 15] = [
    Column {
        title: "CONN",
        is_number: false,
        rank: 0,
        cell: |connection, _| match connection.token {
            Some(token) => format!("{token:08x}"),
            None => "tcp".into(),
        },
    },
    Column { title: "SF", is_number: true, rank: 0, cell: |_, subflow| subflow.number.to_string() },
    Column { title: "ALGORITHM", is_number: false, rank: 0, cell: |_, subflow| subflow.algorithm.clone() },
    Column { title: "STATE", is_number: false, rank: 0, cell: |_, subflow| subflow.state().into() },
    Column { title: "CWND", is_number: true, rank: 0, cell: |_, subflow| subflow.flow.cwnd.to_string() },
    Column {
        title: "SSTHR",
        is_number: true,
        rank: 0,
        cell: |_, subflow| subflow.ssthresh().map_or("-".into(), |ssthresh| ssthresh.to_string()),
    },
    Column { title: "SRTT", is_number: true, rank: 0, cell: |_, subflow| milliseconds(subflow.flow.srtt_us) },
    Column { title: "RATE", is_number: true, rank: 0, cell: |_, subflow| rate(subflow.rate_bps) },
    Column {
        title: "LOSS%",
        is_number: true,
        rank: 0,
        cell: |_, subflow| format!("{:.2}", subflow.loss() * 100.0),
    },
    Column { title: "GROUP", is_number: false, rank: 0, cell: |_, subflow| subflow.group() },
    Column {
        title: "FLIGHT",
        is_number: true,
        rank: 3,
        cell: |_, subflow| subflow.flow.in_flight.to_string(),
    },
    Column {
        title: "MINRTT",
        is_number: true,
        rank: 4,
        cell: |_, subflow| milliseconds(subflow.flow.min_rtt_us),
    },
    Column {
        title: "NAMESPACE",
        is_number: false,
        rank: 5,
        cell: |connection, _| connection.namespace.clone(),
    },
    Column { title: "LOCAL", is_number: false, rank: 2, cell: |_, subflow| subflow.local.to_string() },
    Column { title: "REMOTE", is_number: false, rank: 1, cell: |_, subflow| subflow.remote.to_string() },
];

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
    let mut scaled = bps;
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

/// The columns that fit, each with its width, and the rows.
struct Grid {
    columns: Vec<(&'static Column, usize)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn new(connections: &[Connection], width: usize) -> Self {
        let subflows = || {
            connections
                .iter()
                .flat_map(|connection| connection.subflows.iter().map(move |sf| (connection, sf)))
        };
        let widths: Vec<usize> = COLUMNS
            .iter()
            .map(|column| {
                let cells = subflows().map(|(connection, sf)| (column.cell)(connection, sf).chars().count());
                // So that the table does not jump when a number gains a digit.
                let least = if column.is_number && column.title != "SF" { 6 } else { 0 };
                cells.max().unwrap_or(0).max(column.title.len()).max(least)
            })
            .collect();
        let mut ranks: Vec<u8> = COLUMNS.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let taken = |most: u8| -> usize {
            let fitting = COLUMNS.iter().zip(&widths).filter(|(column, _)| column.rank <= most);
            fitting.map(|(_, width)| width + 1).sum::<usize>() - 1
        };
        let most =
            ranks.into_iter().take_while(|&rank| rank == 0 || taken(rank) <= width).last().unwrap_or(0);
        let columns: Vec<(&Column, usize)> =
            COLUMNS.iter().zip(widths).filter(|(column, _)| column.rank <= most).collect();
        let rows = subflows()
            .map(|(connection, sf)| columns.iter().map(|(column, _)| (column.cell)(connection, sf)).collect())
            .collect();
        Self { columns, rows }
    }

    fn title(&self) -> Vec<String> {
        self.columns.iter().map(|(column, width)| aligned(column, *width, column.title)).collect()
    }

    fn cells(&self) -> impl Iterator<Item = Vec<String>> {
        self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns);
            cells.map(|(cell, (column, width))| aligned(column, *width, cell)).collect()
        })
    }
}

fn aligned(column: &Column, width: usize, text: &str) -> String {
    if column.is_number { format!("{text:>width$}") } else { format!("{text:<width$}") }
}

/// The table as text.
pub(super) fn text(connections: &[Connection], width: usize) -> String {
    let grid = Grid::new(connections, width);
    let mut text = String::new();
    for row in std::iter::once(grid.title()).chain(grid.cells()) {
        let line: String = row.join(" ").chars().take(width).collect();
        text.extend([line.trim_end(), "\n"]);
    }
    text
}

/// Shows it until the user has seen enough.
pub(super) fn live(sampler: Sampler, choice: Choice, interval: Duration) -> Result<(), Failure> {
    if !io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(Failure::bad_input(
            "standard output is no terminal",
            "use --once for a table or --json for a document per refresh",
        ));
    }
    let mut screen = ratatui::try_init()
        .map_err(|error| Failure::new(FAILED, format!("cannot take over the terminal: {error}")))?;
    let result = Live { sampler, choice, interval, typing: false, connections: Vec::new() }.run(&mut screen);
    ratatui::restore();
    result.map_err(|error| Failure::stdout(&error))
}

struct Live {
    sampler: Sampler,
    choice: Choice,
    interval: Duration,
    /// The filter is being typed.
    typing: bool,
    connections: Vec<Connection>,
}

impl Live {
    fn run(&mut self, screen: &mut ratatui::DefaultTerminal) -> io::Result<()> {
        loop {
            self.connections = self.sampler.take().1;
            let next = Instant::now() + self.interval;
            loop {
                screen.draw(|frame| self.draw(frame))?;
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                if event::poll(left)? {
                    match event::read()? {
                        Event::Key(key) if key.kind == KeyEventKind::Press && !self.key(key) => return Ok(()),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Returns whether to go on.
    fn key(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return false;
        }
        match key.code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc if self.typing => {
                self.typing = false;
                self.choice.filter.clear();
            }
            KeyCode::Backspace if self.typing => {
                self.choice.filter.pop();
            }
            KeyCode::Char(letter) if self.typing => self.choice.filter.push(letter),
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('a') => self.choice.all = !self.choice.all,
            KeyCode::Char('s') => {
                self.choice.sort = match self.choice.sort {
                    Sort::Rate => Sort::Cwnd,
                    Sort::Cwnd => Sort::Srtt,
                    Sort::Srtt => Sort::Loss,
                    Sort::Loss => Sort::Algorithm,
                    Sort::Algorithm => Sort::Rate,
                }
            }
            _ => {}
        }
        true
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
                .areas(frame.area());
        let shown = self.choice.of(self.connections.clone());
        let subflows: usize = shown.iter().map(|connection| connection.subflows.len()).sum();
        let total: f64 = shown.iter().flat_map(|connection| &connection.subflows).map(|sf| sf.rate_bps).sum();
        let what = if self.choice.all { "all TCP" } else { "Braid's" };
        let summary = format!(
            "braid top: {what}, {} connections, {subflows} subflows, {}bit/s",
            shown.len(),
            rate(total)
        );
        frame.render_widget(Line::from(summary).style(Modifier::BOLD), head);

        if shown.is_empty() {
            let hint = if self.choice.filter.is_empty() && !self.choice.all {
                "No connection uses an algorithm of Braid's. `braid status` shows what is loaded; a shows all TCP."
            } else {
                "No connection fits."
            };
            frame.render_widget(Paragraph::new(hint), body);
        } else {
            let grid = Grid::new(&shown, usize::from(body.width));
            let widths: Vec<Constraint> =
                grid.columns.iter().map(|(_, width)| Constraint::Length(*width as u16)).collect();
            // Without colour an underline does.
            let style = if terminal::style().colour { Modifier::REVERSED } else { Modifier::UNDERLINED };
            let table = Table::new(grid.cells().map(Row::new), widths)
                .column_spacing(1)
                .header(Row::new(grid.title()).style(style));
            frame.render_widget(table, body);
        }

        let foot_text = if self.typing {
            format!("filter: {}_   Enter keeps it, Esc clears it", self.choice.filter)
        } else {
            let filter = if self.choice.filter.is_empty() { "none" } else { &self.choice.filter };
            let sort = format!("{:?}", self.choice.sort).to_lowercase();
            format!("s sort: {sort}   / filter: {filter}   a all or Braid's   q quit")
        };
        frame.render_widget(Line::from(foot_text), foot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_have_three_significant_digits() {
        let rates = [
            (0.0, "0"),
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
