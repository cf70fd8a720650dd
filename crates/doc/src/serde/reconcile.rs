//! A document that shall say what a Rust value says, with as few edits as that takes.

use ::serde::Serialize;

use super::{Error, to_literal};
use crate::literal::{Entries, Literal};
use crate::read::ReadDoc as _;
use crate::transaction::{Transactable, Transaction};
use crate::types::{ObjId, ObjType, Prop, ScalarValue, Value};
use crate::update::{Step, diff};

/// Makes an object of a document what `value` is; [`Reconciler`] says how.
pub fn reconcile<T: Serialize + ?Sized>(
    tx: &mut Transaction<'_>,
    obj: impl AsRef<ObjId>,
    value: &T,
) -> Result<(), Error> {
    Reconciler::default().reconcile(tx, obj, value)
}

/// Makes objects of documents what Rust values are, in a way that leaves as much as possible to what others do at the same
/// time.
///
/// What is equal stays. Maps are compared key by key, texts by grapheme clusters, a counter is counted up or down. Elements of
/// lists are found again wherever they are now: numbers and strings by what they are, maps by the keys that
/// [`Self::by_key`] names, others by everything in them; an element that is other than before at the same place is
/// updated there.
#[derive(Clone, Debug, Default)]
pub struct Reconciler {
    keys: Vec<String>,
}

impl Reconciler {
    /// Elements of lists that have a value under this key are the same if they have the same one: `id`, as a rule. Of several
    /// keys an element goes by the first that it has.
    #[must_use]
    pub fn by_key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Makes an object what `value` is: a map, a list or a text, as the object.
    pub fn reconcile<T: Serialize + ?Sized>(
        &self,
        tx: &mut Transaction<'_>,
        obj: impl AsRef<ObjId>,
        value: &T,
    ) -> Result<(), Error> {
        let obj = obj.as_ref();
        let (there, value) = (tx.view().hydrate(obj)?, to_literal(value)?);
        if there.kind() != value.kind() {
            return Err(Error::new(format_args!(
                "the object is a {}, the value is not",
                tx.view().object_type(obj)?
            )));
        }
        self.object(tx, obj, &there, &value)
    }

    /// Makes an object another one of its kind. The value is no deeper than serde has been let go.
    fn object(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        there: &Literal,
        value: &Literal,
    ) -> Result<(), Error> {
        match (there, value) {
            (Literal::Map(there), Literal::Map(entries)) => self.map(tx, obj, there, entries),
            (Literal::List(there), Literal::List(elements)) => self.list(tx, obj, there, elements),
            (Literal::Text(there), Literal::Text(text)) if there != text => Ok(tx.update_text(obj, text)?),
            _ => Ok(()),
        }
    }

    fn map(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        there: &Entries,
        entries: &Entries,
    ) -> Result<(), Error> {
        for (key, value) in entries {
            self.place(tx, obj, key.as_str().into(), there.get(key), value)
                .map_err(|error| error.inside(key))?;
        }
        for key in there.keys().filter(|key| !entries.contains_key(*key)) {
            tx.delete(obj, key)?;
        }
        Ok(())
    }

    fn list(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        there: &[Literal],
        elements: &[Literal],
    ) -> Result<(), Error> {
        let [old, new] =
            [there, elements].map(|values| values.iter().map(|value| self.who(value)).collect::<Vec<_>>());
        // What goes and what comes between two that stay; where in the list as it is so far.
        let (mut gone, mut come, mut at) = (0..0, 0..0, 0);
        for step in diff(&old, &new).into_iter().map(Some).chain([None]) {
            match step {
                Some(Step::Delete { old, len }) => {
                    gone = if gone.is_empty() { old } else { gone.start }..old + len;
                    continue;
                }
                Some(Step::Insert { new, len }) => {
                    come = if come.is_empty() { new } else { come.start }..new + len;
                    continue;
                }
                Some(Step::Keep { .. }) | None => {}
            }
            while !gone.is_empty() || !come.is_empty() {
                let pair = (there.get(gone.start), elements.get(come.start));
                match pair {
                    (Some(was), Some(value))
                        if !gone.is_empty() && !come.is_empty() && self.is_update(was, value) =>
                    {
                        self.place(tx, obj, at.into(), Some(was), value).map_err(|error| error.inside(at))?;
                        (gone.start, come.start, at) = (gone.start + 1, come.start + 1, at + 1);
                    }
                    _ if !gone.is_empty() => {
                        tx.delete(obj, at)?;
                        gone.start += 1;
                    }
                    (_, Some(value)) => {
                        tx.insert_literal(obj, at, value.clone())?;
                        (come.start, at) = (come.start + 1, at + 1);
                    }
                    (_, None) => break,
                }
            }
            (gone, come) = (0..0, 0..0);
            if let Some(Step::Keep { old, len }) = step {
                // The same by their keys; what else is in them may be other.
                let new = at;
                for n in 0..len {
                    let (was, value) = (&there[old + n], &elements[new + n]);
                    self.place(tx, obj, at.into(), Some(was), value).map_err(|error| error.inside(at))?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Who an element is.
    fn who<'l>(&self, value: &'l Literal) -> &'l Literal {
        match value {
            Literal::Map(entries) => self.keys.iter().find_map(|key| entries.get(key)).unwrap_or(value),
            _ => value,
        }
    }

    /// Whether one element becomes the other one, and not another one in its place.
    fn is_update(&self, was: &Literal, value: &Literal) -> bool {
        let has_key = |value: &Literal| !std::ptr::eq(self.who(value), value);
        !has_key(was) && !has_key(value)
    }

    /// Makes what is at a place `value`.
    fn place(
        &self,
        tx: &mut Transaction<'_>,
        obj: &ObjId,
        prop: Prop<'_>,
        there: Option<&Literal>,
        value: &Literal,
    ) -> Result<(), Error> {
        match (there, value) {
            (Some(there), value) if there == value => return Ok(()),
            (
                Some(Literal::Scalar(ScalarValue::Counter(was))),
                Literal::Scalar(ScalarValue::Counter(now)),
            ) => {
                if let Some(by) = now.checked_sub(*was) {
                    return Ok(tx.increment(obj, prop, by)?);
                }
            }
            (Some(there), value) if there.kind().is_some() && there.kind() == value.kind() => {
                if let Some((Value::Object(kind), id)) = tx.view().get(obj, prop.clone())?
                    && kind != ObjType::Table
                {
                    return self.object(tx, &id, there, value);
                }
            }
            _ => {}
        }
        tx.put_literal(obj, prop, value.clone())?;
        Ok(())
    }
}
