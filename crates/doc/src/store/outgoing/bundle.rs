//! Encoding of changes as a bundle: their operations in the order of a document, each with its predecessors.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::codec::chunks::bundle_writer::{BundleRow, BundleWriter};
use crate::codec::raw_value::{RawValue, code};
use crate::codec::row::{Action, RawKey, Row};
use crate::store::log::key_op::Key;
use crate::store::log::value::StoredValue;
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::memory::byte_arena::Bytes;
use crate::store::seq::Seq;
use crate::store::state::DocumentState;
use crate::types::{ActorIdx, ChangeHash, ChangeIdx, KeyOpIdx, ObjIdx, OpId};

/// Position of an operation in its object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpPosition<'a> {
    Key(&'a [u8]),
    /// Index of its element, tombstones included.
    Elem(usize),
}

/// Action of an operation.
#[derive(Clone, Copy)]
enum BundleAction {
    /// Inserts a character after an element.
    Type(OpId, Bytes),
    /// Inserts a value after an element.
    Insert(OpId, StoredValue),
    Mark(u32),
    Delete(OpId),
    Keyed(KeyOpIdx),
}

/// An operation with its sort key in the table.
struct Entry<'a> {
    /// Index of the object in [`Table::objects`].
    obj: usize,
    spot: OpPosition<'a>,
    /// Deletions sort after the operations that they may have deleted: a document has no rows for them.
    deletes: bool,
    id: OpId,
    does: BundleAction,
}

/// Index of a sequence's elements by id: for each span its first id, its length, and the position of the first element.
struct Elements(Vec<(ActorIdx, u32, u32, usize)>);

impl Elements {
    fn from_seq(seq: &Seq) -> Self {
        let mut number = 0;
        let mut spans: Vec<_> = seq
            .spans()
            .map(|span| {
                let first = number;
                number += span.len as usize;
                (span.id.actor, span.id.ctr, span.len, first)
            })
            .collect();
        spans.sort_unstable();
        Self(spans)
    }

    fn number(&self, id: OpId) -> usize {
        let after = self.0.partition_point(|(actor, ctr, ..)| (*actor, *ctr) <= (id.actor, id.ctr));
        let (_, ctr, _, first) = self.0[after - 1];
        first + (id.ctr - ctr) as usize
    }
}

/// The operations of some changes.
struct Table<'a> {
    /// The touched objects, in the order of a document.
    objects: Vec<ObjIdx>,
    /// Sorted.
    entries: Vec<Entry<'a>>,
}

impl DocumentState {
    /// The changes in `rows`, which must ascend, as a chunk.
    pub(crate) fn write_bundle(&self, rows: &[ChangeIdx]) -> Vec<u8> {
        let table = self.table(rows);
        let named = self.named(rows, &table);
        let mut index = vec![ActorIdx::NOBODY; self.actors.len()];
        named.iter().zip(0..).for_each(|(actor, at)| index[actor.index()] = ActorIdx::from_u32(at));

        let mut out = BundleWriter::default();
        let mut numbers: HashMap<ChangeIdx, u64> = rows.iter().copied().zip(0..).collect();
        let mut external: Vec<ChangeHash> = vec![];
        for row in rows {
            let change = self.history.at(*row);
            let message = Some(change.run.message).filter(|message| message.len > 0);
            let head = BundleRow {
                actor: index[change.run.actor.index()],
                seq: change.seq,
                start_op: change.start,
                max_op: change.end() - 1,
                time: change.run.time,
                message: message.map(|message| self.heap.text(message)),
                extra: self.heap.get(change.run.extra),
            };
            let deps = change.deps();
            let number = |dep: &ChangeIdx| {
                *numbers.entry(*dep).or_insert_with(|| {
                    external.push(self.hash(*dep));
                    (rows.len() + external.len() - 1) as u64
                })
            };
            out.change(&head, deps.iter().map(number));
        }
        let id = |id: OpId| if id.is_none() { id } else { OpId::new(id.ctr, index[id.actor.index()]) };
        for entry in &table.entries {
            let obj = id(self.objects[table.objects[entry.obj]].id);
            self.write_entry(obj, entry, id, &mut out);
        }
        let actors: Vec<&[u8]> = named.iter().map(|actor| self.actors.bytes(*actor)).collect();
        out.write(&external, &actors)
    }

