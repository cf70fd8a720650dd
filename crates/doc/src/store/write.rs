//! From the log to change chunks, and from the state to a document chunk.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::history::ChangeAt;
use super::log::{Key, Keyed, LogRun, Val, What, stepped};
use super::map::Entry;
use super::seq::{Kind, Seq, Span};
use super::state::{Body, State};
use crate::codec::change::{ChangeHead, Scratch};
use crate::codec::document::{ChangeRow, ChangeWriter, DocumentOut};
use crate::codec::ops::{Action, OpWriter, RawKey, RowKind, collect};
use crate::types::{ChangeHash, OpId};

/// Actors of a change: from the document's numbers to those in the chunk.
struct Local {
    author: u32,
    /// In the order of their bytes.
    others: SmallVec<[u32; 4]>,
}

impl Local {
    #[inline]
    fn id(&self, id: OpId) -> OpId {
        if id.is_none() || id.actor == self.author {
            return OpId::new(id.ctr, 0);
        }
        let at = self.others.iter().position(|other| *other == id.actor);
        OpId::new(id.ctr, at.expect("every actor was collected") as u32 + 1)
    }
}

impl State {
    /// Writes the body of a change into `scratch.body`. `deps` are the hashes of its dependencies.
    pub(crate) fn write_change<'a>(
        &'a self,
        change: &ChangeAt<'_>,
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        if change.run.ops == 0 {
            return self.write_body(change, &[], deps, scratch);
        }
        let (from, end) = self.log_range(self.history.run_of(change.row));
        self.write_from(self.log.find(change.start, from, end), change, deps, scratch);
    }

    /// As [`Self::write_change`], for a change whose operations begin in run `first` of the log.
    pub(super) fn write_from<'a>(
        &'a self,
        first: usize,
        change: &ChangeAt<'_>,
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        let mut runs: SmallVec<[LogRun; 4]> = SmallVec::new();
        let (mut at, mut ctr) = (first, change.start);
        while ctr < change.end() {
            let run = self.clip(&self.log.runs[at], ctr, change.end());
            ctr += run.len;
            at += 1;
            runs.push(run);
        }
        if let [op] = runs[..]
            && op.len == 1
            && let Some(stroke) = self.stroke(&op)
            && self.write_stroke(change, &stroke, deps, &mut scratch.block)
        {
            scratch.body.clear();
            scratch.body.extend_from_slice(scratch.block.body());
            return;
        }
        self.write_body(change, &runs, deps, scratch);
    }

    pub(super) fn write_body<'a>(
        &'a self,
        change: &ChangeAt<'_>,
        runs: &[LogRun],
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        let local = self.local(change.run.actor, runs);
        scratch.writer.clear();
        for run in runs {
            self.write_run(run, &local, &mut scratch.writer);
        }
        if runs.is_empty() {
            scratch.columns.clear();
        } else {
            collect(&mut scratch.writer, RowKind::Change, &mut scratch.columns);
        }
        scratch.body.clear();
        let others: SmallVec<[&[u8]; 4]> =
            local.others.iter().map(|other| self.actors.bytes(*other)).collect();
        let head = ChangeHead {
            deps,
            actor: self.actors.bytes(change.run.actor),
            seq: change.seq.into(),
            start_op: change.start.into(),
            time: change.run.time,
            message: self.heap.text(change.run.message),
            others: &others,
            extra: self.heap.get(change.run.extra),
        };
        head.write(&scratch.columns, &mut scratch.body);
    }

    /// The part of a run with counters from `start` to before `end`.
    pub(super) fn clip(&self, run: &LogRun, start: u32, end: u32) -> LogRun {
        let mut run = *run;
        let skip = start.saturating_sub(run.id.ctr);
        let keep = run.len.min(end - run.id.ctr) - skip;
        if skip == 0 && keep == run.len {
            return run;
        }
        let chained = |origin: OpId| if skip == 0 { origin } else { run.id.plus(skip - 1) };
        run.what = match run.what {
            What::Text { origin, mut bytes } => {
                let chars = |bytes, n: u32| {
                    let text = self.heap.text(bytes);
                    if text.is_ascii() {
                        return n;
                    }
                    text.char_indices().nth(n as usize).map_or(text.len(), |(at, _)| at) as u32
                };
                let before = chars(bytes, skip);
                bytes.at += before;
                bytes.len -= before;
                bytes.len = chars(bytes, keep);
                What::Text { origin: chained(origin), bytes }
            }
            What::Values { origin, at } => What::Values { origin: chained(origin), at: at + skip },
            What::Delete { elem, step } => What::Delete { elem: stepped(elem, step, skip), step },
            other => other,
        };
        run.id = run.id.plus(skip);
        run.len = keep;
        run
    }

    fn local(&self, author: u32, runs: &[LogRun]) -> Local {
        let mut others: SmallVec<[u32; 4]> = SmallVec::new();
        let mut note = |id: OpId| {
            if !id.is_none() && id.actor != author && !others.contains(&id.actor) {
                others.push(id.actor);
            }
        };
        for run in runs {
            note(self.objects[run.obj as usize].id);
            match run.what {
                What::Text { origin, .. } | What::Values { origin, .. } => note(origin),
                What::Mark(number) => note(self.log.marks[number as usize].origin),
                What::Delete { elem, .. } => note(elem),
                What::Keyed(number) => {
                    let op = &self.log.keyed[number as usize];
                    if let Key::Elem(elem) = op.key {
                        note(elem);
                    }
                    op.preds.iter().for_each(|pred| note(*pred));
                }
            }
        }
        others.sort_unstable_by_key(|other| self.actors.rank(*other));
        Local { author, others }
    }

    fn write_run<'a>(&'a self, run: &LogRun, local: &Local, out: &mut OpWriter<'a>) {
        let (obj, first, rows) =
            (local.id(self.objects[run.obj as usize].id), local.id(run.id), run.len.into());
        match run.what {
            What::Text { origin, bytes } => {
                out.head(obj, true, Action::Set, rows);
                out.key_chain(local.id(origin), first, rows);
                out.chars(self.heap.get(bytes), rows);
                out.no_refs(rows);
            }
            What::Values { origin, at } => {
                out.key_chain(local.id(origin), first, rows);
                for n in 0..run.len {
                    let val = self.log.values[(at + n) as usize];
                    out.head(obj, true, val.action(), 1);
                    out.value(self.raw(val));
                }
                out.no_refs(rows);
            }
            What::Mark(number) => {
                let mark = &self.log.marks[number as usize];
                let name = mark.name.map(|name| self.heap.text(name));
                out.head_mark(obj, true, Action::Mark, 1, mark.expand, name);
                out.key(RawKey::Elem(local.id(mark.origin)));
                out.value(self.raw(mark.val));
                out.no_refs(1);
            }
            What::Delete { elem, step } => {
                out.head(obj, false, Action::Delete, rows);
                out.key_ramp(local.id(elem), step.into(), rows);
                out.null_values(rows);
                out.ref_ramp(local.id(elem), step.into(), rows);
            }
            What::Keyed(number) => {
                let op = &self.log.keyed[number as usize];
                out.head(obj, false, op.action, 1);
                out.key(match op.key {
                    Key::Map(key) => RawKey::Map(self.heap.text(key)),
                    Key::Elem(elem) => RawKey::Elem(local.id(elem)),
                });
                out.value(self.raw(op.val));
                out.refs(op.preds.iter().map(|pred| local.id(*pred)));
            }
        }
    }

    /// The document chunk.
    pub(crate) fn write_document(&self, compress: bool) -> Vec<u8> {
        let mut used = vec![false; self.actors.len()];
        self.history.runs().for_each(|run| used[run.actor as usize] = true);
        let mut order: Vec<u32> =
            (0..self.actors.len() as u32).filter(|actor| used[*actor as usize]).collect();
        order.sort_unstable_by_key(|actor| self.actors.rank(*actor));
        let mut index = vec![0; used.len()];
        order.iter().zip(0..).for_each(|(actor, at)| index[*actor as usize] = at);
        let mut heads: Vec<(ChangeHash, u64)> =
            self.history.heads.iter().map(|row| (self.hash(*row), u64::from(*row))).collect();
        heads.sort_unstable();
        let mut writer = DocWriter { state: self, index, ops: OpWriter::default() };
        writer.objects();
        let actors = order.iter().map(|actor| self.actors.bytes(*actor)).collect();
        DocumentOut { actors, heads, changes: self.change_table(&writer.index), ops: writer.ops }
            .write(compress)
    }

    fn change_table(&self, index: &[u32]) -> ChangeWriter<'_> {
        let mut out = ChangeWriter::default();
        for run in self.history.runs() {
            let message = Some(self.heap.text(run.message)).filter(|message| !message.is_empty());
            let row = ChangeRow {
                actor: index[run.actor as usize],
                seq: run.seq,
                max_op: run.start + run.ops - 1,
                time: run.time,
                message,
                extra: self.heap.get(run.extra),
            };
            out.push(&row, run.deps.iter().copied());
            if run.rows > 1 {
                out.push_run(&row, run.ops, u64::from(run.rows) - 1);
            }
        }
        out
    }
}

