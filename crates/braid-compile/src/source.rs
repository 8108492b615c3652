//! Checks of the source: the declaration at its end, and violations of the contract.

use std::fs;
use std::path::Path;

use crate::Error;

/// The macro that declares an algorithm.
const MACRO: &str = "BRAID_ALGORITHM";
/// Its arguments.
const ARGUMENTS: [&str; 9] = [
    "the name",
    "the table of parameters",
    "the flags",
    "init",
    "release",
    "on_ack",
    "on_loss",
    "on_recovered",
    "on_idle_restart",
];

/// Declaration of an algorithm in its file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    /// `FILE:LINE`
    pub(crate) place: String,
    /// Names of the functions, in the order of [`ARGUMENTS`].
    functions: [String; 6],
}

impl Declaration {
    /// `FILE:LINE: FUNCTION` for each type of event.
    pub(crate) fn places(&self, tokens: &[Token]) -> [String; 6] {
        let [init, release, on_ack, on_loss, on_recovered, on_idle_restart] = &self.functions;
        [init, release, on_loss, on_recovered, on_ack, on_idle_restart].map(|name| {
            let named = |token: &&Token| token.text == *name && token.place.is_some();
            let place = tokens.iter().find(named).and_then(|token| token.place.as_ref());
            format!("{}: {name}", place.unwrap_or(&self.place))
        })
    }
}

/// A token of the source: a name, a number or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// `FILE:LINE`; `None` for Braid's own headers and the system's.
    pub(crate) place: Option<String>,
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| {
        Error::new(format!("{}: {error}", path.display())).hint("name a C file, such as ./name.c")
    })
}

/// The declaration, if it is complete and valid.
pub(crate) fn declaration(path: &Path, text: &str) -> Result<Declaration, Error> {
    let tokens = scan(&without_comments(text), |line| Some(format!("{}:{line}", path.display())));
    let Some(at) = tokens.iter().position(|token| token.text == MACRO) else {
        let message = format!("{}: no {MACRO}(...), which names the function of each event", path.display());
        return Err(Error::new(message).hint("end the file with it, as `braid new algorithm NAME` shows"));
    };
    let place = tokens[at].place.clone().expect("each has one");
    let mut arguments: Vec<Vec<&Token>> = vec![Vec::new()];
    let mut depth = 0;
    for token in &tokens[at + 1..] {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        match (depth, token.text.as_str()) {
            (0, _) => break,
            (1, ",") => arguments.push(Vec::new()),
            (1, "(") => {}
            _ => arguments.last_mut().expect("there is one").push(token),
        }
    }
    let missing = ARGUMENTS.iter().enumerate().find(|(at, _)| arguments.get(*at).is_none_or(Vec::is_empty));
    if let Some((_, what)) = missing {
        let message = format!("{place}: {MACRO} has no {what}: it takes {}", ARGUMENTS.join(", "));
        return Err(Error::new(message).hint("use BRAID_IGNORE for an event that it ignores"));
    }
    if arguments.len() > ARGUMENTS.len() {
        let message =
            format!("{place}: {MACRO} has {} arguments: it takes {}", arguments.len(), ARGUMENTS.join(", "));
        return Err(Error::new(message));
    }
    let owns_cwnd = arguments[2].iter().any(|token| token.text == "BRAID_OWNS_CWND");
    for (at, why) in [(5, "the window would never grow"), (6, "the window would never shrink")] {
        if arguments[at][0].text == "BRAID_IGNORE" && !owns_cwnd {
            let place = arguments[at][0].place.clone().expect("each has one");
            let what = ARGUMENTS[at];
            return Err(Error::new(format!("{place}: {what} is missing: {why}"))
                .hint(format!("write a function for {what} in place of BRAID_IGNORE")));
        }
    }
    let name = arguments[0][0].text.clone();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.is_empty() || name.len() > 9 || !name.chars().all(fits) {
        let message = format!("{place}: an algorithm cannot be called \"{name}\"");
        return Err(Error::new(message).hint("a name has at most 9 characters of a-z and 0-9"));
    }
    let functions =
        std::array::from_fn(|at| arguments[3 + at].iter().map(|token| token.text.as_str()).collect());
    Ok(Declaration { name, place, functions })
}

/// The tokens of a preprocessed file; `headers` are Braid's own.
pub(crate) fn tokens(expanded: &str, headers: &Path) -> Vec<Token> {
    let headers = headers.display().to_string();
    let mut tokens = Vec::new();
    let (mut file, mut line) = (String::new(), 0);
    for text in expanded.lines() {
        // # LINE "FILE" FLAGS
        if let Some(marker) = text.strip_prefix("# ") {
            let mut parts = marker.splitn(2, ' ');
            if let (Some(Ok(number)), Some(rest)) = (parts.next().map(str::parse::<u64>), parts.next()) {
                line = number;
                rest.split('"').nth(1).unwrap_or_default().clone_into(&mut file);
                continue;
            }
        }
        let is_own = !file.starts_with(&headers) && !file.starts_with("/usr/") && !file.starts_with('<');
        tokens.extend(scan(text, |_| is_own.then(|| format!("{file}:{line}"))));
        line += 1;
    }
    tokens
}

