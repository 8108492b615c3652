//! Tables as Arrow record batches: numbers go from measurements into columns, never through text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::SCHEMA_VERSION;
use crate::table::{Column, Kind, Row, Table, Value};

/// The columns of a table. Each field has its `unit`, if any, and its `meaning`.
pub fn schema(table: &Table) -> SchemaRef {
    let fields: Vec<Field> = table.columns().map(field).collect();
    let version = ("braid.schema_version".to_owned(), SCHEMA_VERSION.to_string());
    Arc::new(Schema::new_with_metadata(fields, HashMap::from([version])))
}

fn field(column: &Column) -> Field {
    let data_type = match column.kind {
        Kind::Text => DataType::Utf8,
        Kind::Bool => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Unsigned => DataType::UInt64,
        Kind::Real => DataType::Float64,
    };
    let facts = [("unit", column.unit), ("meaning", column.meaning)].into_iter();
    let facts = facts.filter(|(_, fact)| !fact.is_empty());
    Field::new(column.name, data_type, column.nullable)
        .with_metadata(facts.map(|(name, fact)| (name.to_owned(), fact.to_owned())).collect())
}

/// A record batch of these rows.
///
/// # Panics
/// If the rows are of another table.
pub fn batch(table: &Table, rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = table.columns().map(|column| array(column, rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema(table), columns, &options)
        .expect("each column has a value of its kind in every row")
}

fn array(column: &Column, rows: &[Row]) -> ArrayRef {
    let values = rows.iter().map(|row| column.value(row));
    match column.kind {
        // Text is borrowed from the run where possible.
        Kind::Text => Arc::new(
            values
                .map(|value| match value {
                    Value::Text(text) => Some(text),
                    _ => None,
                })
                .collect::<StringArray>(),
        ),
        Kind::Bool => Arc::new(
            values
                .map(|value| match value {
                    Value::Bool(value) => Some(value),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        Kind::Integer => numbers::<Int64Type>(values.map(|value| match value {
            Value::Integer(value) => Some(value),
            _ => None,
        })),
        Kind::Unsigned => numbers::<UInt64Type>(values.map(|value| match value {
            Value::Unsigned(value) => Some(value),
            _ => None,
        })),
        Kind::Real => numbers::<Float64Type>(values.map(|value| match value {
            Value::Real(value) => Some(value),
            _ => None,
        })),
    }
}

fn numbers<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef {
    Arc::new(values.collect::<PrimitiveArray<T>>())
}
