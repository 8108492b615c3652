//! This program, and its command line.

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A command in shell syntax.
pub(crate) fn line(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("cubic:beta=0.8".into()), "cubic:beta=0.8");
        assert_eq!(quoted("my file".into()), "'my file'");
        assert_eq!(quoted("it's".into()), r"'it'\''s'");
        assert_eq!(quoted(String::new()), "''");
    }
}