    fn table(&self, rows: &[ChangeIdx]) -> Table<'_> {
        let mut runs: Vec<LogRun> = vec![];
        for row in rows {
            let change = self.history.at(*row);
            if change.run.ops_per_change > 0 {
                let (from, end) = self.log_range(self.history.run_index(*row));
                self.each_run(&change, self.log.find(change.start, from, end), |run| runs.push(*run));
            }
        }
        let objects: BTreeSet<ObjIdx> = runs.iter().map(|run| run.obj).collect();
        let mut objects: Vec<ObjIdx> = objects.into_iter().collect();
        objects.sort_unstable_by(|a, b| self.actors.cmp(self.objects[*a].id, self.objects[*b].id));
        let places =
            objects.iter().zip(0..).map(|(obj, at)| (*obj, (at, self.seq(*obj).map(Elements::from_seq))));
        let places: HashMap<ObjIdx, (usize, Option<Elements>)> = places.collect();
        let mut entries = Vec::with_capacity(runs.iter().map(|run| run.len as usize).sum());
        for run in &runs {
            let (obj, elements) = &places[&run.obj];
            let elem = |id| OpPosition::Elem(elements.as_ref().map_or(0, |elements| elements.number(id)));
            self.each_op(run, |n, does| {
                let id = run.id.plus(n);
                let (spot, deletes) = match does {
                    BundleAction::Type(..) | BundleAction::Insert(..) | BundleAction::Mark(_) => {
                        (elem(id), false)
                    }
                    BundleAction::Delete(gone) => (elem(gone), true),
                    BundleAction::Keyed(number) => {
                        let op = &self.log.keyed[number];
                        let spot = match op.key() {
                            Key::Map(key) => OpPosition::Key(self.heap.get(key)),
                            Key::Elem(at) => elem(at),
                        };
                        (spot, op.action == Action::Delete)
                    }
                };
                entries.push(Entry { obj: *obj, spot, deletes, id, does });
            });
        }
        entries.sort_unstable_by(|a, b| {
            (a.obj, a.spot, a.deletes)
                .cmp(&(b.obj, b.spot, b.deletes))
                .then_with(|| self.actors.cmp(a.id, b.id))
        });
        Table { objects, entries }
    }

    /// Calls `each` with every operation of a run and its index there.
    fn each_op(&self, run: &LogRun, mut each: impl FnMut(u32, BundleAction)) {
        let after = |origin: OpId, n: u32| if n == 0 { origin } else { run.id.plus(n - 1) };
        match run.what {
            RunAction::Text { origin, bytes } => {
                for (n, (at, c)) in (0..).zip(self.heap.text(bytes).char_indices()) {
                    let bytes = Bytes { at: bytes.at + at as u32, len: c.len_utf8() as u32 };
                    each(n, BundleAction::Type(after(origin, n), bytes));
                }
            }
            RunAction::Values { origin, at } => {
                let values = self.log.values.iter_from(at as usize).take(run.len as usize);
                (0..).zip(values).for_each(|(n, val)| each(n, BundleAction::Insert(after(origin, n), *val)));
            }
            RunAction::Mark(number) => each(0, BundleAction::Mark(number)),
            RunAction::Delete { elem, step } => {
                (0..run.len).for_each(|n| each(n, BundleAction::Delete(stepped(elem, step, n))));
            }
            RunAction::KeyOp(first) => (0..run.len).for_each(|n| each(n, BundleAction::Keyed(first.plus(n)))),
        }
    }

    /// The actors of changes and their operations, sorted by id.
    fn named(&self, rows: &[ChangeIdx], table: &Table<'_>) -> Vec<ActorIdx> {
        let mut there = vec![false; self.actors.len()];
        rows.iter().for_each(|row| there[self.history.at(*row).run.actor.index()] = true);
        let mut note = |id: OpId| {
            if !id.is_none() {
                there[id.actor.index()] = true;
            }
        };
        table.objects.iter().for_each(|obj| note(self.objects[*obj].id));
        for entry in &table.entries {
            match entry.does {
                BundleAction::Type(elem, _) | BundleAction::Insert(elem, _) | BundleAction::Delete(elem) => {
                    note(elem);
                }
                BundleAction::Mark(number) => note(self.log.marks[number as usize].origin),
                BundleAction::Keyed(number) => {
                    let op = &self.log.keyed[number];
                    if let Key::Elem(elem) = op.key() {
                        note(elem);
                    }
                    self.log.preds(op).iter().for_each(|pred| note(*pred));
                }
            }
        }
        let mut named: Vec<ActorIdx> = self.actors.numbers().filter(|actor| there[actor.index()]).collect();
        named.sort_unstable_by_key(|actor| self.actors.rank(*actor));
        named
    }

    /// Writes an operation on `obj`. `id` translates ids to the bundle's actor numbers.
    fn write_entry<'a>(
        &'a self,
        obj: OpId,
        entry: &Entry<'a>,
        id: impl Fn(OpId) -> OpId,
        out: &mut BundleWriter<'a>,
    ) {
        let row = |key, action, value| Row {
            id: id(entry.id),
            obj,
            key,
            insert: true,
            action,
            value,
            expand: false,
            mark: None,
        };
        let elem = |elem| RawKey::Elem(id(elem));
        match entry.does {
            BundleAction::Type(after, bytes) => {
                let value = RawValue { code: code::STR, bytes: self.heap.get(bytes) };
                out.op(&row(elem(after), Action::Set, value), &[]);
            }
            BundleAction::Insert(after, val) => out.op(&row(elem(after), val.action(), self.raw(val)), &[]),
            BundleAction::Mark(number) => {
                let mark = &self.log.marks[number as usize];
                let name = mark.name.map(|name| self.heap.text(name));
                let row = row(elem(mark.origin), Action::Mark, self.raw(mark.val));
                out.op(&Row { expand: mark.expand, mark: name, ..row }, &[]);
            }
            BundleAction::Delete(gone) => {
                let row = row(elem(gone), Action::Delete, self.raw(StoredValue::NULL));
                out.op(&Row { insert: false, ..row }, &[id(gone)]);
            }
            BundleAction::Keyed(number) => {
                let op = &self.log.keyed[number];
                let key = match op.key() {
                    Key::Map(key) => RawKey::Map(self.heap.text(key)),
                    Key::Elem(at) => elem(at),
                };
                let preds: SmallVec<[OpId; 4]> = self.log.preds(op).iter().map(|pred| id(*pred)).collect();
                out.op(&Row { insert: false, ..row(key, op.action, self.raw(op.val())) }, &preds);
            }
        }
    }
}
