//! The difference between two moments of a document as a JSON Patch.

use std::io::{self, Write};

use super::pointer::escape;
use super::write::{Layout, string, write};
use super::{Form, VALUE};
use crate::types::{ObjId, ObjType, ROOT, ScalarValue, Value};
use crate::update::{Step, diff as steps};
use crate::view::View;

/// A value with its id, as views give it.
type Found<'a> = (Value<'a>, ObjId);

/// The number of a way from the root, in [`Differ::ways`]. Each way is its last token and the way before that: a document
/// may be so deep that ways as lists of tokens would take more room than it does.
type Way = usize;

/// The way to the whole document.
const WHOLE: Way = Way::MAX;

/// Writes the patch that makes `after` of `before`, a step a line; both are views of one document.
///
/// Objects that are there before and after are looked into; elements of lists are known by their ids, so one that
/// was moved goes and comes. A text that changed is replaced as a whole. Costs O(n) in both, and up to the square of the length
/// where lists differ.
pub fn diff(before: &View<'_>, after: &View<'_>, form: Form, out: impl Write) -> io::Result<()> {
    let mut writer =
        Differ { before, after, form, out, first: true, ways: vec![], pairs: vec![(WHOLE, ROOT)] };
    while let Some((way, id)) = writer.pairs.pop() {
        // Whoever gave the id has found the object there.
        match after.object_type(&id).map_err(io::Error::other)? {
            ObjType::Map | ObjType::Table => writer.maps(way, &id)?,
            ObjType::List => writer.lists(way, &id)?,
            ObjType::Text => writer.texts(way, &id)?,
        }
    }
    writer.out.write_all(if writer.first { b"[]" } else { b"\n]" })
}

struct Differ<'v, 'a, W> {
    before: &'v View<'a>,
    after: &'v View<'a>,
    form: Form,
    out: W,
    /// No step was written yet.
    first: bool,
    ways: Vec<(Way, String)>,
    /// Objects that are there before and after and were not looked into, with the ways to them.
    pairs: Vec<(Way, ObjId)>,
}

/// Whether both are one scalar, bit for bit: zeros with two signs are written differently though they are equal.
fn is_same_scalar((old, _): &Found<'_>, (new, _): &Found<'_>) -> bool {
    match (old, new) {
        (Value::Scalar(ScalarValue::F64(old)), Value::Scalar(ScalarValue::F64(new))) => {
            old.to_bits() == new.to_bits()
        }
        (Value::Scalar(old), Value::Scalar(new)) => old == new,
        _ => false,
    }
}

impl<'a, W: Write> Differ<'_, 'a, W> {
    /// The way to a key or an index of what another one leads to.
    fn way(&mut self, from: Way, token: impl Into<String>) -> Way {
        self.ways.push((from, token.into()));
        self.ways.len() - 1
    }

    /// One step at a key or an index; `value` is written behind it.
    fn step(&mut self, op: &str, (from, token): (Way, &str), value: Option<Found<'a>>) -> io::Result<()> {
        let mut tokens = vec![token];
        let mut at = from;
        while let Some((before, token)) = self.ways.get(at) {
            tokens.push(token);
            at = *before;
        }
        let pointer: String = tokens.iter().rev().map(|token| format!("/{}", escape(token))).collect();
        let begin = if std::mem::take(&mut self.first) { "[\n" } else { ",\n" };
        write!(self.out, "{begin}{{\"op\":\"{op}\",\"path\":")?;
        string(&mut self.out, &pointer)?;
        if let Some(value) = value {
            write!(self.out, ",\"{VALUE}\":")?;
            write(self.after, value, self.form, Layout::Compact, &mut self.out)?;
        }
        self.out.write_all(b"}")
    }

    /// A value before and after at one place.
    fn value(&mut self, (from, token): (Way, &str), old: &Found<'a>, new: Found<'a>) -> io::Result<()> {
        match (&old.0, &new.0) {
            (Value::Object(_), Value::Object(_)) if old.1 == new.1 => {
                let way = self.way(from, token);
                self.pairs.push((way, new.1));
                Ok(())
            }
            _ if is_same_scalar(old, &new) => Ok(()),
            _ => self.step("replace", (from, token), Some(new)),
        }
    }

    fn maps(&mut self, way: Way, id: &ObjId) -> io::Result<()> {
        let mut old = self.before.map_range(id, ..).peekable();
        let mut new = self.after.map_range(id, ..).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(a), Some(b)) => a.key.cmp(b.key),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
            };
            let gone = if order.is_le() { old.next() } else { None };
            let come = if order.is_ge() { new.next() } else { None };
            match (gone, come) {
                (Some(old), Some(new)) => {
                    self.value((way, old.key), &(old.value, old.id), (new.value, new.id))?;
                }
                (Some(old), None) => self.step("remove", (way, old.key), None)?,
                (None, Some(new)) => self.step("add", (way, new.key), Some((new.value, new.id)))?,
                (None, None) => return Ok(()),
            }
        }
    }

    fn lists(&mut self, way: Way, id: &ObjId) -> io::Result<()> {
        let (old, new): (Vec<Found<'a>>, Vec<Found<'a>>) =
            (self.before.values_of(id), self.after.values_of(id));
        let ids = |values: &[Found<'a>]| values.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>();
        // The index in the list as the steps so far have made it, which is the index of the next element after.
        let mut at = 0;
        let (mut gone, mut come) = (0..0, 0..0);
        let all = steps(&ids(&old), &ids(&new));
        for step in all.iter().map(Some).chain([None]) {
            match step {
                Some(&Step::Delete { old: from, len }) => {
                    gone = if gone.is_empty() { from } else { gone.start }..from + len;
                    continue;
                }
                Some(&Step::Insert { new: from, len }) => {
                    come = if come.is_empty() { from } else { come.start }..from + len;
                    continue;
                }
                _ => {}
            }
            let both = gone.len().min(come.len());
            for n in 0..both {
                let (old, new) = (&old[gone.start + n], new[come.start + n].clone());
                self.value((way, &at.to_string()), old, new)?;
                at += 1;
            }
            for _ in both..gone.len() {
                self.step("remove", (way, &at.to_string()), None)?;
            }
            for n in both..come.len() {
                self.step("add", (way, &at.to_string()), Some(new[come.start + n].clone()))?;
                at += 1;
            }
            (gone, come) = (0..0, 0..0);
            if let Some(&Step::Keep { old: from, len }) = step {
                for old in &old[from..from + len] {
                    // The same element: an object may have changed inside, and a counter may have grown.
                    if !is_same_scalar(old, &new[at]) {
                        self.value((way, &at.to_string()), old, new[at].clone())?;
                    }
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn texts(&mut self, way: Way, id: &ObjId) -> io::Result<()> {
        let [old, new] = [self.before, self.after].map(|view| view.text(id));
        if old.map_err(io::Error::other)? == new.map_err(io::Error::other)? {
            return Ok(());
        }
        let Some((from, token)) = self.ways.get(way).cloned() else { return Ok(()) };
        self.step("replace", (from, &token), Some((Value::Object(ObjType::Text), id.clone())))
    }
}
