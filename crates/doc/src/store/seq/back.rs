//! Taking back what was done to a sequence: elements that were never inserted, and deletions that were never made. Each
//! costs what doing it cost.

use std::sync::Arc;

use super::edit::{merge_spans, replace};
use super::tree::SPANS;
use super::{At, Builder, Ctx, ElemReg, Hot, Kind, Seq, Span};
use crate::types::OpId;

impl Seq {
    /// Takes `n` elements of a span out, from `at` on. A leaf may be left with nothing in it.
    pub(crate) fn take_out(&mut self, at: At, n: u32, ctx: &Ctx<'_>) {
        let leaf = Arc::make_mut(&mut self.leaves[at.leaf.place()].leaf);
        leaf.text.take();
        let i = at.span.place();
        let mut gone = leaf.spans[i];
        let left = (at.off > 0).then(|| {
            let rest = gone.split_off(at.off, ctx);
            std::mem::replace(&mut gone, rest)
        });
        let right = (n < gone.len).then(|| gone.split_off(n, ctx));
        leaf.width -= gone.units();
        // What the elements divided is one run again.
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
        self.hot = Hot::default();
        self.widen(at.leaf, -i64::from(gone.units()));
        if full {
            self.split_leaf(at.leaf);
        }
    }

    /// Makes `n` elements of a span visible again that were hidden together, from `at` on. `shown` says how many bytes they
    /// show and how wide they are, if the span does not.
    pub(crate) fn show_again(&mut self, at: At, n: u32, shown: Option<(u32, u32)>, ctx: &Ctx<'_>) {
        self.split_span(at, n, ctx, |span| {
            (span.visible, span.deleted_by, span.step) = (true, OpId::NONE, 0);
            (span.bytes, span.width) = shown.unwrap_or((span.bytes, span.width));
        });
    }

    /// Gives an element that owns a register back what it had.
    pub(crate) fn set_back(&mut self, at: At, span: Span, reg: ElemReg, ctx: &Ctx<'_>) {
        *self.reg_mut(at) = reg;
        self.split_span(at, 1, ctx, |there| *there = span);
    }

    /// Forgets where the elements are that were taken out: of each actor all from one on.
    pub(crate) fn cut_ids(&mut self, firsts: &[OpId]) {
        self.ids.cut(firsts, &self.leaves);
    }

    /// Whether more leaves were emptied than not.
    pub(crate) fn is_sparse(&self) -> bool {
        self.emptied as usize > self.leaves.len() / 2
    }

    /// The same without empty leaves. `shown` says what a visible span shows.
    pub(crate) fn packed<'a>(&'a self, shown: impl Fn(&'a Span) -> &'a str) -> Self {
        let mut builder = Builder::new(self.is_text);
        *builder.regs() = self.regs.clone();
        for span in self.spans() {
            builder.push(*span, if self.is_text && span.visible { shown(span) } else { "" });
        }
        builder.finish()
    }
}
