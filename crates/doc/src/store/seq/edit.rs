//! Changing a sequence: inserting, hiding what was deleted, and giving elements new values.

use std::cmp::Ordering;
use std::sync::Arc;

use super::tree::{SPAN_TEXT, SPANS};
use super::{At, Ctx, ElemReg, Gap, Hot, Kind, Leaf, NONE, Seq, Span};
use crate::store::heap::starts_chunk;
use crate::store::log::stepped;
use crate::types::OpId;

/// What an element shows after a change of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) visible: bool,
    pub(crate) text: &'a str,
    pub(crate) width: u32,
}

impl Seq {
    /// The very front.
    pub(crate) fn front(&self) -> Gap {
        Gap { leaf: 0, span: 0, off: 0 }
    }

    /// Right behind an element.
    #[inline]
    pub(crate) fn behind(&self, at: At) -> Gap {
        if at.off + 1 == self.span(at).len {
            Gap { leaf: at.leaf, span: at.span + 1, off: 0 }
        } else {
            Gap { leaf: at.leaf, span: at.span, off: at.off + 1 }
        }
    }

    /// Where an element with id `id` goes that was inserted after `origin`, behind all concurrent ones that are newer.
    /// Costs one step per span passed over.
    pub(crate) fn place(&self, origin: Option<At>, id: OpId, ctx: &Ctx<'_>) -> Gap {
        let newer = |other: OpId| ctx.actors.cmp(other, id) == Ordering::Greater;
        let mut gap = origin.map_or(self.front(), |at| self.behind(at));
        loop {
            let leaf = &self.leaves[gap.leaf as usize];
            match leaf.leaf.spans.get(gap.span as usize) {
                Some(span) if newer(span.id.plus(gap.off)) => gap = Gap { span: gap.span + 1, off: 0, ..gap },
                Some(_) => return gap,
                None if leaf.next == NONE => return gap,
                None => {
                    let next = Gap { leaf: leaf.next, span: 0, off: 0 };
                    match self.leaves[next.leaf as usize].leaf.spans.first() {
                        Some(span) if newer(span.id) => gap = next,
                        // Staying in this leaf lets a run go on.
                        _ => return gap,
                    }
                }
            }
        }
    }

    /// The span behind a gap, if the gap does not divide one.
    pub(crate) fn span_behind(&self, gap: Gap) -> Option<(At, Gap)> {
        let mut at = At { leaf: gap.leaf, span: gap.span, off: gap.off };
        loop {
            let leaf = &self.leaves[at.leaf as usize];
            if let Some(span) = leaf.leaf.spans.get(at.span as usize) {
                let last = At { off: span.len - 1, ..at };
                return Some((at, self.behind(last)));
            }
            if leaf.next == NONE {
                return None;
            }
            at = At { leaf: leaf.next, span: 0, off: 0 };
        }
    }

    /// Inserts a span that shows `text`. Long texts become several spans.
    #[inline]
    pub(crate) fn insert(&mut self, gap: Gap, span: Span, text: &str, ctx: &Ctx<'_>) {
        if text.len() <= SPAN_TEXT || span.kind != Kind::Text {
            self.insert_one(gap, span, text, ctx);
            return;
        }
        let (mut gap, mut rest, mut text) = (gap, span, text);
        while text.len() > SPAN_TEXT {
            let mut cut = SPAN_TEXT;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let (head, tail) = text.split_at(cut);
            let right = rest.split_off(head.chars().count() as u32, ctx);
            self.insert_one(gap, rest, head, ctx);
            let at = self.find(rest.last()).expect("it was just inserted");
            gap = self.behind(at);
            (rest, text) = (right, tail);
        }
        self.insert_one(gap, rest, text, ctx);
    }

    fn insert_one(&mut self, gap: Gap, span: Span, text: &str, ctx: &Ctx<'_>) {
        let (first, _, bytes) = self.hot.before(gap.leaf, gap.span);
        let leaf = Arc::make_mut(&mut self.leaves[gap.leaf as usize].leaf);
        let at = gap.span as usize;
        let mut joined = false;
        if self.is_text && !text.is_empty() {
            let mut byte = (bytes + leaf.spans[first..at].iter().map(Span::shown).sum::<u32>()) as usize;
            if gap.off > 0 && leaf.spans[at].visible {
                byte += leaf.spans[at].measure(gap.off, ctx).0 as usize;
            }
            leaf.text.insert_str(byte, text);
        }
        leaf.width += span.units();
        if gap.off > 0 {
            let right = leaf.spans[at].split_off(gap.off, ctx);
            leaf.spans.insert(at + 1, right);
            leaf.spans.insert(at + 1, span);
        } else {
            joined = at > 0 && join(&mut leaf.spans[at - 1], &span);
            if !joined {
                leaf.spans.insert(at, span);
            }
        }
        let full = leaf.spans.len() > SPANS || leaf.text.len() > super::tree::TEXT;
        self.index.push(span.id, gap.leaf);
        self.widen(gap.leaf, span.units().into());
        self.marks += u32::from(span.kind == Kind::Mark);
        self.keep_hot(gap.leaf, if joined { gap.span - 1 } else { gap.span });
        if full {
            self.relieve(gap.leaf);
        }
    }

    /// Forgets the place of the last edit when a change of span `span` of a leaf made it wrong.
    #[inline]
    fn keep_hot(&mut self, leaf: u32, span: u32) {
        if self.hot.leaf != leaf {
            self.hot = Hot::default();
        } else if span < self.hot.span {
            (self.hot.span, self.hot.units, self.hot.bytes) = (0, 0, 0);
        }
    }

