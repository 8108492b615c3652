//! Verdicts and prose as markup.

use braid_results::claims::Verdict;
use maud::{Markup, PreEscaped, html};

/// As a class and as part of ids.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Undecided => "undecided",
        Verdict::NotCheckable => "not-checkable",
    }
}

/// Distinguishes verdicts without colour.
pub(super) fn mark(verdict: Verdict) -> Markup {
    let sign = match verdict {
        Verdict::Holds => "\u{2713}",
        Verdict::Fails => "\u{2717}",
        Verdict::Undecided => "?",
        Verdict::NotCheckable => "\u{2013}",
    };
    html! { span.mark.(class(verdict)) aria-hidden="true" { (sign) } }
}

/// Prose as markup.
pub(super) fn prose(text: &str) -> PreEscaped<String> {
    use pulldown_cmark::{Options, Parser, html as markup};
    let mut out = String::new();
    markup::push_html(&mut out, Parser::new_ext(text, Options::ENABLE_TABLES));
    PreEscaped(
        out.replace(
            "<table>",
            "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>",
        )
        .replace("</table>", "</table></div>")
        .replace("<th></th>", "<td></td>"),
    )
}
