//! One column: its meaning, and how to get its value.

use super::row::Row;
use super::value::{Kind, Value};

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// Unit of the values; empty for what has none.
    pub unit: &'static str,
    /// What it says, in a few words.
    pub meaning: &'static str,
    pub(super) value: Get,
}

/// How a column gets its value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Get {
    Field(for<'a> fn(&Row<'a>) -> Value<'a>),
    /// The parameter of that name, which not every run has.
    Parameter(&'static str),
    /// Rows that are not about runs bring their values themselves.
    #[cfg(feature = "parquet")]
    Given,
}

impl Column {
    /// The value in a row.
    pub fn value<'a>(&self, row: &Row<'a>) -> Value<'a> {
        match self.value {
            Get::Field(get) => get(row),
            Get::Parameter(name) => {
                let Some(text) = row.run.params.get(name) else { return Value::Null };
                if self.kind == Kind::Real { text.parse::<f64>().ok().into() } else { text.into() }
            }
            #[cfg(feature = "parquet")]
            Get::Given => Value::Null,
        }
    }
}

/// A column of a table that is not about runs; its values may be missing.
#[cfg(feature = "parquet")]
pub(crate) const fn given(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
) -> Column {
    Column { name, kind, nullable: true, unit, meaning, value: Get::Given }
}

pub(super) const fn column(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
    value: for<'a> fn(&Row<'a>) -> Value<'a>,
) -> Column {
    Column { name, kind, nullable: true, unit, meaning, value: Get::Field(value) }
}

/// A column with a value in every row.
pub(super) const fn always(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
    value: for<'a> fn(&Row<'a>) -> Value<'a>,
) -> Column {
    Column { nullable: false, ..column(name, kind, unit, meaning, value) }
}
