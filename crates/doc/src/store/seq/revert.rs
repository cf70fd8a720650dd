//! Revert of sequence edits: removal of inserted elements, and undeletion. Each costs as much as the edit itself.

use std::sync::Arc;

use super::build::Builder;
use super::edit::{merge_spans, replace};
use super::tree::SPANS;
use super::{EditFinger, ElemReg, ElementPos, Kind, Seq, SeqContext, Span};
use crate::types::OpId;

impl Seq {
    /// Removes `n` elements of a span, from `at` on. May leave an empty leaf.
    pub(crate) fn take_out(&mut self, at: ElementPos, n: u32, ctx: &SeqContext<'_>) {
        let leaf = Arc::make_mut(&mut self.leaves[at.leaf.index()].leaf);
        leaf.text.take();
        let i = at.span.index();
        let mut gone = leaf.spans[i];
        let left = (at.off > 0).then(|| {
            let rest = gone.split_off(at.off, ctx);
            std::mem::replace(&mut gone, rest)
        });
        let right = (n < gone.len).then(|| gone.split_off(n, ctx));
        leaf.width -= gone.units();
        // The parts around the elements may be one run again.
        let behind = i + usize::from(left.is_some());
        replace(&mut leaf.spans, i..i + 1, left.into_iter().chain(right));
        if behind > 0
            && let Some(after) = leaf.spans.get(behind).copied()
            && merge_spans(&mut leaf.spans[behind - 1], &after)
        {
            leaf.spans.remove(behind);
        }
        let full = leaf.spans.len() > SPANS;
        self.emptied += u32::from(leaf.spans.is_empty());
        self.marks -= u32::from(gone.kind == Kind::Mark);
        self.hot = EditFinger::default();
        self.widen(at.leaf, -i64::from(gone.units()));
        if full {
            self.split_leaf(at.leaf);
        }
    }

    /// Shows `n` elements again that were hidden together, from `at` on. `shown` gives the length in bytes and the
    /// width of their text, if the span does not.
    pub(crate) fn show_again(
        &mut self,
        at: ElementPos,
        n: u32,
        shown: Option<(u32, u32)>,
        ctx: &SeqContext<'_>,
    ) {
        self.split_span(at, n, ctx, |span| {
            (span.visible, span.deleted_by, span.step) = (true, OpId::NONE, 0);
            (span.bytes, span.width) = shown.unwrap_or((span.bytes, span.width));
        });
    }

    /// Restores an element that owns a register.
    pub(crate) fn set_back(&mut self, at: ElementPos, span: Span, reg: ElemReg, ctx: &SeqContext<'_>) {
        *self.reg_mut(at) = reg;
        self.split_span(at, 1, ctx, |there| *there = span);
    }

    /// Removes the index entries of removed elements: for each actor all from one id on.
    pub(crate) fn cut_ids(&mut self, firsts: &[OpId]) {
        self.ids.cut(firsts, &self.leaves);
    }

    /// Are more leaves empty than not?
    pub(crate) fn is_sparse(&self) -> bool {
        self.emptied as usize > self.leaves.len() / 2
    }

    /// A copy without empty leaves. `shown` returns the text of a visible span.
    pub(crate) fn packed<'a>(&'a self, shown: impl Fn(&'a Span) -> &'a str) -> Self {
        let mut builder = Builder::new(self.is_text);
        *builder.regs() = self.regs.clone();
        for span in self.spans() {
            builder.push(*span, if self.is_text && span.visible { shown(span) } else { "" });
        }
        builder.finish()
    }
}
