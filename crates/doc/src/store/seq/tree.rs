//! The B-tree above the leaves: widths, and splitting what has grown too large.

use std::sync::Arc;

use super::{Hot, Inner, Kid, Leaf, LeafRef, Seq, Way};
use crate::types::{LeafIdx, NodeIdx, SpanIdx};

/// Spans a leaf may hold.
pub(super) const SPANS: usize = 32;
/// Bytes of text in one span; longer runs are several spans.
pub(crate) const SPAN_TEXT: usize = 1024;
/// Kids of an inner node.
pub(super) const KIDS: usize = 32;

impl Seq {
    /// Adds to the width of a leaf and of everything above it.
    #[inline]
    pub(super) fn widen(&mut self, leaf: LeafIdx, by: i64) {
        if by == 0 {
            return;
        }
        if self.way.leaf != Some(leaf) {
            self.find_way(leaf);
        }
        let add = |width: &mut u32| *width = (i64::from(*width) + by) as u32;
        add(&mut self.width);
        for (node, kid) in &self.way.nodes {
            add(&mut self.inner[node.place()].kids[*kid as usize].width);
        }
    }

    fn find_way(&mut self, leaf: LeafIdx) {
        self.way.leaf = Some(leaf);
        self.way.nodes.clear();
        let (mut kid, mut parent) = (leaf.get(), Some(self.leaves[leaf.place()].parent));
        while let Some(number) = parent {
            let node = &self.inner[number.place()];
            let at = node.kids.iter().position(|slot| slot.number == kid);
            self.way.nodes.push((number, at.expect("a parent knows its kids") as u32));
            (kid, parent) = (number.get(), node.parent);
        }
        self.way.nodes.reverse();
    }

    /// Moves half of a leaf into a new one behind it.
    pub(super) fn split_leaf(&mut self, number: LeafIdx) {
        let right = LeafIdx::of(self.leaves.len() as u32);
        let old = &mut self.leaves[number.place()];
        let last = old.next.is_none();
        let leaf = Arc::make_mut(&mut old.leaf);
        // Appending: leave the left one nearly full.
        let keep = if last { SPANS - 4 } else { leaf.spans.len() / 2 };
        let mut spans = Vec::with_capacity(SPANS + 2);
        spans.extend(leaf.spans.drain(keep..));
        let width: u32 = spans.iter().map(|span| span.units()).sum();
        leaf.width -= width;
        leaf.text.take();
        let (parent, next) = (old.parent, old.next.replace(right));
        let (kept, left) = (SpanIdx::of(keep as u32), leaf.width);
        let leaf = Arc::new(Leaf { spans, width, ..Leaf::default() });
        self.leaves.push(LeafRef { leaf, parent, next });
        self.ids.divided(right, &self.leaves);
        for touched in self.touched.iter_mut().filter(|at| at.leaf == number && at.span >= kept) {
            (touched.leaf, touched.span) = (right, touched.span.since(kept));
        }
        self.way = Way::default();
        self.hot = match self.hot {
            Hot { leaf, base, span, units, .. } if leaf == number && span >= kept => Hot {
                leaf: right,
                base: base + left,
                span: span.since(kept),
                units: units - left,
                newest: false,
            },
            Hot { leaf, .. } if leaf == number => self.hot,
            _ => Hot::default(),
        };
        self.add_kid(parent, number.get(), Kid::leaf(right, width));
    }

    /// Puts `kid` behind its left neighbour, from whose width its own was taken.
    fn add_kid(&mut self, parent: NodeIdx, left: u32, kid: Kid) {
        let node = &mut self.inner[parent.place()];
        let at = node.kids.iter().position(|slot| slot.number == left).expect("a parent knows its kids");
        node.kids[at].width -= kid.width;
        node.kids.insert(at + 1, kid);
        if node.kids.len() >= KIDS {
            self.split_inner(parent);
        }
    }

    fn split_inner(&mut self, number: NodeIdx) {
        let right = NodeIdx::of(self.inner.len() as u32);
        let node = &mut self.inner[number.place()];
        let kids = node.kids.drain(KIDS / 2..).collect();
        let mut new = Inner { parent: node.parent, bottom: node.bottom, kids };
        let width = new.kids.iter().map(|kid| kid.width).sum();
        let Some(parent) = node.parent else {
            let root = right.plus(1);
            node.parent = Some(root);
            new.parent = Some(root);
            let left: u32 = node.kids.iter().map(|kid| kid.width).sum();
            self.adopt(&new, right);
            self.inner.push(new);
            let kids = [Kid::node(number, left), Kid::node(right, width)].into_iter().collect();
            self.inner.push(Inner { parent: None, bottom: false, kids });
            self.root = root;
            return;
        };
        self.adopt(&new, right);
        self.inner.push(new);
        self.add_kid(parent, number.get(), Kid::node(right, width));
    }

    /// Tells the kids of a new node who their parent is.
    fn adopt(&mut self, node: &Inner, number: NodeIdx) {
        for kid in &node.kids {
            if node.bottom {
                self.leaves[kid.number as usize].parent = number;
            } else {
                self.inner[kid.number as usize].parent = Some(number);
            }
        }
    }
}
