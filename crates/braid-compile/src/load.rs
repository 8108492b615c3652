//! Loads a compiled algorithm beside the built-in ones.

use std::ffi::{CStr, c_char, c_void};
use std::fs;
use std::mem;
use std::path::Path;

use braid_algorithms::{Algorithm, guard};
use libloading::{Library, Symbol};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::flags;
use crate::source::{Declaration, Token};

type Undefined = unsafe extern "C" fn(*const c_char, *const c_char, u32);

/// Ends the run before undefined behaviour.
unsafe extern "C" fn undefined(what: *const c_char, file: *const c_char, line: u32) {
    // SAFETY: both are constants of the library.
    let [what, file] = [what, file].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    guard::violated(&format!("{file}:{line}: the algorithm {what}: undefined behaviour"));
}

/// Loads a library for the rest of the program. `tokens` are its whole source.
pub(crate) fn load(
    library: &Path,
    source: &Path,
    tokens: &[Token],
    declared: &Declaration,
    folder: &Path,
) -> Result<&'static Algorithm, Error> {
    let Declaration { name, place, .. } = declared;
    let failed =
        |error: libloading::Error| Error::new(format!("{}: cannot load it: {error}", source.display()));
    // SAFETY: checks have shown that it has only the functions of an algorithm, none of which runs at load time.
    let library = unsafe { Library::new(library) }.map_err(failed)?;
    let symbol = format!("braid_algorithm_{name}");
    // SAFETY: BRAID_ALGORITHM of our header defines a symbol of that name and type.
    let descriptor: Symbol<*const c_void> = unsafe { library.get(symbol.as_bytes()) }.map_err(failed)?;
    // SAFETY: the address of the symbol itself is the descriptor; it stays valid, since the library is never closed.
    let descriptor = unsafe { descriptor.into_raw().as_raw_ptr() }.cast_const();
    // SAFETY: a checked library has it, of this type.
    if let Ok(handler) = unsafe { library.get::<*mut Undefined>(b"braid_undefined") } {
        // SAFETY: it is the address of a variable that nothing else writes.
        unsafe { **handler = undefined };
    }
    mem::forget(library);
    let page = fs::read_to_string(source.with_extension("md"))
        .unwrap_or_else(|_| format!("# {name}: an algorithm of {}\n", source.display()));
    let code: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    let hash = Sha256::digest(code.join(" "));
    let hash = u64::from_be_bytes(hash[..8].try_into().expect("8 bytes"));
    let places = declared.places(tokens);
    // SAFETY: it is of the header's layout, and stays.
    unsafe { braid_algorithms::add(descriptor, page, hash, places, |new| flags::check(new, folder)) }
        .map_err(|error| Error::new(format!("{place}: {error}")))
}
