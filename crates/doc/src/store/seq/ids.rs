//! From the id of an element to the leaf that holds it.

use std::sync::OnceLock;

use super::{LeafRef, NONE};
use crate::store::lanes::Lanes;
use crate::types::OpId;

/// Finds leaves by the ids of elements.
///
/// Who types needs no ids: leaves divided meanwhile are only noted, and their elements are put in order when somebody
/// looks for one. Who hears what others typed looks all the time: then it is done at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// Right but for the elements of `moved`.
    lanes: Lanes,
    /// Leaves whose elements the lanes may look for elsewhere.
    moved: Vec<u32>,
    /// The lanes in order, made by a reader since the last change.
    settled: OnceLock<Lanes>,
    /// Nobody has looked since the last edit by who types here.
    later: bool,
}

impl Ids {
    pub(super) fn new(lanes: Lanes) -> Self {
        Self { lanes, ..Self::default() }
    }

    /// The next divided leaves are only noted.
    #[inline]
    pub(super) fn put_off(&mut self) {
        self.later = true;
    }

    /// The leaf in which an element with this id is, if there is one. Costs O(log spans), and once as much as there are
    /// spans in the leaves divided since somebody looked last.
    #[inline]
    pub(super) fn leaf(&self, id: OpId, leaves: &[LeafRef]) -> Option<u32> {
        let lanes = if self.moved.is_empty() { &self.lanes } else { self.in_order(leaves) };
        lanes.floor(id).map(|(_, leaf)| leaf)
    }

    #[cold]
    fn in_order(&self, leaves: &[LeafRef]) -> &Lanes {
        self.settled.get_or_init(|| {
            let mut lanes = self.lanes.clone();
            settle(&mut lanes, &self.moved, leaves);
            lanes
        })
    }

    /// Takes over what a reader put in order.
    #[inline]
    fn adopt(&mut self) {
        if !self.moved.is_empty()
            && let Some(lanes) = self.settled.take()
        {
            self.lanes = lanes;
            self.moved.clear();
            self.later = false;
        }
    }

    /// Puts everything in order; from now on that is done at once.
    pub(super) fn settle(&mut self, leaves: &[LeafRef]) {
        self.adopt();
        if !self.moved.is_empty() {
            settle(&mut self.lanes, &self.moved, leaves);
            self.moved.clear();
        }
        self.later = false;
    }

    /// A new element, or the first of a run of them, is in `leaf`; gives whether it is the newest of its actor here.
    #[inline]
    pub(super) fn push(&mut self, id: OpId, leaf: u32) -> bool {
        self.adopt();
        self.lanes.push(id, leaf)
    }

    /// The elements of a new leaf were moved there from another one.
    pub(super) fn divided(&mut self, leaf: u32, leaves: &[LeafRef]) {
        self.adopt();
        if self.later {
            self.moved.push(leaf);
        } else {
            assign(&mut self.lanes, leaf, leaves);
        }
    }
}

fn assign(lanes: &mut Lanes, leaf: u32, leaves: &[LeafRef]) {
    for span in &leaves[leaf as usize].leaf.spans {
        lanes.assign(span.id, span.len, leaf);
    }
}

/// Makes the lanes right for the elements of leaves that were divided.
fn settle(lanes: &mut Lanes, moved: &[u32], leaves: &[LeafRef]) {
    if moved.len() < leaves.len() / 4 {
        moved.iter().for_each(|leaf| assign(lanes, *leaf, leaves));
        return;
    }
    let mut entries = Vec::new();
    let mut leaf = 0;
    while leaf != NONE {
        let node = &leaves[leaf as usize];
        entries.extend(node.leaf.spans.iter().map(|span| (span.id, leaf)));
        leaf = node.next;
    }
    *lanes = Lanes::build(entries);
}
