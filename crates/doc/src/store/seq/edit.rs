//! Edits of a sequence: insertion, hiding of deleted elements, and new values of elements.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::tree::{SPAN_TEXT, SPANS};
use super::{EditFinger, ElemReg, ElementPos, InsertPos, Kind, Seq, SeqContext, Span};
use crate::codec::limits::{Budget, cost};
use crate::store::log::stepped;
use crate::store::memory::byte_arena::{Bytes, starts_chunk};
use crate::types::error::LimitError;
use crate::types::{Extent, LeafIdx, OpId, SpanIdx};

/// The visible value of an element after a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VisibleChange {
    pub(crate) visible: bool,
    /// Length of its text in bytes.
    pub(crate) bytes: u32,
    pub(crate) width: u32,
}

impl Seq {
    /// The gap at the front.
    pub(crate) fn front(&self) -> InsertPos {
        InsertPos { leaf: LeafIdx::FIRST, span: SpanIdx::FIRST, off: 0 }
    }

    /// The gap right after an element.
    #[inline]
    pub(crate) fn gap_after(&self, at: ElementPos) -> InsertPos {
        if at.off + 1 == self.span(at).len {
            InsertPos { leaf: at.leaf, span: at.span.plus(1), off: 0 }
        } else {
            InsertPos { leaf: at.leaf, span: at.span, off: at.off + 1 }
        }
    }

    /// Is a gap right after an element?
    pub(crate) fn is_behind(&self, gap: InsertPos, at: ElementPos) -> bool {
        let position = ElementPos { leaf: gap.leaf, span: gap.span, off: gap.off };
        self.before(at, position)
    }

    /// The gap for an element `id` inserted after `origin`: after all newer concurrent insertions there. Costs a glance
    /// per skipped span.
    pub(crate) fn insertion_gap(
        &self,
        origin: Option<ElementPos>,
        id: OpId,
        ctx: &SeqContext<'_>,
        budget: &mut Budget,
    ) -> Result<InsertPos, LimitError> {
        let newer = |other: OpId| ctx.actors.cmp(other, id) == Ordering::Greater;
        let mut gap = origin.map_or(self.front(), |at| self.gap_after(at));
        loop {
            let leaf = &self.leaves[gap.leaf.index()];
            match leaf.leaf.spans.get(gap.span.index()) {
                Some(span) if newer(span.id.plus(gap.off)) => {
                    budget.spend(1, cost::GLANCE)?;
                    gap = InsertPos { span: gap.span.plus(1), off: 0, ..gap };
                }
                Some(_) => return Ok(gap),
                None => match self.leaf_behind(gap.leaf) {
                    Some((leaf, span)) if newer(span.id) => {
                        gap = InsertPos { leaf, span: SpanIdx::FIRST, off: 0 }
                    }
                    // Staying in this leaf lets a run continue.
                    _ => return Ok(gap),
                },
            }
        }
    }

    /// The next leaf that is not empty, and its first span.
    fn leaf_behind(&self, leaf: LeafIdx) -> Option<(LeafIdx, &Span)> {
        let mut next = self.leaves[leaf.index()].next;
        loop {
            let node = &self.leaves[next?.index()];
            if let Some(first) = node.leaf.spans.first() {
                return Some((next?, first));
            }
            next = node.next;
        }
    }

    /// The span after a gap, if the gap is not inside a span.
    pub(crate) fn span_behind(&self, gap: InsertPos) -> Option<(ElementPos, InsertPos)> {
        let mut at = ElementPos { leaf: gap.leaf, span: gap.span, off: gap.off };
        loop {
            let leaf = &self.leaves[at.leaf.index()];
            if let Some(span) = leaf.leaf.spans.get(at.span.index()) {
                let last = ElementPos { off: span.len - 1, ..at };
                return Some((at, self.gap_after(last)));
            }
            at = ElementPos { leaf: leaf.next?, span: SpanIdx::FIRST, off: 0 };
        }
    }

