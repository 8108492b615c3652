//! Calls as text to review, one row per part, columns separated by tabs.
//!
//! Leading lines that begin with `#` name the columns. Narrow fields are decimal, 64-bit ones hexadecimal.

use std::fmt::Write as _;
use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::layout::{Event, MAX_SUBFLOWS, PUBLIC_WORDS, Subflow, View};

use crate::fields::{Row, Width, event_kind, event_name, hex, parse as parse_field, show, word};
use crate::{Call, Error, Origin, Outputs};

pub(crate) const FIRST_LINE: &str = "# braid calls, version 1";

/// Columns, each after a tab.
fn tabbed<T: AsRef<str>>(columns: impl IntoIterator<Item = T>) -> String {
    columns.into_iter().fold(String::new(), |line, column| line + "\t" + column.as_ref())
}

fn columns<T: Row>() -> String {
    tabbed(T::FIELDS.iter().map(|(name, _)| name))
}

fn row<T: Row>(row: &T) -> String {
    tabbed(T::FIELDS.iter().zip(row.get()).map(|((_, width), value)| show(*width, value)))
}

fn words(words: &[u64]) -> String {
    tabbed(words.iter().map(|&word| hex(word)))
}

/// The public words without trailing zeros.
fn public(words: &[u64; PUBLIC_WORDS]) -> &[u64] {
    let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    &words[..used]
}

/// Writes calls.
pub fn write(calls: impl IntoIterator<Item = Call>) -> String {
    let mut text = format!(
        "{FIRST_LINE}\n\
         #origin\tsource_hash\tspec\n\
         #call\tsequence\tcpu\ttime_ns\tsocket\tconnection\tself (index of the subflow, from 0)\n\
         #event\ttype{}\n\
         #subflow{}\tpublic words, zeros at the end left out\n\
         #private\twords before the call\n\
         #outputs\tcwnd\tssthresh\tpacing_rate\tpublic words, zeros at the end left out\n\
         #after\tprivate words after the call\n",
        columns::<Event>(),
        columns::<Subflow>()
    );
    let mut origin: Option<Arc<Origin>> = None;
    for call in calls {
        if origin.as_ref() != Some(&call.origin) {
            let _ = writeln!(text, "origin\t{}\t{}", hex(call.origin.source_hash), call.origin.spec);
            origin = Some(Arc::clone(&call.origin));
        }
        let _ = writeln!(
            text,
            "call\t{}\t{}\t{}\t{}\t{}\t{}",
            hex(call.sequence),
            call.cpu,
            hex(call.time_ns),
            hex(call.socket),
            hex(call.view.connection),
            call.view.self_index
        );
        let _ = writeln!(text, "event\t{}{}", event_name(call.event.kind), row(&call.event));
        for subflow in &call.view.subflow[..call.view.n as usize] {
            let _ = writeln!(text, "subflow{}{}", row(subflow), words(public(&subflow.public_words)));
        }
        let _ = writeln!(text, "private{}", words(&call.private));
        let Outputs { cwnd, ssthresh, pacing_rate, public_words, private } = &call.outputs;
        let _ = writeln!(
            text,
            "outputs\t{cwnd}\t{ssthresh}\t{}{}",
            hex(*pacing_rate),
            words(public(public_words))
        );
        let _ = writeln!(text, "after{}", words(private));
    }
    text
}

/// Parses the output of [`write`].
///
/// # Errors
/// At the first invalid line, which is named.
pub fn parse(text: &str) -> Result<Vec<Call>, Error> {
    let mut parser = Parser::default();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        parser.line(line).map_err(|error| Error::new(format!("line {number}: {error}")))?;
    }
    if parser.call.is_some() {
        return Err(Error::new("the last call has no `after` row"));
    }
    Ok(parser.calls)
}

