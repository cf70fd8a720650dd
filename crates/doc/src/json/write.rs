//! Out: the document is walked without calling oneself, however deep it is.

use std::io::{self, Write};

use super::{Form, TYPE, VALUE};
use crate::store::register::Visible;
use crate::types::{ObjId, ObjType, ScalarValue, Value, encode_hex};
use crate::view::View;

/// How JSON is set out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layout {
    /// On one line, without blanks.
    #[default]
    Compact,
    /// A line for each value, with two blanks for each level.
    Lines,
}

/// What of an object was not written yet.
enum Rest<'a> {
    Map(std::vec::IntoIter<(&'a str, Visible)>),
    List(std::vec::IntoIter<Visible>),
}

/// An object that is being written.
struct Level<'a> {
    rest: Rest<'a>,
    /// Nothing of it was written yet.
    empty: bool,
    /// What closes it.
    end: &'static str,
}

struct Writer<'v, 'a> {
    view: &'v View<'a>,
    form: Form,
    layout: Layout,
    /// What was not handed on yet: most values are a few bytes.
    out: Vec<u8>,
    levels: Vec<Level<'a>>,
}

/// So many bytes are handed on at once.
const BUFFER: usize = 1 << 16;

/// Writes a value of a document, as [`View::get`] gives it.
pub fn write<'a>(
    view: &View<'a>,
    value: (Value<'a>, ObjId),
    form: Form,
    layout: Layout,
    mut out: impl Write,
) -> io::Result<()> {
    let mut writer = Writer { view, form, layout, out: Vec::new(), levels: Vec::new() };
    match value {
        (Value::Scalar(value), _) => writer.scalar(&value)?,
        (Value::Object(kind), id) => writer.object(kind, &id)?,
    }
    while let Some(level) = writer.levels.last_mut() {
        let next = match &mut level.rest {
            Rest::Map(entries) => entries.next().map(|(key, winner)| (Some(key), winner)),
            Rest::List(elements) => elements.next().map(|winner| (None, winner)),
        };
        if writer.out.len() >= BUFFER {
            out.write_all(&writer.out)?;
            writer.out.clear();
        }
        let Some((key, winner)) = next else {
            writer.close();
            continue;
        };
        if !std::mem::take(&mut level.empty) {
            writer.out.push(b',');
        }
        writer.line();
        if let Some(key) = key {
            string(&mut writer.out, key)?;
            writer.out.extend_from_slice(if layout == Layout::Lines { b": " } else { b":" });
        }
        match winner.val.as_object() {
            Some((kind, number)) => writer.object(kind, &view.state.obj_id(number))?,
            None => writer.scalar(&view.state.shown_scalar(&winner))?,
        }
    }
    out.write_all(&writer.out)
}

impl<'a> Writer<'_, 'a> {
    /// A text, or the beginning of a map or a list.
    fn object(&mut self, kind: ObjType, id: &ObjId) -> io::Result<()> {
        match kind {
            ObjType::Text => {
                // Whoever gave the id has found the text there.
                let text = self.view.text(id).map_err(io::Error::other)?;
                match self.form {
                    Form::Plain => string(&mut self.out, &text)?,
                    Form::Tagged => self.tagged("\"text\"", |out| string(out, &text))?,
                }
            }
            ObjType::List => {
                let elements = self.view.elements(id, .., |winner| winner).into_iter();
                self.open("[", Rest::List(elements), "]");
            }
            ObjType::Map | ObjType::Table => {
                let entries = self.view.entries(id, .., |key, winner| (key, winner));
                let says_type = self.form == Form::Tagged && entries.iter().any(|(key, _)| *key == TYPE);
                let entries = Rest::Map(entries.into_iter());
                match says_type {
                    true => {
                        let begin = format!("{{\"{TYPE}\":\"map\",\"{VALUE}\":{{");
                        self.open(&begin, entries, "}}");
                    }
                    false => self.open("{", entries, "}"),
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, begin: &str, rest: Rest<'a>, end: &'static str) {
        self.levels.push(Level { rest, empty: true, end });
        self.out.extend_from_slice(begin.as_bytes());
    }

    fn close(&mut self) {
        let Some(Level { empty, end, .. }) = self.levels.pop() else { return };
        if !empty {
            self.line();
        }
        self.out.extend_from_slice(end.as_bytes());
    }

    /// A new line, where lines are wanted.
    fn line(&mut self) {
        if self.layout == Layout::Lines {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.levels.len(), b' ');
        }
    }

    fn scalar(&mut self, value: &ScalarValue<'a>) -> io::Result<()> {
        let plain = self.form == Form::Plain;
        match value {
            ScalarValue::Null => self.out.write_all(b"null"),
            ScalarValue::Boolean(value) => write!(self.out, "{value}"),
            ScalarValue::Int(value) => serde_json::to_writer(&mut self.out, value).map_err(io::Error::from),
            ScalarValue::Uint(value) if plain || i64::try_from(*value).is_err() => {
                write!(self.out, "{value}")
            }
            ScalarValue::Uint(value) => self.tagged("\"uint\"", |out| write!(out, "{value}")),
            // With all digits that it takes to read the same number, and always with a point or an exponent.
            ScalarValue::F64(value) if value.is_finite() => {
                serde_json::to_writer(&mut self.out, value).map_err(io::Error::from)
            }
            ScalarValue::F64(_) if plain => self.out.write_all(b"null"),
            ScalarValue::F64(value) => self.tagged("\"f64\"", |out| write!(out, "\"{value:?}\"")),
            ScalarValue::Str(text) => string(&mut self.out, text),
            ScalarValue::Counter(value) | ScalarValue::Timestamp(value) if plain => {
                write!(self.out, "{value}")
            }
            ScalarValue::Counter(value) => self.tagged("\"counter\"", |out| write!(out, "{value}")),
            ScalarValue::Timestamp(value) => self.tagged("\"timestamp\"", |out| write!(out, "{value}")),
            ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. } if plain => {
                serde_json::to_writer(&mut self.out, &**bytes).map_err(io::Error::from)
            }
            ScalarValue::Bytes(bytes) => {
                self.tagged("\"bytes\"", |out| write!(out, "\"{}\"", encode_hex(bytes)))
            }
            ScalarValue::Unknown { type_code, bytes } => {
                self.tagged(&type_code.to_string(), |out| write!(out, "\"{}\"", encode_hex(bytes)))
            }
        }
    }

    fn tagged(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        write!(self.out, "{{\"{TYPE}\":{name},\"{VALUE}\":")?;
        write(&mut self.out)?;
        self.out.write_all(b"}")
    }
}

pub(super) fn string(out: impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}
