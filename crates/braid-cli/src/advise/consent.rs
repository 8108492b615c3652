//! A question that is answered with yes before anything is sent or changed.

use std::io::IsTerminal as _;

use crate::Failure;

pub(super) fn consent(yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let refused = || Failure::bad_input(format!("{question} Nobody said yes"), "add --yes");
    if !std::io::stdin().is_terminal() {
        return Err(refused());
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|_| refused())?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { Err(refused()) }
}
