//! Fragments: parts of a history with ends that all replicas choose equally, because the hashes of changes determine
//! them.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeBounds;

use crate::codec::limits::{Budget, cost};
use crate::document::Document;
use crate::edit::autocommit::AutoCommit;
use crate::file::load_save::Part;
use crate::store::state::DocumentState;
use crate::types::error::{BundleError, FragmentError, LimitError};
use crate::types::{ChangeHash, ChangeIdx};

/// A change with its ancestors, back to the ends of other fragments.
///
/// Fragments are experimental in the official engine: a later version may divide histories differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Its last change.
    pub head: ChangeHash,
    /// Number of leading zero bytes in the hash of the head. A fragment of level 0 is a single change.
    pub level: usize,
    /// For level 0 the dependencies of the change; otherwise the heads of this level or above among its ancestors,
    /// newest first.
    pub boundary: Vec<ChangeHash>,
    /// Members other than the head whose hash starts with a zero byte.
    pub checkpoints: Vec<ChangeHash>,
    /// Its changes, from the head backwards.
    pub members: Vec<ChangeHash>,
}

impl Document {
    /// The fragments of the given levels in the current history, oldest first. A fragment of a high level replaces all
    /// lower ones among its ancestors. Changes in another order of arrival may have other boundaries.
    ///
    /// Costs O(changes). A boundary may name every earlier fragment, so a long history can exceed the limits of this
    /// document.
    pub fn fragments(&self, levels: impl RangeBounds<usize>) -> Result<Vec<Fragment>, LimitError> {
        let state = self.committed_state();
        let mut pieces = FragmentBuilder::new(&state, Budget::of_call(&self.limits))?;
        let mut all = vec![];
        for index in 0..pieces.ends.len() {
            if levels.contains(&pieces.ends[index].level) {
                all.push(pieces.fragment(index)?);
            }
        }
        if levels.contains(&0) {
            let single = pieces.loose()?;
            all.extend(single.into_iter().rev().map(|row| pieces.single(row)));
        }
        Ok(all)
    }

    /// The fragment that ends with a change, if there is one. Costs as much as [`Self::fragments`], or O(1) for level
    /// 0.
    pub fn get_fragment(&self, head: &ChangeHash) -> Result<Option<Fragment>, LimitError> {
        let state = self.committed_state();
        let Some(row) = state.row(head) else { return Ok(None) };
        if level(head) == 0 {
            return Ok(Some(single(&state, row)));
        }
        let mut pieces = FragmentBuilder::new(&state, Budget::of_call(&self.limits))?;
        let index = pieces.ends.iter().position(|end| end.row == row);
        index.map(|index| pieces.fragment(index)).transpose()
    }

    /// The bytes of a fragment for peers: a change, or a bundle.
    pub fn fragment_bytes(&self, fragment: &Fragment) -> Result<Vec<u8>, BundleError> {
        if level(&fragment.head) == 0 && fragment.members.len() == 1 {
            let change = self.get_change_by_hash(&fragment.head);
            return change.map(|change| change.bytes()).ok_or(BundleError::UnknownHash(fragment.head));
        }
        Ok(self.bundle(fragment.members.iter().copied())?.bytes().to_vec())
    }

    /// Applies fragments, each given as its head and its bytes, in any order. If one is invalid, none is applied.
    pub fn add_fragments<B: AsRef<[u8]>>(
        &mut self,
        fragments: &[(ChangeHash, B)],
    ) -> Result<(), FragmentError> {
        let (mut budget, mut all) = (Budget::of_call(&self.limits), vec![]);
        for (head, bytes) in fragments {
            let head = *head;
            let parts = self.parts(bytes.as_ref(), &mut budget);
            match &mut parts.map_err(|error| FragmentError::Bytes { head, error })?[..] {
                // Each change is after its dependencies: the head, with all others as ancestors, is the last.
                [Part::Changes(changes)] if changes.last().is_some_and(|last| last.hash() == head) => {
                    all.append(changes);
                }
                _ => return Err(FragmentError::Head(head)),
            }
        }
        Ok(self.apply_metered(all, &mut budget).map(drop)?)
    }
}

