//! `repr` of documents, maps, lists and texts: the first values, whatever the size of the document.

use hashmill_doc::{ObjId, ObjType, ReadDoc, ScalarValue, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::documents::errors::DeferredError;
use crate::documents::shared::ObjectRef;
use crate::documents::values::from_scalar;

/// Limits of `repr`: values of all containers together, levels of containers, and characters of each text.
const VALUES: usize = 100;
const LEVELS: usize = 8;
const LETTERS: usize = 200;

/// Maximum number of characters, for long keys and escapes.
const LONGEST: usize = 20_000;

/// The visible part of a value.
enum ReprPart {
    Scalar(ScalarValue<'static>),
    /// The first characters, and whether there are more.
    Text(String, bool),
    /// The first bytes of a longer value.
    Bytes(Vec<u8>),
    /// The first entries, and the number of others.
    Map(Vec<(String, ReprPart)>, usize),
    List(Vec<ReprPart>, usize),
}

/// The object at `object_ref`, as Python writes plain values. Omitted values are counted: `... 99900 more`.
pub(crate) fn object_repr(py: Python<'_>, object_ref: &ObjectRef, kind: ObjType) -> PyResult<String> {
    let part = object_ref.read(py, |inner, obj| {
        let mut left = VALUES;
        object(&inner.doc, kind, obj, LEVELS, &mut left)
    })?;
    let mut output = String::new();
    write(py, &part, &mut output)?;
    Ok(truncate(output))
}

/// The same for a text.
pub(crate) fn text_repr(py: Python<'_>, text: &str) -> PyResult<String> {
    let mut output = String::new();
    write(py, &first_letters(text), &mut output)?;
    Ok(truncate(output))
}

fn truncate(mut output: String) -> String {
    if let Some((end, _)) = output.char_indices().nth(LONGEST) {
        output.truncate(end);
        output += "...";
    }
    output
}

fn object(
    doc: &impl ReadDoc,
    kind: ObjType,
    obj: &ObjId,
    levels: usize,
    left: &mut usize,
) -> Result<ReprPart, DeferredError> {
    if kind == ObjType::Text {
        return Ok(first_letters(&doc.text(obj)?));
    }
    let count = doc.length(obj);
    let first = if levels == 0 { 0 } else { count.min(*left) };
    *left -= first;
    Ok(if kind == ObjType::Map {
        let keys: Vec<String> = doc.keys(obj).take(first).map(str::to_owned).collect();
        let mut entries = Vec::new();
        for key in keys {
            if let Some(found) = doc.get(obj, key.as_str())? {
                let value = value(doc, found, levels, left)?;
                entries.push((key, value));
            }
        }
        ReprPart::Map(entries, count - first)
    } else {
        let mut elements = Vec::new();
        for index in 0..first {
            if let Some(found) = doc.get(obj, index)? {
                elements.push(value(doc, found, levels, left)?);
            }
        }
        ReprPart::List(elements, count - first)
    })
}

fn value(
    doc: &impl ReadDoc,
    (value, obj): (Value<'_>, ObjId),
    levels: usize,
    left: &mut usize,
) -> Result<ReprPart, DeferredError> {
    Ok(match value {
        Value::Object(kind) => object(doc, kind, &obj, levels - 1, left)?,
        Value::Scalar(ScalarValue::Str(text)) => first_letters(&text),
        Value::Scalar(ScalarValue::Bytes(bytes)) if bytes.len() > LETTERS => {
            ReprPart::Bytes(bytes[..LETTERS].to_vec())
        }
        Value::Scalar(scalar) => ReprPart::Scalar(scalar.into_owned()),
    })
}

fn first_letters(text: &str) -> ReprPart {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => ReprPart::Text(text[..end].to_owned(), true),
        None => ReprPart::Text(text.to_owned(), false),
    }
}

fn write(py: Python<'_>, part: &ReprPart, output: &mut String) -> PyResult<()> {
    match part {
        ReprPart::Scalar(ScalarValue::Counter(value)) => *output += &value.to_string(),
        ReprPart::Scalar(scalar) => *output += from_scalar(py, scalar)?.repr()?.to_str()?,
        ReprPart::Text(text, is_cut) => {
            *output += PyString::new(py, text).repr()?.to_str()?;
            *output += if *is_cut { "..." } else { "" };
        }
        ReprPart::Bytes(bytes) => {
            *output += PyBytes::new(py, bytes).repr()?.to_str()?;
            *output += "...";
        }
        ReprPart::Map(entries, more) => {
            output.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                *output += if index > 0 { ", " } else { "" };
                write(py, &first_letters(key), output)?;
                *output += ": ";
                write(py, value, output)?;
            }
            rest(entries.is_empty(), *more, output);
            output.push('}');
        }
        ReprPart::List(elements, more) => {
            output.push('[');
            for (index, value) in elements.iter().enumerate() {
                *output += if index > 0 { ", " } else { "" };
                write(py, value, output)?;
            }
            rest(elements.is_empty(), *more, output);
            output.push(']');
        }
    }
    Ok(())
}

fn rest(is_empty: bool, more: usize, output: &mut String) {
    if more > 0 {
        *output += if is_empty { "" } else { ", " };
        *output += &format!("... {more} more");
    }
}
