//! JSON output: an iterative walk, for documents of any depth.

use std::hint::black_box;
use std::io::{self, Write};

use super::{ScalarEncoding, TYPE, VALUE};
use crate::codec::raw_value::code;
use crate::read::view::View;
use crate::store::map::{Map, OrderedEntries};
use crate::store::register::Visible;
use crate::store::state::{Body, DocumentState};
use crate::types::{ObjId, ObjIdx, ObjType, ScalarValue, Value, encode_hex};

/// Layout of JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layout {
    /// On one line, without blanks.
    #[default]
    Compact,
    /// One line per value, indented by two blanks per level.
    Lines,
}

/// Remaining contents of an object.
enum Remaining<'a> {
    /// Of a map in the current state.
    Map(&'a Map, OrderedEntries<'a>),
    /// Of a map at earlier heads.
    Then(std::vec::IntoIter<(&'a str, Visible)>),
    List(std::vec::IntoIter<Visible>),
}

/// An object that is being written.
struct StackFrame<'a> {
    rest: Remaining<'a>,
    /// Is nothing of it written yet?
    empty: bool,
    /// Its closing bracket.
    end: &'static str,
}

struct Writer<'v, 'a> {
    view: &'v View<'a>,
    form: ScalarEncoding,
    layout: Layout,
    /// Output buffer: most values are a few bytes.
    out: Vec<u8>,
    levels: Vec<StackFrame<'a>>,
}

/// Size in bytes at which the buffer is flushed.
const BUFFER: usize = 1 << 16;

/// Writes a value of a document, as returned by [`View::get`].
pub fn write<'a>(
    view: &View<'a>,
    value: (Value<'a>, ObjId),
    form: ScalarEncoding,
    layout: Layout,
    mut out: impl Write,
) -> io::Result<()> {
    let mut writer = Writer { view, form, layout, out: Vec::new(), levels: Vec::new() };
    match value {
        (Value::Scalar(value), _) => writer.scalar(&value)?,
        // The id came from a view, so the object exists.
        (Value::Object(kind), id) => {
            writer.object(kind, view.state.resolve(&id).map_err(io::Error::other)?)?;
        }
    }
    while let Some(level) = writer.levels.last_mut() {
        let next = match &mut level.rest {
            Remaining::Map(map, entries) => entries.next().and_then(|(key, number)| {
                // Each key of the order has a value.
                Some((Some(key), *map.entry(number).values.last()?))
            }),
            Remaining::Then(entries) => entries.next().map(|(key, winner)| (Some(key), winner)),
            Remaining::List(elements) => {
                let next = elements.next().map(|winner| (None, winner));
                let [near, far] = [0, 2].map(|at| elements.as_slice().get(at));
                look_ahead(view.state, near, far);
                next
            }
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
            escaped(&mut writer.out, key.as_bytes());
            writer.out.extend_from_slice(if layout == Layout::Lines { b": " } else { b":" });
        }
        match winner.val.as_object() {
            Some((kind, number)) => writer.object(kind, number)?,
            // Text is known to be valid UTF-8.
            None if winner.val.code == code::STR => {
                escaped(&mut writer.out, view.state.heap.get(winner.val.bytes));
            }
            None => writer.scalar(&view.state.shown_scalar(&winner))?,
        }
    }
    out.write_all(&writer.out)
}

/// Prefetches parts of objects that will be written soon: a walk from object to object waits for memory, and these
/// waits overlap.
#[inline]
fn look_ahead(state: &DocumentState, near: Option<&Visible>, far: Option<&Visible>) {
    let body = |winner: Option<&Visible>| {
        let (_, number) = winner?.val.as_object()?;
        Some(&*state.objects[number].body)
    };
    let far = body(far).map(|body| match body {
        Body::Map(map) => map.len(),
        Body::Seq(seq) => seq.width(),
    });
    let near = body(near).map(|body| match body {
        Body::Map(map) => map.glance(),
        Body::Seq(_) => 0,
    });
    black_box((near, far));
}

