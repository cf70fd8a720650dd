//! Some changes as a bundle: their operations in the order of a document, each with its predecessors.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::codec::bundle_writer::{BundleRow, BundleWriter};
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::value::{RawValue, code};
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, Val, What, stepped};
use crate::store::memory::byte_arena::Bytes;
use crate::store::seq::Seq;
use crate::store::state::State;
use crate::types::{ActorIdx, ChangeHash, ChangeIdx, KeyOpIdx, ObjIdx, OpId};

/// Where an operation stands in its object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot<'a> {
    Key(&'a [u8]),
    /// The number of its element, deleted ones included.
    Elem(usize),
}

/// What an operation does.
#[derive(Clone, Copy)]
enum Does {
    /// Inserts a character after an element.
    Type(OpId, Bytes),
    /// Inserts a value after an element.
    Insert(OpId, Val),
    Mark(u32),
    Delete(OpId),
    Keyed(KeyOpIdx),
}

/// An operation, and what its place in the table depends on.
struct Entry<'a> {
    /// The object's place in [`Table::objects`].
    obj: usize,
    spot: Spot<'a>,
    /// Deletions stand behind what they may have deleted: a document has no rows for them.
    deletes: bool,
    id: OpId,
    does: Does,
}

/// The elements of a sequence by their ids: for each span its first, how many there are, and the number of the first.
struct Elements(Vec<(ActorIdx, u32, u32, usize)>);

impl Elements {
    fn of(seq: &Seq) -> Self {
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
    /// Those that are touched, in the order of a document.
    objects: Vec<ObjIdx>,
    /// In order.
    entries: Vec<Entry<'a>>,
}

impl State {
    /// The changes in `rows`, which ascend, as a chunk.
    pub(crate) fn write_bundle(&self, rows: &[ChangeIdx]) -> Vec<u8> {
        let table = self.table(rows);
        let named = self.named(rows, &table);
        let mut index = vec![ActorIdx::NOBODY; self.actors.len()];
        named.iter().zip(0..).for_each(|(actor, at)| index[actor.place()] = ActorIdx::of(at));

        let mut out = BundleWriter::default();
        let mut numbers: HashMap<ChangeIdx, u64> = rows.iter().copied().zip(0..).collect();
        let mut external: Vec<ChangeHash> = vec![];
        for row in rows {
            let change = self.history.at(*row);
            let message = Some(change.run.message).filter(|message| message.len > 0);
            let head = BundleRow {
                actor: index[change.run.actor.place()],
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
        let id = |id: OpId| if id.is_none() { id } else { OpId::new(id.ctr, index[id.actor.place()]) };
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
            if change.run.ops > 0 {
                let (from, end) = self.log_range(self.history.run_of(*row));
                self.each_run(&change, self.log.find(change.start, from, end), |run| runs.push(*run));
            }
        }
        let objects: BTreeSet<ObjIdx> = runs.iter().map(|run| run.obj).collect();
        let mut objects: Vec<ObjIdx> = objects.into_iter().collect();
        objects.sort_unstable_by(|a, b| self.actors.cmp(self.objects[*a].id, self.objects[*b].id));
        let places = objects.iter().zip(0..).map(|(obj, at)| (*obj, (at, self.seq(*obj).map(Elements::of))));
        let places: HashMap<ObjIdx, (usize, Option<Elements>)> = places.collect();
        let mut entries = Vec::with_capacity(runs.iter().map(|run| run.len as usize).sum());
        for run in &runs {
            let (obj, elements) = &places[&run.obj];
            let elem = |id| Spot::Elem(elements.as_ref().map_or(0, |elements| elements.number(id)));
            self.each_op(run, |n, does| {
                let id = run.id.plus(n);
                let (spot, deletes) = match does {
                    Does::Type(..) | Does::Insert(..) | Does::Mark(_) => (elem(id), false),
                    Does::Delete(gone) => (elem(gone), true),
                    Does::Keyed(number) => {
                        let op = &self.log.keyed[number];
                        let spot = match op.key() {
                            Key::Map(key) => Spot::Key(self.heap.get(key)),
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

    /// Gives each operation of a run with its number there.
    fn each_op(&self, run: &LogRun, mut each: impl FnMut(u32, Does)) {
        let after = |origin: OpId, n: u32| if n == 0 { origin } else { run.id.plus(n - 1) };
        match run.what {
            What::Text { origin, bytes } => {
                for (n, (at, c)) in (0..).zip(self.heap.text(bytes).char_indices()) {
                    let bytes = Bytes { at: bytes.at + at as u32, len: c.len_utf8() as u32 };
                    each(n, Does::Type(after(origin, n), bytes));
                }
            }
            What::Values { origin, at } => {
                let values = self.log.values.iter_from(at as usize).take(run.len as usize);
                (0..).zip(values).for_each(|(n, val)| each(n, Does::Insert(after(origin, n), *val)));
            }
            What::Mark(number) => each(0, Does::Mark(number)),
            What::Delete { elem, step } => {
                (0..run.len).for_each(|n| each(n, Does::Delete(stepped(elem, step, n))));
            }
            What::KeyOp(first) => (0..run.len).for_each(|n| each(n, Does::Keyed(first.plus(n)))),
        }
    }

    /// The actors that changes and their operations name, in the order of their names.
    fn named(&self, rows: &[ChangeIdx], table: &Table<'_>) -> Vec<ActorIdx> {
        let mut there = vec![false; self.actors.len()];
        rows.iter().for_each(|row| there[self.history.at(*row).run.actor.place()] = true);
        let mut note = |id: OpId| {
            if !id.is_none() {
                there[id.actor.place()] = true;
            }
        };
        table.objects.iter().for_each(|obj| note(self.objects[*obj].id));
        for entry in &table.entries {
            match entry.does {
                Does::Type(elem, _) | Does::Insert(elem, _) | Does::Delete(elem) => note(elem),
                Does::Mark(number) => note(self.log.marks[number as usize].origin),
                Does::Keyed(number) => {
                    let op = &self.log.keyed[number];
                    if let Key::Elem(elem) = op.key() {
                        note(elem);
                    }
                    self.log.preds(op).iter().for_each(|pred| note(*pred));
                }
            }
        }
        let mut named: Vec<ActorIdx> = self.actors.numbers().filter(|actor| there[actor.place()]).collect();
        named.sort_unstable_by_key(|actor| self.actors.rank(*actor));
        named
    }

    /// Writes an operation on `obj`. `id` gives names as the bundle numbers actors.
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
            Does::Type(after, bytes) => {
                let value = RawValue { code: code::STR, bytes: self.heap.get(bytes) };
                out.op(&row(elem(after), Action::Set, value), &[]);
            }
            Does::Insert(after, val) => out.op(&row(elem(after), val.action(), self.raw(val)), &[]),
            Does::Mark(number) => {
                let mark = &self.log.marks[number as usize];
                let name = mark.name.map(|name| self.heap.text(name));
                let row = row(elem(mark.origin), Action::Mark, self.raw(mark.val));
                out.op(&Row { expand: mark.expand, mark: name, ..row }, &[]);
            }
            Does::Delete(gone) => {
                let row = row(elem(gone), Action::Delete, self.raw(Val::NULL));
                out.op(&Row { insert: false, ..row }, &[id(gone)]);
            }
            Does::Keyed(number) => {
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
