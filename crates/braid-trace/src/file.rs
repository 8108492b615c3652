//! A file of calls in any of the three forms.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use crate::binary::{End, MAGIC, Reader};
use crate::call::Call;
use crate::{Error, json, tsv};

/// Calls of a file.
pub enum Calls {
    /// A binary trace, read incrementally.
    Trace(Box<Reader<BufReader<File>>>),
    /// Text or JSON.
    Listed(std::vec::IntoIter<Call>),
}

/// Opens a file of calls in any of the three forms.
pub fn read(path: &Path) -> Result<Calls, Error> {
    let at = |error: &dyn fmt::Display| Error::new(format!("{}: {error}", path.display()));
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| at(&error))?);
    let begins = std::io::BufRead::fill_buf(&mut file).map_err(|error| at(&error))?;
    if begins.starts_with(MAGIC) {
        return Ok(Calls::Trace(Box::new(Reader::new(file).map_err(|error| at(&error))?)));
    }
    let is_json = begins.trim_ascii_start().first() == Some(&b'{');
    let is_tsv = begins.starts_with(tsv::FIRST_LINE.as_bytes());
    if !is_json && !is_tsv {
        return Err(at(
            &"neither a trace nor test vectors: `braid trace` records the former, `braid vectors` \
                        writes the latter",
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| at(&error))?;
    let calls = if is_json { json::parse(&text) } else { tsv::parse(&text) };
    Ok(Calls::Listed(calls.map_err(|error| at(&error))?.into_iter()))
}

impl Calls {
    /// The end of the trace, once all calls have been read; `None` if it was cut off or is not a trace.
    pub fn end(&self) -> Option<End> {
        match self {
            Self::Trace(reader) => reader.end(),
            Self::Listed(_) => None,
        }
    }

    /// The kernel on which a trace was recorded.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            Self::Trace(reader) => Some(reader.kernel()),
            Self::Listed(_) => None,
        }
    }
}

impl Iterator for Calls {
    type Item = Result<Call, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Trace(reader) => reader.next(),
            Self::Listed(calls) => calls.next().map(Ok),
        }
    }
}
