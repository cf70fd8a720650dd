//! Everything of the boundary that is `unsafe`: memory that Python lends, and memory that the Arrow protocol hands over.
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

/// Bytes that Python lends for as long as this lives: its object keeps them where they are, and cannot become shorter.
///
/// Whether their values stay is up to the program: who writes into them during a call gets the digest of some mixture.
pub(crate) enum Bytes<'a, 'py> {
    /// Of the one type that never changes.
    Constant(&'a [u8]),
    /// Of all others.
    Lent(Lent<'py>),
}

/// A view that an object has given out, boxed because it may point into itself.
pub(crate) struct Lent<'py>(Box<ffi::Py_buffer>, Python<'py>);

impl<'a, 'py> Bytes<'a, 'py> {
    /// The bytes of a buffer that is contiguous and made of single bytes.
    pub(crate) fn of(object: &'a Bound<'py, PyAny>) -> PyResult<Bytes<'a, 'py>> {
        Bytes::of_borrowed(object.as_borrowed())
    }

    /// The same.
    pub(crate) fn of_borrowed(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Bytes<'a, 'py>> {
        if object.is_exact_instance_of::<PyBytes>() {
            let object = object.as_ptr();
            // SAFETY: of that type, whose bytes are where they are and what they are as long as it lives: at least 'a.
            let bytes = unsafe {
                slice::from_raw_parts(
                    ffi::PyBytes_AsString(object).cast(),
                    ffi::PyBytes_Size(object) as usize,
                )
            };
            return Ok(Bytes::Constant(bytes));
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        // Contiguous in the order of C, of whatever many dimensions, and named.
        let flags = ffi::PyBUF_C_CONTIGUOUS | ffi::PyBUF_FORMAT;
        // SAFETY: both are valid, and the interpreter is attached, as `object` says.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        let lent = Lent(view, object.py());
        if lent.is_bytes() {
            Ok(Bytes::Lent(lent))
        } else {
            Err(PyBufferError::new_err(
                "a buffer of single bytes is needed: take a memoryview and cast it to 'B'",
            ))
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Constant(bytes) => bytes,
            Bytes::Lent(lent) => lent.as_slice(),
        }
    }
}

impl Lent<'_> {
    fn is_bytes(&self) -> bool {
        if self.0.itemsize != 1 || self.0.format.is_null() {
            return self.0.itemsize == 1;
        }
        // SAFETY: a string of C that lives as long as the view.
        let format = unsafe { CStr::from_ptr(self.0.format) };
        matches!(format.to_bytes(), b"B" | b"b" | b"c" | b"@B" | b"@b" | b"@c")
    }

    fn as_slice(&self) -> &[u8] {
        // A view without bytes may have no address.
        let Some(len) = usize::try_from(self.0.len).ok().filter(|len| *len > 0) else { return &[] };
        // SAFETY: contiguous, so `len` bytes from `buf` on, which stay while the view is held.
        unsafe { slice::from_raw_parts(self.0.buf.cast(), len) }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let _attached: Python<'_> = self.1;
        // SAFETY: given out by `PyObject_GetBuffer`, released once, with the interpreter attached.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}

/// The number of the interpreter that runs this.
pub(crate) fn interpreter(_: Python<'_>) -> i64 {
    // SAFETY: a thread that is attached has an interpreter.
    unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) }
}

/// Names of capsules in the protocol.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The chunks of an array of Arrow, or of a stream of such arrays, whoever made it.
///
/// What their buffers hold is what their maker says it is: the protocol has no lengths to check that by.
pub(crate) fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array) = pair.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
        let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
        // SAFETY: what capsules of these names point to, by the protocol; both stay the owners of what is empty then.
        let (schema, array) = unsafe {
            (
                FFI_ArrowSchema::from_raw(schema.as_ptr().cast()),
                FFI_ArrowArray::from_raw(array.as_ptr().cast()),
            )
        };
        if array.is_released() || schema.release().is_none() {
            return Err(PyValueError::new_err("the array was taken out of its capsule before"));
        }
        // SAFETY: both come from one maker, which vouches for them.
        let data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
        return Ok(vec![make_array(data)]);
    }
    if object.hasattr("__arrow_c_stream__")? {
        let stream = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = stream.pointer_checked(Some(STREAM))?;
        // SAFETY: what a capsule of this name points to, by the protocol; it stays the owner of what is empty then.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr().cast()) };
        return reader.and_then(Iterator::collect).map_err(refused);
    }
    Err(PyTypeError::new_err(
        "an Arrow array is needed: an object with __arrow_c_array__ or __arrow_c_stream__",
    ))
}

/// The capsules of the type of an array, and of the array itself.
pub(crate) fn capsules<'py>(
    py: Python<'py>,
    data: &ArrayData,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(data).map_err(refused)?;
    // Whoever takes one out leaves one that is released, so that dropping it does nothing.
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, array))
}

fn refused(error: impl fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
