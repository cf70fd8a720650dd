//! Documents as JSON, in the form of `hashmill doc import` and `export`.

use std::io;

use hashmill_doc::json::{self, Layout, ScalarEncoding};
use hashmill_doc::{Literal, ObjType, ReadDoc as _, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::documents::errors;
use crate::documents::shared::ObjectRef;

fn form(tagged: bool) -> ScalarEncoding {
    if tagged { ScalarEncoding::Tagged } else { ScalarEncoding::Plain }
}

/// A map or list with everything in it.
pub(crate) fn written(
    py: Python<'_>,
    object_ref: &ObjectRef,
    kind: ObjType,
    tagged: bool,
    pretty: bool,
) -> PyResult<String> {
    let layout = if pretty { Layout::Lines } else { Layout::Compact };
    let written = object_ref.read_long(py, |doc, obj| {
        doc.object_type(obj)?;
        let mut bytes = vec![];
        let done =
            json::write(&doc.view(), (Value::Object(kind), obj.clone()), form(tagged), layout, &mut bytes);
        Ok(done.and_then(|()| String::from_utf8(bytes).map_err(io::Error::other)))
    })?;
    Ok(written?)
}

/// JSON from a string or bytes.
pub(crate) fn read(json: &Bound<'_, PyAny>, tagged: bool) -> PyResult<Literal> {
    let py = json.py();
    let bytes = match (json.cast::<PyString>(), json.cast::<PyBytes>()) {
        (Ok(text), _) => text.to_str()?.as_bytes(),
        (_, Ok(bytes)) => bytes.as_bytes(),
        _ => return Err(PyTypeError::new_err("JSON is text or bytes")),
    };
    py.detach(|| json::read(bytes, form(tagged))).map_err(|error| errors::json(py, &error))
}
