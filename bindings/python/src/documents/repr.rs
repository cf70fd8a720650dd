//! `repr` of documents, maps, lists and texts: the first values, whatever the size of the document.

use hashmill_doc::{ObjId, ObjType, ReadDoc, ScalarValue, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::errors::Failed;
use super::shared::Place;
use super::values::from_scalar;

/// Values that are shown of all containers together, levels of containers, and characters of each text.
const VALUES: usize = 100;
const LEVELS: usize = 8;
const LETTERS: usize = 200;

/// Characters of the whole, where keys and escapes are longer than that.
const LONGEST: usize = 20_000;

/// What is shown of a value.
enum Shown {
    Scalar(ScalarValue<'static>),
    /// The first characters, and whether there are more.
    Text(String, bool),
    /// The first of more bytes.
    Bytes(Vec<u8>),
    /// The first entries, and how many there are beside these.
    Map(Vec<(String, Shown)>, usize),
    List(Vec<Shown>, usize),
}

/// The object at `place`, as Python writes plain values. What is left out is counted: `... 99900 more`.
pub(super) fn of(py: Python<'_>, place: &Place, kind: ObjType) -> PyResult<String> {
    let shown = place.read(py, |inner, obj| {
        let mut left = VALUES;
        object(&inner.doc, kind, obj, LEVELS, &mut left)
    })?;
    let mut words = String::new();
    write(py, &shown, &mut words)?;
    Ok(cut(words))
}

/// The same of a text.
pub(super) fn of_text(py: Python<'_>, text: &str) -> PyResult<String> {
    let mut words = String::new();
    write(py, &first_letters(text), &mut words)?;
    Ok(cut(words))
}

fn cut(mut words: String) -> String {
    if let Some((end, _)) = words.char_indices().nth(LONGEST) {
        words.truncate(end);
        words += "...";
    }
    words
}

fn object(
    doc: &impl ReadDoc,
    kind: ObjType,
    obj: &ObjId,
    levels: usize,
    left: &mut usize,
) -> Result<Shown, Failed> {
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
        Shown::Map(entries, count - first)
    } else {
        let mut elements = Vec::new();
        for index in 0..first {
            if let Some(found) = doc.get(obj, index)? {
                elements.push(value(doc, found, levels, left)?);
            }
        }
        Shown::List(elements, count - first)
    })
}

fn value(
    doc: &impl ReadDoc,
    (value, obj): (Value<'_>, ObjId),
    levels: usize,
    left: &mut usize,
) -> Result<Shown, Failed> {
    Ok(match value {
        Value::Object(kind) => object(doc, kind, &obj, levels - 1, left)?,
        Value::Scalar(ScalarValue::Str(text)) => first_letters(&text),
        Value::Scalar(ScalarValue::Bytes(bytes)) if bytes.len() > LETTERS => {
            Shown::Bytes(bytes[..LETTERS].to_vec())
        }
        Value::Scalar(scalar) => Shown::Scalar(scalar.into_owned()),
    })
}

fn first_letters(text: &str) -> Shown {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => Shown::Text(text[..end].to_owned(), true),
        None => Shown::Text(text.to_owned(), false),
    }
}

fn write(py: Python<'_>, shown: &Shown, words: &mut String) -> PyResult<()> {
    match shown {
        Shown::Scalar(ScalarValue::Counter(value)) => *words += &value.to_string(),
        Shown::Scalar(scalar) => *words += from_scalar(py, scalar)?.repr()?.to_str()?,
        Shown::Text(text, is_cut) => {
            *words += PyString::new(py, text).repr()?.to_str()?;
            *words += if *is_cut { "..." } else { "" };
        }
        Shown::Bytes(bytes) => {
            *words += PyBytes::new(py, bytes).repr()?.to_str()?;
            *words += "...";
        }
        Shown::Map(entries, more) => {
            words.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                *words += if index > 0 { ", " } else { "" };
                write(py, &first_letters(key), words)?;
                *words += ": ";
                write(py, value, words)?;
            }
            rest(entries.is_empty(), *more, words);
            words.push('}');
        }
        Shown::List(elements, more) => {
            words.push('[');
            for (index, value) in elements.iter().enumerate() {
                *words += if index > 0 { ", " } else { "" };
                write(py, value, words)?;
            }
            rest(elements.is_empty(), *more, words);
            words.push(']');
        }
    }
    Ok(())
}

fn rest(is_empty: bool, more: usize, words: &mut String) {
    if more > 0 {
        *words += if is_empty { "" } else { ", " };
        *words += &format!("... {more} more");
    }
}
