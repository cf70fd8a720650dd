//! Differences of a list or text: its elements in order, each compared between both points.

use smallvec::SmallVec;

use super::PatchAction;
use crate::codec::raw_value::code;
use crate::mark::MarkSet;
use crate::mark::active::ActiveMarks;
use crate::patch::patch_list::PatchList;
use crate::patch::value_change::{ValueChange, became, winner};
use crate::store::memory::byte_arena::Bytes;
use crate::store::register::Visible;
use crate::store::seq::{ElementPos, Kind, Seq, Span};
use crate::store::state::DocumentState;
use crate::store::versions::at_heads::is_visible_at;
use crate::store::versions::clock::Clock;
use crate::types::{ObjIdx, ObjType, OpId, Prop, ScalarValue};

/// The two points of the history.
#[derive(Clone, Copy)]
pub(super) struct BeforeAfter<'a> {
    pub(super) before: &'a Clock,
    pub(super) after: &'a Clock,
    /// Are conflicts that appear or disappear reported?
    pub(super) conflicts: bool,
}

/// Adjacent elements: the first one, and their number.
type Piece = (ElementPos, u32);

/// Comparison of a sequence.
pub(super) struct Walk<'a, 'p> {
    state: &'a DocumentState,
    seq: &'a Seq,
    moments: BeforeAfter<'a>,
    marks: Option<Marks<'a>>,
    /// Index of the next element after the difference.
    index: usize,
    patches: &'p mut PatchList<'a>,
    /// Objects that became visible.
    shown: &'p mut Vec<ObjIdx>,
}

/// Adjacent characters without marks that were all inserted, all deleted, or all kept.
#[derive(Default)]
struct Plain {
    unchanged: usize,
    inserted: (Vec<u8>, usize),
    deleted: usize,
}

impl Plain {
    /// Adds a span of which the first `was` elements were visible before and the first `is` after. Returns false if it
    /// does not fit.
    #[inline]
    fn add(&mut self, span: &Span, was: u32, is: u32, state: &DocumentState) -> bool {
        let (bytes, width) = (&mut self.inserted.0, span.width as usize);
        match (was > 0, is > 0) {
            (true, true) if was == span.len && is == span.len && bytes.is_empty() && self.deleted == 0 => {
                self.unchanged += width;
            }
            (false, true) if is == span.len && self.deleted == 0 => {
                match state.heap.get(Bytes { at: span.at, len: span.bytes }) {
                    [byte] => bytes.push(*byte),
                    more => bytes.extend_from_slice(more),
                }
                self.inserted.1 += width;
            }
            (true, false) if was == span.len && bytes.is_empty() => self.deleted += width,
            (false, false) => {}
            _ => return false,
        }
        true
    }

    /// Reports the differences; kept characters come first.
    fn flush(&mut self, walk: &mut Walk<'_, '_>) {
        walk.index += std::mem::take(&mut self.unchanged);
        let (bytes, width) = std::mem::take(&mut self.inserted);
        if !bytes.is_empty() {
            walk.splice(&String::from_utf8(bytes).expect("text was checked when it was added"), width);
        }
        if self.deleted > 0 {
            walk.patches.delete(walk.index, std::mem::take(&mut self.deleted));
        }
    }
}

/// The marks that hold at a position.
struct Marks<'a> {
    before: ActiveMarks<'a>,
    after: ActiveMarks<'a>,
    /// The marks after the difference; and the differences from those before, with null for removed names.
    now: MarkSet<'a>,
    changed: Vec<(String, ScalarValue<'a>)>,
    /// Were boundaries passed since?
    stale: bool,
}

impl<'a> Marks<'a> {
    fn new(state: &'a DocumentState) -> Self {
        let active = || ActiveMarks::new(state);
        Self { before: active(), after: active(), now: MarkSet::default(), changed: vec![], stale: false }
    }

    /// Computes the marks at this position.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let before = self.before.set();
        self.now = self.after.set();
        let gone = before.iter().filter(|(name, _)| self.now.get(name).is_none());
        let gone = gone.map(|(name, _)| (name.to_owned(), ScalarValue::Null));
        let other = self.now.iter().filter(|(name, value)| before.get(name) != Some(value));
        self.changed = gone.chain(other.map(|(name, value)| (name.to_owned(), value.clone()))).collect();
    }
}

