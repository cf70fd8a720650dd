//! Taking back the newest operations: a transaction that is rolled back, changes that turned out to be invalid, all that came
//! after some earlier moment. Nothing is kept for it beforehand: what was there is read out of the log, and only where an
//! operation changed something. It costs what making the operations cost.

use smallvec::{SmallVec, smallvec};

use crate::store::log::LogRun;
use crate::store::log::What;
use crate::store::log::key_op::Key;
use crate::store::memory::byte_arena::Bytes;
use crate::store::past::Clock;
use crate::store::savepoint::{Ends, Savepoint, Unfinished};
use crate::store::seq::{At, Kind};
use crate::store::state::{Body, State};
use crate::types::{KeyOpIdx, ObjIdx, OpId};

impl State {
    pub(in crate::store) fn ends(&self) -> Ends {
        Ends {
            log: self.log.end(),
            heap: self.heap.end(),
            actors: self.actors.len() as u32,
            objects: self.objects.next(),
            max_op: self.max_op,
        }
    }

    /// Remembers where everything ends, before operations are made.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { ends: self.ends(), firsts: SmallVec::new() }
    }

    /// Begins a change whose operations will be those from `first` on.
    #[inline]
    pub(crate) fn begin(&mut self, first: OpId) {
        debug_assert!(self.unfinished.is_none(), "the caller settled the state");
        self.unfinished = Some(Unfinished { ends: self.ends(), first, held: None });
    }

    /// The change in the making goes on to edit an object: nobody is asked any more who shares it.
    pub(crate) fn hold(&mut self, obj: ObjIdx) {
        if let Some(unfinished) = &mut self.unfinished {
            unfinished.held = Some(obj);
            self.objects.get_mut(obj).body.hold();
        }
    }

    /// What is in one hand may be shared again.
    #[inline]
    pub(crate) fn share(&mut self) {
        if let Some(obj) = self.unfinished.as_mut().and_then(|unfinished| unfinished.held.take()) {
            self.share_object(obj);
        }
    }

    #[cold]
    fn share_object(&mut self, obj: ObjIdx) {
        self.objects.get_mut(obj).body.share();
    }

    /// Ends the change in the making: what it did stays.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.share();
        self.unfinished = None;
    }

    /// Takes back what the change in the making did, if there is one.
    pub(crate) fn take_back(&mut self) {
        self.share();
        if let Some(Unfinished { ends, first, .. }) = self.unfinished.take() {
            self.undo(&Savepoint { ends, firsts: smallvec![first] });
        }
    }

    /// Lets `savepoint` go before operations from `first` on by one actor, and remembers where everything ends if it is the
    /// first time.
    pub(super) fn savepoint_in(&self, savepoint: &mut Option<Savepoint>, first: OpId) {
        savepoint.get_or_insert_with(|| self.savepoint()).extend(first);
    }

    /// Forgets every operation since `savepoint`, their bytes, and the actors who came with them; gives how many pieces it went
    /// through for that.
    pub(crate) fn undo(&mut self, savepoint: &Savepoint) -> u64 {
        let mut passed = 0;
        if self.log.end() != savepoint.ends.log {
            let (pieces, touched) = self.undo_operations(savepoint);
            passed = pieces + touched.into_iter().map(|obj| self.pack(obj)).sum::<u64>();
        }
        self.heap.cut(savepoint.ends.heap);
        self.actors.cut(savepoint.ends.actors as usize);
        // Bytes that are gone pay for nothing.
        self.spend_all();
        passed
    }

    /// Forgets the operations since `savepoint`, which came to the log since; gives how many pieces they were, and the sequences
    /// that were changed for it.
    pub(in crate::store) fn undo_operations(&mut self, savepoint: &Savepoint) -> (u64, Vec<ObjIdx>) {
        let clock = savepoint.clock(self.actors.len());
        let (mut passed, mut touched) = (0, vec![]);
        // The last run may have gone on.
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
                What::Text { .. } | What::Values { .. } | What::Mark(_) => {
                    passed += self.take_out(run.obj, run.id, run.len);
                }
                What::Delete { elem, step } => {
                    let first = if step < 0 { OpId { ctr: elem.ctr - (run.len - 1), ..elem } } else { elem };
                    passed += self.undo_elements(run.obj, first, run.len, savepoint, &clock);
                }
                What::KeyOp(first) => {
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
        self.objects.truncate(savepoint.ends.objects.place());
        savepoint.firsts.iter().for_each(|first| self.numbers.cut(*first));
        self.log.cut(savepoint.ends.log);
        self.max_op = savepoint.ends.max_op;
        (passed, touched)
    }

    /// What of a run of the log came after `savepoint`.
    pub(in crate::store) fn run_after(&self, number: usize, savepoint: &Savepoint) -> Option<LogRun> {
        let run = self.log.runs[number];
        let before = savepoint.ends.log.of_run(number);
        let end = run.id.ctr.wrapping_add(run.len);
        (before < run.len).then(|| self.clip(&run, run.id.ctr + before, end))
    }

    /// Takes elements out; gives how many pieces they were.
    fn take_out(&mut self, obj: ObjIdx, id: OpId, len: u32) -> u64 {
        let (mut passed, mut done) = (0, 0);
        while done < len {
            let (seq, ctx) = self.seq_mut(obj);
            let at = seq.find(id.plus(done)).expect("what was inserted is there");
            let n = (len - done).min(seq.span(at).len - at.off);
            seq.take_out(at, n, &ctx);
            done += n;
            passed += 1;
        }
        passed
    }

    /// Gives elements back what they had before operations were made on them since `savepoint`, those with ids from `elem` on;
    /// gives how many pieces they were. Those that were inserted since are taken out anyway.
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
            let at = seq.find(elem.plus(done)).expect("what was changed is there");
            let span = *seq.span(at);
            let n = if span.reg.is_some() { 1 } else { (len - done).min(span.len - at.off) };
            if span.reg.is_some() {
                self.undo_register(obj, at, savepoint, clock);
            } else if !span.visible && savepoint.undone(span.deletion_of(at.off)) {
                // Values in a text are alone; they may have been hidden before anybody asked what they show.
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

    /// Gives an element with a register back what it had.
    fn undo_register(&mut self, obj: ObjIdx, at: At, savepoint: &Savepoint, clock: &Clock) {
        let seq = self.seq(obj).expect("the caller found the element");
        let mut span = *seq.span(at);
        let mut reg = seq.reg(&span).expect("the span has a register").clone();
        reg.values = self.element_at(seq, &span, clock);
        reg.last = self.kept(reg.last, savepoint);
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

    /// Gives a key of a map back what it had; gives how many operations there were on it.
    fn undo_key(&mut self, obj: ObjIdx, key: Bytes, savepoint: &Savepoint, clock: &Clock) -> u64 {
        let key = self.heap.text(key).to_owned();
        let entry = self.map(obj).and_then(|map| map.get(&key, &self.heap));
        // The newest operation on a key is met first: then all of them are done.
        let Some(newest) = entry.and_then(|entry| entry.last).filter(|last| savepoint.came_later(*last))
        else {
            return 0;
        };
        let last = self.kept(Some(newest), savepoint);
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
    fn kept(&self, last: Option<KeyOpIdx>, savepoint: &Savepoint) -> Option<KeyOpIdx> {
        let mut last = last;
        while let Some(undone) = last.filter(|last| savepoint.came_later(*last)) {
            last = self.log.keyed[undone].before();
        }
        last
    }

    /// Makes a sequence anew that has more empty leaves than others; gives how many spans it has.
    fn pack(&mut self, obj: ObjIdx) -> u64 {
        let Some(seq) = self.seq(obj).filter(|seq| seq.is_sparse()) else { return 0 };
        let packed = seq.packed(|span| self.shown(seq, span));
        let spans = packed.spans().count() as u64;
        self.objects.get_mut(obj).body = Body::Seq(packed).into();
        spans
    }
}
