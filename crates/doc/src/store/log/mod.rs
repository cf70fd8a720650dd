//! Log: every operation of the document in order of arrival, run-length encoded. Text typed or deleted by one actor in
//! one go is one entry. Change chunks and history views are read from the log.

pub(crate) mod key_op;
pub(crate) mod value;

use crate::store::log::key_op::{Jump, KeyOp, Preds};
use crate::store::log::value::StoredValue;
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::cow_vec::CowVec;
use crate::types::{KeyOpIdx, Number as _, ObjIdx, OpId};

/// A run of operations with consecutive ids on one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRun {
    pub(crate) id: OpId,
    pub(crate) len: u32,
    /// Number of the object.
    pub(crate) obj: ObjIdx,
    pub(crate) what: RunAction,
}

impl LogRun {
    /// Length in bytes of the inserted characters.
    fn bytes(&self) -> u32 {
        if let RunAction::Text { bytes, .. } = self.what { bytes.len } else { 0 }
    }

    /// Index of operation `id` in [`Log::keyed`], if it is in this run.
    pub(crate) fn keyed(&self, id: OpId) -> Option<KeyOpIdx> {
        let RunAction::KeyOp(first) = self.what else { return None };
        let n = id.ctr.checked_sub(self.id.ctr).filter(|n| self.id.actor == id.actor && *n < self.len)?;
        Some(first.plus(n))
    }
}

/// The action of a run of operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RunAction {
    /// Inserts characters, the first after `origin`, each other after the one before. `bytes` is their text.
    Text { origin: OpId, bytes: Bytes },
    /// Inserts values likewise: `values[at..at + len]`.
    Values { origin: OpId, at: u32 },
    /// Inserts a mark boundary: its number.
    Mark(u32),
    /// Deletes elements without updates, `step` apart.
    Delete { elem: OpId, step: i8 },
    /// Any other operations: on keys of a map or updates of elements, consecutive in [`Log::keyed`] from this one on.
    KeyOp(KeyOpIdx),
}

/// One mark boundary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MarkOp {
    pub(crate) origin: OpId,
    /// The name; `None` for the end of a mark.
    pub(crate) name: Option<Bytes>,
    pub(crate) val: StoredValue,
    pub(crate) expand: bool,
}

/// All operations of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) runs: CowVec<LogRun>,
    pub(crate) keyed: CowVec<KeyOp, KeyOpIdx>,
    /// Predecessors of the operations with several.
    preds: CowVec<Box<[OpId]>>,
    pub(crate) values: CowVec<StoredValue>,
    pub(crate) marks: CowVec<MarkOp>,
    /// What a reader of the document's file must process besides runs and key operations: see
    /// [`crate::codec::limits::Size`].
    pub(crate) apart: u32,
}

/// Length of the log at some point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) runs: u32,
    last_len: u32,
    last_bytes: u32,
    /// Number of the first later operation on a key.
    pub(crate) keyed: KeyOpIdx,
    preds: u32,
    values: u32,
    marks: u32,
    apart: u32,
}

impl LogEnd {
    /// Number of operations of a run that precede this end.
    pub(crate) fn of_run(&self, number: usize) -> u32 {
        match number + 1 {
            next if next < self.runs as usize => u32::MAX,
            next if next == self.runs as usize => self.last_len,
            _ => 0,
        }
    }
}

impl Log {
    pub(crate) fn end(&self) -> LogEnd {
        let last = self.runs.last();
        LogEnd {
            runs: self.runs.len() as u32,
            last_len: last.map_or(0, |run| run.len),
            last_bytes: last.map_or(0, LogRun::bytes),
            keyed: self.keyed.next(),
            preds: self.preds.len() as u32,
            values: self.values.len() as u32,
            marks: self.marks.len() as u32,
            apart: self.apart,
        }
    }

    /// The end before run `number`, of which the possibly empty `part` had arrived. Values, marks and lists of
    /// predecessors count as present already: a file orders them differently, and no code reads those of removed
    /// operations.
    pub(in crate::store) fn end_before(&self, number: usize, part: &LogRun) -> LogEnd {
        let keyed = |(at, run): (usize, &LogRun)| match run.what {
            RunAction::KeyOp(first) => Some(first.plus(if at == 0 { part.len } else { 0 })),
            _ => None,
        };
        let keyed = self.runs.iter_from(number).enumerate().find_map(keyed);
        let runs = number + usize::from(part.len > 0);
        let last = if part.len > 0 { Some(part) } else { runs.checked_sub(1).map(|last| &self.runs[last]) };
        LogEnd {
            runs: runs as u32,
            last_len: last.map_or(0, |run| run.len),
            last_bytes: last.map_or(0, LogRun::bytes),
            keyed: keyed.unwrap_or(self.keyed.next()),
            ..self.end()
        }
    }

    /// Removes everything after `mark`.
    pub(crate) fn cut(&mut self, mark: LogEnd) {
        self.runs.truncate(mark.runs as usize);
        if mark.runs > 0 {
            let last = self.runs.get_mut(mark.runs as usize - 1);
            last.len = mark.last_len;
            if let RunAction::Text { bytes, .. } = &mut last.what {
                bytes.len = mark.last_bytes;
            }
        }
        self.keyed.truncate(mark.keyed.index());
        self.preds.truncate(mark.preds as usize);
        self.values.truncate(mark.values as usize);
        self.marks.truncate(mark.marks as usize);
        self.apart = mark.apart;
    }