impl<'a, 'p> Walk<'a, 'p> {
    pub(super) fn new(
        state: &'a DocumentState,
        seq: &'a Seq,
        moments: BeforeAfter<'a>,
        patches: &'p mut PatchList<'a>,
        shown: &'p mut Vec<ObjIdx>,
    ) -> Self {
        let marks = (seq.is_text && seq.marks > 0).then(|| Marks::new(state));
        Self { state, seq, moments, marks, index: 0, patches, shown }
    }

    /// Compares all elements.
    pub(super) fn all(mut self) {
        let BeforeAfter { before, after, .. } = self.moments;
        let whole = self.seq.is_text && self.marks.is_none() && !before.lacks_some() && !after.lacks_some();
        let mut plain = Plain::default();
        for spans in self.seq.pages() {
            for span in spans {
                if whole && span.kind == Kind::Text && span.reg.is_none() && span.deleted_by.is_none() {
                    // Of elements that were never deleted, a clock covers the first few and none of the others.
                    let [was, is] = [before, after].map(|clock| clock.covered(span.id, span.len));
                    if plain.add(span, was, is, self.state) {
                        continue;
                    }
                }
                plain.flush(&mut self);
                self.span(span);
            }
        }
        plain.flush(&mut self);
    }

    /// Compares the elements that may differ between the two points or the current state. There must be no marks.
    pub(super) fn some(mut self, touched: &[(OpId, u32)]) {
        let ctx = self.state.ctx();
        // Difference between the current position and the position after.
        let mut less = 0;
        for (at, len) in self.pieces(touched) {
            let mut span = *self.seq.span(at);
            if at.off > 0 {
                span = span.split_off(at.off, &ctx);
            }
            if len < span.len {
                span.cut(len, &ctx);
            }
            let start = self.seq.units_before(at, &ctx) as i64 - less;
            self.index = start as usize;
            self.span(&span);
            less += i64::from(span.units()) - (self.index as i64 - start);
        }
    }

    /// Positions of the elements, in order and without duplicates.
    fn pieces(&self, touched: &[(OpId, u32)]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(touched.len());
        for (mut id, mut len) in touched.iter().copied() {
            while len > 0
                && let Some(at) = self.seq.find(id)
            {
                let here = (self.seq.span(at).len - at.off).min(len);
                pieces.push((at, here));
                (id, len) = (id.plus(here), len - here);
            }
        }
        let order = |a: ElementPos, b: ElementPos| match self.seq.before(a, b) {
            true => std::cmp::Ordering::Less,
            false if a == b => std::cmp::Ordering::Equal,
            false => std::cmp::Ordering::Greater,
        };
        pieces.sort_unstable_by(|(a, _), (b, _)| order(*a, *b));
        let mut once: Vec<Piece> = Vec::with_capacity(pieces.len());
        for (at, len) in pieces {
            let known = once.last().filter(|(last, _)| last.minus(last.off) == at.minus(at.off));
            let known = known.map_or(0, |(last, len)| (last.off + len).saturating_sub(at.off));
            if known < len {
                once.push((at.on(known), len - known));
            }
        }
        once
    }

    fn span(&mut self, span: &Span) {
        if span.kind == Kind::Mark {
            return self.boundary(span);
        }
        let BeforeAfter { before, after, .. } = self.moments;
        if span.reg.is_some() {
            let was = self.state.element_at(self.seq, span, before);
            let is = self.state.element_at(self.seq, span, after);
            return self.element(&was, &is);
        }
        let (ctx, fate) = (self.state.ctx(), |span: &Span, n| {
            (is_visible_at(span, n, before), is_visible_at(span, n, after))
        });
        if !before.lacks_some() && !after.lacks_some() && span.deleted_by.is_none() {
            // Of elements that were never deleted, a clock covers the first few and none of the others.
            let mut ends = [before, after].map(|clock| clock.covered(span.id, span.len));
            ends.sort_unstable();
            let (mut rest, mut parts) = (*span, SmallVec::<[Span; 3]>::new());
            for end in ends.into_iter().rev().filter(|end| *end > 0) {
                if end < rest.len {
                    parts.push(rest.split_off(end, &ctx));
                }
            }
            parts.push(rest);
            parts.iter().rev().for_each(|part| self.run(part, fate(part, 0)));
            return;
        }
        for part in span.divided(&ctx, fate) {
            self.run(&part, fate(&part, 0));
        }
    }

    fn boundary(&mut self, span: &Span) {
        let Some(marks) = &mut self.marks else { return };
        let mark = &self.state.log.marks[span.at as usize];
        if self.moments.before.covers(span.id) {
            marks.stale |= marks.before.pass(span.id, mark).is_some();
        }
        if self.moments.after.covers(span.id) {
            marks.stale |= marks.after.pass(span.id, mark).is_some();
        }
    }

