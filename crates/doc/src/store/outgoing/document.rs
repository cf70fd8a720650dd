//! Encoding of the state as a document chunk: all operations in document order, run by run where the state stores runs.

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::codec::chunks::document::{ChangeRow, ChangeWriter, DocumentOut, PackedValues, Values};
use crate::codec::ops::op_writer::OpWriter;
use crate::codec::parallel;
use crate::codec::raw_value::{RawValue, code};
use crate::codec::row::Action;
use crate::store::log::key_op::KeyOp;
use crate::store::log::value::StoredValue;
use crate::store::map::Entry;
use crate::store::memory::byte_arena::Bytes;
use crate::store::outgoing::save_cache::{KeyHistories, KeyHistory, MIN_CACHED_OPS};
use crate::store::seq::{Kind, Seq, Span};
use crate::store::state::{Body, DocumentState, Object};
use crate::types::{ActorIdx, ChangeHash, ObjIdx, OpId};

/// From this many bytes of keys and values on, another thread deflates the values while this one writes the other
/// columns.
const SPLIT_FROM: usize = 1 << 16;

/// From this many runs of changes on, another thread writes the table of changes.
const RUNS_FROM: usize = 1 << 13;

/// Number of keys whose chains are followed at the same time: each step waits for memory, and several waits overlap.
pub(super) const ABREAST: usize = 8;

/// An object, and the keys of a map in the order of the file.
pub(super) type Ordered<'a> = (&'a Object, Vec<&'a Entry>);

impl DocumentState {
    /// Encodes the document chunk.
    pub(crate) fn write_document(&self, compress: bool) -> Vec<u8> {
        let copied = self.write_original_columns(compress).or_else(|| self.write_spliced(compress));
        copied.unwrap_or_else(|| self.write_anew(compress))
    }

    /// Encodes the document from its original columns, if nothing changed since the load and a new encoding would be
    /// equal.
    pub(crate) fn write_original_columns(&self, compress: bool) -> Option<Vec<u8>> {
        let loaded = self.original.as_ref().filter(|loaded| loaded.changes == self.history.next())?;
        let actors = self.writers();
        if actors.len() != loaded.of.actors {
            return None;
        }
        let columns = loaded.columns.map(|bytes| self.heap.get(bytes));
        let actors: Vec<&[u8]> = actors.iter().map(|actor| self.actors.bytes(*actor)).collect();
        loaded.of.write(&actors, &self.named_heads(), columns, compress)
    }

    /// Panics if the kept columns differ from a new encoding.
    pub(in crate::store) fn check_original_columns(&self) {
        for compress in [false, true] {
            let anew = self.write_anew(compress);
            for copied in [self.write_original_columns(compress), self.write_spliced(compress)] {
                assert!(
                    copied.is_none_or(|copied| copied == anew),
                    "from kept columns, deflated: {compress}"
                );
            }
        }
    }

    /// The actors with changes, sorted by id.
    pub(crate) fn writers(&self) -> Vec<ActorIdx> {
        let wrote = |actor: &ActorIdx| self.history.seq(*actor) > 0;
        let mut order: Vec<ActorIdx> = self.actors.numbers().filter(wrote).collect();
        order.sort_unstable_by_key(|actor| self.actors.rank(*actor));
        order
    }

    /// As [`Self::writers`], with the position of each actor among them.
    pub(super) fn writers_in_order(&self) -> (Vec<ActorIdx>, Vec<ActorIdx>) {
        let order = self.writers();
        let mut index = vec![ActorIdx::NOBODY; self.actors.len()];
        order.iter().zip(0..).for_each(|(actor, at)| index[actor.index()] = ActorIdx::from_u32(at));
        (order, index)
    }

