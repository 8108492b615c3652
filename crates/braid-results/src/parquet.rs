//! Tables as Parquet files. The same rows give the same bytes: no date, no host, fixed settings.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::SCHEMA_VERSION;
use crate::catalogue::{Figure, Row};
use crate::table::{Kind, Table, Value};

/// Writes one table into one file.
pub struct Writer<W: Write + Send> {
    table: &'static Table,
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins the file.
    ///
    /// # Errors
    /// The sink's error.
    pub fn new(sink: W, table: &'static Table, braid_version: &str) -> io::Result<Self> {
        let version = KeyValue::new("braid.schema_version".to_owned(), SCHEMA_VERSION.to_string());
        let properties = WriterProperties::builder()
            .set_created_by(format!("braid {braid_version}"))
            .set_key_value_metadata(Some(vec![version]))
            .set_compression(Compression::SNAPPY)
            .build();
        let file = SerializedFileWriter::new(sink, schema(table).map_err(cause)?, Arc::new(properties));
        Ok(Self { table, file: file.map_err(cause)? })
    }

    /// Adds rows as a row group; preferably tens of thousands at once.
    ///
    /// # Errors
    /// The sink's error.
    pub fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        let values = |_, column: &Figure| rows.iter().map(|row| column.value(row)).collect();
        if rows.is_empty() { Ok(()) } else { self.write_group(values).map_err(cause) }
    }

    /// The same for a table that is not about runs: each row has the values of its columns.
    ///
    /// # Errors
    /// The sink's error.
    pub(crate) fn write_given(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        let values = |place: usize, _: &Figure| rows.iter().map(|row| row[place].clone()).collect();
        if rows.is_empty() { Ok(()) } else { self.write_group(values).map_err(cause) }
    }

    fn write_group<'a>(
        &mut self,
        values: impl Fn(usize, &Figure) -> Vec<Value<'a>>,
    ) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for (place, column) in self.table.columns().enumerate() {
            let writer = group.next_column()?.expect("the file has the table's columns");
            let values = values(place, column).into_iter();
            match column.kind {
                Kind::Text => {
                    let bytes = |text: Cow<str>| text.as_bytes().to_vec().into();
                    put::<ByteArrayType>(writer, column, values, |value| value.text().map(bytes))
                }
                Kind::Bool => put::<BoolType>(writer, column, values, Value::bool),
                Kind::Integer => put::<Int64Type>(writer, column, values, Value::integer),
                // Parquet keeps the bits and says that they have no sign.
                Kind::Unsigned => {
                    put::<Int64Type>(writer, column, values, |value| value.unsigned().map(|bits| bits as i64))
                }
                Kind::Real => put::<DoubleType>(writer, column, values, Value::real),
            }?;
        }
        group.close().map(drop)
    }

    /// Completes the file, which is invalid without this.
    ///
    /// # Errors
    /// The sink's error.
    pub fn finish(self) -> io::Result<()> {
        self.file.close().map(drop).map_err(cause)
    }
}

/// Writes a column; `get` unwraps a value of its kind.
fn put<'a, T: DataType>(
    mut writer: SerializedColumnWriter,
    column: &Figure,
    values: impl Iterator<Item = Value<'a>>,
    get: impl Fn(Value<'a>) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let (mut defined, mut present) = (Vec::new(), Vec::new());
    for value in values {
        defined.push(i16::from(value != Value::Null));
        if value != Value::Null {
            present.push(get(value).expect("a value is of its column's kind"));
        }
    }
    assert!(column.nullable || present.len() == defined.len(), "{} has a value in every row", column.name);
    let levels = column.nullable.then_some(&defined[..]);
    writer.typed::<T>().write_batch(&present, levels, None)?;
    writer.close()
}

fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let field = |column: &Figure| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Integer => (Physical::INT64, None),
            Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Real => (Physical::DOUBLE, None),
        };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let fields = table.columns().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder(table.name).with_fields(fields).build().map(Arc::new)
}

/// The sink's own error if there is one, so that a full disk can be recognised.
fn cause(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => {
            error.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
        }
        other => io::Error::other(other),
    }
}
