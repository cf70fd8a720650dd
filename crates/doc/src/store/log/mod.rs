//! Every operation of the document, in the order in which they arrived, as runs: what one actor typed or deleted in
//! one go is one entry. Change chunks are written from here, and the past is read from here.

pub(crate) mod key_op;

use crate::codec::row::Action;
use crate::store::log::key_op::{Jump, KeyOp, Preds};
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::cow_vec::CowVec;
use crate::types::{KeyOpIdx, Number as _, ObjIdx, ObjType, OpId};

/// A value of the document: a scalar whose bytes lie in the heap, or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Val {
    /// Type code of the file format; for objects [`Val::OBJECT`] and up.
    pub(crate) code: u8,
    /// The bytes of a scalar; for objects the address is the object's number.
    pub(crate) bytes: Bytes,
}

impl Val {
    const OBJECT: u8 = 16;
    pub(crate) const NULL: Val = Val { code: 0, bytes: Bytes { at: 0, len: 0 } };

    pub(crate) fn object(kind: ObjType, number: ObjIdx) -> Self {
        let code = Self::OBJECT + Action::make(kind) as u8;
        Val { code, bytes: Bytes { at: number.get(), len: 0 } }
    }

    /// The object's kind and number, when this is an object.
    #[inline]
    pub(crate) fn as_object(self) -> Option<(ObjType, ObjIdx)> {
        if self.code < Self::OBJECT {
            return None;
        }
        let action = Action::from_code((self.code - Self::OBJECT).into()).ok()?;
        Some((action.makes()?, ObjIdx::of(self.bytes.at)))
    }

    /// The action of the operation that put this value there.
    pub(crate) fn action(self) -> Action {
        self.as_object().map_or(Action::Set, |(kind, _)| Action::make(kind))
    }

    pub(crate) fn is_counter(self) -> bool {
        self.code == crate::codec::value::code::COUNTER
    }
}

/// A run of operations with consecutive ids on one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRun {
    pub(crate) id: OpId,
    pub(crate) len: u32,
    /// Number of the object.
    pub(crate) obj: ObjIdx,
    pub(crate) what: What,
}

impl LogRun {
    /// How many bytes the characters take that it inserts.
    fn bytes(&self) -> u32 {
        if let What::Text { bytes, .. } = self.what { bytes.len } else { 0 }
    }

    /// The number in [`Log::keyed`] of operation `id`, if it is one of this run.
    pub(crate) fn keyed(&self, id: OpId) -> Option<KeyOpIdx> {
        let What::KeyOp(first) = self.what else { return None };
        let n = id.ctr.checked_sub(self.id.ctr).filter(|n| self.id.actor == id.actor && *n < self.len)?;
        Some(first.plus(n))
    }
}

/// What a run of operations does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// Inserts characters, the first after `origin`, each other after the one before. `bytes` is their text.
    Text { origin: OpId, bytes: Bytes },
    /// Inserts values likewise; they are `values[at..at + len]`.
    Values { origin: OpId, at: u32 },
    /// Inserts the boundary of a mark: its number.
    Mark(u32),
    /// Deletes elements that nobody changed, `step` apart.
    Delete { elem: OpId, step: i8 },
    /// Anything else: operations on keys of a map or updates of elements, one after another in [`Log::keyed`] from this one
    /// on.
    KeyOp(KeyOpIdx),
}

/// One boundary of a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MarkOp {
    pub(crate) origin: OpId,
    /// The name; the end of a mark has none.
    pub(crate) name: Option<Bytes>,
    pub(crate) val: Val,
    pub(crate) expand: bool,
}

/// Everything that happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) runs: CowVec<LogRun>,
    pub(crate) keyed: CowVec<KeyOp, KeyOpIdx>,
    /// The predecessors of those which have several.
    preds: CowVec<Box<[OpId]>>,
    pub(crate) values: CowVec<Val>,
    pub(crate) marks: CowVec<MarkOp>,
    /// What a file of it makes its reader look at besides runs and operations on keys: see [`crate::codec::limits::Size`].
    pub(crate) apart: u32,
}

/// Where the log ended at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) runs: u32,
    last_len: u32,
    last_bytes: u32,
    /// Of the first operation on a key after it.
    pub(crate) keyed: KeyOpIdx,
    preds: u32,
    values: u32,
    marks: u32,
    apart: u32,
}

impl LogEnd {
    /// How many operations of a run came before it.
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

