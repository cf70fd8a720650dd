//! From the state to a document chunk: all operations in document order, by the run where the state holds runs.

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::codec::document::{ChangeRow, ChangeWriter, DocumentOut, PackedValues, Values};
use crate::codec::op_writer::OpWriter;
use crate::codec::row::Action;
use crate::codec::value::{RawValue, code};
use crate::store::log::Val;
use crate::store::log::key_op::KeyOp;
use crate::store::map::Entry;
use crate::store::memory::byte_arena::Bytes;
use crate::store::outgoing::save_cache::{KEPT_FROM, KeyHistories, KeyHistory};
use crate::store::seq::{Kind, Seq, Span};
use crate::store::state::{Body, Object, State};
use crate::threads;
use crate::types::{ActorIdx, ChangeHash, ObjIdx, OpId};

/// When keys and values take this many bytes, another thread deflates the values while this one writes the rest.
const SPLIT_FROM: usize = 1 << 16;

/// From so many runs of changes on another thread writes their table.
const RUNS_FROM: usize = 1 << 13;

/// How many keys are followed back at a time: each step waits for memory, and several can wait together.
pub(super) const ABREAST: usize = 8;

/// An object, and the keys of a map in the order of the file.
pub(super) type Ordered<'a> = (&'a Object, Vec<&'a Entry>);

impl State {
    /// The document chunk.
    pub(crate) fn write_document(&self, compress: bool) -> Vec<u8> {
        let copied = self.write_kept(compress).or_else(|| self.write_spliced(compress));
        copied.unwrap_or_else(|| self.write_anew(compress))
    }

    /// The same out of the columns that the document was loaded from, if nothing came since and they are as good as new.
    pub(crate) fn write_kept(&self, compress: bool) -> Option<Vec<u8>> {
        let kept = self.kept.as_ref().filter(|kept| kept.changes == self.history.next())?;
        let actors = self.writers();
        if actors.len() != kept.of.actors {
            return None;
        }
        let columns = kept.columns.map(|bytes| self.heap.get(bytes));
        let actors: Vec<&[u8]> = actors.iter().map(|actor| self.actors.bytes(*actor)).collect();
        kept.of.write(&actors, &self.named_heads(), columns, compress)
    }

    /// Panics where the columns that were kept say something else than what is written anew.
    pub(in crate::store) fn check_kept(&self) {
        for compress in [false, true] {
            let anew = self.write_anew(compress);
            for copied in [self.write_kept(compress), self.write_spliced(compress)] {
                assert!(copied.is_none_or(|copied| copied == anew), "out of columns, deflated: {compress}");
            }
        }
    }

    /// The actors that made changes, in the order of their names.
    pub(crate) fn writers(&self) -> Vec<ActorIdx> {
        let wrote = |actor: &ActorIdx| self.history.seq(*actor) > 0;
        let mut order: Vec<ActorIdx> = self.actors.numbers().filter(wrote).collect();
        order.sort_unstable_by_key(|actor| self.actors.rank(*actor));
        order
    }

    /// As [`Self::writers`], and for each actor its place among them.
    pub(super) fn writers_in_order(&self) -> (Vec<ActorIdx>, Vec<ActorIdx>) {
        let order = self.writers();
        let mut index = vec![ActorIdx::NOBODY; self.actors.len()];
        order.iter().zip(0..).for_each(|(actor, at)| index[actor.place()] = ActorIdx::of(at));
        (order, index)
    }