/// Refuses violations of the contract that are visible in the source.
pub(crate) fn check(tokens: &[Token]) -> Result<(), Error> {
    for (at, token) in tokens.iter().enumerate() {
        let Some(place) = &token.place else { continue };
        let text = token.text.as_str();
        let floats =
            ["float", "double", "_Complex", "__float128", "_Float16", "_Float32", "_Float64", "_Float128"];
        if floats.contains(&text) || is_float(text) {
            let message =
                format!("{place}: `{text}`: the contract has no floating point, which a kernel cannot have");
            return Err(Error::new(message).hint(
                "use whole numbers with a scale; fixed.h has products, quotients and roots of 64 bits",
            ));
        }
        if ["asm", "__asm__", "__asm"].contains(&text) {
            return Err(Error::new(format!(
                "{place}: `{text}` is not allowed: the same file must run on every \
                machine"
            )));
        }
        let next = |count: usize| tokens[at + 1..].iter().take(count).map(|token| token.text.as_str());
        let endless = match text {
            "while" => next(3).eq(["(", "1", ")"]),
            "for" => next(4).eq(["(", ";", ";", ")"]),
            _ => false,
        };
        if endless {
            let message =
                format!("{place}: `{text}` without a bound: a kernel refuses loops that may not end");
            return Err(Error::new(message).hint(
                "count to a constant, such as BRAID_MAX_SUBFLOWS; braid_for_each iterates over a set of subflows",
            ));
        }
    }
    Ok(())
}

fn is_float(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !text.contains(|c: char| c.is_ascii_digit())
    {
        return false;
    }
    let hex = text.starts_with("0x") || text.starts_with("0X");
    text.contains('.') || (hex && text.contains(['p', 'P'])) || (!hex && text.contains(['e', 'E']))
}

/// The names, numbers and signs of a text without comments; `place` maps a line number from 1.
fn scan(text: &str, place: impl Fn(usize) -> Option<String>) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let starts_number = first.is_ascii_digit()
                || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()));
            let length = if starts_number {
                let mut before = ' ';
                let goes_on = |c: char| {
                    let exponent = "eEpP".contains(before) && "+-".contains(c);
                    before = c;
                    is_word(c) || c == '.' || exponent
                };
                rest.chars()
                    .take_while({
                        let mut goes_on = goes_on;
                        move |&c| goes_on(c)
                    })
                    .map(char::len_utf8)
                    .sum()
            } else if is_word(first) {
                rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
            } else if first == '"' || first == '\'' {
                literal(rest, first)
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: rest[..length].to_owned(), place: place(number + 1) });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Length of a quoted text.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Replaces comments by blanks, keeping lines.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            let length = if first == '"' || first == '\'' { literal(rest, first) } else { first.len_utf8() };
            plain.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        };
        plain.push(' ');
        plain.extend(rest[..length].chars().filter(|&c| c == '\n'));
        rest = &rest[length..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        scan(&without_comments(text), |_| None).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn names_numbers_and_signs_are_told_apart() {
        assert_eq!(texts("x += 1.5e-3f/y; // 2.5"), ["x", "+", "=", "1.5e-3f", "/", "y", ";"]);
        assert_eq!(
            texts("a->b /* 1.0\n */ 'c' \"d\\\" 3.0\" 0x1fu"),
            ["a", "-", ">", "b", "'c'", "\"d\\\" 3.0\"", "0x1fu"]
        );
        assert!(["1.0", ".5", "1e9", "0x1p3", "2.f"].into_iter().all(is_float));
        assert!(!["1", "0x1e", "100u", "...", "x1e", "1ull"].into_iter().any(is_float));
    }

    #[test]
    fn the_lines_of_a_file_are_those_that_the_preprocessor_says() {
        let expanded =
            "# 1 \"./own.c\"\n# 1 \"/tmp/h/braid.h\" 1\ntypedef int s32;\n# 7 \"./own.c\" 2\n\nx = 1.0;\n";
        let tokens = tokens(expanded, Path::new("/tmp/h"));
        let places: Vec<_> = tokens.iter().filter_map(|token| token.place.clone()).collect();
        assert_eq!(places, vec!["./own.c:8"; 4]);
        assert!(check(&tokens).unwrap_err().message.starts_with("./own.c:8: `1.0`"));
    }
}
