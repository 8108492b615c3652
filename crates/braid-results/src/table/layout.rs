//! A table: its columns, and rows as CSV.

use super::column::{Column, Get};
use super::row::Row;
use super::value::{Kind, Value};

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, as in the Parquet file.
    pub name: &'static str,
    /// Meaning of a row.
    pub row: &'static str,
    pub(super) parts: &'static [&'static [Column]],
}

impl Table {
    #[cfg(feature = "parquet")]
    pub(crate) const fn of(
        name: &'static str,
        row: &'static str,
        parts: &'static [&'static [Column]],
    ) -> Self {
        Self { name, row, parts }
    }

    /// The same table with a column for each of these parameters of runs, text or [`Kind::Real`], after the columns
    /// that identify runs. Leaked for the rest of the program.
    ///
    /// # Panics
    /// For any other kind.
    pub fn with_parameters(&self, parameters: &[(String, Kind)]) -> &'static Self {
        let column = |(name, kind): &(String, Kind)| {
            assert!(matches!(kind, Kind::Text | Kind::Real), "a parameter is text or a number");
            let name: &'static str = String::leak(name.clone());
            let meaning = "a parameter that the runs differ in";
            Column { name, kind: *kind, nullable: true, unit: "", meaning, value: Get::Parameter(name) }
        };
        let own: &'static [Column] = Vec::leak(parameters.iter().map(column).collect());
        let mut parts = self.parts.to_vec();
        parts.insert(parts.len().min(1), own);
        Box::leak(Box::new(Self { parts: Vec::leak(parts), ..*self }))
    }

    /// From left to right.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.parts.iter().copied().flatten()
    }

    /// The rows as CSV (RFC 4180) with a header line; a missing value is an empty field.
    ///
    /// # Panics
    /// Never: memory accepts everything, and every row has every column.
    pub fn to_csv(&self, rows: &[Row]) -> String {
        let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut write = || -> csv::Result<()> {
            csv.write_record(self.columns().map(|column| column.name))?;
            for row in rows {
                for column in self.columns() {
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
