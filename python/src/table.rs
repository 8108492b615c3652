//! Tables: Arrow record batches that other programs can use without a copy.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error;

#[pyclass(frozen, module = "braid")]
pub(crate) struct Table {
    name: &'static str,
    batch: Arc<RecordBatch>,
}

impl Table {
    pub(crate) fn new(name: &'static str, batch: Arc<RecordBatch>) -> Self {
        Self { name, batch }
    }

    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn array(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let names: Vec<String> = self.column_names();
            PyKeyError::new_err(format!(
                "`{}` has no column `{name}`; it has {}",
                self.name,
                names.join(", ")
            ))
        })
    }

    fn facts(&self, key: &str) -> HashMap<String, String> {
        let schema = self.schema();
        let fact = |field: &Arc<arrow_schema::Field>| {
            Some((field.name().clone(), field.metadata().get(key)?.clone()))
        };
        schema.fields().iter().filter_map(fact).collect()
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn units(&self) -> HashMap<String, String> {
        self.facts("unit")
    }

    #[getter]
    fn meanings(&self) -> HashMap<String, String> {
        self.facts("meaning")
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.array(name)?;
        Ok(match array.data_type() {
            DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter().collect::<Vec<_>>())?,
            DataType::Boolean => PyList::new(py, array.as_boolean().iter().collect::<Vec<_>>())?,
            DataType::Int64 => PyList::new(py, array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())?,
            DataType::UInt64 => {
                PyList::new(py, array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>())?
            }
            DataType::Float64 => {
                PyList::new(py, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())?
            }
            other => return Err(error::plain(format!("a column of {other}"))),
        })
    }

    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in self.column_names() {
            columns.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(columns)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema().as_ref()).map_err(error::plain)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The protocol allows requests for other types; the caller has to cast.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = vec![Ok::<_, ArrowError>((*self.batch).clone())];
        let reader = RecordBatchIterator::new(batches, self.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let rows = self.batch.num_rows();
        format!("<braid.Table {}: {rows} rows, {}>", self.name, self.column_names().join(", "))
    }
}
