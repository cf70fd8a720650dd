//! Bulk construction of a sequence from all its spans in list order: every node is written once.

use std::sync::Arc;

use super::edit::merge_spans;
use super::tree::{KIDS, SPANS};
use super::{Child, Inner, Kind, Leaf, LeafRef, Seq, SeqContext, Span};
use crate::store::memory::byte_arena::Bytes;
use crate::store::memory::op_id_map::OpIdMap;
use crate::types::{LeafIdx, NodeIdx, OpId, RegIdx};

/// Builder of a sequence.
pub(crate) struct Builder {
    seq: Seq,
    open: Leaf,
    /// Visible text of the open leaf.
    text: String,
    room: usize,
    index: Vec<(OpId, u32)>,
}

/// The leaf of each span, in list order.
pub(crate) struct Unsorted(Vec<(OpId, u32)>);

impl Unsorted {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn build(self) -> OpIdMap {
        OpIdMap::build(self.0)
    }
}

impl Builder {
    /// An empty sequence.
    pub(crate) fn new(is_text: bool) -> Self {
        let mut seq = Seq::new(is_text);
        seq.leaves.clear();
        // Leaves room for later edits, so that not every leaf splits at once.
        Self { seq, open: Leaf::default(), text: String::new(), room: SPANS - SPANS / 4, index: Vec::new() }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.seq.is_text
    }

    pub(crate) fn regs(&mut self) -> &mut super::CowVec<super::ElemReg, RegIdx> {
        &mut self.seq.regs
    }

    /// Adds the next span; `text` is its visible text.
    pub(crate) fn push(&mut self, span: Span, text: &str) {
        let joined = self.open.spans.last_mut().is_some_and(|last| merge_spans(last, &span));
        if !joined {
            if self.open.spans.len() >= self.room {
                self.close();
            }
            self.open.spans.push(span);
        }
        self.open.width += span.units();
        if self.seq.is_text {
            self.text.push_str(text);
        }
        if !joined {
            self.index.push((span.id, self.seq.leaves.len() as u32));
        }
        self.seq.marks += u32::from(span.kind == Kind::Mark);
    }

    /// Adds a span that may exceed the length limit of spans. Its text is its own if it is visible.
    pub(crate) fn push_run(&mut self, span: Span, ctx: &SeqContext<'_>) {
        let mut rest = span;
        while rest.kind == Kind::Text && rest.bytes as usize > super::tree::SPAN_TEXT && rest.len > 1 {
            let text = ctx.heap.text(Bytes { at: rest.at, len: rest.bytes });
            let mut cut = super::tree::SPAN_TEXT;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let chars = if rest.bytes == rest.len { cut } else { text[..cut].chars().count() };
            let right = rest.split_off(chars as u32, ctx);
            self.push_shown(rest, ctx);
            rest = right;
        }
        self.push_shown(rest, ctx);
    }

    /// Removes the last element.
    pub(crate) fn pop(&mut self, ctx: &SeqContext<'_>) -> Option<Span> {
        let last = self.open.spans.last_mut()?;
        let one = if last.len > 1 { last.split_off(last.len - 1, ctx) } else { *last };
        if one.id == last.id {
            self.open.spans.pop();
            self.index.pop();
        }
        self.text.truncate(self.text.len() - one.shown() as usize);
        self.open.width -= one.units();
        self.seq.marks -= u32::from(one.kind == Kind::Mark);
        Some(one)
    }

    fn push_shown(&mut self, span: Span, ctx: &SeqContext<'_>) {
        let shown = self.seq.is_text && span.kind == Kind::Text && span.visible;
        let text = if shown { ctx.heap.text(Bytes { at: span.at, len: span.bytes }) } else { "" };
        self.push(span, text);
    }

    fn close(&mut self) {
        // Exact capacity: most leaves are never edited.
        let leaf = self.open.clone();
        if self.seq.is_text {
            let _ = leaf.text.set(self.text.as_str().into());
        }
        self.open.width = 0;
        self.open.spans.clear();
        self.text.clear();
        let next = Some(LeafIdx::from_u32(self.seq.leaves.len() as u32 + 1));
        self.seq.width += leaf.width;
        self.seq.leaves.push(LeafRef { leaf: Arc::new(leaf), parent: NodeIdx::default(), next });
    }

    pub(crate) fn finish(self) -> Seq {
        let (mut seq, index) = self.arrange();
        seq.set_index(index.build());
        seq
    }

    /// The sequence without its index, which can be built in parallel.
    pub(crate) fn arrange(mut self) -> (Seq, Unsorted) {
        if !self.open.spans.is_empty() || self.seq.leaves.is_empty() {
            self.close();
        }
        let mut seq = self.seq;
        seq.leaves.last_mut().expect("there is a leaf").next = None;
        seq.inner.clear();
        let mut kids: Vec<Child> = seq
            .leaves
            .iter()
            .zip(0..)
            .map(|(leaf, number)| Child { number, width: leaf.leaf.width })
            .collect();
        let mut bottom = true;
        loop {
            let mut above = vec![];
            for group in kids.chunks(KIDS - KIDS / 4) {
                let number = NodeIdx::from_u32(seq.inner.len() as u32);
                for kid in group {
                    if bottom {
                        seq.leaves[kid.number as usize].parent = number;
                    } else {
                        seq.inner[kid.number as usize].parent = Some(number);
                    }
                }
                seq.inner.push(Inner { parent: None, bottom, kids: group.into() });
                above.push(Child::node(number, group.iter().map(|kid| kid.width).sum()));
            }
            bottom = false;
            kids = above;
            if kids.len() == 1 {
                seq.root = NodeIdx::from_u32(kids[0].number);
                return (seq, Unsorted(self.index));
            }
        }
    }
}
