//! The `unsafe` code of the boundary: buffers of Python objects, and memory from the Arrow protocol.
#![expect(unsafe_code, reason = "Python's and Arrow's memory, behind pointers of C")]

use std::ffi::CStr;
use std::fmt;
use std::slice;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{ArrayRef, make_array};
use arrow_data::ArrayData;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// Bytes borrowed from a Python object for the lifetime of this value: the object cannot move or shorten them.
///
/// The program may still write to them: the digest is then that of a mixture.
pub(crate) enum Bytes<'a, 'py> {
    /// Of `bytes`, which never changes.
    Constant(&'a [u8]),
    /// Of all other types.
    BufferView(BufferView<'py>),
}

/// A buffer view of an object, boxed because it may point into itself.
pub(crate) struct BufferView<'py>(Box<ffi::Py_buffer>, Python<'py>);

impl<'a, 'py> Bytes<'a, 'py> {
    /// The bytes of a contiguous buffer of single bytes.
    pub(crate) fn borrow(object: &'a Bound<'py, PyAny>) -> PyResult<Bytes<'a, 'py>> {
        Bytes::borrow_ref(object.as_borrowed())
    }

    /// The same, from a borrowed reference.
    pub(crate) fn borrow_ref(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Bytes<'a, 'py>> {
        if object.is_exact_instance_of::<PyBytes>() {
            let object = object.as_ptr();
            // SAFETY: a `bytes` object does not move or change its bytes during its lifetime, which is at least 'a.
            let bytes = unsafe {
                slice::from_raw_parts(
                    ffi::PyBytes_AsString(object).cast(),
                    ffi::PyBytes_Size(object) as usize,
                )
            };
            return Ok(Bytes::Constant(bytes));
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        // Contiguous in C order, of any number of dimensions, with a format.
        let flags = ffi::PyBUF_C_CONTIGUOUS | ffi::PyBUF_FORMAT;
        // SAFETY: both are valid, and `object` proves that the interpreter is attached.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        let view = BufferView(view, object.py());
        if view.is_bytes() {
            Ok(Bytes::BufferView(view))
        } else {
            Err(PyBufferError::new_err(
                "a buffer of single bytes is needed: take a memoryview and cast it to 'B'",
            ))
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Constant(bytes) => bytes,
            Bytes::BufferView(view) => view.as_slice(),
        }
    }
}

impl BufferView<'_> {
    fn is_bytes(&self) -> bool {
        if self.0.itemsize != 1 || self.0.format.is_null() {
            return self.0.itemsize == 1;
        }
        // SAFETY: a C string that lives as long as the view.
        let format = unsafe { CStr::from_ptr(self.0.format) };
        matches!(format.to_bytes(), b"B" | b"b" | b"c" | b"@B" | b"@b" | b"@c")
    }

    fn as_slice(&self) -> &[u8] {
        // An empty view may have a null address.
        let Some(len) = usize::try_from(self.0.len).ok().filter(|len| *len > 0) else { return &[] };
        // SAFETY: contiguous, so `len` bytes from `buf` on, which do not move while the view is held.
        unsafe { slice::from_raw_parts(self.0.buf.cast(), len) }
    }
}

impl Drop for BufferView<'_> {
    fn drop(&mut self) {
        let _attached: Python<'_> = self.1;
        // SAFETY: from `PyObject_GetBuffer`, released once, with the interpreter attached.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}

/// The id of the current interpreter.
pub(crate) fn interpreter(_: Python<'_>) -> i64 {
    // SAFETY: an attached thread has an interpreter.
    unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) }
}

/// Names of capsules in the protocol.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The chunks of an Arrow array, or of a stream of such arrays, from any producer.
///
/// The contents of the buffers are trusted: the protocol has no lengths to check them.
pub(crate) fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array) = pair.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
        let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
        // SAFETY: capsules of these names point to these types, by the protocol; both capsules keep an empty value.
        let (schema, array) = unsafe {
            (
                FFI_ArrowSchema::from_raw(schema.as_ptr().cast()),
                FFI_ArrowArray::from_raw(array.as_ptr().cast()),
            )
        };
        if array.is_released() || schema.release().is_none() {
            return Err(PyValueError::new_err("the array was taken out of its capsule before"));
        }
        // SAFETY: both come from one producer, which is responsible for them.
        let data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
        return Ok(vec![make_array(data)]);
    }
    if object.hasattr("__arrow_c_stream__")? {
        let stream = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = stream.pointer_checked(Some(STREAM))?;
        // SAFETY: a capsule of this name points to this type, by the protocol; the capsule keeps an empty value.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr().cast()) };
        return reader.and_then(Iterator::collect).map_err(refused);
    }
    Err(PyTypeError::new_err(
        "an Arrow array is needed: an object with __arrow_c_array__ or __arrow_c_stream__",
    ))
}

/// The capsules of an array's type, and of the array itself.
pub(crate) fn capsules<'py>(
    py: Python<'py>,
    data: &ArrayData,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(data).map_err(refused)?;
    // A consumer leaves a released value, so dropping it does nothing.
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, array))
}

fn refused(error: impl fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