/// Writes the operations in document order.
struct DocWriter<'a> {
    state: &'a State,
    /// From actor numbers to places in the list of the chunk.
    index: Vec<u32>,
    ops: OpWriter<'a>,
}

impl<'a> DocWriter<'a> {
    fn id(&self, id: OpId) -> OpId {
        if id.is_none() { id } else { OpId::new(id.ctr, self.index[id.actor as usize]) }
    }

    fn objects(&mut self) {
        let state = self.state;
        let mut order: Vec<u32> = (0..state.objects.len() as u32).collect();
        order.sort_unstable_by(|a, b| {
            state.actors.cmp(state.objects[*a as usize].id, state.objects[*b as usize].id)
        });
        for number in order {
            let object = &state.objects[number as usize];
            let id = self.id(object.id);
            match &*object.body {
                Body::Map(map) => map.sorted(&state.heap).into_iter().for_each(|entry| self.key(id, entry)),
                Body::Seq(seq) => self.sequence(id, seq),
            }
        }
    }

    fn key(&mut self, obj: OpId, entry: &Entry) {
        let state = self.state;
        let key = RawKey::Map(state.heap.text(entry.key));
        let chain = Chain::new(state, entry.last);
        self.chain(obj, key, &chain);
    }

    /// The operations of a chain that are rows.
    fn chain(&mut self, obj: OpId, key: RawKey<'a>, chain: &Chain<'a>) {
        for (n, op) in chain.ops.iter().enumerate() {
            if op.action == Action::Delete {
                continue;
            }
            self.ops.head(obj, false, op.action, 1);
            self.ops.key(key);
            self.ops.ids(self.id(op.id), 1);
            self.ops.value(self.state.raw(op.val));
            let succ: SmallVec<[OpId; 2]> = chain.after(n).iter().map(|id| self.id(*id)).collect();
            self.ops.refs(succ.into_iter());
        }
    }