    /// Compares elements without updates that agree in visibility before and after.
    fn run(&mut self, span: &Span, fate: (bool, bool)) {
        let one = |n| Visible { id: span.id.plus(n), val: self.state.inserted(span, n), added: 0 };
        match (fate, self.seq.is_text) {
            ((false, false), _) => {}
            ((true, true), false) => self.index += span.len as usize,
            ((true, false), false) => self.patches.delete(self.index, span.len as usize),
            ((false, true), false) => (0..span.len).for_each(|n| self.put(None, &one(n), false)),
            ((was, is), true) if span.kind == Kind::Text => {
                let text = self.state.heap.text(Bytes { at: span.at, len: span.bytes });
                match (was, is) {
                    (true, false) => self.patches.delete(self.index, span.width as usize),
                    (false, _) => self.splice(text, span.width as usize),
                    (true, true) => self.stay(span.width as usize),
                }
            }
            ((was, is), true) => {
                let value = one(0);
                let values = std::slice::from_ref(&value);
                self.letter(if was { values } else { &[] }, if is { values } else { &[] });
            }
        }
    }

    /// Compares an element with values of its own.
    fn element(&mut self, was: &[Visible], is: &[Visible]) {
        if self.seq.is_text {
            return self.letter(was, is);
        }
        let index = self.index;
        match became(was, is, self.moments.conflicts) {
            ValueChange::Same => self.index += usize::from(!is.is_empty()),
            ValueChange::Gone => self.patches.delete(index, 1),
            ValueChange::Put(value, conflict) => self.put(winner(was), &value, conflict),
            ValueChange::Grown { by, conflict } => {
                self.patches.grow(Prop::Seq(index), by, conflict);
                self.index += 1;
            }
            ValueChange::Conflict => {
                self.patches.push(PatchAction::Conflict { prop: Prop::Seq(index) });
                self.index += 1;
            }
        }
    }

    /// Reports a new value of a list: a replacement of another one, or an insertion.
    fn put(&mut self, old: Option<OpId>, value: &Visible, conflict: bool) {
        let index = self.index;
        if old.is_some() {
            let value = self.patches.value(value);
            self.patches.push(PatchAction::PutSeq { index, value, conflict });
        } else {
            self.patches.insert(index, value, conflict);
        }
        self.index += 1;
        self.shown.extend(value.val.as_object().map(|(_, number)| number));
    }

    /// Compares an element of a text with values of its own. Only winners are reported.
    fn letter(&mut self, was: &[Visible], is: &[Visible]) {
        match (was.last(), is.last()) {
            (None, None) => {}
            (Some(old), None) => self.take(old),
            (None, Some(new)) => self.give(new),
            (Some(old), Some(new)) if old.id == new.id => match new.val.as_object() {
                // Marks apply to characters only.
                Some((ObjType::Map, _)) => self.index += self.width(new),
                _ => self.stay(self.width(new)),
            },
            (Some(old), Some(new)) if self.state.actors.cmp(old.id, new.id).is_lt() => {
                self.take(old);
                self.give(new);
            }
            (Some(old), Some(new)) => {
                self.give(new);
                self.take(old);
            }
        }
    }

    fn width(&self, value: &Visible) -> usize {
        self.state.rendered(value.val).1 as usize
    }

    fn take(&mut self, value: &Visible) {
        match self.width(value) {
            0 => {}
            width => self.patches.delete(self.index, width),
        }
    }

    fn give(&mut self, value: &Visible) {
        let (text, width) = self.state.rendered(value.val);
        match value.val.as_object() {
            Some((ObjType::Map, number)) => {
                self.patches.insert(self.index, value, false);
                self.index += width as usize;
                self.shown.push(number);
            }
            _ if value.val.code == code::STR && text.is_empty() => {}
            _ => self.splice(text, width as usize),
        }
    }

    /// Reports inserted characters.
    fn splice(&mut self, text: &str, width: usize) {
        let none = MarkSet::default();
        let marks = match &mut self.marks {
            Some(marks) => {
                marks.refresh();
                &marks.now
            }
            None => &none,
        };
        self.patches.splice(self.index, text, width, marks);
        self.index += width;
    }

    /// Reports kept characters if their marks changed.
    fn stay(&mut self, width: usize) {
        let start = self.index;
        self.index += width;
        if let Some(marks) = &mut self.marks {
            marks.refresh();
            for (name, value) in &marks.changed {
                self.patches.mark(name, value, start, self.index);
            }
        }
    }
}