#[derive(Default)]
struct Parser {
    calls: Vec<Call>,
    origin: Option<Arc<Origin>>,
    call: Option<Call>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), Error> {
        let mut fields = line.split('\t');
        let kind = fields.next().unwrap_or_default();
        let fields: Vec<&str> = fields.collect();
        let open = |call: &mut Option<Call>| call.take().ok_or_else(|| Error::new("no `call` row before it"));
        match kind {
            "origin" => {
                let [source_hash, spec] = exactly(&fields)?;
                let spec = Spec::parse(spec).map_err(|error| Error::new(error.to_string()))?;
                self.origin = Some(Arc::new(Origin { spec, source_hash: word(source_hash)? }));
            }
            "call" => {
                if self.call.is_some() {
                    return Err(Error::new("the call before has no `after` row"));
                }
                let origin = self.origin.clone().ok_or_else(|| Error::new("no `origin` row before it"))?;
                let [sequence, cpu, time_ns, socket, connection, self_index] = exactly(&fields)?;
                let view = View {
                    connection: word(connection)?,
                    self_index: parse_field(Width::U32, self_index)? as u32,
                    ..View::default()
                };
                self.call = Some(Call {
                    origin,
                    sequence: word(sequence)?,
                    cpu: parse_field(Width::U32, cpu)? as u32,
                    time_ns: word(time_ns)?,
                    socket: word(socket)?,
                    event: Event::default(),
                    view,
                    private: Vec::new(),
                    outputs: Outputs::default(),
                });
            }
            "event" => {
                let mut call = open(&mut self.call)?;
                let (name, fields) =
                    fields.split_first().ok_or_else(|| Error::new("the event has no type"))?;
                let (event, rest) = read_row::<Event>(fields)?;
                exactly::<0>(rest)?;
                call.event = Event { kind: event_kind(name)?, ..event };
                self.call = Some(call);
            }
            "subflow" => {
                let mut call = open(&mut self.call)?;
                let (mut subflow, rest) = read_row::<Subflow>(&fields)?;
                subflow.public_words = read_public(rest)?;
                let n = call.view.n as usize;
                *call.view.subflow.get_mut(n).ok_or_else(|| {
                    Error::new(format!("a connection has at most {MAX_SUBFLOWS} subflows"))
                })? = subflow;
                call.view.n += 1;
                self.call = Some(call);
            }
            "private" => {
                let mut call = open(&mut self.call)?;
                call.private = read_words(&fields)?;
                self.call = Some(call);
            }
            "outputs" => {
                let mut call = open(&mut self.call)?;
                let (narrow, rest) = fields
                    .split_first_chunk::<3>()
                    .ok_or_else(|| Error::new("cwnd, ssthresh and pacing_rate are needed"))?;
                call.outputs.cwnd = parse_field(Width::U32, narrow[0])? as u32;
                call.outputs.ssthresh = parse_field(Width::U32, narrow[1])? as u32;
                call.outputs.pacing_rate = word(narrow[2])?;
                call.outputs.public_words = read_public(rest)?;
                self.call = Some(call);
            }
            "after" => {
                let mut call = open(&mut self.call)?;
                call.outputs.private = read_words(&fields)?;
                self.calls.push(checked(call)?);
            }
            other => return Err(Error::new(format!("`{other}` is no kind of row"))),
        }
        Ok(())
    }
}

/// A replayable call.
pub(crate) fn checked(call: Call) -> Result<Call, Error> {
    let words = braid_algorithms::Controller::new(&call.origin.spec).private().len();
    if call.view.n == 0 || call.view.n as usize > MAX_SUBFLOWS || call.view.self_index >= call.view.n {
        return Err(Error::new(format!(
            "self is subflow {} of {}, counted from 0",
            call.view.self_index, call.view.n
        )));
    }
    if call.private.len() != words || call.outputs.private.len() != words {
        return Err(Error::new(format!(
            "`{}` has {words} words of private memory, not {} before and {} after the call",
            call.origin.spec.algorithm().name(),
            call.private.len(),
            call.outputs.private.len()
        )));
    }
    Ok(call)
}

fn exactly<'a, const N: usize>(fields: &[&'a str]) -> Result<[&'a str; N], Error> {
    fields.try_into().map_err(|_| Error::new(format!("{} columns where {N} are expected", fields.len())))
}

fn read_row<'a, 'b, T: Row>(fields: &'b [&'a str]) -> Result<(T, &'b [&'a str]), Error> {
    let expected = T::FIELDS.len();
    let (row, rest) = fields
        .split_at_checked(expected)
        .ok_or_else(|| Error::new(format!("{} columns where {expected} are expected", fields.len())))?;
    let values: Result<Vec<u64>, Error> =
        T::FIELDS.iter().zip(row).map(|((_, width), text)| parse_field(*width, text)).collect();
    Ok((T::from_values(&values?), rest))
}

fn read_words(fields: &[&str]) -> Result<Vec<u64>, Error> {
    fields.iter().map(|text| word(text)).collect()
}

fn read_public(fields: &[&str]) -> Result<[u64; PUBLIC_WORDS], Error> {
    let mut words = [0; PUBLIC_WORDS];
    let read = read_words(fields)?;
    words
        .get_mut(..read.len())
        .ok_or_else(|| Error::new(format!("at most {PUBLIC_WORDS} public words")))?
        .copy_from_slice(&read);
    Ok(words)
}
