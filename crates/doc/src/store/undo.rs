//! Taking back the newest operations: a transaction that is rolled back, or a change that turned out to be invalid.
//! This is rare, so it costs as much as the sequences it touches are long, and nothing is kept for it beforehand.

use smallvec::{SmallVec, smallvec};

use crate::store::log::key_op::{Key, KeyOp};
use crate::store::register::{self, Values, Visible};
use crate::store::savepoint::{Ends, Savepoint, Unfinished};
use crate::store::seq::{Builder, ElemReg, Kind, Seq, Span};
use crate::store::state::{Body, State};
use crate::types::{KeyOpIdx, ObjIdx, OpId};

impl State {
    fn ends(&self) -> Ends {
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

    /// Forgets every operation since `savepoint`, their bytes, and the actors who came with them; gives how many spans it went
    /// through for that.
    pub(crate) fn undo(&mut self, savepoint: &Savepoint) -> u64 {
        let passed = if self.log.end() == savepoint.ends.log { 0 } else { self.undo_operations(savepoint) };
        self.heap.cut(savepoint.ends.heap);
        self.actors.cut(savepoint.ends.actors as usize);
        // Bytes that are gone pay for nothing.
        self.spend_all();
        passed
    }

    fn undo_operations(&mut self, savepoint: &Savepoint) -> u64 {
        let mut passed = 0;
        // The last run may have gone on.
        let first_run = savepoint.ends.log.runs.saturating_sub(1) as usize;
        let mut touched: Vec<ObjIdx> = self.log.runs.iter_from(first_run).map(|run| run.obj).collect();
        touched.sort_unstable();
        touched.dedup();
        let keyed: Vec<KeyOp> = self.log.keyed.iter_from(savepoint.ends.log.keyed).copied().collect();
        for op in keyed.iter().filter(|op| op.obj < savepoint.ends.objects) {
            if let Key::Map(key) = op.key() {
                self.undo_key(op.obj, key, savepoint);
            }
        }
        for obj in touched.into_iter().filter(|obj| *obj < savepoint.ends.objects) {
            if let Some(seq) = self.seq(obj) {
                passed += seq.spans().count() as u64;
                let seq = self.seq_without(obj, savepoint);
                self.objects.get_mut(obj).body = Body::Seq(seq).into();
            }
        }
        self.objects.truncate(savepoint.ends.objects.place());
        savepoint.firsts.iter().for_each(|first| self.numbers.cut(*first));
        self.log.cut(savepoint.ends.log);
        self.max_op = savepoint.ends.max_op;
        passed
    }

    fn undo_key(&mut self, obj: ObjIdx, key: crate::store::memory::byte_arena::Bytes, savepoint: &Savepoint) {
        let key = self.heap.text(key).to_owned();
        let Some(entry) = self.map(obj).and_then(|map| map.get(&key, &self.heap)) else { return };
        let last = self.kept(entry.last, savepoint);
        if last.is_none() {
            let (map, heap, ..) = self.map_mut(obj);
            map.remove(&key, heap);
            return;
        }
        let values = self.replay(Values::new(), last);
        let (map, heap, ..) = self.map_mut(obj);
        map.update(&key, heap, |entry| (entry.last, entry.values) = (last, values));
    }

    /// The newest operation of a chain that stays.
    fn kept(&self, last: Option<KeyOpIdx>, savepoint: &Savepoint) -> Option<KeyOpIdx> {
        let mut last = last;
        while let Some(undone) = last.filter(|last| *last >= savepoint.ends.log.keyed) {
            last = self.log.keyed[undone].before();
        }
        last
    }

    /// What a chain of operations makes of the values that were there before it.
    pub(crate) fn replay(&self, mut values: Values, last: Option<KeyOpIdx>) -> Values {
        let mut chain: Vec<&KeyOp> = self.chain(last).collect();
        chain.reverse();
        for op in chain {
            register::apply(&mut values, op, self.log.preds(op), self.amount(op), &self.actors);
        }
        values
    }

    /// A sequence without the operations since `savepoint`.
    fn seq_without(&self, obj: ObjIdx, savepoint: &Savepoint) -> Seq {
        let seq = self.seq(obj).expect("the caller checked");
        let ctx = self.ctx();
        let mut builder = Builder::new(seq.is_text);
        *builder.regs() = seq.regs.clone();
        let undone = |id| savepoint.undone(id);
        for span in seq.spans() {
            let mut span = *span;
            if undone(span.last()) {
                if undone(span.id) {
                    continue;
                }
                span.cut(savepoint.first(span.id.actor) - span.id.ctr, &ctx);
            }
            if let Some(number) = span.reg {
                let (span, reg, text) = self.reg_without(seq, span, savepoint);
                *builder.regs().get_mut(number) = reg;
                builder.push(span, &text);
                continue;
            }
            for mut part in span.by_fate(&ctx, |gone| !gone.is_none() && undone(gone)) {
                if undone(part.deleted_by) && !part.deleted_by.is_none() {
                    (part.deleted_by, part.step) = (OpId::NONE, 0);
                    part.visible = true;
                }
                if seq.is_text && part.kind == Kind::Values && part.visible {
                    let (text, width) = self.rendered(self.inserted(&part, 0));
                    (part.bytes, part.width) = (text.len() as u32, width);
                    builder.push(part, text);
                } else {
                    builder.push_run(part, &ctx);
                }
            }
        }
        builder.finish()
    }

    fn reg_without(&self, seq: &Seq, mut span: Span, savepoint: &Savepoint) -> (Span, ElemReg, String) {
        let undone = |id| savepoint.undone(id);
        let mut reg = seq.reg(&span).expect("the span has a register").clone();
        reg.dels.retain(|del| !undone(*del));
        if undone(span.deleted_by) {
            (span.deleted_by, span.step) = (OpId::NONE, 0);
        }
        reg.last = self.kept(reg.last, savepoint);
        let mut values: Values = SmallVec::new();
        if span.deleted_by.is_none() && reg.dels.is_empty() {
            values.push(Visible { id: span.id, val: self.inserted(&span, 0), added: 0 });
        }
        reg.values = self.replay(values, reg.last);
        let (text, width) = match reg.values.last() {
            Some(winner) if seq.is_text => self.rendered(winner.val),
            Some(_) => ("", 1),
            None => ("", 0),
        };
        span.visible = !reg.values.is_empty();
        (span.bytes, span.width) = (text.len() as u32, width);
        (span, reg, text.to_owned())
    }
}