    /// Where it ended before run `number`, of which `part` had come, perhaps nothing. Values, marks and lists of predecessors
    /// count as there before: a file has them in an order of its own, and nobody asks for those of operations that are gone.
    pub(in crate::store) fn end_before(&self, number: usize, part: &LogRun) -> LogEnd {
        let keyed = |(at, run): (usize, &LogRun)| match run.what {
            What::KeyOp(first) => Some(first.plus(if at == 0 { part.len } else { 0 })),
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

    /// Forgets what came after `mark`.
    pub(crate) fn cut(&mut self, mark: LogEnd) {
        self.runs.truncate(mark.runs as usize);
        if mark.runs > 0 {
            let last = self.runs.get_mut(mark.runs as usize - 1);
            last.len = mark.last_len;
            if let What::Text { bytes, .. } = &mut last.what {
                bytes.len = mark.last_bytes;
            }
        }
        self.keyed.truncate(mark.keyed.place());
        self.preds.truncate(mark.preds as usize);
        self.values.truncate(mark.values as usize);
        self.marks.truncate(mark.marks as usize);
        self.apart = mark.apart;
    }

    /// The run that holds operation `ctr` among those from run `from` to `to`, whose ids ascend.
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

    /// Makes ascending predecessors those of an operation that will be appended.
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

    /// The predecessors of an operation, ascending.
    #[inline]
    pub(crate) fn preds<'a>(&'a self, op: &'a KeyOp) -> &'a [OpId] {
        op.preds.get().unwrap_or_else(|number| &self.preds[number as usize])
    }

    /// The jump of a new operation after `before`.
    #[inline]
    fn jump(&self, before: Option<KeyOpIdx>) -> Jump {
        match before.and_then(|before| Some((before, self.keyed.get(before)?))) {
            Some((before, op)) => op.jump_over(before, |number| self.keyed.get(number)),
            None => (before, 0),
        }
    }

    /// How many bytes runs and operations on keys take.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.runs.len() * size_of::<LogRun>() + self.keyed.len() * size_of::<KeyOp>()
    }

    /// Panics where runs and the operations on keys that they are made of contradict each other.
    pub(in crate::store) fn check(&self) {
        let mut number = 0;
        for run in self.runs.iter() {
            let What::KeyOp(first) = run.what else { continue };
            assert_eq!(first.place(), number, "each operation is in one run, in their order");
            number += run.len as usize;
            for (n, op) in (0..run.len).zip(self.keyed.iter_from(first)) {
                assert_eq!((op.id, op.obj), (run.id.plus(n), run.obj));
                assert!(op.before() < Some(first.plus(n)), "before it");
                assert!(op.preds.get().is_ok() || self.preds(op).len() > 1);
            }
        }
        assert_eq!(number, self.keyed.len());
    }

    /// Appends an operation on a key, made after `before` there, with its predecessors.
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
        self.push(LogRun { id: op.id, len: 1, obj: op.obj, what: What::KeyOp(number) });
    }

    /// Appends a run, or lets the last one go on. A run goes on only while the text it holds is in one piece.
    pub(crate) fn push(&mut self, run: LogRun) {
        self.push_here(run);
    }

    /// As [`Self::push`], as a part of who calls it: a run that was put together a moment ago would have to be in memory
    /// as a whole before it could be copied from there.
    #[inline(always)]
    pub(in crate::store) fn push_here(&mut self, run: LogRun) {
        if !self.runs.last().is_some_and(|last| continues(last, &run)) {
            self.runs.push(run);
            return;
        }
        let last = self.runs.last_mut().expect("there is a last one");
        match (&mut last.what, run.what) {
            (What::Text { bytes, .. }, What::Text { bytes: more, .. }) => bytes.len += more.len,
            (What::Delete { elem, step }, What::Delete { elem: next, .. }) if last.len == 1 => {
                *step = (i64::from(next.ctr) - i64::from(elem.ctr)) as i8;
            }
            _ => {}
        }
        last.len += run.len;
    }
}

/// Whether `next` continues `last` so that one run can hold both.
#[inline]
fn continues(last: &LogRun, next: &LogRun) -> bool {
    if last.obj != next.obj || last.id.actor != next.id.actor || last.id.ctr + last.len != next.id.ctr {
        return false;
    }
    let chained = |origin: OpId| origin == last.id.plus(last.len - 1);
    match (last.what, next.what) {
        (What::Text { bytes, .. }, What::Text { origin, bytes: more }) => {
            chained(origin)
                && bytes.at + bytes.len == more.at
                && !crate::store::memory::byte_arena::starts_chunk(more.at)
        }
        (What::Values { at, .. }, What::Values { origin, at: more }) => {
            chained(origin) && at + last.len == more
        }
        (What::KeyOp(number), What::KeyOp(more)) => number.plus(last.len) == more,
        (What::Delete { elem, step }, What::Delete { elem: more, step: next_step }) => {
            let step = if last.len == 1 { i64::from(more.ctr) - i64::from(elem.ctr) } else { step.into() };
            let continues = i64::from(elem.ctr) + step * i64::from(last.len) == i64::from(more.ctr);
            let agrees = next.len == 1 || i64::from(next_step) == step;
            elem.actor == more.actor && (step == 1 || step == -1) && continues && agrees
        }
        _ => false,
    }
}

/// How many operations are named by one besides the first.
#[inline]
pub(crate) fn named_besides(preds: &[OpId]) -> u32 {
    preds.len().saturating_sub(1) as u32
}

/// The `n`-th element of a run of deletions.
#[inline]
pub(crate) fn stepped(elem: OpId, step: i8, n: u32) -> OpId {
    OpId::new((i64::from(elem.ctr) + i64::from(step) * i64::from(n)) as u32, elem.actor)
}
