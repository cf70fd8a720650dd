//! Rules for operations, changes, document chunks and bundles: the list of all, and a function for each rule that needs
//! no lookup in a document. A function returns the variant of [`OpFault`], [`Fault`] or [`Rule`] for the broken rule.
//!
//! Whether objects and elements exist, and how they are ordered, is checked where they are: for changes in
//! `store::incoming::apply`, for document chunks in `store::incoming::load`. These two call this file, and so do the
//! shared reader of columns ([`crate::codec::ops`]) and the readers of frequent cases, which leave everything that these
//! rules do not plainly allow to the general reader. Code that reads whole runs checks a rule once per run, or at both
//! ends of it. Edits check values passed by callers, and have errors of their own.
//!
//! Their purpose: **accepted data can be represented in the state, saved, and loaded again, equal.** A document chunk
//! has no column for the predecessors of an operation, for deletions, or for the first counter of a change: these
//! follow from other columns or are lost. So data is accepted only if they follow.
//!
//! An operation **alone**: [`counter`], [`RawValue::check`](crate::codec::raw_value::RawValue::check), [`operation`],
//! [`reference`], and [`predecessors`].
//! - Its counter is neither 0 nor the greatest 32-bit number.
//! - A value's bytes fit its type; types 10 to 15, of later versions, have any bytes; there are no other types.
//! - Maps and tables are addressed by keys, lists and texts by elements; an element is inserted after another one or at
//!   the head; the head itself is not an element.
//! - Makes, deletions and the ends of marks have no value; increments are by a number; deletions and increments are not
//!   insertions; marks are insertions; only marks have a name or expand.
//! - Every reference is to a smaller counter. Predecessors ascend, without duplicates.
//!
//! An operation **against the document**: [`key_kind`], [`supersedes`], [`text_alone_has_marks`], [`predecessor`],
//! [`ancestor`].
//! - Its object exists and takes this kind of key; its element exists in that object, and is not a mark if it is
//!   updated; each predecessor is a value or an increment of the same key or element.
//! - Deletions and increments have predecessors, insertions have none. Marks are in texts. The end of a mark follows
//!   its begin, which is the operation before.
//! - All of these are in ancestors of its change, or earlier in the same change.
//!
//! A **change**: [`sequence`], [`start`], [`author`]. Its bytes are canonical, so that they can be encoded again.
//! - Its actor's previous change is an ancestor.
//! - Its first counter is above all counters of its ancestors.
//! - Only an actor's first change names an author.
//!
//! A **document chunk** contains changes that keep these rules, each after its dependencies. Its operations are ordered
//! by object, key and id, the elements of a sequence by their insertions; the successors of each ascend and are later
//! than it. A **bundle** is equivalent to its changes as individual chunks.
//!
//! Acceptance of a change depends only on the change and its ancestors, so it does not depend on the order of arrival.
//! There are two exceptions. Two different changes with one actor and sequence number mean two writers with one actor
//! id: the one that is ready first stays, the other is refused. And the limits bound the total size of a document and
//! the work of one call.
//!
//! Stricter than the official crate, which reads and writes back: an insertion at a key of a map, an object made with a
//! value, a mark name or the expand flag on other operations, a duplicate predecessor. No editing program writes these.
//! They have no effect, but a state would have to store them for ever only to reproduce the hash.

use std::cmp::Ordering;

use crate::codec::row::{Action, RawKey, Row};
use crate::types::error::{Fault, OpFault, Rule};
use crate::types::{ObjType, OpId};

/// Greatest counter of an operation. One more number follows it, for the end of a change.
pub(crate) const LAST: u32 = u32::MAX - 1;

/// Checks a counter of an operation, or a sequence number.
#[inline]
pub(crate) fn counter(value: i64) -> Result<u32, Rule> {
    match u32::try_from(value) {
        Ok(0) => Err(Rule::Zero),
        Ok(value @ ..=LAST) => Ok(value),
        _ => Err(Rule::CounterRange),
    }
}