impl AutoCommit {
    /// As [`Document::fragments`].
    pub fn fragments(&mut self, levels: impl RangeBounds<usize>) -> Result<Vec<Fragment>, LimitError> {
        self.document().fragments(levels)
    }

    /// As [`Document::get_fragment`].
    pub fn get_fragment(&mut self, head: &ChangeHash) -> Result<Option<Fragment>, LimitError> {
        self.document().get_fragment(head)
    }

    /// As [`Document::fragment_bytes`].
    pub fn fragment_bytes(&mut self, fragment: &Fragment) -> Result<Vec<u8>, BundleError> {
        self.document().fragment_bytes(fragment)
    }

    /// As [`Document::add_fragments`].
    pub fn add_fragments<B: AsRef<[u8]>>(
        &mut self,
        fragments: &[(ChangeHash, B)],
    ) -> Result<(), FragmentError> {
        self.document().add_fragments(fragments)
    }
}

fn level(hash: &ChangeHash) -> usize {
    hash.0.iter().take_while(|byte| **byte == 0).count()
}

fn single(state: &DocumentState, row: ChangeIdx) -> Fragment {
    let head = state.hash(row);
    let boundary = state.history.at(row).deps().iter().map(|dep| state.hash(*dep)).collect();
    Fragment { head, level: 0, boundary, checkpoints: vec![], members: vec![head] }
}

/// The last sequence number of each actor among some ancestors, by actor number.
#[derive(Clone, Debug)]
struct ActorSeqs(Vec<u32>);

impl ActorSeqs {
    fn has(&self, state: &DocumentState, row: ChangeIdx) -> bool {
        let change = state.history.at(row);
        change.seq <= self.0[change.run.actor.index()]
    }

    fn add(&mut self, state: &DocumentState, row: ChangeIdx) {
        let change = state.history.at(row);
        let seq = &mut self.0[change.run.actor.index()];
        *seq = change.seq.max(*seq);
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(seq, other)| *seq = (*seq).max(*other));
    }
}

/// Head of a fragment of a level above 0.
struct FragmentHead {
    row: ChangeIdx,
    level: usize,
    boundary: Vec<ChangeIdx>,
}

struct FragmentBuilder<'a> {
    state: &'a DocumentState,
    budget: Budget,
    /// In the order of rows.
    ends: Vec<FragmentHead>,
    /// Ancestors, including themselves, of changes that are heads, or were before a higher one followed.
    pasts: HashMap<ChangeIdx, ActorSeqs>,
    /// Union of all of these.
    covered: ActorSeqs,
    /// For each row, the last walk that visited it.
    visited: Vec<u32>,
    walk: u32,
}

impl<'a> FragmentBuilder<'a> {
    fn new(state: &'a DocumentState, budget: Budget) -> Result<Self, LimitError> {
        let rows = state.history.len();
        let mut pieces = Self {
            state,
            budget,
            ends: vec![],
            pasts: HashMap::new(),
            covered: ActorSeqs(vec![0; state.actors.len()]),
            visited: vec![0; rows as usize],
            walk: 0,
        };
        pieces.budget.spend(rows.into(), cost::GLANCE)?;
        for row in ChangeIdx::each(ChangeIdx::default()..state.history.next()) {
            match level(&state.hash(row)) {
                0 => {}
                level => pieces.end(row, level)?,
            }
        }
        Ok(pieces)
    }