impl<'a> Writer<'_, 'a> {
    /// Writes a text, or the opening bracket of a map or a list.
    fn object(&mut self, kind: ObjType, number: ObjIdx) -> io::Result<()> {
        let state = self.view.state;
        let id = || state.obj_id(number);
        match kind {
            ObjType::Text => {
                let text = match (state.seq(number), &self.view.clock) {
                    (Some(seq), None) => seq.text(|span| state.shown(seq, span)),
                    _ => self.view.text(id()).map_err(io::Error::other)?,
                };
                match self.form {
                    ScalarEncoding::Plain => escaped(&mut self.out, text.as_bytes()),
                    ScalarEncoding::Tagged => self.tagged("\"text\"", |out| {
                        escaped(out, text.as_bytes());
                        Ok(())
                    })?,
                }
            }
            ObjType::List => {
                let elements = self.view.elements(&id(), .., |_, winner, _| winner).into_iter();
                self.open("[", Remaining::List(elements), "]");
            }
            ObjType::Map | ObjType::Table => {
                let tagged = self.form == ScalarEncoding::Tagged;
                let (entries, needs_tag) = match (&*state.objects[number].body, &self.view.clock) {
                    (Body::Map(map), None) => {
                        let there =
                            || map.get(TYPE, &state.heap).is_some_and(|entry| !entry.values.is_empty());
                        (Remaining::Map(map, map.order(&state.heap).entries()), tagged && there())
                    }
                    _ => {
                        let entries = self.view.entries(&id(), .., |key, winner, _| (key, winner));
                        let there = entries.iter().any(|(key, _)| *key == TYPE);
                        (Remaining::Then(entries.into_iter()), tagged && there)
                    }
                };
                match needs_tag {
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

    fn open(&mut self, begin: &str, rest: Remaining<'a>, end: &'static str) {
        self.levels.push(StackFrame { rest, empty: true, end });
        self.out.extend_from_slice(begin.as_bytes());
    }

    fn close(&mut self) {
        let Some(StackFrame { empty, end, .. }) = self.levels.pop() else { return };
        if !empty {
            self.line();
        }
        self.out.extend_from_slice(end.as_bytes());
    }

    /// Starts a new line in [`Layout::Lines`].
    fn line(&mut self) {
        if self.layout == Layout::Lines {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.levels.len(), b' ');
        }
    }

    fn scalar(&mut self, value: &ScalarValue<'a>) -> io::Result<()> {
        let plain = self.form == ScalarEncoding::Plain;
        match value {
            ScalarValue::Null => self.out.write_all(b"null"),
            ScalarValue::Boolean(value) => self.out.write_all(if *value { b"true" } else { b"false" }),
            ScalarValue::Int(value) => serde_json::to_writer(&mut self.out, value).map_err(io::Error::from),
            ScalarValue::Uint(value) if plain || i64::try_from(*value).is_err() => {
                write!(self.out, "{value}")
            }
            ScalarValue::Uint(value) => self.tagged("\"uint\"", |out| write!(out, "{value}")),
            // With all digits needed to read the same number again, and always with a point or an exponent.
            ScalarValue::F64(value) if value.is_finite() => {
                serde_json::to_writer(&mut self.out, value).map_err(io::Error::from)
            }
            ScalarValue::F64(_) if plain => self.out.write_all(b"null"),
            ScalarValue::F64(value) => self.tagged("\"f64\"", |out| write!(out, "\"{value:?}\"")),
            ScalarValue::Str(text) => {
                escaped(&mut self.out, text.as_bytes());
                Ok(())
            }
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

/// Writes a string from bytes of valid UTF-8.
fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let (mut rest, mut plain) = (text, 0);
    loop {
        // Eight bytes at a time: most texts have nothing to escape.
        while let Some(word) = rest[plain..].first_chunk()
            && !has_special(u64::from_le_bytes(*word))
        {
            plain += 8;
        }
        match rest[plain..].iter().position(|byte| is_special(*byte)) {
            None => break,
            Some(more) => {
                let (before, after) = rest.split_at(plain + more);
                out.extend_from_slice(before);
                escape(out, after[0]);
                (rest, plain) = (&after[1..], 0);
            }
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Must a byte be escaped in a string?
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// May one of eight bytes be [`is_special`]? Also true for some bytes of non-ASCII letters.
fn has_special(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // The highest bit of a byte is set if it was set, or if the subtraction borrowed.
    let below = |word: u64, byte: u8| word.wrapping_sub(ONES * u64::from(byte));
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (word | below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7) != 0
}

#[cold]
fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            let digit = |four: u8| b"0123456789abcdef"[usize::from(four)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

pub(super) fn string(out: impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_equal_those_of_serde_json() {
        let letters = [
            "a",
            "\"",
            "\\",
            "\u{0}",
            "\n",
            "\u{1f}",
            " ",
            "!",
            "\u{7f}",
            "é",
            "\u{2028}",
            "🙂",
            "\u{1b}\t\r",
        ];
        for seed in 0..20_000_usize {
            let mut text = String::new();
            let mut rest = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for at in 0..seed % 23 {
                // Mostly plain, with special bytes at every offset of a word.
                let letter = if (rest >> 60) < 12 { 0 } else { (rest >> 40) % letters.len() };
                text.push_str(letters[letter]);
                rest = rest.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at);
            }
            let mut out = vec![];
            escaped(&mut out, text.as_bytes());
            assert_eq!(
                String::from_utf8(out).as_ref(),
                Ok(&serde_json::to_string(&text).unwrap()),
                "{text:?}"
            );
        }
    }
}