    /// Inserts a span. Long texts become several spans.
    #[inline]
    pub(crate) fn insert(&mut self, gap: InsertPos, span: Span, ctx: &SeqContext<'_>) {
        if span.bytes as usize > SPAN_TEXT && span.kind == Kind::Text {
            self.insert_long(gap, span, ctx);
        } else {
            self.insert_one(gap, span, ctx);
        }
    }

    fn insert_long(&mut self, mut gap: InsertPos, span: Span, ctx: &SeqContext<'_>) {
        let mut text = ctx.heap.text(Bytes { at: span.at, len: span.bytes });
        let mut next = span;
        while !text.is_empty() {
            let mut cut = SPAN_TEXT.min(text.len());
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let (head, tail) = text.split_at(cut);
            let Extent { len, width } = ctx.encoding.measure(head);
            (next.bytes, next.len, next.width) = (cut as u32, len, width);
            self.insert_one(gap, next, ctx);
            let last = next.last();
            gap = self.gap_after(self.find(last).expect("it was just inserted"));
            (next.id, next.origin, next.at) = (last.plus(1), last, next.at + next.bytes);
            text = tail;
        }
    }

    fn insert_one(&mut self, gap: InsertPos, span: Span, ctx: &SeqContext<'_>) {
        let leaf = Arc::make_mut(&mut self.leaves[gap.leaf.index()].leaf);
        leaf.text.take();
        leaf.width += span.units();
        let mut at = gap.span.index();
        if gap.off > 0 {
            let right = leaf.spans[at].split_off(gap.off, ctx);
            at += 1;
            insert_two(&mut leaf.spans, at, [span, right]);
        } else if at > 0 && merge_spans(&mut leaf.spans[at - 1], &span) {
            at -= 1;
        } else {
            leaf.spans.insert(at, span);
        }
        let (full, at) = (leaf.spans.len() > SPANS, SpanIdx::from_u32(at as u32));
        self.touch(span.id.actor, gap.leaf, at);
        let newest = self.ids.push(span.id, gap.leaf);
        self.widen(gap.leaf, span.units().into());
        self.marks += u32::from(span.kind == Kind::Mark);
        self.keep_hot(gap.leaf, gap.span.min(at));
        self.advance_finger(gap.leaf, at, newest);
        if full {
            self.split_leaf(gap.leaf);
        }
    }

    /// Extends the run at the cached position with characters typed before unit `index`, where the run ends. Returns
    /// the element they were inserted after. Does nothing if they are not the next operations or the position differs.
    #[inline]
    pub(crate) fn extend_run(&mut self, index: u32, id: OpId, text: Bytes, extent: Extent) -> Option<OpId> {
        let Extent { len, width } = extent;
        let EditFinger { leaf, base, span, units, newest } = self.hot;
        let run = self.leaves[leaf.index()].leaf.spans.get(span.index()).filter(|_| newest)?;
        let adjacent = run.at + run.bytes == text.at && !starts_chunk(text.at);
        let extends = index == base + units + run.width
            && run.id.plus(run.len) == id
            && (run.kind == Kind::Text && run.visible && run.reg.is_none())
            && (adjacent && (run.bytes + text.len) as usize <= SPAN_TEXT);
        if !extends {
            return None;
        }
        let node = Arc::make_mut(&mut self.leaves[leaf.index()].leaf);
        node.text.take();
        node.width += width;
        let run = &mut node.spans[span.index()];
        let origin = run.last();
        run.len += len;
        run.bytes += text.len;
        run.width += width;
        self.widen(leaf, width.into());
        Some(origin)
    }

    /// Clears the cached position if a change of span `span` of a leaf invalidated it.
    #[inline]
    fn keep_hot(&mut self, leaf: LeafIdx, span: SpanIdx) {
        self.hot.newest = false;
        if self.hot.leaf != leaf {
            self.hot = EditFinger::default();
        } else if span < self.hot.span {
            (self.hot.span, self.hot.units) = (SpanIdx::FIRST, 0);
        }
    }

    /// Moves the cached position forward to a span of the same leaf; `newest` tells whether it is the newest run of its
    /// actor.
    #[inline]
    fn advance_finger(&mut self, leaf: LeafIdx, span: SpanIdx, newest: bool) {
        if self.hot.leaf == leaf {
            let spans = &self.leaves[leaf.index()].leaf.spans[self.hot.span.index()..span.index()];
            self.hot.units += spans.iter().map(Span::units).sum::<u32>();
            (self.hot.span, self.hot.newest) = (span, newest);
        }
    }

