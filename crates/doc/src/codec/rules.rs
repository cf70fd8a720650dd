//! Every rule that an operation, a change, a document chunk or a bundle keeps, each stated once and named as the errors
//! name it. Whatever comes from elsewhere is asked here: by the reader of columns ([`crate::codec::ops`]), which all of
//! them share; by the readers of frequent cases, which decline what these rules do not plainly allow and leave it to the
//! general reader; by what applies changes and what loads documents; and, for values that callers hand in, by edits.
//!
//! What they are for: **what is accepted can be told by the state, is saved, and is loaded again, equal.** A document
//! chunk has no column for the predecessors of an operation, none for deletions and none for the first counter of a
//! change: all this follows from the rest, or is lost. So nothing is accepted that would not follow.
//!
//! An operation **alone**: [`counter`], [`RawValue::check`](super::value::RawValue::check), [`operation`], [`reference`], and [`predecessors`].
//! - Its counter is neither 0 nor the last number of 32 bits.
//! - A value's bytes fit its type; types 10 to 15, of later versions, have any bytes, and others do not exist.
//! - Maps and tables are addressed by keys, lists and texts by elements; what is inserted goes behind an element or at
//!   the head; the head itself is no element.
//! - Makes, deletions and the ends of marks have no value; increments are by a number; deletions and increments insert
//!   nothing; marks are insertions; only marks have a name or expand.
//! - What it refers to has a smaller counter than its own. Predecessors are ascending, none of them twice.
//!
//! An operation **against the document**: [`place`], [`supersedes`], [`text_alone_has_marks`], [`predecessor`], [`past`].
//! - Its object exists and takes such a key; its element exists in that object, and is no mark if it is to be changed;
//!   each predecessor is a value or an increment at the same place.
//! - Deletions and increments have predecessors, insertions have none. Marks are in texts. The end of a mark stands
//!   behind its begin, which is the operation before.
//! - All of these are in the past of its change, or before it in the same one.
//!
//! A **change**: [`sequence`], [`start`], [`author`]. Its bytes are the canonical ones, so that they can be written again.
//! - The change of its actor before it is in its past: who writes has seen what they wrote.
//! - Its first counter is above all in its past.
//! - Only an actor's first change names an author.
//!
//! A **document chunk** tells changes that keep these rules, in such an order that each comes after what it depends on.
//! Its operations are ordered: by object, key and id, the elements of a sequence as their insertions order them; the
//! successors of each are ascending and later than it is. A **bundle** tells changes as if each had come alone.
//!
//! Whether a change is accepted depends on nothing but the change and its past, so it does not depend on the order in
//! which changes come. There are two exceptions. Two different changes with one actor and sequence number mean two
//! writers with one name: the one that is ready first stays, the other is refused. And the limits of a document bound
//! what is in it altogether, and the work of one call.
//!
//! Stricter than the official crate, which reads them and writes them back: an insertion at a key of a map, an object
//! made with a value, a name or a wish to expand on what is no mark, a predecessor named twice. No program that edits
//! writes them. They say what can have no effect, and a state would have to hold it for ever only to hash the same.

use std::cmp::Ordering;

use super::row::{Action, RawKey, Row};
use crate::error::{Fault, OpFault, Rule};
use crate::types::{ObjType, OpId};

/// The greatest counter of an operation. There is one after it: the end of a change has a number too.
pub(crate) const LAST: u32 = u32::MAX - 1;

/// A counter of an operation, or a sequence number.
#[inline]
pub(crate) fn counter(value: i64) -> Result<u32, Rule> {
    match u32::try_from(value) {
        Ok(0) => Err(Rule::Zero),
        Ok(value @ ..=LAST) => Ok(value),
        _ => Err(Rule::CounterRange),
    }
}

/// What an operation says by itself.
pub(crate) fn operation(row: &Row<'_>) -> Result<(), Rule> {
    row.value.check()?;
    alone(row).map_err(Rule::Operation)?;
    reference(row.id, row.obj).map_err(Rule::Operation)?;
    match row.key {
        RawKey::Map(_) => Ok(()),
        RawKey::Elem(elem) => reference(row.id, elem).map_err(Rule::Operation),
    }
}

