//! Update of a document to the contents of a Rust value, with few edits.

use ::serde::Serialize;

use super::{Error, to_literal};
use crate::edit::transaction::{Transactable, Transaction};
use crate::edit::update_text::{Step, diff};
use crate::read::read_doc::ReadDoc as _;
use crate::types::literal::{Entries, Literal};
use crate::types::{ObjId, ObjType, Prop, ScalarValue, Value};

/// Updates an object of a document to `value`; see [`Reconciler`].
pub fn reconcile<T: Serialize + ?Sized>(
    tx: &mut Transaction<'_>,
    obj: impl AsRef<ObjId>,
    value: &T,
) -> Result<(), Error> {
    Reconciler::default().reconcile(tx, obj, value)
}

/// Updates objects of documents to the contents of Rust values, preserving as much as possible for concurrent edits.
///
/// Equal contents stay. Maps are compared key by key, texts by grapheme clusters, and counters are incremented.
/// Elements of lists are matched at any position: numbers and strings by value, maps by the keys set with
/// [`Self::by_key`], others by their whole contents. An unmatched element that replaces one at the same position is an
/// update of it.
#[derive(Clone, Debug, Default)]
pub struct Reconciler {
    keys: Vec<String>,
}

impl Reconciler {
    /// List elements with equal values of this key, such as `id`, are the same element. Of several keys, the first one
    /// that an element has is used.
    #[must_use]
    pub fn by_key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Updates an object to `value`: a map, a list or a text, like the object.
    pub fn reconcile<T: Serialize + ?Sized>(
        &self,
        tx: &mut Transaction<'_>,
        obj: impl AsRef<ObjId>,
        value: &T,
    ) -> Result<(), Error> {
        let obj = obj.as_ref();
        let (current, value) = (tx.view().hydrate(obj)?, to_literal(value)?);
        if current.kind() != value.kind() {
            return Err(Error::new(format_args!(
                "the object is a {}, the value is not",
                tx.view().object_type(obj)?
            )));
        }
        self.object(tx, obj, &current, &value)
    }

    /// Updates an object to another value of its kind. Recursive: the depth was limited by the serializer.
    fn object(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        current: &Literal,
        value: &Literal,
    ) -> Result<(), Error> {
        match (current, value) {
            (Literal::Map(current), Literal::Map(entries)) => self.map(tx, obj, current, entries),
            (Literal::List(current), Literal::List(elements)) => self.list(tx, obj, current, elements),
            (Literal::Text(current), Literal::Text(text)) if current != text => {
                Ok(tx.update_text(obj, text)?)
            }
            _ => Ok(()),
        }
    }

    fn map(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        current: &Entries,
        entries: &Entries,
    ) -> Result<(), Error> {
        for (key, value) in entries {
            self.update_value(tx, obj, key.as_str().into(), current.get(key), value)
                .map_err(|error| error.inside(key))?;
        }
        for key in current.keys().filter(|key| !entries.contains_key(*key)) {
            tx.delete(obj, key)?;
        }
        Ok(())
    }

    fn list(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        current: &[Literal],
        elements: &[Literal],
    ) -> Result<(), Error> {
        let [old, new] = [current, elements]
            .map(|values| values.iter().map(|value| self.identity(value)).collect::<Vec<_>>());
        // Deleted and inserted elements between two kept ones, and the position in the list so far.
        let (mut deleted, mut inserted, mut at) = (0..0, 0..0, 0);
        for step in diff(&old, &new).into_iter().map(Some).chain([None]) {
            match step {
                Some(Step::Delete { old, len }) => {
                    deleted = if deleted.is_empty() { old } else { deleted.start }..old + len;
                    continue;
                }
                Some(Step::Insert { new, len }) => {
                    inserted = if inserted.is_empty() { new } else { inserted.start }..new + len;
                    continue;
                }
                Some(Step::Keep { .. }) | None => {}
            }
            while !deleted.is_empty() || !inserted.is_empty() {
                let pair = (current.get(deleted.start), elements.get(inserted.start));
                match pair {
                    (Some(before), Some(value))
                        if !deleted.is_empty() && !inserted.is_empty() && self.is_update(before, value) =>
                    {
                        self.update_value(tx, obj, at.into(), Some(before), value)
                            .map_err(|error| error.inside(at))?;
                        (deleted.start, inserted.start, at) = (deleted.start + 1, inserted.start + 1, at + 1);
                    }
                    _ if !deleted.is_empty() => {
                        tx.delete(obj, at)?;
                        deleted.start += 1;
                    }
                    (_, Some(value)) => {
                        tx.insert_literal(obj, at, value.clone())?;
                        (inserted.start, at) = (inserted.start + 1, at + 1);
                    }
                    (_, None) => break,
                }
            }
            (deleted, inserted) = (0..0, 0..0);
            if let Some(Step::Keep { old, len }) = step {
                // Matched by keys; their other contents may differ.
                let new = at;
                for n in 0..len {
                    let (before, value) = (&current[old + n], &elements[new + n]);
                    self.update_value(tx, obj, at.into(), Some(before), value)
                        .map_err(|error| error.inside(at))?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// The identity of an element.
    fn identity<'l>(&self, value: &'l Literal) -> &'l Literal {
        match value {
            Literal::Map(entries) => self.keys.iter().find_map(|key| entries.get(key)).unwrap_or(value),
            _ => value,
        }
    }

    /// Is an element updated to the other one, instead of replaced?
    fn is_update(&self, before: &Literal, value: &Literal) -> bool {
        let has_key = |value: &Literal| !std::ptr::eq(self.identity(value), value);
        !has_key(before) && !has_key(value)
    }

    /// Updates the value at a key or index to `value`.
    fn update_value(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        prop: Prop<'_>,
        current: Option<&Literal>,
        value: &Literal,
    ) -> Result<(), Error> {
        match (current, value) {
            (Some(current), value) if current == value => return Ok(()),
            (
                Some(Literal::Scalar(ScalarValue::Counter(before))),
                Literal::Scalar(ScalarValue::Counter(after)),
            ) => {
                if let Some(by) = after.checked_sub(*before) {
                    return Ok(tx.increment(obj, prop, by)?);
                }
            }
            (Some(current), value) if current.kind().is_some() && current.kind() == value.kind() => {
                if let Some((Value::Object(kind), id)) = tx.view().get(obj, prop.clone())?
                    && kind != ObjType::Table
                {
                    return self.object(tx, &id, current, value);
                }
            }
            _ => {}
        }
        tx.put_literal(obj, prop, value.clone())?;
        Ok(())
    }
}
