//! Keys and elements touched between two points of the history: those of the operations that only one of two clocks
//! covers. Costs O(such operations), however long the document and its history are.

use std::ops::Range;

use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::memory::byte_arena::Bytes;
use crate::store::state::DocumentState;
use crate::store::versions::clock::Clock;
use crate::types::{ActorIdx, ObjIdx, OpId};

/// A place that an operation touched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touched {
    /// A key of a map.
    Key(Bytes),
    /// This many elements with consecutive ids.
    Elements(OpId, u32),
    /// A boundary of a mark.
    Mark,
}

impl DocumentState {
    /// Calls `each` with the object and the touched place for every operation that only one clock covers, in no order.
    pub(crate) fn between(&self, a: &Clock, b: &Clock, mut each: impl FnMut(ObjIdx, Touched)) {
        for actor in self.actors.numbers() {
            let (a, b) = (a.end(actor), b.end(actor));
            if a != b {
                self.operations(actor, a.min(b)..a.max(b), &mut each);
            }
        }
        for (actor, counters) in a.without().iter().chain(b.without()) {
            self.operations(*actor, counters.clone(), &mut each);
        }
    }

    /// As [`Self::between`], for the operations of one actor with these counters, from the last run of changes to the
    /// first.
    fn operations(&self, actor: ActorIdx, range: Range<u32>, each: &mut impl FnMut(ObjIdx, Touched)) {
        let mut end = range.end;
        while end > range.start
            && let Some(number) = self.history.run_before(OpId::new(end, actor))
        {
            let run = self.history.run(number).expect("the run exists");
            let first = run.first_counter.max(range.start);
            let behind = (run.first_counter + run.ops_per_change * run.row_count).min(end);
            if first < behind {
                let (from, to) = self.log_range(number);
                let runs = self.log.runs.iter_from(self.log.find(first, from, to));
                for run in runs.take_while(|run| run.id.actor == actor && run.id.ctr < behind) {
                    self.touched_by(run, first.max(run.id.ctr)..behind.min(run.id.ctr + run.len), each);
                }
            }
            end = run.first_counter;
        }
    }

    /// As [`Self::between`], for the operations of a log run with these counters.
    fn touched_by(&self, run: &LogRun, counters: Range<u32>, each: &mut impl FnMut(ObjIdx, Touched)) {
        let Range { start, end } = counters;
        let (skip, len) = (start - run.id.ctr, end - start);
        match run.what {
            RunAction::Text { .. } | RunAction::Values { .. } => {
                each(run.obj, Touched::Elements(run.id.plus(skip), len));
            }
            RunAction::Mark(_) => each(run.obj, Touched::Mark),
            RunAction::Delete { elem, step } => {
                let first = stepped(elem, step, if step < 0 { skip + len - 1 } else { skip });
                each(run.obj, Touched::Elements(first, len));
            }
            RunAction::KeyOp(number) => {
                for op in self.log.keyed.iter_from(number.plus(skip)).take(len as usize) {
                    each(
                        run.obj,
                        match op.key() {
                            Key::Map(key) => Touched::Key(key),
                            Key::Elem(elem) => Touched::Elements(elem, 1),
                        },
                    );
                }
            }
        }
    }

    /// The key or element that holds an object.
    pub(crate) fn containing_key(&self, obj: ObjIdx) -> Option<Key> {
        let id = self.objects[obj].id;
        let (number, _) = self.history.by_op(id)?;
        let (from, to) = self.log_range(number);
        let run = self.log.runs.get(self.log.find(id.ctr, from, to))?;
        match run.keyed(id) {
            Some(number) => Some(self.log.keyed[number].key()),
            None => Some(Key::Elem(id)),
        }
    }
}
