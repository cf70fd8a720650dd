//! The change chunk (reference 2.3).

use std::collections::BTreeSet;

use super::bytes::{self, Input};
use super::column::{Columns, counter, layout, put_layout};
use super::op::{self, Form, Op};
use super::{Actor, Hash, Id, Key, Refused, refuse};
use crate::format::numbers::{put_prefixed, put_signed, put_unsigned};

/// The tag of the author among the records behind a change.
const AUTHOR: u64 = 1;

/// A change: operations of one actor, and the changes that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Hash of the change: see [`Self::seal`].
    pub hash: Hash,
    /// The heads that its author knew, in written order.
    pub deps: Vec<Hash>,
    /// The author.
    pub actor: Actor,
    /// 1, 2, 3… for each actor.
    pub seq: u64,
    /// The counter of its first operation.
    pub start: u64,
    /// Seconds since 1970.
    pub time: i64,
    /// Empty when there is none.
    pub message: String,
    /// Its operations: their counters follow each other.
    pub ops: Vec<Op>,
    /// Bytes after the columns.
    pub extra: Vec<u8>,
}

impl Change {
    /// Reads the body of a chunk of type 1 with at most `most` operations.
    pub fn read(body: &[u8], most: usize) -> Result<Self, Refused> {
        let mut input = Input(body);
        let deps = input.list(Input::hash)?;
        let actor = Actor(input.prefixed()?.into());
        let seq = counter(input.unsigned()?, "the sequence number")?;
        let start = counter(input.unsigned()?, "the first operation")?;
        let time = input.signed()?;
        let message = input.text()?;
        let others = input.list(|input| Ok(Actor(input.prefixed()?.into())))?;
        let layout = layout(&mut input, 6)?;
        let columns = Columns::read(&mut input, &layout, false, most)?;
        let actors: Vec<Actor> = [vec![actor.clone()], others].concat();
        let first = Id { counter: start, actor: actor.clone() };
        let rows = op::read(&columns, &actors, Form::Change(&first))?;
        let ops = rows.into_iter().map(|(op, _)| op).collect();
        let extra = input.0.to_vec();
        let change = Self { hash: [0; 32], deps, actor, seq, start, time, message, ops, extra }.seal();
        // The number after the last operation is that of the next one.
        counter(change.max_op() + 1, "the last operation")?;
        // Only what is written in the one way that there is can be written again from a document.
        if change.body() == body {
            Ok(change)
        } else {
            Err(refuse("canonical change", "it is written otherwise"))
        }
    }

    /// The change with its computed hash.
    #[must_use]
    pub fn seal(mut self) -> Self {
        self.hash = bytes::hash_of(1, &self.body());
        self
    }

    /// The counter of its last operation; that before its first when it has none.
    pub fn max_op(&self) -> u64 {
        self.start - 1 + self.ops.len() as u64
    }

    /// As a chunk.
    pub fn bytes(&self) -> Vec<u8> {
        bytes::chunk(1, &self.body())
    }

    /// Every actor that its operations name, but for its own.
    fn others(&self) -> Vec<Actor> {
        let mut named = BTreeSet::new();
        for op in &self.ops {
            named.extend(op.obj.iter().chain(&op.preds).map(|id| id.actor.clone()));
            if let Key::Element(id) = &op.key {
                named.insert(id.actor.clone());
            }
        }
        named.remove(&self.actor);
        named.into_iter().collect()
    }

    fn body(&self) -> Vec<u8> {
        let mut out = vec![];
        put_unsigned(&mut out, self.deps.len() as u64);
        out.extend(self.deps.concat());
        put_prefixed(&mut out, &self.actor.0);
        put_unsigned(&mut out, self.seq);
        put_unsigned(&mut out, self.start);
        put_signed(&mut out, self.time);
        put_prefixed(&mut out, self.message.as_bytes());
        let others = self.others();
        put_unsigned(&mut out, others.len() as u64);
        others.iter().for_each(|actor| put_prefixed(&mut out, &actor.0));
        let actors = [vec![self.actor.clone()], others].concat();
        let rows: Vec<(&Op, &[Id])> = self.ops.iter().map(|op| (op, &op.preds[..])).collect();
        let first = Id { counter: self.start, actor: self.actor.clone() };
        let columns = if rows.is_empty() { vec![] } else { op::write(&rows, &actors, Form::Change(&first)) };
        out.extend(put_layout(&columns));
        columns.iter().for_each(|(_, bytes)| out.extend(bytes));
        out.extend(&self.extra);
        out
    }

    /// The author, when the first record behind it is one.
    pub fn author(&self) -> Option<Vec<u8>> {
        let mut input = Input(&self.extra);
        let (tag, bytes) = (input.unsigned().ok()?, input.prefixed().ok()?);
        (tag == AUTHOR).then(|| bytes.to_vec())
    }
}
