//! What pages have in common.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::layout::Grid;

/// Second line of every report. `--report` replaces a file only if it has this mark.
pub const MARK: &str = "<meta name=\"generator\" content=\"Braid report\">";

/// A page with these styles and this content security policy.
pub(crate) fn page(title: &str, policy: &str, styles: &[&str], body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped(MARK))
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { @for style in styles { (PreEscaped(style)) } }
            }
            (body)
        }
    };
    page.into_string()
}

/// A table in a frame that scrolls where the page is narrow; a head without text is an empty corner.
pub(crate) fn table(label: &str, caption: Option<&str>, grid: &Grid) -> Markup {
    html! {
        div.wide tabindex="0" role="group" aria-label=(label) {
            table {
                @if let Some(caption) = caption { caption { (caption) } }
                thead {
                    tr {
                        @for (place, head) in grid.heads.iter().enumerate() {
                            @if head.is_empty() { td {} }
                            @else if grid.numbers[place] { th.number scope="col" { (head) } }
                            @else { th scope="col" { (head) } }
                        }
                    }
                }
                tbody {
                    @for row in &grid.rows {
                        tr {
                            @for (place, text) in row.iter().enumerate() {
                                @if grid.numbers[place] { td.number { (text) } } @else { th scope="row" { (text) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A row of a picture of shares: a name, and a bar as wide as its pieces, or why there is none.
pub(crate) fn share_row(name: &str, bar: &Markup) -> Markup {
    html! { div.share-row { span.cc { (name) } div.share-bar { (bar) } } }
}