    /// Size in bytes of the columns of the document's file, operations of an uncommitted change included.
    pub(in crate::store) fn column_bytes(&self) -> u64 {
        // Actors without a change are included.
        let index: Vec<ActorIdx> =
            self.actors.numbers().map(|actor| ActorIdx::from_u32(self.actors.rank(actor))).collect();
        let histories = self.save_cache.histories();
        let mut writer = DocWriter::new(self, &histories, &index, true);
        let mut chains = Default::default();
        self.ordered().iter().for_each(|object| writer.object(object, &mut chains));
        let (ops, changes) = (writer.finish().ops, self.change_table(&index));
        DocumentOut { actors: vec![], heads: vec![], changes, ops }.column_bytes()
    }

    fn write_anew(&self, compress: bool) -> Vec<u8> {
        let (order, index) = self.writers_in_order();
        let objects = self.ordered();
        let histories = self.save_cache.histories();
        let columns = |values: bool| {
            let ops = || {
                let mut writer = DocWriter::new(self, &histories, &index, values);
                let mut chains = Default::default();
                objects.iter().for_each(|object| writer.object(object, &mut chains));
                writer.finish()
            };
            let (SaveResult { ops, new }, changes) = self.beside_changes(ops, &index);
            let actors = order.iter().map(|actor| self.actors.bytes(*actor)).collect();
            let out = DocumentOut { actors, heads: self.named_heads(), changes, ops };
            (out.pack(compress), new)
        };
        let ((packed, new), values) = if !compress || self.heap.len() < SPLIT_FROM {
            (columns(true), None)
        } else {
            let (columns, values) = parallel::join(|| columns(false), || self.values(&objects, &histories));
            (columns, Some(values))
        };
        let chunk = packed.frame(values.as_ref());
        drop(histories);
        self.save_cache.add(new);
        chunk
    }

    /// Runs `ops` and encodes the table of changes; a long table is encoded by another thread.
    pub(super) fn beside_changes<T: Send>(
        &self,
        ops: impl FnOnce() -> T + Send,
        index: &[ActorIdx],
    ) -> (T, ChangeWriter<'_>) {
        let changes = || self.change_table(index);
        if self.history.run_count() < RUNS_FROM { (ops(), changes()) } else { parallel::join(ops, changes) }
    }

    /// The hashes of the heads in order, each with its row.
    pub(super) fn named_heads(&self) -> Vec<(ChangeHash, u64)> {
        let mut heads: Vec<(ChangeHash, u64)> =
            self.history.heads.rows().iter().map(|row| (self.hash(*row), u64::from(*row))).collect();
        heads.sort_unstable();
        heads
    }

