//! Encoding of change chunks from the log.

use smallvec::SmallVec;

use crate::codec::chunks::change::{ChangeHead, Scratch};
use crate::codec::ops::op_reader::RowKind;
use crate::codec::ops::op_writer::OpWriter;
use crate::codec::row::{Action, RawKey};
use crate::store::actors::Actors;
use crate::store::history::ChangeRef;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::memory::byte_arena::{Bytes, starts_chunk};
use crate::store::state::{DocumentState, ROOT};
use crate::types::{ActorIdx, ChangeHash, ObjIdx, OpId};

/// Actors of a change: from the document's numbers to those of the chunk.
struct ChunkActors<'s> {
    author: ActorIdx,
    /// Sorted by id.
    others: SmallVec<[ActorIdx; 4]>,
    actors: &'s Actors,
}

/// Consecutive rows that are all typed, or all deleted, in one object: their equal columns are written as one run.
struct UniformRun {
    obj: ObjIdx,
    typed: bool,
    rows: u64,
}

/// Up to this many actors are searched linearly.
const FEW: usize = 16;

impl ChunkActors<'_> {
    #[inline]
    fn id(&self, id: OpId) -> OpId {
        if id.is_none() || id.actor == self.author {
            return OpId::new(id.ctr, ActorIdx::FIRST);
        }
        let at = if self.others.len() <= FEW {
            self.others.iter().position(|other| *other == id.actor)
        } else {
            let rank = self.actors.rank(id.actor);
            self.others.binary_search_by_key(&rank, |other| self.actors.rank(*other)).ok()
        };
        OpId::new(id.ctr, ActorIdx::from_u32(at.expect("every actor was collected") as u32 + 1))
    }
}

