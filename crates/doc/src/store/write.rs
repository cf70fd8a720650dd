//! From the log to change chunks.

use smallvec::SmallVec;

use super::actors::Actors;
use super::history::ChangeAt;
use super::keyed::{Key, Keyed};
use super::log::{LogRun, What, stepped};
use super::state::State;
use crate::codec::change::{ChangeHead, Scratch};
use crate::codec::op_writer::{OpWriter, collect};
use crate::codec::ops::{Action, RawKey, RowKind};
use crate::types::{ChangeHash, OpId};

/// Actors of a change: from the document's numbers to those in the chunk.
struct Local<'s> {
    author: u32,
    /// In the order of their bytes.
    others: SmallVec<[u32; 4]>,
    actors: &'s Actors,
}

/// Up to so many actors are searched one by one.
const FEW: usize = 16;

impl Local<'_> {
    #[inline]
    fn id(&self, id: OpId) -> OpId {
        if id.is_none() || id.actor == self.author {
            return OpId::new(id.ctr, 0);
        }
        let at = if self.others.len() <= FEW {
            self.others.iter().position(|other| *other == id.actor)
        } else {
            let rank = self.actors.rank(id.actor);
            self.others.binary_search_by_key(&rank, |other| self.actors.rank(*other)).ok()
        };
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
            && let Some(single) = self.single(&op)
            && self.write_single(change, &single, deps, &mut scratch.block)
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
            What::Keyed(first) => What::Keyed(first + skip),
            What::Mark(number) => What::Mark(number),
        };
        run.id = run.id.plus(skip);
        run.len = keep;
        run
    }

    fn local(&self, author: u32, runs: &[LogRun]) -> Local<'_> {
        let mut others: SmallVec<[u32; 4]> = SmallVec::new();
        let mut note = |id: OpId| {
            if id.is_none() || id.actor == author || others.last() == Some(&id.actor) {
                return;
            }
            // Of many, those that are there twice are found at the end.
            if others.len() > FEW || !others.contains(&id.actor) {
                others.push(id.actor);
            }
        };
        for run in runs {
            note(self.objects[run.obj as usize].id);
            match run.what {
                What::Text { origin, .. } | What::Values { origin, .. } => note(origin),
                What::Mark(number) => note(self.log.marks[number as usize].origin),
                What::Delete { elem, .. } => note(elem),
                What::Keyed(first) => {
                    for op in self.log.keyed.parts(first as usize, run.len as usize).flatten() {
                        if let Key::Elem(elem) = op.key() {
                            note(elem);
                        }
                        self.log.preds(op).iter().for_each(|pred| note(*pred));
                    }
                }
            }
        }
        others.sort_unstable_by_key(|other| self.actors.rank(*other));
        others.dedup();
        Local { author, others, actors: &self.actors }
    }

    fn write_run<'a>(&'a self, run: &LogRun, local: &Local<'_>, out: &mut OpWriter<'a>) {
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
            What::Keyed(first) => {
                let parts = self.log.keyed.parts(first as usize, run.len as usize);
                parts.for_each(|ops| self.write_keyed(obj, ops, local, out));
            }
        }
    }

    /// Operations on keys of one object, column by column.
    fn write_keyed<'a>(&'a self, obj: OpId, ops: &'a [Keyed], local: &Local<'_>, out: &mut OpWriter<'a>) {
        out.head_each(obj, ops.iter().map(|op| op.action));
        let mut names = 0;
        for op in ops {
            match op.key() {
                Key::Map(key) => {
                    out.name(self.heap.get(key));
                    names += 1;
                }
                Key::Elem(elem) => out.key_ramp(local.id(elem), 1, 1),
            }
        }
        out.no_elements(names);
        ops.iter().for_each(|op| out.value(self.raw(op.val())));
        ops.iter().for_each(|op| out.refs(self.log.preds(op).iter().map(|pred| local.id(*pred))));
    }
}
