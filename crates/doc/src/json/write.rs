//! Out: the document is walked without calling oneself, however deep it is.

use std::io::{self, Write};

use super::{Form, TYPE, VALUE};
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
    Map(std::vec::IntoIter<(&'a str, Value<'a>, ObjId)>),
    List(std::vec::IntoIter<(Value<'a>, ObjId)>),
}

/// An object that is being written.
struct Level<'a> {
    rest: Rest<'a>,
    /// Nothing of it was written yet.
    empty: bool,
    /// What closes it.
    end: &'static str,
}

struct Writer<'v, 'a, W> {
    view: &'v View<'a>,
    form: Form,
    layout: Layout,
    out: W,
    levels: Vec<Level<'a>>,
}

/// Writes a value of a document, as [`View::get`] gives it.
pub fn write<'a>(
    view: &View<'a>,
    value: (Value<'a>, ObjId),
    form: Form,
    layout: Layout,
    out: impl Write,
) -> io::Result<()> {
    let mut writer = Writer { view, form, layout, out, levels: Vec::new() };
    writer.value(value)?;
    while let Some(level) = writer.levels.last_mut() {
        let (key, value) = match &mut level.rest {
            Rest::Map(entries) => match entries.next() {
                Some((key, value, id)) => (Some(key), Some((value, id))),
                None => (None, None),
            },
            Rest::List(elements) => (None, elements.next()),
        };
        let Some(value) = value else {
            writer.close()?;
            continue;
        };
        let comma = if std::mem::take(&mut level.empty) { "" } else { "," };
        writer.out.write_all(comma.as_bytes())?;
        writer.line()?;
        if let Some(key) = key {
            string(&mut writer.out, key)?;
            writer.out.write_all(if layout == Layout::Lines { b": " } else { b":" })?;
        }
        writer.value(value)?;
    }
    Ok(())
}

impl<'a, W: Write> Writer<'_, 'a, W> {
    /// A value, or the beginning of an object.
    fn value(&mut self, (value, id): (Value<'a>, ObjId)) -> io::Result<()> {
        let kind = match value {
            Value::Scalar(value) => return self.scalar(&value),
            Value::Object(kind) => kind,
        };
        match kind {
            ObjType::Text => {
                // Whoever gave the id has found the text there.
                let text = self.view.text(&id).map_err(io::Error::other)?;
                match self.form {
                    Form::Plain => string(&mut self.out, &text),
                    Form::Tagged => self.tagged("\"text\"", |out| string(out, &text)),
                }
            }
            ObjType::List => self.open("[", Rest::List(self.view.list_range(&id, ..)), "]"),
            ObjType::Map | ObjType::Table => {
                let entries = self.view.map_range(&id, ..);
                let says_type = entries.as_slice().iter().any(|(key, ..)| *key == TYPE);
                match self.form == Form::Tagged && says_type {
                    true => {
                        let begin = format!("{{\"{TYPE}\":\"map\",\"{VALUE}\":{{");
                        self.open(&begin, Rest::Map(entries), "}}")
                    }
                    false => self.open("{", Rest::Map(entries), "}"),
                }
            }
        }
    }

    fn open(&mut self, begin: &str, rest: Rest<'a>, end: &'static str) -> io::Result<()> {
        self.levels.push(Level { rest, empty: true, end });
        self.out.write_all(begin.as_bytes())
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(Level { empty, end, .. }) = self.levels.pop() else { return Ok(()) };
        if !empty {
            self.line()?;
        }
        self.out.write_all(end.as_bytes())
    }

    /// A new line, where lines are wanted.
    fn line(&mut self) -> io::Result<()> {
        if self.layout == Layout::Lines {
            self.out.write_all(b"\n")?;
            self.levels.iter().try_for_each(|_| self.out.write_all(b"  "))?;
        }
        Ok(())
    }

    fn scalar(&mut self, value: &ScalarValue<'a>) -> io::Result<()> {
        let plain = self.form == Form::Plain;
        match value {
            ScalarValue::Null => self.out.write_all(b"null"),
            ScalarValue::Boolean(value) => write!(self.out, "{value}"),
            ScalarValue::Int(value) => write!(self.out, "{value}"),
            ScalarValue::Uint(value) if plain || i64::try_from(*value).is_err() => {
                write!(self.out, "{value}")
            }
            ScalarValue::Uint(value) => self.tagged("\"uint\"", |out| write!(out, "{value}")),
            // With all digits that it takes to read the same number, and always with a point or an exponent.
            ScalarValue::F64(value) if value.is_finite() => write!(self.out, "{value:?}"),
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

    fn tagged(&mut self, name: &str, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        write!(self.out, "{{\"{TYPE}\":{name},\"{VALUE}\":")?;
        write(&mut self.out)?;
        self.out.write_all(b"}")
    }
}

pub(super) fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}