    fn ordered(&self) -> Vec<Ordered<'_>> {
        let mut objects: Vec<&Object> = self.objects.iter().collect();
        objects.sort_unstable_by(|a, b| self.actors.cmp(a.id, b.id));
        let keys = objects.into_iter().map(|object| match &*object.body {
            Body::Map(map) => (object, map.sorted(&self.heap)),
            Body::Seq(_) => (object, Vec::new()),
        });
        keys.collect()
    }

    /// The deflated value column: everything that [`DocWriter`] leaves out, in the same order.
    fn values(&self, objects: &[Ordered<'_>], histories: &KeyHistories) -> PackedValues {
        let mut values = Values::default();
        let add = |chain: &KeyChain<'_>, values: &mut Values| {
            let rows = chain.ops.iter().filter(|op| op.action != Action::Delete);
            rows.for_each(|op| values.push(self.raw(op.val())));
        };
        let mut chains = Default::default();
        for (object, keys) in objects {
            self.key_ops(keys, histories, &mut chains, |_, ops_of_key| match ops_of_key {
                KeyOps::Once(op) => values.push(self.raw(op.val())),
                KeyOps::KeyChain(chain) => {
                    if let Some(past) = chain.cached {
                        values.append(&past.rows);
                    }
                    add(chain, &mut values);
                }
            });
            let Body::Seq(seq) = &*object.body else { continue };
            for span in seq.spans() {
                if span.reg.is_some() {
                    values.push(self.raw(self.inserted(span, 0)));
                    add(&self.history_of(seq, span), &mut values);
                    continue;
                }
                match span.kind {
                    Kind::Text => values.push(RawValue { code: code::STR, bytes: self.typed(span) }),
                    Kind::Values => (span.at..span.at + span.len)
                        .for_each(|at| values.push(self.raw(self.log.values[at as usize]))),
                    Kind::Mark => values.push(self.raw(self.log.marks[span.at as usize].val)),
                }
            }
        }
        values.pack()
    }

    /// Text of a span of characters.
    fn typed(&self, span: &Span) -> &[u8] {
        self.heap.get(Bytes { at: span.at, len: span.bytes })
    }

    /// The operations on an element after its insertion.
    fn history_of(&self, seq: &Seq, span: &Span) -> KeyChain<'_> {
        let mut chain = KeyChain::default();
        self.chain(seq.reg(span).expect("the span has a register").last).for_each(|op| chain.push(op, self));
        chain.finish(self);
        chain
    }

    /// Calls `each` with every key and its operations.
    fn key_ops<'a>(
        &'a self,
        mut keys: &[&'a Entry],
        histories: &'a KeyHistories,
        chains: &mut [KeyChain<'a>; ABREAST],
        mut each: impl FnMut(&'a Entry, KeyOps<'_, 'a>),
    ) {
        while let [entry, others @ ..] = keys {
            let newest = entry.last.map(|last| &self.log.keyed[last]);
            if let Some(op) = newest.filter(|op| op.before().is_none() && self.log.preds(op).is_empty()) {
                each(entry, KeyOps::Once(op));
                keys = others;
                continue;
            }
            let (batch, others) = keys.split_at(keys.len().min(ABREAST));
            keys = others;
            let mut next = [None; ABREAST];
            next.iter_mut().zip(batch).for_each(|(next, entry)| *next = entry.last);
            chains.iter_mut().for_each(KeyChain::clear);
            let mut live = next.iter().flatten().count();
            while live > 0 {
                for ((next, chain), entry) in next.iter_mut().zip(chains.iter_mut()).zip(batch) {
                    let Some(number) = *next else { continue };
                    let op = &self.log.keyed[number];
                    if chain.ops.is_empty() && op.before().is_some() {
                        chain.cached = histories.get(op.obj, entry.key);
                    }
                    chain.met = chain.cached.is_some_and(|past| past.last == Some(number));
                    if chain.met {
                        *next = None;
                    } else {
                        chain.push(op, self);
                        *next = op.before();
                    }
                    live -= usize::from(next.is_none());
                }
            }
            for (entry, chain) in batch.iter().zip(chains.iter_mut()) {
                chain.finish(self);
                each(entry, KeyOps::KeyChain(chain));
            }
        }
    }

    fn change_table(&self, index: &[ActorIdx]) -> ChangeWriter<'_> {
        let mut out = ChangeWriter::default();
        let (mut at, mut message) = (Bytes::default(), None);
        for run in self.history.runs() {
            if run.message != at {
                at = run.message;
                message = (at.len > 0).then(|| self.heap.text(at));
            }
            let row = ChangeRow {
                actor: index[run.actor.index()],
                seq: run.seq,
                max_op: run.first_counter + run.ops_per_change - 1,
                time: run.time,
                message,
                extra: self.heap.get(run.extra),
            };
            out.push(&row, &run.deps);
            if run.row_count > 1 {
                out.push_run(&row, run.ops_per_change, run.row_count - 1);
            }
        }
        out
    }
}

/// The key of an operation. The bytes of a map key were checked as UTF-8.
#[derive(Clone, Copy)]
enum ObjectKey<'a> {
    Key(&'a [u8]),
    Elem(OpId),
}