impl DocumentState {
    /// Writes the body of a change into `scratch.body`. `deps` are the hashes of its dependencies.
    pub(crate) fn write_change<'a>(
        &'a self,
        change: &ChangeRef<'_>,
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        if change.run.ops_per_change == 0 {
            return self.write_body(0, change, deps, scratch);
        }
        let (from, end) = self.log_range(self.history.run_index(change.row));
        self.write_from(self.log.find(change.start, from, end), change, deps, scratch);
    }

    /// As [`Self::write_change`], for a change whose operations start in run `first` of the log.
    pub(in crate::store) fn write_from<'a>(
        &'a self,
        first: usize,
        change: &ChangeRef<'_>,
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        if change.run.ops_per_change == 1
            && let op = self.clip(&self.log.runs[first], change.start, change.end())
            && let Some(single) = self.single(&op)
            && self.write_single(change, &single, deps, &mut scratch.block)
        {
            scratch.body.clear();
            scratch.body.extend_from_slice(scratch.block.body());
            return;
        }
        self.write_body(first, change, deps, scratch);
    }

    /// Calls `each` with the log runs of a change that starts in run `first`. The first and last may be parts of runs;
    /// the others are passed without a copy.
    #[inline]
    pub(super) fn each_run(&self, change: &ChangeRef<'_>, first: usize, mut each: impl FnMut(&LogRun)) {
        let (mut ctr, end) = (change.start, change.end());
        for run in self.log.runs.iter_from(first) {
            if ctr >= end {
                break;
            }
            let part;
            let run = if run.id.ctr == ctr && run.len <= end - ctr {
                run
            } else {
                part = self.clip(run, ctr, end);
                &part
            };
            ctr += run.len;
            each(run);
        }
    }

    /// As [`Self::write_from`], with the general writer.
    pub(in crate::store) fn write_body<'a>(
        &'a self,
        first: usize,
        change: &ChangeRef<'_>,
        deps: &[ChangeHash],
        scratch: &mut Scratch<'a>,
    ) {
        let local = self.local(change, first);
        scratch.writer.clear();
        scratch.writer.reserve(self.heap.len().min(change.run.ops_per_change as usize));
        self.write_runs(change, first, &local, &mut scratch.writer);
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
        head.write(&scratch.writer.columns(RowKind::Change), &mut scratch.body);
    }

    /// The part of a run with counters from `start` to before `end`, which is 0 after the last possible counter.
    pub(in crate::store) fn clip(&self, run: &LogRun, start: u32, end: u32) -> LogRun {
        let mut run = *run;
        let skip = start.saturating_sub(run.id.ctr);
        let keep = run.len.min(end.wrapping_sub(run.id.ctr)) - skip;
        if skip == 0 && keep == run.len {
            return run;
        }
        let chained = |origin: OpId| if skip == 0 { origin } else { run.id.plus(skip - 1) };
        run.what = match run.what {
            RunAction::Text { origin, mut bytes } => {
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
                RunAction::Text { origin: chained(origin), bytes }
            }
            RunAction::Values { origin, at } => RunAction::Values { origin: chained(origin), at: at + skip },
            RunAction::Delete { elem, step } => RunAction::Delete { elem: stepped(elem, step, skip), step },
            RunAction::KeyOp(first) => RunAction::KeyOp(first.plus(skip)),
            RunAction::Mark(number) => RunAction::Mark(number),
        };
        run.id = run.id.plus(skip);
        run.len = keep;
        run
    }

    fn local(&self, change: &ChangeRef<'_>, first: usize) -> ChunkActors<'_> {
        let author = change.run.actor;
        let mut others: SmallVec<[ActorIdx; 4]> = SmallVec::new();
        if self.actors.len() == 1 {
            return ChunkActors { author, others, actors: &self.actors };
        }
        let mut note = |id: OpId| {
            if id.is_none() || id.actor == author || others.last() == Some(&id.actor) {
                return;
            }
            // In a long list, duplicates are removed at the end.
            if others.len() > FEW || !others.contains(&id.actor) {
                others.push(id.actor);
            }
        };
        self.each_run(change, first, |run| {
            note(self.objects[run.obj].id);
            match run.what {
                RunAction::Text { origin, .. } | RunAction::Values { origin, .. } => note(origin),
                RunAction::Mark(number) => note(self.log.marks[number as usize].origin),
                RunAction::Delete { elem, .. } => note(elem),
                RunAction::KeyOp(first) => {
                    for op in self.log.keyed.parts(first, run.len as usize).flatten() {
                        if let Key::Elem(elem) = op.key() {
                            note(elem);
                        }
                        self.log.preds(op).iter().for_each(|pred| note(*pred));
                    }
                }
            }
        });
        others.sort_unstable_by_key(|other| self.actors.rank(*other));
        others.dedup();
        ChunkActors { author, others, actors: &self.actors }
    }

    fn write_runs<'a>(
        &'a self,
        change: &ChangeRef<'_>,
        first: usize,
        local: &ChunkActors<'_>,
        out: &mut OpWriter<'a>,
    ) {
        let mut alike = UniformRun { obj: ROOT, typed: false, rows: 0 };
        // Typed text that is not written yet. Runs that were typed one after the other are contiguous in the heap.
        let mut text = Bytes::default();
        self.each_run(change, first, |run| {
            let rows = run.len.into();
            match run.what {
                RunAction::Text { origin, bytes } => {
                    self.also(&mut alike, UniformRun { obj: run.obj, typed: true, rows }, local, out);
                    out.key_chain(local.id(origin), local.id(run.id), rows);
                    out.lengths(self.heap.get(bytes), rows);
                    if bytes.at == text.at + text.len && !starts_chunk(bytes.at) {
                        text.len += bytes.len;
                    } else {
                        out.texts(self.heap.get(std::mem::replace(&mut text, bytes)));
                    }
                }
                RunAction::Delete { elem, step } => {
                    self.also(&mut alike, UniformRun { obj: run.obj, typed: false, rows }, local, out);
                    out.key_ramp(local.id(elem), step.into(), rows);
                    out.ref_ids(local.id(elem), step.into(), rows);
                }
                _ => {
                    self.write_alike(&alike, local, out);
                    alike.rows = 0;
                    out.texts(self.heap.get(std::mem::take(&mut text)));
                    self.write_run(run, local, out);
                }
            }
        });
        self.write_alike(&alike, local, out);
        out.texts(self.heap.get(text));
    }

    /// Extends the pending uniform rows, or writes them and starts anew.
    #[inline]
    fn also(
        &self,
        alike: &mut UniformRun,
        next: UniformRun,
        local: &ChunkActors<'_>,
        out: &mut OpWriter<'_>,
    ) {
        if (alike.obj, alike.typed) == (next.obj, next.typed) {
            alike.rows += next.rows;
        } else {
            self.write_alike(alike, local, out);
            *alike = next;
        }
    }

    /// Writes the columns that are equal in all pending rows.
    fn write_alike(&self, alike: &UniformRun, local: &ChunkActors<'_>, out: &mut OpWriter<'_>) {
        let (obj, rows) = (local.id(self.objects[alike.obj].id), alike.rows);
        if alike.typed {
            out.head(obj, true, Action::Set, rows);
            out.no_refs(rows);
        } else {
            out.head(obj, false, Action::Delete, rows);
            out.null_values(rows);
            out.one_ref(rows);
        }
    }

    fn write_run<'a>(&'a self, run: &LogRun, local: &ChunkActors<'_>, out: &mut OpWriter<'a>) {
        let obj = local.id(self.objects[run.obj].id);
        match run.what {
            RunAction::Values { origin, at } => {
                out.key_chain(local.id(origin), local.id(run.id), run.len.into());
                let (mut action, mut same) = (self.log.values[at as usize].action(), 0);
                for val in self.log.values.iter_from(at as usize).take(run.len as usize) {
                    if val.action() != action {
                        out.head(obj, true, action, same);
                        (action, same) = (val.action(), 0);
                    }
                    same += 1;
                    out.value(self.raw(*val));
                }
                out.head(obj, true, action, same);
                out.no_refs(run.len.into());
            }
            RunAction::Mark(number) => {
                let mark = &self.log.marks[number as usize];
                let name = mark.name.map(|name| self.heap.text(name));
                out.head_mark(obj, true, Action::Mark, 1, mark.expand, name);
                out.key(RawKey::Elem(local.id(mark.origin)));
                out.value(self.raw(mark.val));
                out.no_refs(1);
            }
            RunAction::KeyOp(first) => {
                let parts = self.log.keyed.parts(first, run.len as usize);
                parts.for_each(|ops| self.write_keyed(obj, ops, local, out));
            }
            RunAction::Text { .. } | RunAction::Delete { .. } => unreachable!("written as uniform rows"),
        }
    }

    /// Writes operations on keys of one object, column by column.
    fn write_keyed<'a>(
        &'a self,
        obj: OpId,
        ops: &'a [KeyOp],
        local: &ChunkActors<'_>,
        out: &mut OpWriter<'a>,
    ) {
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