    /// Index of the run that holds the operation with counter `ctr`, among the runs from `from` to `to`, whose ids
    /// ascend.
    pub(crate) fn find(&self, ctr: u32, from: usize, to: usize) -> usize {
        let (mut low, mut high) = (from, to);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.runs[middle].id.ctr <= ctr {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Sets the predecessors of an operation that will be appended. They must ascend.
    #[inline]
    pub(crate) fn set_preds(&mut self, op: &mut KeyOp, preds: &[OpId]) {
        match preds {
            [] => op.preds = Preds::NONE,
            [pred] => op.preds = Preds::one(*pred),
            _ => {
                self.apart = self.apart.saturating_add(named_besides(preds));
                op.preds = Preds::list(self.preds.len() as u32);
                self.preds.push(preds.into());
            }
        }
    }

    /// Predecessors of an operation, ascending.
    #[inline]
    pub(crate) fn preds<'a>(&'a self, op: &'a KeyOp) -> &'a [OpId] {
        op.preds.get().unwrap_or_else(|number| &self.preds[number as usize])
    }

    /// Skip pointer of a new operation after `before`.
    #[inline]
    fn jump(&self, before: Option<KeyOpIdx>) -> Jump {
        match before.and_then(|before| Some((before, self.keyed.get(before)?))) {
            Some((before, op)) => op.jump_over(before, |number| self.keyed.get(number)),
            None => (before, 0),
        }
    }

    /// Memory size in bytes of the runs and key operations.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.runs.len() * size_of::<LogRun>() + self.keyed.len() * size_of::<KeyOp>()
    }

    /// Panics if the runs and their key operations contradict each other.
    pub(in crate::store) fn check(&self) {
        let mut number = 0;
        for run in self.runs.iter() {
            let RunAction::KeyOp(first) = run.what else { continue };
            assert_eq!(first.index(), number, "each operation is in one run, in their order");
            number += run.len as usize;
            for (n, op) in (0..run.len).zip(self.keyed.iter_from(first)) {
                assert_eq!((op.id, op.obj), (run.id.plus(n), run.obj));
                assert!(op.before() < Some(first.plus(n)), "before it");
                assert!(op.preds.get().is_ok() || self.preds(op).len() > 1);
            }
        }
        assert_eq!(number, self.keyed.len());
    }

    /// Appends an operation on a key after `before`, with its predecessors.
    #[inline]
    pub(crate) fn push_keyed(
        &mut self,
        mut op: KeyOp,
        preds: &[OpId],
        before: Option<KeyOpIdx>,
        clears: bool,
    ) {
        let number = self.keyed.next();
        self.set_preds(&mut op, preds);
        op.follow(before, self.jump(before));
        op.set_clears(clears);
        self.keyed.push(op);
        self.push(LogRun { id: op.id, len: 1, obj: op.obj, what: RunAction::KeyOp(number) });
    }

    /// Appends a run, or extends the last one. A run is extended only if its text stays contiguous.
    pub(crate) fn push(&mut self, run: LogRun) {
        self.push_here(run);
    }

    /// As [`Self::push`], inlined into the caller: a run that was just assembled would have to be stored to memory as a
    /// whole before it could be copied from there.
    #[inline(always)]
    pub(in crate::store) fn push_here(&mut self, run: LogRun) {
        if !self.runs.last().is_some_and(|last| continues(last, &run)) {
            self.runs.push(run);
            return;
        }
        let last = self.runs.last_mut().expect("there is a last one");
        match (&mut last.what, run.what) {
            (RunAction::Text { bytes, .. }, RunAction::Text { bytes: more, .. }) => bytes.len += more.len,
            (RunAction::Delete { elem, step }, RunAction::Delete { elem: next, .. }) if last.len == 1 => {
                *step = (i64::from(next.ctr) - i64::from(elem.ctr)) as i8;
            }
            _ => {}
        }
        last.len += run.len;
    }
}

/// Can one run hold `last` and `next`?
#[inline]
fn continues(last: &LogRun, next: &LogRun) -> bool {
    if last.obj != next.obj || last.id.actor != next.id.actor || last.id.ctr + last.len != next.id.ctr {
        return false;
    }
    let chained = |origin: OpId| origin == last.id.plus(last.len - 1);
    match (last.what, next.what) {
        (RunAction::Text { bytes, .. }, RunAction::Text { origin, bytes: more }) => {
            chained(origin)
                && bytes.at + bytes.len == more.at
                && !crate::store::memory::byte_arena::starts_chunk(more.at)
        }
        (RunAction::Values { at, .. }, RunAction::Values { origin, at: more }) => {
            chained(origin) && at + last.len == more
        }
        (RunAction::KeyOp(number), RunAction::KeyOp(more)) => number.plus(last.len) == more,
        (RunAction::Delete { elem, step }, RunAction::Delete { elem: more, step: next_step }) => {
            let step = if last.len == 1 { i64::from(more.ctr) - i64::from(elem.ctr) } else { step.into() };
            let continues = i64::from(elem.ctr) + step * i64::from(last.len) == i64::from(more.ctr);
            let agrees = next.len == 1 || i64::from(next_step) == step;
            elem.actor == more.actor && (step == 1 || step == -1) && continues && agrees
        }
        _ => false,
    }
}

/// Number of predecessors besides the first.
#[inline]
pub(crate) fn named_besides(preds: &[OpId]) -> u32 {
    preds.len().saturating_sub(1) as u32
}

/// The `n`-th element of a run of deletions.
#[inline]
pub(crate) fn stepped(elem: OpId, step: i8, n: u32) -> OpId {
    OpId::new((i64::from(elem.ctr) + i64::from(step) * i64::from(n)) as u32, elem.actor)
}
