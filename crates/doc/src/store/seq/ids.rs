//! From the id of an element to the leaf that holds it.

use std::sync::OnceLock;

use super::LeafRef;
use crate::store::memory::op_id_map::OpIdMap;
use crate::types::{LeafIdx, OpId};

/// Finds leaves by the ids of elements.
///
/// Who types needs no ids: leaves divided meanwhile are only noted, and their elements are put in order when somebody
/// looks for one. Who hears what others typed looks all the time: then it is done at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// Right but for the elements of `moved`.
    by_id: OpIdMap,
    /// Leaves whose elements the by_id may look for elsewhere.
    moved: Vec<LeafIdx>,
    /// The by_id in order, made by a reader since the last change.
    settled: OnceLock<OpIdMap>,
    /// Nobody has looked since the last edit by who types here.
    later: bool,
}

impl Ids {
    pub(super) fn new(by_id: OpIdMap) -> Self {
        Self { by_id, ..Self::default() }
    }

    /// The next divided leaves are only noted.
    #[inline]
    pub(super) fn put_off(&mut self) {
        self.later = true;
    }

    /// The leaf in which an element with this id is, if there is one. Costs O(log spans), and once as much as there are
    /// spans in the leaves divided since somebody looked last.
    #[inline]
    pub(super) fn leaf(&self, id: OpId, leaves: &[LeafRef]) -> Option<LeafIdx> {
        let by_id = if self.moved.is_empty() { &self.by_id } else { self.in_order(leaves) };
        by_id.floor(id).map(|(_, leaf)| LeafIdx::of(leaf))
    }

    #[cold]
    fn in_order(&self, leaves: &[LeafRef]) -> &OpIdMap {
        self.settled.get_or_init(|| {
            let mut by_id = self.by_id.clone();
            settle(&mut by_id, &self.moved, leaves);
            by_id
        })
    }

    /// Takes over what a reader put in order.
    #[inline]
    fn adopt(&mut self) {
        if !self.moved.is_empty()
            && let Some(by_id) = self.settled.take()
        {
            self.by_id = by_id;
            self.moved.clear();
            self.later = false;
        }
    }

    /// Puts everything in order; from now on that is done at once.
    pub(super) fn settle(&mut self, leaves: &[LeafRef]) {
        self.adopt();
        if !self.moved.is_empty() {
            settle(&mut self.by_id, &self.moved, leaves);
            self.moved.clear();
        }
        self.later = false;
    }

    /// Forgets the elements of each of these actors from one on: they are in no leaf any more.
    pub(super) fn cut(&mut self, firsts: &[OpId], leaves: &[LeafRef]) {
        self.settle(leaves);
        firsts.iter().for_each(|first| self.by_id.cut(*first));
        self.settled.take();
    }

    /// A new element, or the first of a run of them, is in `leaf`; gives whether it is the newest of its actor here.
    #[inline]
    pub(super) fn push(&mut self, id: OpId, leaf: LeafIdx) -> bool {
        self.adopt();
        self.by_id.push(id, leaf.get())
    }

    /// The elements of a new leaf were moved there from another one.
    pub(super) fn divided(&mut self, leaf: LeafIdx, leaves: &[LeafRef]) {
        self.adopt();
        if self.later {
            self.moved.push(leaf);
        } else {
            assign(&mut self.by_id, leaf, leaves);
        }
    }
}

fn assign(by_id: &mut OpIdMap, leaf: LeafIdx, leaves: &[LeafRef]) {
    for span in &leaves[leaf.place()].leaf.spans {
        by_id.assign(span.id, span.len, leaf.get());
    }
}

/// Makes the by_id right for the elements of leaves that were divided.
fn settle(by_id: &mut OpIdMap, moved: &[LeafIdx], leaves: &[LeafRef]) {
    if moved.len() < leaves.len() / 4 {
        moved.iter().for_each(|leaf| assign(by_id, *leaf, leaves));
        return;
    }
    let mut entries = Vec::new();
    let mut next = Some(LeafIdx::FIRST);
    while let Some(leaf) = next {
        let node = &leaves[leaf.place()];
        entries.extend(node.leaf.spans.iter().map(|span| (span.id, leaf.get())));
        next = node.next;
    }
    *by_id = OpIdMap::build(entries);
}
