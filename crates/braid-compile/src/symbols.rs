//! Checks of the compiled file: static memory, and missing functions.

use std::fs;
use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

use crate::Error;
use crate::source::{Declaration, Token};

/// Functions that a compiler may call by itself.
const OF_THE_COMPILER: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];

/// Refuses globals and calls of functions outside of the file.
pub(crate) fn check(library: &Path, tokens: &[Token], declared: &Declaration) -> Result<(), Error> {
    let unreadable = |error: String| Error::new(format!("cannot read the compiled file: {error}"));
    let bytes = fs::read(library).map_err(|error| unreadable(error.to_string()))?;
    let file = object::File::parse(&*bytes).map_err(|error| unreadable(error.to_string()))?;
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        // `static` within a function: NAME.NUMBER.
        let name = name.split('.').next().unwrap_or_default();
        // Names of compiler and linker (_DYNAMIC, __dso_handle, completed.0) are not in the source.
        let Some(place) = place(tokens, name) else { continue };
        if symbol.is_undefined() && !OF_THE_COMPILER.contains(&name) {
            let message = format!(
                "{place}: `{name}` is not available: an algorithm calls only functions of its file and of Braid's \
                 headers"
            );
            return Err(Error::new(message).hint("a kernel has no C library; fixed.h has the arithmetic"));
        }
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let writable = section.is_some_and(|section| {
            matches!(
                section.kind(),
                SectionKind::Data
                    | SectionKind::UninitializedData
                    | SectionKind::Common
                    | SectionKind::Tls
                    | SectionKind::UninitializedTls
            ) && !section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"))
        });
        if (writable && symbol.size() > 0) || symbol.is_common() {
            let message = format!("{place}: `{name}` is a global: all connections would share it");
            let private = format!("put it into struct {}_private, or make it const", declared.name);
            return Err(Error::new(message).hint(private));
        }
    }
    Ok(())
}

/// First occurrence of a name in the user's source.
fn place<'a>(tokens: &'a [Token], name: &str) -> Option<&'a str> {
    let token = tokens.iter().find(|token| token.text == name && token.place.is_some())?;
    token.place.as_deref()
}
