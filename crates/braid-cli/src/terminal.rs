//! Standard output: data only, written completely, and silent once the reader is gone.

use std::io::{self, IsTerminal, Write};

use braid_report::Style;

use crate::Failure;

/// Writes to standard output. A closed pipe is not an error.
pub(crate) fn print(data: &[u8]) -> Result<(), Failure> {
    still_read(data).map(drop)
}

/// As [`print`]; `false` if the reader is gone.
pub(crate) fn still_read(data: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::stdout(&error)),
    }
}

/// Style of tables on standard output.
pub(crate) fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::default();
    }
    Style {
        width: terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// Whether a person can be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on standard error; only `y` and `yes` are a yes.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Failure::new(crate::failure::FAILED, format!("reading the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
