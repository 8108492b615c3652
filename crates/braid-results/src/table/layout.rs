//! A table: its columns, and rows as CSV.

use super::value::{Kind, Value};
use crate::catalogue::{Entry, Figure, Get, Level, Row};

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, as in the Parquet file.
    pub name: &'static str,
    /// Meaning of a row.
    pub row: &'static str,
    pub(crate) columns: &'static [Entry],
}

impl Table {
    /// The same with a column for each of these parameters of runs, text or [`Kind::Real`], after what tells the runs apart.
    /// It stays for the rest of the program.
    ///
    /// # Panics
    /// For any other kind.
    pub fn with_parameters(&self, parameters: &[(String, Kind)]) -> &'static Self {
        let column = |(name, kind): &(String, Kind)| {
            assert!(matches!(kind, Kind::Text | Kind::Real), "a parameter is text or a number");
            let name: &'static str = String::leak(name.clone());
            Entry::Figure(Box::leak(Box::new(Figure {
                level: Level::Run,
                path: "",
                name,
                kind: *kind,
                nullable: true,
                unit: "",
                meaning: "a parameter that the runs differ in",
                value: Get::Parameter(name),
            })))
        };
        let own: Vec<Entry> = parameters.iter().map(column).collect();
        let mut columns = self.columns.to_vec();
        columns.insert(columns.len().min(1), Entry::Group(Vec::leak(own)));
        Box::leak(Box::new(Self { columns: Vec::leak(columns), ..*self }))
    }

    /// From left to right.
    pub fn columns(&self) -> impl Iterator<Item = &'static Figure> {
        Entry::columns(self.columns).into_iter()
    }

    /// The rows as CSV (RFC 4180) with a header line; a missing value is an empty field.
    ///
    /// # Panics
    /// Never: memory accepts everything, and every row has every column.
    pub fn to_csv(&self, rows: &[Row]) -> String {
        let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut write = || -> csv::Result<()> {
            let columns: Vec<&Figure> = self.columns().collect();
            csv.write_record(columns.iter().map(|column| column.name))?;
            for row in rows {
                for column in &columns {
                    match column.value(row) {
                        Value::Null => csv.write_field(""),
                        Value::Text(text) => csv.write_field(text.as_bytes()),
                        Value::Bool(value) => csv.write_field(value.to_string()),
                        Value::Integer(value) => csv.write_field(value.to_string()),
                        Value::Unsigned(value) => csv.write_field(value.to_string()),
                        Value::Real(value) => csv.write_field(value.to_string()),
                    }?;
                }
                csv.write_record(None::<&[u8]>)?;
            }
            Ok(())
        };
        write().expect("memory takes everything");
        let bytes = csv.into_inner().expect("memory takes everything");
        String::from_utf8(bytes).expect("made of strings")
    }
}