/// Writer of the operations in document order.
pub(super) struct DocWriter<'a, 'i> {
    state: &'a DocumentState,
    histories: &'a KeyHistories,
    /// From actor numbers to positions in the chunk's list of actors.
    index: &'i [ActorIdx],
    pub(super) ops: OpWriter<'a>,
    new: Vec<(ObjIdx, Bytes, KeyHistory)>,
}

/// Result of a save.
pub(super) struct SaveResult<'a> {
    pub(super) ops: OpWriter<'a>,
    /// Histories to cache for the next save: the object, the key and its operations.
    pub(super) new: Vec<(ObjIdx, Bytes, KeyHistory)>,
}

impl<'a, 'i> DocWriter<'a, 'i> {
    /// `values` selects whether the bytes of values are written, too.
    pub(super) fn new(
        state: &'a DocumentState,
        histories: &'a KeyHistories,
        index: &'i [ActorIdx],
        values: bool,
    ) -> Self {
        let ops = if values { OpWriter::default() } else { OpWriter::without_values() };
        Self { state, histories, index, ops, new: Vec::new() }
    }

    pub(super) fn finish(self) -> SaveResult<'a> {
        SaveResult { ops: self.ops, new: self.new }
    }

    fn id(&self, id: OpId) -> OpId {
        if id.is_none() { id } else { OpId::new(id.ctr, self.index[id.actor.index()]) }
    }

    pub(super) fn object(&mut self, (object, keys): &Ordered<'a>, chains: &mut [KeyChain<'a>; ABREAST]) {
        let (id, state) = (self.id(object.id), self.state);
        let shortcuts = state.limits.shortcuts.taken();
        // Pending rows of overwritten keys, whose equal columns are written as one run, and their actor.
        let mut alike = (0, ActorIdx::FIRST);
        state.key_ops(keys, self.histories, chains, |entry, ops_of_key| {
            let key = state.heap.get(entry.key);
            let last = match &ops_of_key {
                KeyOps::Once(op) if op.action == Action::Set && shortcuts => Some(op.id),
                KeyOps::KeyChain(chain) if chain.linear && chain.scalars && shortcuts => chain.last(),
                _ => {
                    let (rows, actor) = std::mem::take(&mut alike);
                    self.ops.rewritten_in(id, actor, rows);
                    return match ops_of_key {
                        KeyOps::Once(op) => self.row(id, ObjectKey::Key(key), op, &[]),
                        KeyOps::KeyChain(chain) => self.chain(id, ObjectKey::Key(key), chain),
                    };
                }
            };
            let Some(last) = last else { return };
            let actor = self.index[last.actor.index()];
            if alike.1 != actor {
                self.ops.rewritten_in(id, alike.1, alike.0);
                alike = (0, actor);
            }
            alike.0 += match ops_of_key {
                KeyOps::Once(op) => self.ops.written_once(key, op.id.ctr, state.raw(op.val())),
                KeyOps::KeyChain(chain) => self.rewrites(actor, last, entry, key, chain),
            };
        });
        self.ops.rewritten_in(id, alike.1, alike.0);
        if let Body::Seq(seq) = &*object.body {
            self.sequence(id, seq);
        }
    }

    /// Writes a chain of scalars by one actor, which ends with `last`. Returns the number of rows.
    fn rewrites(
        &mut self,
        actor: ActorIdx,
        last: OpId,
        entry: &Entry,
        key: &'a [u8],
        chain: &KeyChain<'_>,
    ) -> u64 {
        let (state, past) = (self.state, chain.cached.map(|past| &past.rows));
        let rows = chain.ops.iter().map(|op| (op.id.ctr, state.raw(op.val())));
        let pays = |_: &&_| state.limits.shortcuts.pay(chain.ops.len(), MIN_CACHED_OPS);
        let Some(first) = chain.ops.first().filter(pays) else {
            return self.ops.rewrites(key, actor, past, rows);
        };
        let mut past = past.cloned().unwrap_or_default();
        rows.for_each(|(ctr, value)| past.push(ctr, value));
        let rows = self.ops.rewrites(key, actor, Some(&past), [].into_iter());
        self.new.push((first.obj, entry.key, KeyHistory { last: entry.last, id: last, rows: past }));
        rows
    }

    /// Writes the operations of a chain that have rows.
    fn chain(&mut self, obj: OpId, at: ObjectKey<'a>, chain: &KeyChain<'_>) {
        for (n, op) in chain.ops.iter().enumerate().filter(|(_, op)| op.action != Action::Delete) {
            self.row(obj, at, op, &chain.after(n));
        }
    }

    /// Writes an operation and its successors.
    fn row(&mut self, obj: OpId, at: ObjectKey<'a>, op: &KeyOp, succ: &[OpId]) {
        self.ops.head(obj, false, op.action, 1);
        match at {
            ObjectKey::Key(key) => {
                self.ops.name(key);
                self.ops.no_elements(1);
            }
            ObjectKey::Elem(elem) => self.ops.key_ramp(elem, 1, 1),
        }
        self.ops.ids(self.id(op.id), 1);
        self.ops.value(self.state.raw(op.val()));
        let succ: SmallVec<[OpId; 2]> = succ.iter().map(|id| self.id(*id)).collect();
        self.ops.refs(succ.into_iter());
    }

    fn sequence(&mut self, obj: OpId, seq: &'a Seq) {
        // Pending typed rows, whose equal columns are written as one run.
        let mut alike = 0;
        for span in seq.spans() {
            let rows = u64::from(span.len);
            if span.reg.is_none() && span.kind == Kind::Text {
                self.ops.typed(self.id(span.origin), self.id(span.id), self.state.typed(span), rows);
                self.span_deletions(span);
                alike += rows;
                continue;
            }
            self.ops.typed_in(obj, std::mem::take(&mut alike));
            if span.reg.is_some() {
                self.element(obj, seq, span);
                continue;
            }
            let first = self.id(span.id);
            self.ops.key_chain(self.id(span.origin), first, rows);
            self.ops.ids(first, rows);
            if span.kind == Kind::Mark {
                let mark = &self.state.log.marks[span.at as usize];
                let name = mark.name.map(|name| self.state.heap.text(name));
                self.ops.head_mark(obj, true, Action::Mark, 1, mark.expand, name);
                self.ops.value(self.state.raw(mark.val));
            } else {
                self.values(obj, span);
            }
            self.span_deletions(span);
        }
        self.ops.typed_in(obj, alike);
    }

    /// Writes the deletions of a span's elements.
    fn span_deletions(&mut self, span: &Span) {
        if span.deleted_by.is_none() {
            self.ops.no_refs(span.len.into());
        } else {
            self.ops.ref_ramp(self.id(span.deleted_by), span.step.into(), span.len.into());
        }
    }

    fn values(&mut self, obj: OpId, span: &Span) {
        // Pending scalars, whose equal columns are written as one run.
        let mut scalars = 0;
        for val in self.state.log.values.iter_from(span.at as usize).take(span.len as usize) {
            if val.action() == Action::Set {
                scalars += 1;
            } else {
                self.ops.head(obj, true, Action::Set, std::mem::take(&mut scalars));
                self.ops.head(obj, true, val.action(), 1);
            }
            self.ops.value(self.state.raw(*val));
        }
        self.ops.head(obj, true, Action::Set, scalars);
    }

    fn value(&mut self, obj: OpId, val: StoredValue) {
        self.ops.head(obj, true, val.action(), 1);
        self.ops.value(self.state.raw(val));
    }

    /// Writes an element with a history of its own.
    fn element(&mut self, obj: OpId, seq: &'a Seq, span: &Span) {
        let state = self.state;
        let reg = seq.reg(span).expect("the span has a register");
        let chain = state.history_of(seq, span);
        let id = self.id(span.id);
        self.ops.key_ramp(self.id(span.origin), 1, 1);
        self.ops.ids(id, 1);
        self.value(obj, state.inserted(span, 0));
        let mut succ: SmallVec<[OpId; 4]> = chain.succ(span.id).into();
        succ.extend(Some(span.deleted_by).filter(|gone| !gone.is_none()));
        succ.extend(reg.dels.iter().copied());
        succ.sort_unstable_by(|a, b| state.actors.cmp(*a, *b));
        let succ: SmallVec<[OpId; 4]> = succ.iter().map(|id| self.id(*id)).collect();
        self.ops.refs(succ.into_iter());
        self.chain(obj, ObjectKey::Elem(id), &chain);
    }
}