/// Its action, key, value and flags agree.
pub(crate) fn alone(row: &Row<'_>) -> Result<(), OpFault> {
    let at_key = matches!(row.key, RawKey::Map(_));
    if !row.insert && matches!(row.key, RawKey::Elem(elem) if elem.is_none()) {
        return Err(OpFault::Head);
    }
    if row.insert && at_key {
        return Err(OpFault::InsertKey);
    }
    if row.action == Action::Mark {
        let end = row.mark.is_none();
        return match row.insert {
            false => Err(OpFault::Mark),
            true if end && !row.value.is_null() => Err(OpFault::Value),
            true => Ok(()),
        };
    }
    if row.mark.is_some() {
        return Err(OpFault::MarkName);
    }
    if row.expand {
        return Err(OpFault::Expand);
    }
    match row.action {
        Action::Set | Action::Mark => Ok(()),
        Action::Delete | Action::Increment if row.insert => Err(OpFault::Inserts),
        Action::Increment if row.value.increment().is_none() => Err(OpFault::Increment),
        Action::Increment => Ok(()),
        Action::Delete | Action::MakeMap | Action::MakeList | Action::MakeText | Action::MakeTable => {
            if row.value.is_null() { Ok(()) } else { Err(OpFault::Value) }
        }
    }
}

/// What operation `id` refers to was there before: it has a smaller counter. The root and the head of a sequence have 0.
#[inline]
pub(crate) fn reference(id: OpId, to: OpId) -> Result<(), OpFault> {
    if to.ctr < id.ctr { Ok(()) } else { Err(OpFault::Later) }
}

/// Predecessors come in the order of operations, none of them twice.
#[inline]
pub(crate) fn predecessors(ids: &[OpId], order: impl Fn(OpId, OpId) -> Ordering) -> Result<(), OpFault> {
    let ascending = ids.windows(2).all(|pair| order(pair[0], pair[1]).is_lt());
    if ascending { Ok(()) } else { Err(OpFault::PredOrder) }
}

/// An object of this kind has such a key.
#[inline]
pub(crate) fn place(kind: ObjType, row: &Row<'_>) -> Result<(), OpFault> {
    match row.key {
        RawKey::Map(_) if kind.is_map() => Ok(()),
        RawKey::Elem(_) if kind.is_sequence() => Ok(()),
        RawKey::Elem(_) if row.insert => Err(OpFault::InsertMap),
        _ => Err(OpFault::KeyKind),
    }
}

/// An operation has as many predecessors as its kind may have.
#[inline]
pub(crate) fn supersedes(action: Action, insert: bool, preds: usize) -> Result<(), OpFault> {
    match action {
        _ if insert && preds > 0 => Err(OpFault::InsertPred),
        Action::Delete | Action::Increment if preds == 0 => Err(OpFault::NoPred),
        _ => Ok(()),
    }
}

/// Marks are in texts.
#[inline]
pub(crate) fn text_alone_has_marks(action: Action, text: bool) -> Result<(), OpFault> {
    if action == Action::Mark && !text { Err(OpFault::Mark) } else { Ok(()) }
}

/// What stands at the place can be superseded: a document has no rows for deletions, so none can name its successors.
#[inline]
pub(crate) fn predecessor(there: Option<Action>) -> Result<(), OpFault> {
    match there {
        None | Some(Action::Delete | Action::Mark) => Err(OpFault::Pred),
        Some(_) => Ok(()),
    }
}

/// The end of a mark stands behind its begin.
#[inline]
pub(crate) fn mark_end(behind_its_begin: bool) -> Result<(), OpFault> {
    if behind_its_begin { Ok(()) } else { Err(OpFault::MarkOrder) }
}

/// What an operation refers to is in the past of its change.
#[inline]
pub(crate) fn past(covered: bool) -> Result<(), OpFault> {
    if covered { Ok(()) } else { Err(OpFault::Past) }
}

/// A change comes right after the last one of its actor in its past.
#[inline]
pub(crate) fn sequence(last: u32, found: u32) -> Result<(), Fault> {
    if u64::from(found) == u64::from(last) + 1 {
        Ok(())
    } else {
        Err(Fault::Seq { last: last.into(), found: found.into() })
    }
}

/// The counters of a change start after those in its past; `end` is the one after the greatest of these.
#[inline]
pub(crate) fn start(start: u32, end: u32) -> Result<(), Fault> {
    if start >= end { Ok(()) } else { Err(Fault::StartOp { start: start.into(), known: u64::from(end) - 1 }) }
}

/// Only the first change of an actor says who stands behind it.
#[inline]
pub(crate) fn author(seq: u64, names_one: bool) -> Result<(), Fault> {
    if names_one && seq > 1 { Err(Fault::Author) } else { Ok(()) }
}