    /// Adds a head.
    fn end(&mut self, row: ChangeIdx, level: usize) -> Result<(), LimitError> {
        let past = self.ancestor_seqs(row)?;
        self.budget.spend(self.ends.len() as u64, cost::GLANCE)?;
        let (state, before) = (self.state, |end: &FragmentHead| past.has(self.state, end.row));
        let boundary: Vec<ChangeIdx> = self
            .ends
            .iter()
            .rev()
            .filter(|end| end.level >= level && before(end))
            .map(|end| end.row)
            .collect();
        // Each becomes a hash in the result.
        self.budget.spend(boundary.len() as u64, cost::STEP)?;
        self.ends.retain(|end| end.level >= level || !past.has(state, end.row));
        self.covered.merge(&past);
        self.ends.push(FragmentHead { row, level, boundary });
        self.pasts.insert(row, past);
        Ok(())
    }

    /// A change and its ancestors.
    fn ancestor_seqs(&mut self, row: ChangeIdx) -> Result<ActorSeqs, LimitError> {
        let state = self.state;
        self.budget.spend(2 * state.actors.len() as u64, cost::GLANCE)?;
        let mut past = ActorSeqs(vec![0; state.actors.len()]);
        // An ancestor set contains all ancestors of its members.
        let mut whole = past.clone();
        self.walk += 1;
        let mut todo = vec![row];
        while let Some(row) = todo.pop() {
            self.budget.spend(1, cost::GLANCE)?;
            if let Some(known) = self.pasts.get(&row) {
                self.budget.spend(known.0.len() as u64, cost::GLANCE)?;
                whole.merge(known);
                continue;
            }
            past.add(state, row);
            for dep in state.history.at(row).deps() {
                if !whole.has(state, dep) && self.is_first_visit(dep) {
                    todo.push(dep);
                }
            }
        }
        past.merge(&whole);
        Ok(past)
    }

    /// Is this the first visit of a row in this walk?
    fn is_first_visit(&mut self, row: ChangeIdx) -> bool {
        let walk = self.walk;
        std::mem::replace(&mut self.visited[row.get() as usize], walk) != walk
    }

    /// Some rows and their ancestors without those in `past`, nearest first.
    fn new_ancestors(
        &mut self,
        rows: Vec<ChangeIdx>,
        past: &ActorSeqs,
    ) -> Result<Vec<ChangeIdx>, LimitError> {
        self.walk += 1;
        let mut todo = VecDeque::from(rows);
        let mut found = vec![];
        while let Some(row) = todo.pop_front() {
            self.budget.spend(1, cost::STEP)?;
            found.push(row);
            for dep in self.state.history.at(row).deps() {
                if !past.has(self.state, dep) && self.is_first_visit(dep) {
                    todo.push_back(dep);
                }
            }
        }
        Ok(found)
    }

    fn fragment(&mut self, index: usize) -> Result<Fragment, LimitError> {
        let FragmentHead { row, level, ref boundary } = self.ends[index];
        let hash = |row: &ChangeIdx| self.state.hash(*row);
        let (head, boundary_hashes) = (hash(&row), boundary.iter().map(hash).collect());
        let mut before = ActorSeqs(vec![0; self.state.actors.len()]);
        self.budget.spend(boundary.len() as u64 * before.0.len() as u64, cost::GLANCE)?;
        boundary.iter().for_each(|end| before.merge(&self.pasts[end]));
        let members = self.new_ancestors(vec![row], &before)?;
        let members: Vec<ChangeHash> = members.iter().map(|row| self.state.hash(*row)).collect();
        let checkpoints = members[1..].iter().copied().filter(|hash| self::level(hash) > 0).collect();
        Ok(Fragment { head, level, boundary: boundary_hashes, checkpoints, members })
    }

    /// The changes that are in no fragment of a higher level, newest first.
    fn loose(&mut self) -> Result<Vec<ChangeIdx>, LimitError> {
        let mut heads: Vec<ChangeIdx> = self.state.history.heads.rows().to_vec();
        heads.sort_by_cached_key(|row| self.state.hash(*row));
        heads.retain(|row| level(&self.state.hash(*row)) == 0);
        let covered = self.covered.clone();
        self.new_ancestors(heads, &covered)
    }

    fn single(&self, row: ChangeIdx) -> Fragment {
        single(self.state, row)
    }
}
