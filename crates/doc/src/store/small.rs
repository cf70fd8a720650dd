//! The bytes of a change with one keystroke in it, which most changes of a typed text are: the general writer's sixteen
//! columns are more than such a change has bytes.

use super::history::ChangeAt;
use super::log::{LogRun, What};
use super::state::State;
use crate::codec::leb::{put_i64, put_u64};
use crate::codec::ops::{Action, spec};
use crate::codec::value::code;
use crate::types::{ChangeHash, OpId};

/// Columns that hold one row each.
struct Row {
    layout: [u8; 24],
    columns: usize,
    data: [u8; 96],
    len: usize,
}

impl Row {
    /// A column of one byte after the count of the only literal.
    fn column(&mut self, spec: u32, value: impl FnOnce(&mut Vec<u8>), scratch: &mut Vec<u8>) {
        scratch.clear();
        value(scratch);
        self.layout[2 * self.columns] = spec as u8;
        self.layout[2 * self.columns + 1] = scratch.len() as u8;
        self.columns += 1;
        self.data[self.len..self.len + scratch.len()].copy_from_slice(scratch);
        self.len += scratch.len();
    }

    fn number(&mut self, spec: u32, value: u64, scratch: &mut Vec<u8>) {
        let write = |out: &mut Vec<u8>| {
            out.push(0x7f);
            put_u64(out, value);
        };
        self.column(spec, write, scratch);
    }

    fn counter(&mut self, spec: u32, value: u32, scratch: &mut Vec<u8>) {
        let write = |out: &mut Vec<u8>| {
            out.push(0x7f);
            put_i64(out, value.into());
        };
        self.column(spec, write, scratch);
    }
}

impl State {
    /// Writes the body of a change whose only operation is `op`, if that is a typed character or a deletion.
    pub(super) fn write_small(
        &self,
        change: &ChangeAt<'_>,
        op: &LogRun,
        deps: &[ChangeHash],
        out: &mut Vec<u8>,
    ) -> bool {
        let (elem, insert) = match op.what {
            What::Text { origin, .. } => (origin, true),
            What::Delete { elem, .. } => (elem, false),
            What::Values { .. } | What::Mark(_) | What::Keyed(_) => return false,
        };
        let author = change.run.actor;
        let obj = self.objects[op.obj as usize].id;
        let foreign = |id: OpId| !id.is_none() && id.actor != author;
        let others = match (foreign(obj), foreign(elem)) {
            (false, false) => [None, None],
            (true, false) => [Some(obj.actor), None],
            (false, true) => [Some(elem.actor), None],
            (true, true) if obj.actor == elem.actor => [Some(obj.actor), None],
            (true, true) if self.actors.rank(obj.actor) < self.actors.rank(elem.actor) => {
                [Some(obj.actor), Some(elem.actor)]
            }
            (true, true) => [Some(elem.actor), Some(obj.actor)],
        };
        let local = |actor: u32| match others {
            _ if actor == author => 0,
            [Some(first), _] if first == actor => 1,
            _ => 2,
        };
        out.clear();
        put_u64(out, deps.len() as u64);
        deps.iter().for_each(|dep| out.extend_from_slice(&dep.0));
        let prefixed = |out: &mut Vec<u8>, bytes: &[u8]| {
            put_u64(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        };
        prefixed(out, self.actors.bytes(author));
        put_u64(out, change.seq.into());
        put_u64(out, change.start.into());
        put_i64(out, change.run.time);
        prefixed(out, self.heap.get(change.run.message));
        put_u64(out, others.iter().flatten().count() as u64);
        others.iter().flatten().for_each(|other| prefixed(out, self.actors.bytes(*other)));
        let mut row = Row { layout: [0; 24], columns: 0, data: [0; 96], len: 0 };
        let mut scratch = Vec::with_capacity(16);
        if !obj.is_none() {
            row.number(spec::OBJ_ACTOR, local(obj.actor), &mut scratch);
            row.number(spec::OBJ_CTR, obj.ctr.into(), &mut scratch);
        }
        if !elem.is_none() {
            row.number(spec::KEY_ACTOR, local(elem.actor), &mut scratch);
        }
        row.counter(spec::KEY_CTR, elem.ctr, &mut scratch);
        match op.what {
            What::Text { bytes, .. } if insert => {
                let text = self.heap.get(bytes);
                row.column(spec::INSERT, |out| out.extend_from_slice(&[0, 1]), &mut scratch);
                row.number(spec::ACTION, Action::Set as u64, &mut scratch);
                row.number(spec::META, (text.len() as u64) << 4 | u64::from(code::STR), &mut scratch);
                row.column(spec::RAW, |out| out.extend_from_slice(text), &mut scratch);
                row.number(spec::PRED_COUNT, 0, &mut scratch);
            }
            _ => {
                row.column(spec::INSERT, |out| out.push(1), &mut scratch);
                row.number(spec::ACTION, Action::Delete as u64, &mut scratch);
                row.number(spec::META, 0, &mut scratch);
                row.number(spec::PRED_COUNT, 1, &mut scratch);
                row.number(spec::PRED_ACTOR, local(elem.actor), &mut scratch);
                row.counter(spec::PRED_CTR, elem.ctr, &mut scratch);
            }
        }
        out.push(row.columns as u8);
        out.extend_from_slice(&row.layout[..2 * row.columns]);
        out.extend_from_slice(&row.data[..row.len]);
        out.extend_from_slice(self.heap.get(change.run.extra));
        true
    }
}
