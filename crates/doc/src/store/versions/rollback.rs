//! Rollback of the newest operations: of an uncommitted transaction, of invalid changes, and of changes after given
//! heads. There is no undo log; earlier values are read from the log, only where an operation changed something. A
//! rollback costs as much as the operations did.

use smallvec::{SmallVec, smallvec};

use crate::store::log::LogRun;
use crate::store::log::RunAction;
use crate::store::log::key_op::Key;
use crate::store::memory::byte_arena::Bytes;
use crate::store::seq::{ElementPos, Kind};
use crate::store::state::{Body, DocumentState};
use crate::store::versions::clock::Clock;
use crate::store::versions::savepoint::{OpenSavepoint, Savepoint, StoreLengths};
use crate::types::{KeyOpIdx, ObjIdx, OpId};

impl DocumentState {
    pub(in crate::store) fn ends(&self) -> StoreLengths {
        StoreLengths {
            log: self.log.end(),
            heap: self.heap.end(),
            actors: self.actors.len() as u32,
            objects: self.objects.next(),
            max_op: self.max_op,
        }
    }

    /// The current lengths of all structures.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { ends: self.ends(), firsts: SmallVec::new() }
    }

    /// Begins a change whose operations will be those from `first` on.
    #[inline]
    pub(crate) fn begin(&mut self, first: OpId) {
        debug_assert!(self.open_change.is_none(), "the caller settled the state");
        self.open_change = Some(OpenSavepoint { ends: self.ends(), first, exclusive: None });
    }

    /// Holds an object exclusively for the uncommitted change: its edits skip the test for sharing.
    pub(crate) fn make_exclusive(&mut self, obj: ObjIdx) {
        if let Some(open_change) = &mut self.open_change {
            open_change.exclusive = Some(obj);
            self.objects.get_mut(obj).body.hold();
        }
    }

    /// Makes the held object shareable again.
    #[inline]
    pub(crate) fn share(&mut self) {
        if let Some(obj) = self.open_change.as_mut().and_then(|open_change| open_change.exclusive.take()) {
            self.share_object(obj);
        }
    }

    #[cold]
    fn share_object(&mut self, obj: ObjIdx) {
        self.objects.get_mut(obj).body.share();
    }

    /// Ends the uncommitted change; its operations stay.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.share();
        self.open_change = None;
    }

    /// Rolls back the uncommitted change, if there is one.
    pub(crate) fn roll_back_open_change(&mut self) {
        self.share();
        if let Some(OpenSavepoint { ends, first, .. }) = self.open_change.take() {
            self.undo(&Savepoint { ends, firsts: smallvec![first] });
        }
    }

    /// Extends `savepoint` by operations from `first` on by one actor; creates it at the first call.
    pub(in crate::store) fn savepoint_in(&self, savepoint: &mut Option<Savepoint>, first: OpId) {
        savepoint.get_or_insert_with(|| self.savepoint()).extend(first);
    }

    /// Removes every operation since `savepoint`, with its bytes and the actors added since. Returns the number of
    /// visited pieces.
    pub(crate) fn undo(&mut self, savepoint: &Savepoint) -> u64 {
        let mut passed = 0;
        if self.log.end() != savepoint.ends.log {
            let (pieces, touched) = self.undo_operations(savepoint);
            passed = pieces + touched.into_iter().map(|obj| self.pack(obj)).sum::<u64>();
        }
        self.heap.cut(savepoint.ends.heap);
        self.actors.cut(savepoint.ends.actors as usize);
        // Removed bytes no longer pay.
        self.spend_all();
        passed
    }

    /// Removes the operations logged since `savepoint`. Returns their number of pieces, and the changed sequences.
    pub(in crate::store) fn undo_operations(&mut self, savepoint: &Savepoint) -> (u64, Vec<ObjIdx>) {
        let clock = savepoint.clock(self.actors.len());
        let (mut passed, mut touched) = (0, vec![]);
        // The last run may have been extended.
        let first_run = savepoint.ends.log.runs.saturating_sub(1) as usize;
        for number in (first_run..self.log.runs.len()).rev() {
            let Some(run) = self.run_after(number, savepoint) else { continue };
            if run.obj >= savepoint.ends.objects {
                continue;
            }
            passed += 1;
            let is_seq = self.seq(run.obj).is_some();
            if is_seq && touched.last() != Some(&run.obj) {
                touched.push(run.obj);
            }
            match run.what {
                RunAction::Text { .. } | RunAction::Values { .. } | RunAction::Mark(_) => {
                    passed += self.take_out(run.obj, run.id, run.len);
                }
                RunAction::Delete { elem, step } => {
                    let first = if step < 0 { OpId { ctr: elem.ctr - (run.len - 1), ..elem } } else { elem };
                    passed += self.undo_elements(run.obj, first, run.len, savepoint, &clock);
                }
                RunAction::KeyOp(first) => {
                    for number in (0..run.len).rev().map(|n| first.plus(n)) {
                        passed += match self.log.keyed[number].key() {
                            Key::Map(key) => self.undo_key(run.obj, key, savepoint, &clock),
                            Key::Elem(elem) => self.undo_elements(run.obj, elem, 1, savepoint, &clock),
                        };
                    }
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for obj in &touched {
            self.seq_mut(*obj).0.cut_ids(&savepoint.firsts);
        }
        self.objects.truncate(savepoint.ends.objects.index());
        savepoint.firsts.iter().for_each(|first| self.numbers.cut(*first));
        self.log.cut(savepoint.ends.log);
        self.max_op = savepoint.ends.max_op;
        (passed, touched)
    }

    /// The part of a log run that was added after `savepoint`.
    pub(in crate::store) fn run_after(&self, number: usize, savepoint: &Savepoint) -> Option<LogRun> {
        let run = self.log.runs[number];
        let before = savepoint.ends.log.of_run(number);
        let end = run.id.ctr.wrapping_add(run.len);
        (before < run.len).then(|| self.clip(&run, run.id.ctr + before, end))
    }

    /// Removes elements; returns the number of pieces.
    fn take_out(&mut self, obj: ObjIdx, id: OpId, len: u32) -> u64 {
        let (mut passed, mut done) = (0, 0);
        while done < len {
            let (seq, ctx) = self.seq_mut(obj);
            let at = seq.find(id.plus(done)).expect("the inserted element exists");
            let n = (len - done).min(seq.span(at).len - at.off);
            seq.take_out(at, n, &ctx);
            done += n;
            passed += 1;
        }
        passed
    }

    /// Restores elements to their state at `savepoint`, those with ids from `elem` on; returns the number of pieces.
    /// Elements inserted since are removed elsewhere.
    fn undo_elements(
        &mut self,
        obj: ObjIdx,
        elem: OpId,
        len: u32,
        savepoint: &Savepoint,
        clock: &Clock,
    ) -> u64 {
        let len = len.min(savepoint.first(elem.actor).saturating_sub(elem.ctr));
        let (mut passed, mut done) = (0, 0);
        while done < len {
            let seq = self.seq(obj).expect("elements are in sequences");
            let at = seq.find(elem.plus(done)).expect("the changed element exists");
            let span = *seq.span(at);
            let n = if span.reg.is_some() { 1 } else { (len - done).min(span.len - at.off) };
            if span.reg.is_some() {
                self.undo_register(obj, at, savepoint, clock);
            } else if !span.visible && savepoint.undone(span.deletion_of(at.off)) {
                // Values in a text are spans of one element; they may have been hidden before their text was ever
                // measured.
                let shown = (seq.is_text && span.kind == Kind::Values).then(|| {
                    let (text, width) = self.rendered(self.inserted(&span, at.off));
                    (text.len() as u32, width)
                });
                let (seq, ctx) = self.seq_mut(obj);
                seq.show_again(at, n, shown, &ctx);
            }
            done += n;
            passed += 1;
        }
        passed
    }

    /// Restores an element with a register.
    fn undo_register(&mut self, obj: ObjIdx, at: ElementPos, savepoint: &Savepoint, clock: &Clock) {
        let seq = self.seq(obj).expect("the caller found the element");
        let mut span = *seq.span(at);
        let mut reg = seq.reg(&span).expect("the span has a register").clone();
        reg.values = self.element_at(seq, &span, clock);
        reg.last = self.chain_before(reg.last, savepoint);
        reg.dels.retain(|del| !savepoint.undone(*del));
        if savepoint.undone(span.deleted_by) {
            (span.deleted_by, span.step) = (OpId::NONE, 0);
        }
        let (text, width) = match reg.values.last() {
            Some(winner) if seq.is_text => self.rendered(winner.val),
            Some(_) => ("", 1),
            None => ("", 0),
        };
        span.visible = !reg.values.is_empty();
        (span.bytes, span.width) = (text.len() as u32, width);
        let (seq, ctx) = self.seq_mut(obj);
        seq.set_back(at, span, reg, &ctx);
    }

    /// Restores a key of a map; returns the work done.
    fn undo_key(&mut self, obj: ObjIdx, key: Bytes, savepoint: &Savepoint, clock: &Clock) -> u64 {
        let key = self.heap.text(key).to_owned();
        let entry = self.map(obj).and_then(|map| map.get(&key, &self.heap));
        // The newest operation on a key comes first and restores it completely.
        let Some(newest) = entry.and_then(|entry| entry.last).filter(|last| savepoint.came_later(*last))
        else {
            return 0;
        };
        let last = self.chain_before(Some(newest), savepoint);
        let values = self.values_at(last, clock);
        let (map, heap, ..) = self.map_mut(obj);
        if last.is_none() {
            map.remove(&key, heap);
        } else {
            map.update(&key, heap, |entry| (entry.last, entry.values) = (last, values));
        }
        1
    }

    /// The newest operation of a chain that stays.
    fn chain_before(&self, last: Option<KeyOpIdx>, savepoint: &Savepoint) -> Option<KeyOpIdx> {
        let mut last = last;
        while let Some(undone) = last.filter(|last| savepoint.came_later(*last)) {
            last = self.log.keyed[undone].before();
        }
        last
    }

    /// Rebuilds a sequence that has more empty leaves than others; returns its number of spans.
    fn pack(&mut self, obj: ObjIdx) -> u64 {
        let Some(seq) = self.seq(obj).filter(|seq| seq.is_sparse()) else { return 0 };
        let packed = seq.packed(|span| self.shown(seq, span));
        let spans = packed.spans().count() as u64;
        self.objects.get_mut(obj).body = Body::Seq(packed).into();
        spans
    }
}
