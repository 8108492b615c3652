//! One column: its meaning and its value.

use super::row::Row;
use super::value::{Kind, Value};

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// Unit of the values; empty if there is none.
    pub unit: &'static str,
    /// Short description.
    pub meaning: &'static str,
    pub(super) value: Get,
}

/// Source of a column's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Get {
    Field(for<'a> fn(&Row<'a>) -> Value<'a>),
    /// The parameter of that name, which not every run has.
    Parameter(&'static str),
    /// Rows that are not about runs contain their values.
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
