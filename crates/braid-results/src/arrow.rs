//! Tables as Arrow record batches: numbers go from measurements into columns, never through text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::SCHEMA_VERSION;
use crate::catalogue::{Figure, Row};
use crate::table::{Kind, Table, Value};

/// The columns of a table. Each field has its `unit`, if any, and its `meaning`.
pub fn schema(table: &Table) -> SchemaRef {
    let fields: Vec<Field> = table.columns().map(field).collect();
    let version = ("braid.schema_version".to_owned(), SCHEMA_VERSION.to_string());
    Arc::new(Schema::new_with_metadata(fields, HashMap::from([version])))
}

fn field(column: &Figure) -> Field {
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

fn array(column: &Figure, rows: &[Row]) -> ArrayRef {
    let values = rows.iter().map(|row| column.value(row));
    match column.kind {
        // Text is borrowed from the run where it can be.
        Kind::Text => Arc::new(values.map(Value::text).collect::<StringArray>()),
        Kind::Bool => Arc::new(values.map(Value::bool).collect::<BooleanArray>()),
        Kind::Integer => Arc::new(values.map(Value::integer).collect::<Int64Array>()),
        Kind::Unsigned => Arc::new(values.map(Value::unsigned).collect::<UInt64Array>()),
        Kind::Real => Arc::new(values.map(Value::real).collect::<Float64Array>()),
    }
}
