//! Invariants of a sequence, checked by tests and fuzzers after every change.

use super::{Kind, Seq, SeqContext, Span};
use crate::store::memory::byte_arena::Bytes;
use crate::types::{LeafIdx, NodeIdx, SpanIdx};

impl Seq {
    /// Panics if the structure is inconsistent. `shown` returns the text of a visible span.
    pub(crate) fn check<'a>(&'a self, ctx: &SeqContext<'_>, shown: impl Fn(&'a Span) -> &'a str) {
        let (mut next, mut width, mut leaves, mut marks) = (Some(LeafIdx::FIRST), 0, 0, 0);
        while let Some(number) = next {
            let (node, leaf) = (&self.leaves[number.index()], number.get());
            assert!(node.leaf.spans.len() <= super::tree::SPANS, "leaf {leaf} is too large");
            let text: String = node.leaf.spans.iter().filter(|span| span.visible).map(&shown).collect();
            if let Some(known) = node.leaf.text.get() {
                assert_eq!(**known, text, "text of leaf {leaf}");
            }
            if self.is_text {
                let bytes: u32 = node.leaf.spans.iter().map(Span::shown).sum();
                assert_eq!(bytes as usize, text.len(), "bytes of leaf {leaf}");
            }
            let units: u32 = node.leaf.spans.iter().map(Span::units).sum();
            assert_eq!(node.leaf.width, units, "width of leaf {leaf}");
            for span in &node.leaf.spans {
                self.check_span(span, ctx);
                marks += u32::from(span.kind == Kind::Mark);
                for n in [0, span.len - 1] {
                    let at = self.find(span.id.plus(n)).expect("every element is found by its id");
                    assert_eq!((at.leaf, at.off), (number, n));
                }
            }
            width += units;
            leaves += 1;
            next = node.next;
        }
        assert_eq!((width, leaves, marks), (self.width, self.leaves.len(), self.marks));
        let root = &self.inner[self.root.index()];
        assert_eq!(root.parent, None);
        assert_eq!(self.check_node(self.root), width);
        let hot = self.hot;
        let leaf = &self.leaves[hot.leaf.index()].leaf;
        if !leaf.spans.is_empty() {
            let start = super::ElementPos { leaf: hot.leaf, span: SpanIdx::FIRST, off: 0 };
            assert_eq!(self.units_before(start, ctx), hot.base as usize, "the kept position is right");
        }
        let before = &leaf.spans[..hot.span.index()];
        assert_eq!(before.iter().map(Span::units).sum::<u32>(), hot.units);
        if hot.newest {
            let next = leaf.spans[hot.span.index()].last().plus(1);
            assert_eq!(self.ids.leaf(next, &self.leaves), Some(hot.leaf));
            assert_eq!(self.find(next), None);
        }
    }

    fn check_span(&self, span: &Span, ctx: &SeqContext<'_>) {
        assert!(span.len > 0);
        if span.reg.is_none() {
            assert_eq!(
                span.measure(span.len, ctx).1,
                if span.kind == Kind::Text { span.width } else { span.len }
            );
        }
        if span.reg.is_some() {
            assert_eq!(span.len, 1);
            assert_eq!(span.visible, !self.reg(span).expect("it exists").values.is_empty());
        } else {
            assert_eq!(span.visible, span.deleted_by.is_none() && span.kind != Kind::Mark);
        }
        if span.kind == Kind::Text && span.reg.is_none() {
            let text = ctx.heap.text(Bytes { at: span.at, len: span.bytes });
            assert_eq!(text.chars().count(), span.len as usize);
        }
    }

    fn check_node(&self, number: NodeIdx) -> u32 {
        let node = &self.inner[number.index()];
        assert!(!node.kids.is_empty() && node.kids.len() < super::tree::KIDS);
        for kid in &node.kids {
            let (parent, width) = if node.bottom {
                let leaf = &self.leaves[kid.number as usize];
                (Some(leaf.parent), leaf.leaf.width)
            } else {
                (self.inner[kid.number as usize].parent, self.check_node(NodeIdx::from_u32(kid.number)))
            };
            assert_eq!((parent, width), (Some(number), kid.width));
        }
        node.kids.iter().map(|kid| kid.width).sum()
    }
}
