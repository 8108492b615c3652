//! Files of a new algorithm.

use crate::{Error, headers};

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path in the folder of the algorithm.
    pub name: String,
    /// Its content.
    pub text: String,
    /// For an editor; all algorithms of a folder share it.
    pub shared: bool,
}

/// A working algorithm of this name, its page, a scenario and a test.
///
/// # Errors
/// If the name is invalid.
pub fn template(name: &str) -> Result<Vec<File>, Error> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.is_empty()
        || name.len() > 9
        || !name.chars().all(fits)
        || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(Error::new(format!("an algorithm cannot be called \"{name}\""))
            .hint("a name has at most 9 characters of a-z and 0-9, the first a letter"));
    }
    if braid_algorithms::all().iter().any(|known| known.name() == name) {
        return Err(Error::new(format!("\"{name}\" is a built-in algorithm")).hint("give yours another name"));
    }
    let files = [
        (".c", include_str!("../template/algorithm.c")),
        (".md", include_str!("../template/algorithm.md")),
        (".toml", include_str!("../template/algorithm.toml")),
        ("-test.sh", include_str!("../template/algorithm-test.sh")),
    ];
    let clangd = include_str!("../template/clangd").to_owned();
    let clangd = File { name: ".clangd".to_owned(), text: clangd, shared: true };
    let file = |(ending, text): (&str, &str)| File {
        name: format!("{name}{ending}"),
        text: text.replace("NAME.", &format!("{name}.")).replace("NAME", name),
        shared: false,
    };
    let headers = headers::headers().iter().filter(|(path, _)| !path.starts_with("kernel/"));
    let header = |(path, text): &(&str, &str)| File {
        name: format!("braid/{path}"),
        text: (*text).to_owned(),
        shared: true,
    };
    Ok(files.into_iter().map(file).chain([clangd]).chain(headers.map(header)).collect())
}