    fn sequence(&mut self, obj: OpId, seq: &'a Seq) {
        for span in seq.spans() {
            if span.reg > 0 {
                self.element(obj, seq, span);
                continue;
            }
            let rows = u64::from(span.len);
            let (first, origin) = (self.id(span.id), self.id(span.origin));
            self.ops.key_chain(origin, first, rows);
            self.ops.ids(first, rows);
            match span.kind {
                Kind::Text => {
                    self.ops.head(obj, true, Action::Set, rows);
                    let text = super::heap::Bytes { at: span.at, len: span.bytes };
                    self.ops.chars(self.state.heap.get(text), rows);
                }
                Kind::Values => {
                    for n in 0..span.len {
                        self.value(obj, self.state.log.values[(span.at + n) as usize]);
                    }
                }
                Kind::Mark => {
                    let mark = &self.state.log.marks[span.at as usize];
                    let name = mark.name.map(|name| self.state.heap.text(name));
                    self.ops.head_mark(obj, true, Action::Mark, 1, mark.expand, name);
                    self.ops.value(self.state.raw(mark.val));
                }
            }
            if span.gone.is_none() {
                self.ops.no_refs(rows);
            } else {
                self.ops.ref_ramp(self.id(span.gone), span.step.into(), rows);
            }
        }
    }

    fn value(&mut self, obj: OpId, val: Val) {
        self.ops.head(obj, true, val.action(), 1);
        self.ops.value(self.state.raw(val));
    }

    /// An element with a history of its own.
    fn element(&mut self, obj: OpId, seq: &'a Seq, span: &Span) {
        let state = self.state;
        let reg = seq.reg(span).expect("the span has a register");
        let chain = Chain::new(state, reg.last);
        let id = self.id(span.id);
        self.ops.key(RawKey::Elem(self.id(span.origin)));
        self.ops.ids(id, 1);
        self.value(obj, state.inserted(span, 0));
        let mut succ: SmallVec<[OpId; 4]> = chain.succ(span.id).into();
        succ.extend(Some(span.gone).filter(|gone| !gone.is_none()));
        succ.extend(reg.dels.iter().copied());
        succ.sort_unstable_by(|a, b| state.actors.cmp(*a, *b));
        let succ: SmallVec<[OpId; 4]> = succ.iter().map(|id| self.id(*id)).collect();
        self.ops.refs(succ.into_iter());
        self.chain(obj, RawKey::Elem(id), &chain);
    }
}

/// The operations on one key in ascending order, and what superseded each.
struct Chain<'a> {
    ops: SmallVec<[&'a Keyed; 2]>,
    /// Each operation superseded just the one before it, and the first nothing.
    linear: bool,
    /// Empty when linear.
    succ: HashMap<OpId, SmallVec<[OpId; 2]>>,
}

impl<'a> Chain<'a> {
    fn new(state: &'a State, last: u32) -> Self {
        let mut ops: SmallVec<[&Keyed; 2]> = state.chain(last).collect();
        ops.reverse();
        let mut succ: HashMap<OpId, SmallVec<[OpId; 2]>> = HashMap::new();
        let linear = ops.first().is_some_and(|first| first.preds.is_empty())
            && ops.windows(2).all(|pair| pair[1].preds[..] == [pair[0].id]);
        if !linear {
            ops.sort_unstable_by(|a, b| state.actors.cmp(a.id, b.id));
            for op in &ops {
                for pred in &op.preds {
                    succ.entry(*pred).or_default().push(op.id);
                }
            }
        }
        Self { ops, linear, succ }
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
