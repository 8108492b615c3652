//! Reports: tables for a terminal, one per scenario with one row per congestion control, and the HTML report ([`html`])
//! with charts.

mod column;
pub mod compare;
mod figure;
pub mod html;
mod layout;
mod markup;
pub mod overlay;
pub mod papers;
pub mod repro;
mod search;
mod table;
mod text;

pub use layout::wrap;
pub use table::{Cell, Style, Table};
pub use text::tables;