    /// How many bytes the columns of its file hold, with the operations of a change in the making.
    pub(in crate::store) fn column_bytes(&self) -> u64 {
        // Actors without a change yet have their place, too.
        let index: Vec<ActorIdx> =
            self.actors.numbers().map(|actor| ActorIdx::of(self.actors.rank(actor))).collect();
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
            let (Written { ops, new }, changes) = self.beside_changes(ops, &index);
            let actors = order.iter().map(|actor| self.actors.bytes(*actor)).collect();
            let out = DocumentOut { actors, heads: self.named_heads(), changes, ops };
            (out.pack(compress), new)
        };
        let ((packed, new), values) = if !compress || self.heap.len() < SPLIT_FROM {
            (columns(true), None)
        } else {
            let (columns, values) = threads::join(|| columns(false), || self.values(&objects, &histories));
            (columns, Some(values))
        };
        let chunk = packed.frame(values.as_ref());
        drop(histories);
        self.save_cache.add(new);
        chunk
    }

    /// What `ops` gives, and the table of changes, which another thread writes when it is long.
    pub(super) fn beside_changes<T: Send>(
        &self,
        ops: impl FnOnce() -> T + Send,
        index: &[ActorIdx],
    ) -> (T, ChangeWriter<'_>) {
        let changes = || self.change_table(index);
        if self.history.number_of_runs() < RUNS_FROM {
            (ops(), changes())
        } else {
            threads::join(ops, changes)
        }
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

    /// The column of values, deflated. What [`DocWriter`] leaves out, in the order in which it does.
    fn values(&self, objects: &[Ordered<'_>], histories: &KeyHistories) -> PackedValues {
        let mut values = Values::default();
        let add = |chain: &Chain<'_>, values: &mut Values| {
            let rows = chain.ops.iter().filter(|op| op.action != Action::Delete);
            rows.for_each(|op| values.push(self.raw(op.val())));
        };
        let mut chains = Default::default();
        for (object, keys) in objects {
            self.stories(keys, histories, &mut chains, |_, story| match story {
                Story::Once(op) => values.push(self.raw(op.val())),
                Story::Chain(chain) => {
                    if let Some(past) = chain.past {
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

    /// The text of a span of characters.
    fn typed(&self, span: &Span) -> &[u8] {
        self.heap.get(Bytes { at: span.at, len: span.bytes })
    }

    /// The operations on an element after it was inserted.
    fn history_of(&self, seq: &Seq, span: &Span) -> Chain<'_> {
        let mut chain = Chain::default();
        self.chain(seq.reg(span).expect("the span has a register").last).for_each(|op| chain.push(op, self));
        chain.finish(self);
        chain
    }

    /// Gives each key with what happened there.
    fn stories<'a>(
        &'a self,
        mut keys: &[&'a Entry],
        histories: &'a KeyHistories,
        chains: &mut [Chain<'a>; ABREAST],
        mut each: impl FnMut(&'a Entry, Story<'_, 'a>),
    ) {
        while let [entry, others @ ..] = keys {
            let newest = entry.last.map(|last| &self.log.keyed[last]);
            if let Some(op) = newest.filter(|op| op.before().is_none() && self.log.preds(op).is_empty()) {
                each(entry, Story::Once(op));
                keys = others;
                continue;
            }
            let (batch, others) = keys.split_at(keys.len().min(ABREAST));
            keys = others;
            let mut next = [None; ABREAST];
            next.iter_mut().zip(batch).for_each(|(next, entry)| *next = entry.last);
            chains.iter_mut().for_each(Chain::clear);
            let mut live = next.iter().flatten().count();
            while live > 0 {
                for ((next, chain), entry) in next.iter_mut().zip(chains.iter_mut()).zip(batch) {
                    let Some(number) = *next else { continue };
                    let op = &self.log.keyed[number];
                    if chain.ops.is_empty() && op.before().is_some() {
                        chain.past = histories.get(op.obj, entry.key);
                    }
                    chain.met = chain.past.is_some_and(|past| past.last == Some(number));
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
                each(entry, Story::Chain(chain));
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
                actor: index[run.actor.place()],
                seq: run.seq,
                max_op: run.start + run.ops - 1,
                time: run.time,
                message,
                extra: self.heap.get(run.extra),
            };
            out.push(&row, &run.deps);
            if run.rows > 1 {
                out.push_run(&row, run.ops, run.rows - 1);
            }
        }
        out
    }
}

/// What operations are about. The bytes of a key were text when they came in.
#[derive(Clone, Copy)]
enum Place<'a> {
    Key(&'a [u8]),
    Elem(OpId),
}

/// Writes the operations in document order.
pub(super) struct DocWriter<'a, 'i> {
    state: &'a State,
    histories: &'a KeyHistories,
    /// From actor numbers to places in the list of the chunk.
    index: &'i [ActorIdx],
    pub(super) ops: OpWriter<'a>,
    new: Vec<(ObjIdx, Bytes, KeyHistory)>,
}

/// What was written.
pub(super) struct Written<'a> {
    pub(super) ops: OpWriter<'a>,
    /// Worth keeping for the next save: the object, the key and what there was.
    pub(super) new: Vec<(ObjIdx, Bytes, KeyHistory)>,
}

impl<'a, 'i> DocWriter<'a, 'i> {
    /// Writes the bytes of values, too, if so wanted.
    pub(super) fn new(
        state: &'a State,
        histories: &'a KeyHistories,
        index: &'i [ActorIdx],
        values: bool,
    ) -> Self {
        let ops = if values { OpWriter::default() } else { OpWriter::without_values() };
        Self { state, histories, index, ops, new: Vec::new() }
    }

    pub(super) fn finish(self) -> Written<'a> {
        Written { ops: self.ops, new: self.new }
    }

    fn id(&self, id: OpId) -> OpId {
        if id.is_none() { id } else { OpId::new(id.ctr, self.index[id.actor.place()]) }
    }

    pub(super) fn object(&mut self, (object, keys): &Ordered<'a>, chains: &mut [Chain<'a>; ABREAST]) {
        let (id, state) = (self.id(object.id), self.state);
        let shortcuts = state.limits.shortcuts.taken();
        // Rows of rewritten keys whose columns that say the same for all of them are not written yet, and their actor.
        let mut alike = (0, ActorIdx::FIRST);
        state.stories(keys, self.histories, chains, |entry, story| {
            let key = state.heap.get(entry.key);
            let last = match &story {
                Story::Once(op) if op.action == Action::Set && shortcuts => Some(op.id),
                Story::Chain(chain) if chain.linear && chain.scalars && shortcuts => chain.last(),
                _ => {
                    let (rows, actor) = std::mem::take(&mut alike);
                    self.ops.rewritten_in(id, actor, rows);
                    return match story {
                        Story::Once(op) => self.row(id, Place::Key(key), op, &[]),
                        Story::Chain(chain) => self.chain(id, Place::Key(key), chain),
                    };
                }
            };
            let Some(last) = last else { return };
            let actor = self.index[last.actor.place()];
            if alike.1 != actor {
                self.ops.rewritten_in(id, alike.1, alike.0);
                alike = (0, actor);
            }
            alike.0 += match story {
                Story::Once(op) => self.ops.written_once(key, op.id.ctr, state.raw(op.val())),
                Story::Chain(chain) => self.rewrites(actor, last, entry, key, chain),
            };
        });
        self.ops.rewritten_in(id, alike.1, alike.0);
        if let Body::Seq(seq) = &*object.body {
            self.sequence(id, seq);
        }
    }

    /// A chain that one wrote, of scalars alone, `last` the last of them. Gives how many rows it has.
    fn rewrites(
        &mut self,
        actor: ActorIdx,
        last: OpId,
        entry: &Entry,
        key: &'a [u8],
        chain: &Chain<'_>,
    ) -> u64 {
        let (state, past) = (self.state, chain.past.map(|past| &past.rows));
        let rows = chain.ops.iter().map(|op| (op.id.ctr, state.raw(op.val())));
        let pays = |_: &&_| state.limits.shortcuts.pay(chain.ops.len(), KEPT_FROM);
        let Some(first) = chain.ops.first().filter(pays) else {
            return self.ops.rewrites(key, actor, past, rows);
        };
        let mut past = past.cloned().unwrap_or_default();
        rows.for_each(|(ctr, value)| past.push(ctr, value));
        let rows = self.ops.rewrites(key, actor, Some(&past), [].into_iter());
        self.new.push((first.obj, entry.key, KeyHistory { last: entry.last, id: last, rows: past }));
        rows
    }

    /// The operations of a chain that are rows.
    fn chain(&mut self, obj: OpId, at: Place<'a>, chain: &Chain<'_>) {
        for (n, op) in chain.ops.iter().enumerate().filter(|(_, op)| op.action != Action::Delete) {
            self.row(obj, at, op, &chain.after(n));
        }
    }

    /// An operation, and what superseded it.
    fn row(&mut self, obj: OpId, at: Place<'a>, op: &KeyOp, succ: &[OpId]) {
        self.ops.head(obj, false, op.action, 1);
        match at {
            Place::Key(key) => {
                self.ops.name(key);
                self.ops.no_elements(1);
            }
            Place::Elem(elem) => self.ops.key_ramp(elem, 1, 1),
        }
        self.ops.ids(self.id(op.id), 1);
        self.ops.value(self.state.raw(op.val()));
        let succ: SmallVec<[OpId; 2]> = succ.iter().map(|id| self.id(*id)).collect();
        self.ops.refs(succ.into_iter());
    }

    fn sequence(&mut self, obj: OpId, seq: &'a Seq) {
        // Typed rows whose columns that say the same for all of them are not written yet.
        let mut alike = 0;
        for span in seq.spans() {
            let rows = u64::from(span.len);
            if span.reg.is_none() && span.kind == Kind::Text {
                self.ops.typed(self.id(span.origin), self.id(span.id), self.state.typed(span), rows);
                self.gone(span);
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
            self.gone(span);
        }
        self.ops.typed_in(obj, alike);
    }

    /// What deleted the elements of a span.
    fn gone(&mut self, span: &Span) {
        if span.deleted_by.is_none() {
            self.ops.no_refs(span.len.into());
        } else {
            self.ops.ref_ramp(self.id(span.deleted_by), span.step.into(), span.len.into());
        }
    }

    fn values(&mut self, obj: OpId, span: &Span) {
        // Scalars whose columns that say the same for all of them are not written yet.
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

    fn value(&mut self, obj: OpId, val: Val) {
        self.ops.head(obj, true, val.action(), 1);
        self.ops.value(self.state.raw(val));
    }

    /// An element with a history of its own.
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
        self.chain(obj, Place::Elem(id), &chain);
    }
}

/// What happened at a key. Most keys are written once, and then there is nothing to follow back.
enum Story<'s, 'a> {
    Once(&'a KeyOp),
    Chain(&'s Chain<'a>),
}

/// The operations on one key in ascending order, and what superseded each.
#[derive(Default)]
pub(super) struct Chain<'a> {
    /// What an earlier save said about the beginning, which is not among the operations; only where linear and of scalars.
    past: Option<&'a KeyHistory>,
    /// The walk back came to its end.
    met: bool,
    ops: Vec<&'a KeyOp>,
    /// One actor wrote them, each superseding just the one before it, and the first nothing.
    linear: bool,
    /// All of them are scalars.
    scalars: bool,
    /// Empty when linear.
    succ: HashMap<OpId, SmallVec<[OpId; 2]>>,
}

impl<'a> Chain<'a> {
    fn clear(&mut self) {
        (self.past, self.met, self.linear, self.scalars) = (None, false, true, true);
        self.ops.clear();
        self.succ.clear();
    }

    /// Adds the operation that arrived before those which are there.
    #[inline]
    fn push(&mut self, op: &'a KeyOp, state: &State) {
        match self.ops.last() {
            None => (self.linear, self.scalars) = (true, true),
            Some(next) => self.linear &= next.id.actor == op.id.actor && state.log.preds(next) == [op.id],
        }
        self.scalars &= op.action == Action::Set;
        self.ops.push(op);
    }

    /// Puts them in order when all are there.
    fn finish(&mut self, state: &'a State) {
        if !self.met || !self.continues(state) {
            // What came since is of another kind: all are needed one by one.
            let past = self.past.take().filter(|_| self.met);
            past.into_iter().flat_map(|past| state.chain(past.last)).for_each(|op| self.push(op, state));
        }
        self.linear &=
            self.past.is_some() || self.ops.last().is_some_and(|first| state.log.preds(first).is_empty());
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

    /// Whether what came since the past supersedes it one by one.
    fn continues(&self, state: &State) -> bool {
        let joins = |past: &KeyHistory| {
            let first = self.ops.last();
            first.is_none_or(|first| first.id.actor == past.id.actor && state.log.preds(first) == [past.id])
        };
        self.linear && self.scalars && self.past.is_some_and(joins)
    }

    /// The last operation of a linear chain.
    fn last(&self) -> Option<OpId> {
        self.ops.last().map(|op| op.id).or(self.past.map(|past| past.id))
    }

    /// What superseded the `n`-th operation, ascending.
    fn after(&self, n: usize) -> SmallVec<[OpId; 2]> {
        if self.linear {
            return self.ops.get(n + 1).map(|op| op.id).into_iter().collect();
        }
        self.succ(self.ops[n].id).into()
    }

    /// What superseded an insertion, ascending.
    fn succ(&self, id: OpId) -> &[OpId] {
        self.succ.get(&id).map_or(&[], |succ| succ)
    }
}