/// Operations on a key. Most keys are written once and need no chain.
enum KeyOps<'s, 'a> {
    Once(&'a KeyOp),
    KeyChain(&'s KeyChain<'a>),
}

/// The operations on one key in ascending order, and the successors of each.
#[derive(Default)]
pub(super) struct KeyChain<'a> {
    /// Cached beginning of the chain, which is not among the operations. Only for linear chains of scalars.
    cached: Option<&'a KeyHistory>,
    /// Has the walk back reached its end?
    met: bool,
    ops: Vec<&'a KeyOp>,
    /// All by one actor, each superseding only the one before it, the first superseding nothing.
    linear: bool,
    /// Are all values scalars?
    scalars: bool,
    /// Empty if linear.
    succ: HashMap<OpId, SmallVec<[OpId; 2]>>,
}

impl<'a> KeyChain<'a> {
    fn clear(&mut self) {
        (self.cached, self.met, self.linear, self.scalars) = (None, false, true, true);
        self.ops.clear();
        self.succ.clear();
    }

    /// Adds the operation that arrived before the present ones.
    #[inline]
    fn push(&mut self, op: &'a KeyOp, state: &DocumentState) {
        match self.ops.last() {
            None => (self.linear, self.scalars) = (true, true),
            Some(next) => self.linear &= next.id.actor == op.id.actor && state.log.preds(next) == [op.id],
        }
        self.scalars &= op.action == Action::Set;
        self.ops.push(op);
    }

