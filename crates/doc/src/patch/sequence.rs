//! What became of a list or a text: its elements in order, each looked at as it was at both moments.

use smallvec::SmallVec;

use super::PatchAction;
use super::list::Patches;
use super::value::{Became, became, winner};
use crate::codec::value::code;
use crate::mark::MarkSet;
use crate::mark::active::Active;
use crate::store::memory::byte_arena::Bytes;
use crate::store::past::{Clock, there};
use crate::store::register::Visible;
use crate::store::seq::{At, Kind, Seq, Span};
use crate::store::state::State;
use crate::types::{ObjIdx, ObjType, OpId, Prop, ScalarValue};

/// The two moments.
#[derive(Clone, Copy)]
pub(super) struct Moments<'a> {
    pub(super) before: &'a Clock,
    pub(super) after: &'a Clock,
    /// It is told, too, that a value has others beside it, or no longer.
    pub(super) conflicts: bool,
}

/// Elements side by side: the first of them, and how many.
type Piece = (At, u32);

/// Goes through a sequence.
pub(super) struct Walk<'a, 'p> {
    state: &'a State,
    seq: &'a Seq,
    moments: Moments<'a>,
    marks: Option<Marks<'a>>,
    /// Where the next element stands after all.
    index: usize,
    patches: &'p mut Patches<'a>,
    /// Objects that are there now and were not, or not seen.
    shown: &'p mut Vec<ObjIdx>,
}

/// What became of characters without marks that lie side by side: they all came, all went, or all stayed.
#[derive(Default)]
struct Plain {
    stayed: usize,
    came: (Vec<u8>, usize),
    gone: usize,
}

impl Plain {
    /// Takes a span of which the first `was` elements were there before and the first `is` after, if it fits in.
    #[inline]
    fn add(&mut self, span: &Span, was: u32, is: u32, state: &State) -> bool {
        let (bytes, width) = (&mut self.came.0, span.width as usize);
        match (was > 0, is > 0) {
            (true, true) if was == span.len && is == span.len && bytes.is_empty() && self.gone == 0 => {
                self.stayed += width;
            }
            (false, true) if is == span.len && self.gone == 0 => {
                match state.heap.get(Bytes { at: span.at, len: span.bytes }) {
                    [byte] => bytes.push(*byte),
                    more => bytes.extend_from_slice(more),
                }
                self.came.1 += width;
            }
            (true, false) if was == span.len && bytes.is_empty() => self.gone += width,
            (false, false) => {}
            _ => return false,
        }
        true
    }

    /// Tells it, what stayed before what came or went.
    fn tell(&mut self, walk: &mut Walk<'_, '_>) {
        walk.index += std::mem::take(&mut self.stayed);
        let (bytes, width) = std::mem::take(&mut self.came);
        if !bytes.is_empty() {
            walk.splice(&String::from_utf8(bytes).expect("text was checked when it came in"), width);
        }
        if self.gone > 0 {
            walk.patches.delete(walk.index, std::mem::take(&mut self.gone));
        }
    }
}

/// The marks that hold at a place.
struct Marks<'a> {
    before: Active<'a>,
    after: Active<'a>,
    /// Those of `after`, and what is other than in `before`: of each name the value now, or null.
    now: MarkSet<'a>,
    changed: Vec<(String, ScalarValue<'a>)>,
    /// Boundaries went by since.
    stale: bool,
}

impl<'a> Marks<'a> {
    fn new(state: &'a State) -> Self {
        let active = || Active::new(state);
        Self { before: active(), after: active(), now: MarkSet::default(), changed: vec![], stale: false }
    }

    /// Finds out what holds here.
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
        state: &'a State,
        seq: &'a Seq,
        moments: Moments<'a>,
        patches: &'p mut Patches<'a>,
        shown: &'p mut Vec<ObjIdx>,
    ) -> Self {
        let marks = (seq.is_text && seq.marks > 0).then(|| Marks::new(state));
        Self { state, seq, moments, marks, index: 0, patches, shown }
    }

    /// Looks at everything.
    pub(super) fn all(mut self) {
        let Moments { before, after, .. } = self.moments;
        let whole = self.seq.is_text && self.marks.is_none() && !before.lacks_some() && !after.lacks_some();
        let mut plain = Plain::default();
        for spans in self.seq.pages() {
            for span in spans {
                if whole && span.kind == Kind::Text && span.reg.is_none() && span.deleted_by.is_none() {
                    // Of what was never deleted the first elements were there, up to some one, and nothing behind.
                    let [was, is] = [before, after].map(|clock| clock.covered(span.id, span.len));
                    if plain.add(span, was, is, self.state) {
                        continue;
                    }
                }
                plain.tell(&mut self);
                self.span(span);
            }
        }
        plain.tell(&mut self);
    }

    /// Looks at those elements that may be different at the two moments or now. There are no marks.
    pub(super) fn some(mut self, touched: &[(OpId, u32)]) {
        let ctx = self.state.ctx();
        // How many units there are less before a place than there are now.
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

    /// Where elements are, in order, each once.
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
        let order = |a: At, b: At| match self.seq.before(a, b) {
            true => std::cmp::Ordering::Less,
            false if a == b => std::cmp::Ordering::Equal,
            false => std::cmp::Ordering::Greater,
        };
        pieces.sort_unstable_by(|(a, _), (b, _)| order(*a, *b));
        let mut once: Vec<Piece> = Vec::with_capacity(pieces.len());
        for (at, len) in pieces {
            let known = once.last().filter(|(last, _)| last.back(last.off) == at.back(at.off));
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
        let Moments { before, after, .. } = self.moments;
        if span.reg.is_some() {
            let was = self.state.element_at(self.seq, span, before);
            let is = self.state.element_at(self.seq, span, after);
            return self.element(&was, &is);
        }
        let (ctx, fate) =
            (self.state.ctx(), |span: &Span, n| (there(span, n, before), there(span, n, after)));
        if !before.lacks_some() && !after.lacks_some() && span.deleted_by.is_none() {
            // Of what was never deleted the first elements were there, up to some one, and nothing behind.
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

    /// Elements without updates that were all there before or not, and are or are not.
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
                let seen = std::slice::from_ref(&value);
                self.letter(if was { seen } else { &[] }, if is { seen } else { &[] });
            }
        }
    }

    /// An element with values of its own.
    fn element(&mut self, was: &[Visible], is: &[Visible]) {
        if self.seq.is_text {
            return self.letter(was, is);
        }
        let index = self.index;
        match became(was, is, self.moments.conflicts) {
            Became::Same => self.index += usize::from(!is.is_empty()),
            Became::Gone => self.patches.delete(index, 1),
            Became::Put(value, conflict) => self.put(winner(was), &value, conflict),
            Became::Grown { by, conflict } => {
                self.patches.grow(Prop::Seq(index), by, conflict);
                self.index += 1;
            }
            Became::Conflict => {
                self.patches.push(PatchAction::Conflict { prop: Prop::Seq(index) });
                self.index += 1;
            }
        }
    }

    /// A value of a list that was not there, in the place of another one or in its own.
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

    /// An element of a text with values of its own. Those who do not win are not told.
    fn letter(&mut self, was: &[Visible], is: &[Visible]) {
        match (was.last(), is.last()) {
            (None, None) => {}
            (Some(old), None) => self.take(old),
            (None, Some(new)) => self.give(new),
            (Some(old), Some(new)) if old.id == new.id => match new.val.as_object() {
                // Marks are for characters.
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

    /// Characters came.
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

    /// Characters stay, but may be marked otherwise.
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
