//! Index from element ids to leaves.

use std::sync::OnceLock;

use super::LeafRef;
use crate::store::memory::op_id_map::OpIdMap;
use crate::types::{LeafIdx, OpId};

/// Finds the leaf of an element by its id.
///
/// Local typing needs no ids: leaves that are split meanwhile are only noted, and indexed at the next lookup. Remote
/// changes look up ids all the time: then the index is updated at once.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafIndex {
    /// Correct except for the elements of `moved`.
    by_id: OpIdMap,
    /// Leaves whose elements `by_id` may place elsewhere.
    moved: Vec<LeafIdx>,
    /// The corrected `by_id`, built by a reader since the last change.
    corrected: OnceLock<OpIdMap>,
    /// No lookup since the last local edit.
    later: bool,
}

impl LeafIndex {
    pub(super) fn new(by_id: OpIdMap) -> Self {
        Self { by_id, ..Self::default() }
    }

    /// Defers indexing: the next split leaves are only noted.
    #[inline]
    pub(super) fn put_off(&mut self) {
        self.later = true;
    }

    /// The leaf of the element with this id, if it exists. Costs O(log spans), and once O(spans in the leaves split
    /// since the last lookup).
    #[inline]
    pub(super) fn leaf(&self, id: OpId, leaves: &[LeafRef]) -> Option<LeafIdx> {
        let by_id = if self.moved.is_empty() { &self.by_id } else { self.in_order(leaves) };
        by_id.floor(id).map(|(_, leaf)| LeafIdx::from_u32(leaf))
    }

    #[cold]
    fn in_order(&self, leaves: &[LeafRef]) -> &OpIdMap {
        self.corrected.get_or_init(|| {
            let mut by_id = self.by_id.clone();
            update(&mut by_id, &self.moved, leaves);
            by_id
        })
    }

    /// Adopts the index that a reader corrected.
    #[inline]
    fn adopt(&mut self) {
        if !self.moved.is_empty()
            && let Some(by_id) = self.corrected.take()
        {
            self.by_id = by_id;
            self.moved.clear();
            self.later = false;
        }
    }

    /// Corrects the index; from now on splits are indexed at once.
    pub(super) fn update(&mut self, leaves: &[LeafRef]) {
        self.adopt();
        if !self.moved.is_empty() {
            update(&mut self.by_id, &self.moved, leaves);
            self.moved.clear();
        }
        self.later = false;
    }

    /// Removes the elements of each of these actors from one id on: they are in no leaf.
    pub(super) fn cut(&mut self, firsts: &[OpId], leaves: &[LeafRef]) {
        self.update(leaves);
        firsts.iter().for_each(|first| self.by_id.cut(*first));
        self.corrected.take();
    }

    /// Registers a new element, or the first of a run, in `leaf`. Returns whether it is the newest of its actor here.
    #[inline]
    pub(super) fn push(&mut self, id: OpId, leaf: LeafIdx) -> bool {
        self.adopt();
        self.by_id.push(id, leaf.get())
    }

    /// Registers a new leaf whose elements were moved from another one.
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
    for span in &leaves[leaf.index()].leaf.spans {
        by_id.assign(span.id, span.len, leaf.get());
    }
}

/// Corrects `by_id` for the elements of leaves that were split.
fn update(by_id: &mut OpIdMap, moved: &[LeafIdx], leaves: &[LeafRef]) {
    if moved.len() < leaves.len() / 4 {
        moved.iter().for_each(|leaf| assign(by_id, *leaf, leaves));
        return;
    }
    let mut entries = Vec::new();
    let mut next = Some(LeafIdx::FIRST);
    while let Some(leaf) = next {
        let node = &leaves[leaf.index()];
        entries.extend(node.leaf.spans.iter().map(|span| (span.id, leaf.get())));
        next = node.next;
    }
    *by_id = OpIdMap::build(entries);
}
