//! Calls as text to review, one row per part, columns separated by tabs.
//!
//! Leading lines that begin with `#` name the columns. Narrow fields are decimal, 64-bit ones hexadecimal.

use std::sync::Arc;

use braid_algorithms::Spec;
use serde::Serialize;

use crate::form::{CallForm, EventForm, SubflowForm, columns, from_columns};
use crate::hex::{hex, parse_word};
use crate::{Call, Error, Origin, Outputs};

pub(crate) const FIRST_LINE: &str = "# braid calls, version 1";

fn names<T: Default + Serialize>() -> String {
    columns(&T::default()).into_iter().map(|(name, _)| "\t".to_owned() + &name).collect()
}

fn row(kind: &str, values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().fold(kind.to_owned(), |row, value| row + "\t" + &value) + "\n"
}

fn fields(kind: &str, of: &impl Serialize) -> String {
    row(kind, columns(of).into_iter().map(|(_, value)| value))
}

fn words(kind: &str, words: &[u64]) -> String {
    row(kind, words.iter().copied().map(hex))
}

/// Writes calls.
pub fn write(calls: impl IntoIterator<Item = Call>) -> String {
    let mut text = format!(
        "{FIRST_LINE}\n\
         #origin\tsource_hash\tspec\n\
         #call\tsequence\tcpu\ttime_ns\tsocket\tconnection\tself (index of the subflow, from 0)\n\
         #event{}\n\
         #subflow{}\tpublic words, zeros at the end left out\n\
         #private\twords before the call\n\
         #outputs{}\tpublic words, zeros at the end left out\n\
         #after\tprivate words after the call\n",
        names::<EventForm>(),
        names::<SubflowForm>(),
        names::<Outputs>()
    );
    let mut origin: Option<Arc<Origin>> = None;
    for Call { origin: own, sequence, cpu, time_ns, socket, event, view, private, outputs } in calls {
        if origin.as_ref() != Some(&own) {
            text += &row("origin", [hex(own.source_hash), own.spec.text().to_owned()]);
            origin = Some(own);
        }
        let [sequence, time_ns, socket, connection] = [sequence, time_ns, socket, view.connection].map(hex);
        let own = view.self_index.to_string();
        text += &row("call", [sequence, cpu.to_string(), time_ns, socket, connection, own]);
        text += &fields("event", &EventForm(event));
        for subflow in &view.subflow[..view.n as usize] {
            text += &fields("subflow", &SubflowForm(*subflow));
        }
        text += &words("private", &private);
        let after = words("after", &outputs.private);
        text += &fields("outputs", &Outputs { private: Vec::new(), ..outputs });
        text += &after;
    }
    text
}

/// Parses the output of [`write`].
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
    call: Option<CallForm>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), Error> {
        let mut columns = line.split('\t');
        let kind = columns.next().unwrap_or_default();
        let columns: Vec<&str> = columns.collect();
        match (kind, &mut self.call) {
            ("origin", _) => {
                let [source_hash, spec] = exactly(&columns)?;
                let spec = Spec::parse(spec).map_err(|error| Error::new(error.to_string()))?;
                self.origin = Some(Arc::new(Origin { spec, source_hash: parse_word(source_hash)? }));
            }
            ("call", Some(_)) => return Err(Error::new("the call before has no `after` row")),
            ("call", None) => {
                let whole = |text: &str| {
                    text.parse().map_err(|_| Error::new(format!("`{text}` is not a whole number of 32 bits")))
                };
                let [sequence, cpu, time_ns, socket, connection, self_index] = exactly(&columns)?;
                let mut call = CallForm {
                    sequence: parse_word(sequence)?,
                    cpu: whole(cpu)?,
                    time_ns: parse_word(time_ns)?,
                    socket: parse_word(socket)?,
                    ..CallForm::default()
                };
                call.view.connection = parse_word(connection)?;
                call.view.self_index = whole(self_index)?;
                self.call = Some(call);
            }
            ("event", Some(call)) => call.event = from_columns(&columns)?,
            ("subflow", Some(call)) => call.view.subflows.push(from_columns(&columns)?),
            ("private", Some(call)) => call.private = read_words(&columns)?,
            ("outputs", Some(call)) => call.outputs = from_columns(&columns)?,
            ("after", Some(call)) => {
                call.outputs.private = read_words(&columns)?;
                let origin = self.origin.clone().ok_or_else(|| Error::new("no `origin` row before it"))?;
                self.calls.push(self.call.take().unwrap_or_default().call(origin)?);
            }
            ("event" | "subflow" | "private" | "outputs" | "after", None) => {
                return Err(Error::new("no `call` row before it"));
            }
            (other, _) => return Err(Error::new(format!("`{other}` is no kind of row"))),
        }
        Ok(())
    }
}

fn exactly<'a, const N: usize>(columns: &[&'a str]) -> Result<[&'a str; N], Error> {
    columns.try_into().map_err(|_| Error::new(format!("{} columns where {N} are expected", columns.len())))
}

fn read_words(columns: &[&str]) -> Result<Vec<u64>, Error> {
    columns.iter().map(|text| parse_word(text)).collect()
}