    /// Makes the elements `off..off + n` of a span one span of their own, changes it, and joins it with neighbours
    /// it now fits. `text` is what it shows from now on, if that changes.
    fn carve(&mut self, at: At, n: u32, ctx: &Ctx<'_>, text: Option<&str>, change: impl FnOnce(&mut Span)) {
        let (first, _, bytes) = self.hot.before(at.leaf, at.span);
        let leaf = Arc::make_mut(&mut self.leaves[at.leaf as usize].leaf);
        let mut i = at.span as usize;
        if at.off > 0 {
            let right = leaf.spans[i].split_off(at.off, ctx);
            i += 1;
            leaf.spans.insert(i, right);
        }
        if n < leaf.spans[i].len {
            let right = leaf.spans[i].split_off(n, ctx);
            leaf.spans.insert(i + 1, right);
        }
        let before = (bytes + leaf.spans[first..i].iter().map(Span::shown).sum::<u32>()) as usize;
        let (shown, units) = (leaf.spans[i].shown() as usize, leaf.spans[i].units());
        change(&mut leaf.spans[i]);
        if let (true, Some(text)) = (self.is_text, text) {
            leaf.text.replace_range(before..before + shown, text);
        }
        let by = i64::from(leaf.spans[i].units()) - i64::from(units);
        leaf.width = (i64::from(leaf.width) + by) as u32;
        if i + 1 < leaf.spans.len() {
            let next = leaf.spans[i + 1];
            if join(&mut leaf.spans[i], &next) {
                leaf.spans.remove(i + 1);
            }
        }
        let mut changed = at.span;
        if i > 0 {
            let span = leaf.spans[i];
            if join(&mut leaf.spans[i - 1], &span) {
                leaf.spans.remove(i);
                changed = at.span.min(i as u32 - 1);
            }
        }
        let full = leaf.spans.len() > SPANS || leaf.text.len() > super::tree::TEXT;
        self.keep_hot(at.leaf, changed);
        self.widen(at.leaf, by);
        if full {
            self.relieve(at.leaf);
        }
    }

    /// Marks `n` elements from `at` on as deleted, the first by `gone`, the others `step` apart. They must be visible and
    /// without a register.
    pub(crate) fn hide(&mut self, at: At, n: u32, gone: OpId, step: i8, ctx: &Ctx<'_>) {
        self.carve(at, n, ctx, Some(""), |span| {
            (span.visible, span.gone, span.step) = (false, gone, step);
        });
    }

    /// Gives an element a register and a span of its own.
    pub(crate) fn own(&mut self, at: At, reg: ElemReg, ctx: &Ctx<'_>) -> At {
        let number = self.regs.len() as u32 + 1;
        self.regs.push(reg);
        let id = self.span(at).id.plus(at.off);
        self.carve(at, 1, ctx, None, |span| span.reg = number);
        self.find(id).expect("the element is still there")
    }

    /// The register of an element that owns one.
    pub(crate) fn reg_mut(&mut self, at: At) -> &mut ElemReg {
        let reg = self.span(at).reg as usize;
        self.regs.get_mut(reg - 1)
    }

    /// Changes what an element with a register shows.
    pub(crate) fn show(&mut self, at: At, shown: Shown<'_>, ctx: &Ctx<'_>) {
        self.carve(at, 1, ctx, Some(shown.text), |span| {
            span.visible = shown.visible;
            span.width = shown.width;
            span.bytes = shown.text.len() as u32;
        });
    }
}

/// Lets `a` swallow `b`, which follows it, when they are one run with one fate.
#[inline]
pub(super) fn join(a: &mut Span, b: &Span) -> bool {
    let run = a.kind == b.kind
        && a.reg == 0
        && b.reg == 0
        && a.visible == b.visible
        && a.id.actor == b.id.actor
        && a.id.ctr + a.len == b.id.ctr
        && b.origin == a.last();
    if !run {
        return false;
    }
    let adjacent = match a.kind {
        Kind::Text => {
            a.at + a.bytes == b.at && !starts_chunk(b.at) && a.bytes as usize + b.bytes as usize <= SPAN_TEXT
        }
        Kind::Values => a.at + a.len == b.at && a.bytes == 0 && b.bytes == 0,
        Kind::Mark => false,
    };
    if !adjacent {
        return false;
    }
    if !a.gone.is_none() || !b.gone.is_none() {
        let Some(step) = common_step(a, b) else { return false };
        a.step = step;
    }
    a.len += b.len;
    a.bytes += b.bytes;
    a.width += b.width;
    true
}

/// The step of the deletions of two spans as one, if there is one.
fn common_step(a: &Span, b: &Span) -> Option<i8> {
    if a.gone.actor != b.gone.actor || a.gone.is_none() || b.gone.is_none() {
        return None;
    }
    let agrees = |span: &Span, step: i8| span.len == 1 || span.step == step;
    [1, -1].into_iter().find(|step| {
        agrees(a, *step)
            && agrees(b, *step)
            && i64::from(a.gone.ctr) + i64::from(*step) * i64::from(a.len) == i64::from(b.gone.ctr)
            && stepped(a.gone, *step, a.len) == b.gone
    })
}

impl Leaf {
    /// Whether it fits the limits.
    pub(super) fn fits(&self) -> bool {
        self.spans.len() <= SPANS && (self.text.len() <= super::tree::TEXT || self.spans.len() <= 1)
    }
}