    /// Makes the elements `off..off + n` of a span a span of their own, changes it, and merges it with compatible
    /// neighbours.
    pub(super) fn split_span(
        &mut self,
        at: ElementPos,
        n: u32,
        ctx: &SeqContext<'_>,
        change: impl FnOnce(&mut Span),
    ) {
        let leaf = Arc::make_mut(&mut self.leaves[at.leaf.index()].leaf);
        leaf.text.take();
        let i = at.span.index();
        let mut span = leaf.spans[i];
        let left = (at.off > 0).then(|| {
            let rest = span.split_off(at.off, ctx);
            std::mem::replace(&mut span, rest)
        });
        let right = (n < span.len).then(|| span.split_off(n, ctx));
        let units = span.units();
        change(&mut span);
        let by = i64::from(span.units()) - i64::from(units);
        leaf.width = (i64::from(leaf.width) + by) as u32;
        let (mut from, mut to) = (i, i + 1);
        if right.is_none()
            && let Some(next) = leaf.spans.get(to)
            && merge_spans(&mut span, next)
        {
            to += 1;
        }
        if left.is_none() && i > 0 {
            let mut before = leaf.spans[i - 1];
            if merge_spans(&mut before, &span) {
                span = before;
                from -= 1;
            }
        }
        let parted = left.is_some();
        replace(&mut leaf.spans, from..to, left.into_iter().chain([span]).chain(right));
        let full = leaf.spans.len() > SPANS;
        let from = SpanIdx::from_u32(from as u32);
        self.touch(span.id.actor, at.leaf, from.plus(parted.into()));
        self.keep_hot(at.leaf, from);
        self.widen(at.leaf, by);
        if full {
            self.split_leaf(at.leaf);
        }
    }

    /// Marks `n` elements from `at` on as deleted, the first by `gone`, the others `step` apart. They must be visible
    /// and have no register.
    pub(crate) fn hide(&mut self, at: ElementPos, n: u32, gone: OpId, step: i8, ctx: &SeqContext<'_>) {
        let leaf = Arc::make_mut(&mut self.leaves[at.leaf.index()].leaf);
        leaf.text.take();
        let (spans, i) = (&mut leaf.spans, at.span.index());
        let mut span = if at.off > 0 { spans[i].split_off(at.off, ctx) } else { spans[i] };
        let right = (n < span.len).then(|| span.split_off(n, ctx));
        let width = span.width;
        leaf.width -= width;
        (span.visible, span.deleted_by, span.step) = (false, gone, step);
        let actor = span.id.actor;
        let span_pos = match (at.off > 0, right) {
            (true, Some(right)) => {
                insert_two(spans, i + 1, [span, right]);
                i + 1
            }
            (true, None) => {
                match spans.get(i + 1).is_some_and(|next| merge_spans(&mut span, next)) {
                    true => spans[i + 1] = span,
                    false => spans.insert(i + 1, span),
                }
                i + 1
            }
            (false, Some(right)) => {
                spans[i] = right;
                if i > 0 && merge_spans(&mut spans[i - 1], &span) {
                    i - 1
                } else {
                    spans.insert(i, span);
                    i
                }
            }
            (false, None) => {
                let next = spans.get(i + 1).is_some_and(|next| merge_spans(&mut span, next));
                let before = i > 0 && merge_spans(&mut spans[i - 1], &span);
                spans[i] = span;
                match (before, next) {
                    (true, true) => drop(spans.drain(i..i + 2)),
                    (true, false) => drop(spans.remove(i)),
                    (false, true) => drop(spans.remove(i + 1)),
                    (false, false) => {}
                }
                i - usize::from(before)
            }
        };
        let (full, span_pos) = (spans.len() > SPANS, SpanIdx::from_u32(span_pos as u32));
        self.touch(actor, at.leaf, span_pos);
        if self.hot.leaf == at.leaf && self.hot.span == at.span {
            // Hidden spans before it have no units.
            self.hot.span = self.hot.span.min(span_pos);
            self.hot.newest = false;
        } else {
            self.keep_hot(at.leaf, at.span.min(span_pos));
        }
        self.widen(at.leaf, -i64::from(width));
        if full {
            self.split_leaf(at.leaf);
        }
    }