/// Checks the rules for a single operation.
pub(crate) fn operation(row: &Row<'_>) -> Result<(), Rule> {
    row.value.check()?;
    alone(row).map_err(Rule::Operation)?;
    reference(row.id, row.obj).map_err(Rule::Operation)?;
    match row.key {
        RawKey::Map(_) => Ok(()),
        RawKey::Elem(elem) => reference(row.id, elem).map_err(Rule::Operation),
    }
}

/// Checks that action, key, value and flags agree.
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

/// Checks that operation `id` refers to a smaller counter. The root and the head of a sequence have 0.
#[inline]
pub(crate) fn reference(id: OpId, to: OpId) -> Result<(), OpFault> {
    if to.ctr < id.ctr { Ok(()) } else { Err(OpFault::Later) }
}

/// Checks that predecessors are in the order of operations, without duplicates.
#[inline]
pub(crate) fn predecessors(ids: &[OpId], order: impl Fn(OpId, OpId) -> Ordering) -> Result<(), OpFault> {
    let ascending = ids.windows(2).all(|pair| order(pair[0], pair[1]).is_lt());
    if ascending { Ok(()) } else { Err(OpFault::PredOrder) }
}

/// Checks that the kind of object takes the kind of key.
#[inline]
pub(crate) fn key_kind(kind: ObjType, row: &Row<'_>) -> Result<(), OpFault> {
    match row.key {
        RawKey::Map(_) if kind.is_map() => Ok(()),
        RawKey::Elem(_) if kind.is_sequence() => Ok(()),
        RawKey::Elem(_) if row.insert => Err(OpFault::InsertMap),
        _ => Err(OpFault::KeyKind),
    }
}

/// Checks the number of predecessors against the action.
#[inline]
pub(crate) fn supersedes(action: Action, insert: bool, preds: usize) -> Result<(), OpFault> {
    match action {
        _ if insert && preds > 0 => Err(OpFault::InsertPred),
        Action::Delete | Action::Increment if preds == 0 => Err(OpFault::NoPred),
        _ => Ok(()),
    }
}

/// Checks that marks are in texts only.
#[inline]
pub(crate) fn text_alone_has_marks(action: Action, text: bool) -> Result<(), OpFault> {
    if action == Action::Mark && !text { Err(OpFault::Mark) } else { Ok(()) }
}

/// Checks that a predecessor can be superseded: a document has no rows for deletions, so none can have successors.
#[inline]
pub(crate) fn predecessor(there: Option<Action>) -> Result<(), OpFault> {
    match there {
        None | Some(Action::Delete | Action::Mark) => Err(OpFault::Pred),
        Some(_) => Ok(()),
    }
}

/// Checks that the end of a mark follows its begin.
#[inline]
pub(crate) fn mark_end(behind_its_begin: bool) -> Result<(), OpFault> {
    if behind_its_begin { Ok(()) } else { Err(OpFault::MarkOrder) }
}

/// Checks that a reference is to an ancestor of the change.
#[inline]
pub(crate) fn ancestor(covered: bool) -> Result<(), OpFault> {
    if covered { Ok(()) } else { Err(OpFault::NotAncestor) }
}

/// Checks that a change directly follows the last one of its actor among its ancestors.
#[inline]
pub(crate) fn sequence(last: u32, found: u32) -> Result<(), Fault> {
    if u64::from(found) == u64::from(last) + 1 {
        Ok(())
    } else {
        Err(Fault::Seq { last: last.into(), found: found.into() })
    }
}

/// Checks that a change starts after the counters of its ancestors; `end` is one more than the greatest of these.
#[inline]
pub(crate) fn start(start: u32, end: u32) -> Result<(), Fault> {
    if start >= end { Ok(()) } else { Err(Fault::StartOp { start: start.into(), known: u64::from(end) - 1 }) }
}

/// Checks that only the first change of an actor names an author.
#[inline]
pub(crate) fn author(seq: u64, names_one: bool) -> Result<(), Fault> {
    if names_one && seq > 1 { Err(Fault::Author) } else { Ok(()) }
}
