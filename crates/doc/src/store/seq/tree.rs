//! The B-tree above the leaves: widths, and splitting what has grown too large.

use std::sync::Arc;

use super::{Hot, Inner, Kid, Leaf, LeafRef, NONE, Seq, Way};

/// Spans a leaf may hold.
pub(super) const SPANS: usize = 32;
/// Bytes of text in one span; longer runs are several spans.
pub(crate) const SPAN_TEXT: usize = 1024;
/// Kids of an inner node.
pub(super) const KIDS: usize = 32;

impl Seq {
    /// Adds to the width of a leaf and of everything above it.
    #[inline]
    pub(super) fn widen(&mut self, leaf: u32, by: i64) {
        if by == 0 {
            return;
        }
        if self.way.leaf != leaf {
            self.find_way(leaf);
        }
        let add = |width: &mut u32| *width = (i64::from(*width) + by) as u32;
        add(&mut self.width);
        for (node, kid) in &self.way.nodes {
            add(&mut self.inner[*node as usize].kids[*kid as usize].width);
        }
    }

    fn find_way(&mut self, leaf: u32) {
        self.way.leaf = leaf;
        self.way.nodes.clear();
        let (mut kid, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        while parent != NONE {
            let node = &self.inner[parent as usize];
            let at = node.kids.iter().position(|slot| slot.number == kid);
            self.way.nodes.push((parent, at.expect("a parent knows its kids") as u32));
            (kid, parent) = (parent, node.parent);
        }
        self.way.nodes.reverse();
    }

    /// Moves half of a leaf into a new one behind it.
    pub(super) fn split_leaf(&mut self, number: u32) {
        let right = self.leaves.len() as u32;
        let old = &mut self.leaves[number as usize];
        let last = old.next == NONE;
        let leaf = Arc::make_mut(&mut old.leaf);
        // Appending: leave the left one nearly full.
        let keep = if last { SPANS - 4 } else { leaf.spans.len() / 2 };
        let mut spans = Vec::with_capacity(SPANS + 2);
        spans.extend(leaf.spans.drain(keep..));
        let width: u32 = spans.iter().map(|span| span.units()).sum();
        leaf.width -= width;
        leaf.text.take();
        let (parent, next) = (old.parent, std::mem::replace(&mut old.next, right));
        let (kept, left) = (keep as u32, leaf.width);
        let leaf = Arc::new(Leaf { spans, width, ..Leaf::default() });
        self.leaves.push(LeafRef { leaf, parent, next });
        self.ids.divided(right, &self.leaves);
        for touched in self.touched.iter_mut().filter(|at| at.leaf == number && at.span >= kept) {
            (touched.leaf, touched.span) = (right, touched.span - kept);
        }
        self.way = Way::default();
        self.hot = match self.hot {
            Hot { leaf, base, span, units, .. } if leaf == number && span >= kept => {
                Hot { leaf: right, base: base + left, span: span - kept, units: units - left, newest: false }
            }
            Hot { leaf, .. } if leaf == number => self.hot,
            _ => Hot::default(),
        };
        self.add_kid(parent, number, Kid { number: right, width });
    }

    /// Puts `kid` behind its left neighbour, from whose width its own was taken.
    fn add_kid(&mut self, parent: u32, left: u32, kid: Kid) {
        let node = &mut self.inner[parent as usize];
        let at = node.kids.iter().position(|slot| slot.number == left).expect("a parent knows its kids");
        node.kids[at].width -= kid.width;
        node.kids.insert(at + 1, kid);
        if node.kids.len() >= KIDS {
            self.split_inner(parent);
        }
    }

    fn split_inner(&mut self, number: u32) {
        let right = self.inner.len() as u32;
        let node = &mut self.inner[number as usize];
        let kids = node.kids.drain(KIDS / 2..).collect();
        let mut new = Inner { parent: node.parent, bottom: node.bottom, kids };
        let width = new.kids.iter().map(|kid| kid.width).sum();
        if node.parent == NONE {
            let root = right + 1;
            node.parent = root;
            new.parent = root;
            let left: u32 = node.kids.iter().map(|kid| kid.width).sum();
            self.adopt(&new, right);
            self.inner.push(new);
            let kids = [Kid { number, width: left }, Kid { number: right, width }].into_iter().collect();
            self.inner.push(Inner { parent: NONE, bottom: false, kids });
            self.root = root;
            return;
        }
        let parent = new.parent;
        self.adopt(&new, right);
        self.inner.push(new);
        self.add_kid(parent, number, Kid { number: right, width });
    }

    /// Tells the kids of a new node who their parent is.
    fn adopt(&mut self, node: &Inner, number: u32) {
        for kid in &node.kids {
            if node.bottom {
                self.leaves[kid.number as usize].parent = number;
            } else {
                self.inner[kid.number as usize].parent = number;
            }
        }
    }
}
