//! Writes a page with drawings of all built-in scenarios: `cargo run -p braid-draw --example topologies > page.html`.

use std::io::{self, Write};

use braid_scenario::{Source, embedded, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "<!doctype html><meta charset=utf-8><title>Topologies</title>")?;
    for summary in embedded() {
        let file = load(&Source::find(summary.name)?, &[])?;
        let drawing = braid_draw::topology(&file.cells[0]);
        writeln!(out, "<h2>{}</h2>{drawing}", summary.name)?;
    }
    Ok(())
}