    /// Gives an element a register and a span of its own.
    pub(crate) fn own(&mut self, at: ElementPos, reg: ElemReg, ctx: &SeqContext<'_>) -> ElementPos {
        let number = self.regs.next();
        self.regs.push(reg);
        let id = self.span(at).id.plus(at.off);
        self.split_span(at, 1, ctx, |span| span.reg = Some(number));
        self.find(id).expect("the element is still there")
    }

    /// The register of an element that owns one.
    pub(crate) fn reg_mut(&mut self, at: ElementPos) -> &mut ElemReg {
        let reg = self.span(at).reg.expect("the element owns a register");
        self.regs.get_mut(reg)
    }

    /// Changes the visible value of an element with a register.
    pub(crate) fn show(&mut self, at: ElementPos, shown: VisibleChange, ctx: &SeqContext<'_>) {
        self.split_span(at, 1, ctx, |span| {
            span.visible = shown.visible;
            span.width = shown.width;
            span.bytes = shown.bytes;
        });
    }
}

/// Inserts two spans, moving the later ones once.
#[inline]
fn insert_two(spans: &mut Vec<Span>, at: usize, two: [Span; 2]) {
    let len = spans.len();
    spans.extend_from_slice(&two);
    spans.copy_within(at..len, at + 2);
    spans[at..at + 2].copy_from_slice(&two);
}

/// Replaces spans by one to three others.
#[inline]
pub(super) fn replace(spans: &mut Vec<Span>, old: Range<usize>, new: impl Iterator<Item = Span>) {
    let mut at = old.start;
    for span in new {
        if at < old.end {
            spans[at] = span;
        } else {
            spans.insert(at, span);
        }
        at += 1;
    }
    if at < old.end {
        spans.drain(at..old.end);
    }
}

/// Merges `b` into the span `a` before it, if they form one run in one state.
#[inline]
pub(super) fn merge_spans(a: &mut Span, b: &Span) -> bool {
    let run = a.kind == b.kind
        && a.reg.is_none()
        && b.reg.is_none()
        && a.visible == b.visible
        && a.id.actor == b.id.actor
        // Wrapping: nothing follows the last counter, but its sum would overflow.
        && b.id.ctr.wrapping_sub(a.id.ctr) == a.len
        && b.origin == a.last();
    if !run {
        return false;
    }
    let adjacent = match a.kind {
        Kind::Text => {
            a.at + a.bytes == b.at && !starts_chunk(b.at) && a.bytes as usize + b.bytes as usize <= SPAN_TEXT
        }
        // Only in a list. In a text each value has a span of its own, as wide as its placeholder; an empty string shows
        // nothing.
        Kind::Values => {
            a.at + a.len == b.at && [&*a, b].iter().all(|span| span.bytes == 0 && span.width == span.len)
        }
        Kind::Mark => false,
    };
    if !adjacent {
        return false;
    }
    if !a.deleted_by.is_none() || !b.deleted_by.is_none() {
        let Some(step) = common_step(a, b) else { return false };
        a.step = step;
    }
    a.len += b.len;
    a.bytes += b.bytes;
    a.width += b.width;
    true
}

/// The common step of the deletions of two spans, if there is one.
fn common_step(a: &Span, b: &Span) -> Option<i8> {
    if a.deleted_by.actor != b.deleted_by.actor || a.deleted_by.is_none() || b.deleted_by.is_none() {
        return None;
    }
    let agrees = |span: &Span, step: i8| span.len == 1 || span.step == step;
    [1, -1].into_iter().find(|step| {
        agrees(a, *step)
            && agrees(b, *step)
            && i64::from(a.deleted_by.ctr) + i64::from(*step) * i64::from(a.len)
                == i64::from(b.deleted_by.ctr)
            && stepped(a.deleted_by, *step, a.len) == b.deleted_by
    })
}