    /// Sorts the operations when all are present.
    fn finish(&mut self, state: &'a DocumentState) {
        if !self.met || !self.continues(state) {
            // The newer operations are not linear, so all of them are needed individually.
            let past = self.cached.take().filter(|_| self.met);
            past.into_iter().flat_map(|past| state.chain(past.last)).for_each(|op| self.push(op, state));
        }
        self.linear &=
            self.cached.is_some() || self.ops.last().is_some_and(|first| state.log.preds(first).is_empty());
        self.ops.reverse();
        if self.linear {
            return;
        }
        self.ops.sort_unstable_by(|a, b| state.actors.cmp(a.id, b.id));
        for op in &self.ops {
            for pred in state.log.preds(op) {
                self.succ.entry(*pred).or_default().push(op.id);
            }
        }
    }

    /// Do the newer operations supersede the cached beginning one by one?
    fn continues(&self, state: &DocumentState) -> bool {
        let joins = |past: &KeyHistory| {
            let first = self.ops.last();
            first.is_none_or(|first| first.id.actor == past.id.actor && state.log.preds(first) == [past.id])
        };
        self.linear && self.scalars && self.cached.is_some_and(joins)
    }

    /// The last operation of a linear chain.
    fn last(&self) -> Option<OpId> {
        self.ops.last().map(|op| op.id).or(self.cached.map(|past| past.id))
    }

    /// Successors of the `n`-th operation, ascending.
    fn after(&self, n: usize) -> SmallVec<[OpId; 2]> {
        if self.linear {
            return self.ops.get(n + 1).map(|op| op.id).into_iter().collect();
        }
        self.succ(self.ops[n].id).into()
    }

    /// Successors of an insertion, ascending.
    fn succ(&self, id: OpId) -> &[OpId] {
        self.succ.get(&id).map_or(&[], |succ| succ)
    }
}
