//! B-tree above the leaves: widths, and splits of full nodes.

use std::sync::Arc;

use super::{Child, EditFinger, Inner, Leaf, LeafPath, LeafRef, Seq};
use crate::types::{LeafIdx, NodeIdx, SpanIdx};

/// Maximum number of spans in a leaf.
pub(super) const SPANS: usize = 32;
/// Maximum length in bytes of the text of one span; longer runs become several spans.
pub(crate) const SPAN_TEXT: usize = 1024;
/// Maximum number of children of an inner node.
pub(super) const KIDS: usize = 32;

impl Seq {
    /// Adds to the width of a leaf and of all its ancestors.
    #[inline]
    pub(super) fn widen(&mut self, leaf: LeafIdx, by: i64) {
        if by == 0 {
            return;
        }
        if self.leaf_path.leaf != Some(leaf) {
            self.find_leaf_path(leaf);
        }
        let add = |width: &mut u32| *width = (i64::from(*width) + by) as u32;
        add(&mut self.width);
        for (node, kid) in &self.leaf_path.nodes {
            add(&mut self.inner[node.index()].kids[*kid as usize].width);
        }
    }

    fn find_leaf_path(&mut self, leaf: LeafIdx) {
        self.leaf_path.leaf = Some(leaf);
        self.leaf_path.nodes.clear();
        let (mut kid, mut parent) = (leaf.get(), Some(self.leaves[leaf.index()].parent));
        while let Some(number) = parent {
            let node = &self.inner[number.index()];
            let at = node.kids.iter().position(|slot| slot.number == kid);
            self.leaf_path.nodes.push((number, at.expect("a parent lists its children") as u32));
            (kid, parent) = (number.get(), node.parent);
        }
        self.leaf_path.nodes.reverse();
    }

    /// Moves half of a leaf into a new one after it.
    pub(super) fn split_leaf(&mut self, number: LeafIdx) {
        let right = LeafIdx::from_u32(self.leaves.len() as u32);
        let old = &mut self.leaves[number.index()];
        let last = old.next.is_none();
        let leaf = Arc::make_mut(&mut old.leaf);
        // When appending, leave the left leaf nearly full.
        let keep = if last { SPANS - 4 } else { leaf.spans.len() / 2 };
        let mut spans = Vec::with_capacity(SPANS + 2);
        spans.extend(leaf.spans.drain(keep..));
        let width: u32 = spans.iter().map(|span| span.units()).sum();
        leaf.width -= width;
        leaf.text.take();
        let (parent, next) = (old.parent, old.next.replace(right));
        let (keep_spans, left) = (SpanIdx::from_u32(keep as u32), leaf.width);
        let leaf = Arc::new(Leaf { spans, width, ..Leaf::default() });
        self.leaves.push(LeafRef { leaf, parent, next });
        self.ids.divided(right, &self.leaves);
        for touched in self.touched.iter_mut().filter(|at| at.leaf == number && at.span >= keep_spans) {
            (touched.leaf, touched.span) = (right, touched.span.since(keep_spans));
        }
        self.leaf_path = LeafPath::default();
        self.hot = match self.hot {
            EditFinger { leaf, base, span, units, .. } if leaf == number && span >= keep_spans => {
                EditFinger {
                    leaf: right,
                    base: base + left,
                    span: span.since(keep_spans),
                    units: units - left,
                    newest: false,
                }
            }
            EditFinger { leaf, .. } if leaf == number => self.hot,
            _ => EditFinger::default(),
        };
        self.add_kid(parent, number.get(), Child::leaf(right, width));
    }

    /// Inserts `kid` after its left neighbour, from whose width its own was taken.
    fn add_kid(&mut self, parent: NodeIdx, left: u32, kid: Child) {
        let node = &mut self.inner[parent.index()];
        let at = node.kids.iter().position(|slot| slot.number == left).expect("a parent lists its children");
        node.kids[at].width -= kid.width;
        node.kids.insert(at + 1, kid);
        if node.kids.len() >= KIDS {
            self.split_inner(parent);
        }
    }

    fn split_inner(&mut self, number: NodeIdx) {
        let right = NodeIdx::from_u32(self.inner.len() as u32);
        let node = &mut self.inner[number.index()];
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
            let kids = [Child::node(number, left), Child::node(right, width)].into_iter().collect();
            self.inner.push(Inner { parent: None, bottom: false, kids });
            self.root = root;
            return;
        };
        self.adopt(&new, right);
        self.inner.push(new);
        self.add_kid(parent, number.get(), Child::node(right, width));
    }

    /// Sets the parent of the children of a new node.
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
