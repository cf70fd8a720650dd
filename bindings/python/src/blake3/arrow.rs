//! Digests of Arrow columns: arrays in, an array of digests out, by the PyCapsule protocol.

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBufferBuilder};
use arrow_schema::DataType;
use hashmill_hash::blake3::{Hash, OUT_LEN};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::many::hash_all;
use super::mode::Function;
use super::threads::MaxThreads;
use crate::boundary;

/// Rows that are hashed together: their state fits into a cache.
const GROUP: usize = 1 << 12;

/// An array of digests, with nulls where there was no value. `pyarrow.array`, `polars.Series` and others take it without a copy.
#[pyclass(frozen, name = "Digests", module = "hashmill.blake3")]
pub(crate) struct Digests(FixedSizeBinaryArray);

#[pymethods]
impl Digests {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The number of rows without a digest because they had no value.
    #[getter]
    fn null_count(&self) -> usize {
        self.0.null_count()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(boundary::capsules(py, &self.0.to_data())?.0)
    }

    /// The requested schema is only a hint in the protocol, and there is only one type.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        boundary::capsules(py, &self.0.to_data())
    }
}

/// The digest of every value of an array, or of a stream of arrays.
#[pyfunction]
#[pyo3(signature = (values, key, derive_key_context, max_threads))]
pub(super) fn hash_arrow(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    key: Option<&Bound<'_, PyAny>>,
    derive_key_context: Option<&str>,
    max_threads: isize,
) -> PyResult<Digests> {
    let function = Function::from_args(key, derive_key_context)?;
    let threads = MaxThreads::from_arg(max_threads)?.count();
    let chunks = boundary::chunks(values)?;
    let mut column = Column::for_chunks(&chunks)?;
    for chunk in &chunks {
        for start in (0..chunk.len()).step_by(GROUP * threads) {
            let group = chunk.slice(start, (chunk.len() - start).min(GROUP * threads));
            py.detach(|| column.hash(&function, threads, &group))?;
            py.check_signals()?;
        }
    }
    column.finish().map(Digests)
}

/// Digests in the order of rows.
struct Column {
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Column {
    /// Memory for all rows of `chunks`. Their number comes from the producer: nulls take none of its memory.
    fn for_chunks(chunks: &[ArrayRef]) -> PyResult<Column> {
        let rows = chunks.iter().try_fold(0_usize, |rows, chunk| rows.checked_add(chunk.len()));
        let mut bytes = Vec::new();
        let room = rows
            .filter(|rows| rows.checked_mul(OUT_LEN).is_some_and(|len| bytes.try_reserve_exact(len).is_ok()));
        let rows = room.ok_or_else(|| PyMemoryError::new_err("no memory for a digest of every row"))?;
        Ok(Column { bytes, nulls: NullBufferBuilder::new(rows) })
    }

    fn hash(&mut self, function: &Function, threads: usize, values: &ArrayRef) -> PyResult<()> {
        let rows = rows(values)?;
        let messages: Vec<&[u8]> = rows.iter().map(|row| row.unwrap_or_default()).collect();
        let mut digests = vec![Hash::from_bytes([0; OUT_LEN]); messages.len()];
        hash_all(&function.mode(), &messages, &mut digests, threads);
        for (row, digest) in rows.iter().zip(&digests) {
            self.nulls.append(row.is_some());
            self.bytes.extend_from_slice(if row.is_some() { digest.as_bytes() } else { &[0; OUT_LEN] });
        }
        Ok(())
    }

    fn finish(mut self) -> PyResult<FixedSizeBinaryArray> {
        let bytes = Buffer::from_vec(self.bytes);
        FixedSizeBinaryArray::try_new(OUT_LEN as i32, bytes, self.nulls.finish())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

/// The bytes of every value, for each layout of the type.
fn rows(values: &ArrayRef) -> PyResult<Vec<Option<&[u8]>>> {
    Ok(match values.data_type() {
        DataType::Binary => byte_rows(values.as_binary::<i32>()),
        DataType::LargeBinary => byte_rows(values.as_binary::<i64>()),
        DataType::Utf8 => byte_rows(values.as_string::<i32>()),
        DataType::LargeUtf8 => byte_rows(values.as_string::<i64>()),
        DataType::BinaryView => view_rows(values.as_binary_view()),
        DataType::Utf8View => view_rows(values.as_string_view()),
        DataType::FixedSizeBinary(_) => values.as_fixed_size_binary().iter().collect(),
        DataType::Null => vec![None; values.len()],
        other => {
            return Err(PyTypeError::new_err(format!("an array of {other}: binary or strings are needed")));
        }
    })
}

fn byte_rows<T: ByteArrayType>(values: &GenericByteArray<T>) -> Vec<Option<&[u8]>> {
    values.iter().map(|value| value.map(AsRef::as_ref)).collect()
}

fn view_rows<T: ByteViewType + ?Sized>(values: &GenericByteViewArray<T>) -> Vec<Option<&[u8]>> {
    values.iter().map(|value| value.map(AsRef::as_ref)).collect()
}
