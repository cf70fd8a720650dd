//! JSON Patch between two views of a document.

use std::io::{self, Write};

use super::write::{Layout, string, write};
use super::{ScalarEncoding, VALUE};
use crate::edit::update_text::{Step, diff as steps};
use crate::interop::pointer_token::escape_token;
use crate::read::view::View;
use crate::types::{ObjId, ObjType, ROOT, ScalarValue, Value};

/// A value with its id, as returned by views.
type VisibleValue<'a> = (Value<'a>, ObjId);

/// Index of a path in [`Differ::ways`]. Each path is its last token and its parent path: in a deep document, paths as
/// token lists would exceed the document's size.
type PathIndex = usize;

/// Path of the whole document.
const WHOLE: PathIndex = PathIndex::MAX;

/// Writes the patch that turns `before` into `after`, two views of one document, with one operation per line.
///
/// Objects that exist in both are compared recursively. List elements are matched by id, so a moved element is removed
/// and added. A changed text is replaced as a whole. Costs O(n) in both, and up to the square of the length where lists
/// differ.
pub fn diff(before: &View<'_>, after: &View<'_>, form: ScalarEncoding, out: impl Write) -> io::Result<()> {
    let mut writer =
        Differ { before, after, form, out, first: true, ways: vec![], pairs: vec![(WHOLE, ROOT)] };
    while let Some((path, id)) = writer.pairs.pop() {
        // The id came from a view, so the object exists.
        match after.object_type(&id).map_err(io::Error::other)? {
            ObjType::Map | ObjType::Table => writer.maps(path, &id)?,
            ObjType::List => writer.lists(path, &id)?,
            ObjType::Text => writer.texts(path, &id)?,
        }
    }
    writer.out.write_all(if writer.first { b"[]" } else { b"\n]" })
}

struct Differ<'v, 'a, W> {
    before: &'v View<'a>,
    after: &'v View<'a>,
    form: ScalarEncoding,
    out: W,
    /// Is no operation written yet?
    first: bool,
    ways: Vec<(PathIndex, String)>,
    /// Pairs of objects to compare, with their paths.
    pairs: Vec<(PathIndex, ObjId)>,
}

/// Are both the same scalar, bit for bit? Zeros with two signs are equal but written differently.
fn is_same_scalar((old, _): &VisibleValue<'_>, (new, _): &VisibleValue<'_>) -> bool {
    match (old, new) {
        (Value::Scalar(ScalarValue::F64(old)), Value::Scalar(ScalarValue::F64(new))) => {
            old.to_bits() == new.to_bits()
        }
        (Value::Scalar(old), Value::Scalar(new)) => old == new,
        _ => false,
    }
}

impl<'a, W: Write> Differ<'_, 'a, W> {
    /// The path of a key or index in the object at another path.
    fn add_path(&mut self, from: PathIndex, token: impl Into<String>) -> PathIndex {
        self.ways.push((from, token.into()));
        self.ways.len() - 1
    }

    /// Writes an operation at a key or an index, followed by `value` if present.
    fn step(
        &mut self,
        op: &str,
        (from, token): (PathIndex, &str),
        value: Option<VisibleValue<'a>>,
    ) -> io::Result<()> {
        let mut tokens = vec![token];
        let mut at = from;
        while let Some((before, token)) = self.ways.get(at) {
            tokens.push(token);
            at = *before;
        }
        let pointer: String = tokens.iter().rev().map(|token| format!("/{}", escape_token(token))).collect();
        let begin = if std::mem::take(&mut self.first) { "[\n" } else { ",\n" };
        write!(self.out, "{begin}{{\"op\":\"{op}\",\"path\":")?;
        string(&mut self.out, &pointer)?;
        if let Some(value) = value {
            write!(self.out, ",\"{VALUE}\":")?;
            write(self.after, value, self.form, Layout::Compact, &mut self.out)?;
        }
        self.out.write_all(b"}")
    }

    /// Compares the values at one key or index.
    fn value(
        &mut self,
        (from, token): (PathIndex, &str),
        old: &VisibleValue<'a>,
        new: VisibleValue<'a>,
    ) -> io::Result<()> {
        match (&old.0, &new.0) {
            (Value::Object(_), Value::Object(_)) if old.1 == new.1 => {
                let path = self.add_path(from, token);
                self.pairs.push((path, new.1));
                Ok(())
            }
            _ if is_same_scalar(old, &new) => Ok(()),
            _ => self.step("replace", (from, token), Some(new)),
        }
    }

    fn maps(&mut self, path: PathIndex, id: &ObjId) -> io::Result<()> {
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
                    self.value((path, old.key), &(old.value, old.id), (new.value, new.id))?;
                }
                (Some(old), None) => self.step("remove", (path, old.key), None)?,
                (None, Some(new)) => self.step("add", (path, new.key), Some((new.value, new.id)))?,
                (None, None) => return Ok(()),
            }
        }
    }

    fn lists(&mut self, path: PathIndex, id: &ObjId) -> io::Result<()> {
        let (old, new): (Vec<VisibleValue<'a>>, Vec<VisibleValue<'a>>) =
            (self.before.values_of(id), self.after.values_of(id));
        let ids = |values: &[VisibleValue<'a>]| values.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>();
        // Index in the list after the operations so far, which is the index of the next element in `after`.
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
                self.value((path, &at.to_string()), old, new)?;
                at += 1;
            }
            for _ in both..gone.len() {
                self.step("remove", (path, &at.to_string()), None)?;
            }
            for n in both..come.len() {
                self.step("add", (path, &at.to_string()), Some(new[come.start + n].clone()))?;
                at += 1;
            }
            (gone, come) = (0..0, 0..0);
            if let Some(&Step::Keep { old: from, len }) = step {
                for old in &old[from..from + len] {
                    // The same element: the contents of an object may differ, and a counter may have been incremented.
                    if !is_same_scalar(old, &new[at]) {
                        self.value((path, &at.to_string()), old, new[at].clone())?;
                    }
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn texts(&mut self, path: PathIndex, id: &ObjId) -> io::Result<()> {
        let [old, new] = [self.before, self.after].map(|view| view.text(id));
        if old.map_err(io::Error::other)? == new.map_err(io::Error::other)? {
            return Ok(());
        }
        let Some((from, token)) = self.ways.get(path).cloned() else { return Ok(()) };
        self.step("replace", (from, &token), Some((Value::Object(ObjType::Text), id.clone())))
    }
}
