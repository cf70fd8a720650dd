//! Fragments: a history in pieces that end at the same changes for everybody, because the hashes of these say so.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeBounds;

use crate::autocommit::AutoCommit;
use crate::codec::limits::{Budget, cost};
use crate::document::Document;
use crate::error::{BundleError, FragmentError, LimitError};
use crate::storage::Part;
use crate::store::state::State;
use crate::types::{ChangeHash, ChangeIdx};

/// A change with changes before it, up to where other fragments end.
///
/// The official engine calls fragments an experiment: a later version may divide histories otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The last of its changes.
    pub head: ChangeHash,
    /// How many bytes the hash of its head begins with that are zero. A fragment of level 0 is one change.
    pub level: usize,
    /// Of one change, what it depends on; of others, all heads of this level or a higher one before it, the newest first.
    pub boundary: Vec<ChangeHash>,
    /// Those of its changes, but for the head, whose hash begins with a zero.
    pub checkpoints: Vec<ChangeHash>,
    /// Its changes, from the head back.
    pub members: Vec<ChangeHash>,
}

impl Document {
    /// The fragments of these levels that the history consists of now, the oldest first. A fragment of a high level takes the
    /// place of all lower ones in its past. Changes that come in another order may have other boundaries.
    ///
    /// Costs a look at each change. A boundary may name every fragment before: a long history can be more than the limits of
    /// this document allow.
    pub fn fragments(&self, levels: impl RangeBounds<usize>) -> Result<Vec<Fragment>, LimitError> {
        let state = self.settled();
        let mut pieces = Pieces::of(&state, Budget::of_call(&self.limits))?;
        let mut all = vec![];
        for place in 0..pieces.ends.len() {
            if levels.contains(&pieces.ends[place].level) {
                all.push(pieces.fragment(place)?);
            }
        }
        if levels.contains(&0) {
            let single = pieces.loose()?;
            all.extend(single.into_iter().rev().map(|row| pieces.single(row)));
        }
        Ok(all)
    }

    /// The fragment that ends with a change, if there is one. Costs as [`Self::fragments`], or nothing for level 0.
    pub fn get_fragment(&self, head: &ChangeHash) -> Result<Option<Fragment>, LimitError> {
        let state = self.settled();
        let Some(row) = state.row(head) else { return Ok(None) };
        if level(head) == 0 {
            return Ok(Some(single(&state, row)));
        }
        let mut pieces = Pieces::of(&state, Budget::of_call(&self.limits))?;
        let place = pieces.ends.iter().position(|end| end.row == row);
        place.map(|place| pieces.fragment(place)).transpose()
    }

    /// What of a fragment is sent to others: the bytes of a change, or of a bundle.
    pub fn fragment_bytes(&self, fragment: &Fragment) -> Result<Vec<u8>, BundleError> {
        if level(&fragment.head) == 0 && fragment.members.len() == 1 {
            let change = self.get_change_by_hash(&fragment.head);
            return change.map(|change| change.bytes()).ok_or(BundleError::UnknownHash(fragment.head));
        }
        Ok(self.bundle(fragment.members.iter().copied())?.bytes().to_vec())
    }

    /// Takes fragments, each as its head and its bytes, in any order. Where one is bad, none is taken.
    pub fn add_fragments<B: AsRef<[u8]>>(
        &mut self,
        fragments: &[(ChangeHash, B)],
    ) -> Result<(), FragmentError> {
        let (mut budget, mut all) = (Budget::of_call(&self.limits), vec![]);
        for (head, bytes) in fragments {
            let head = *head;
            let parts = self.parts(bytes.as_ref(), &mut budget);
            match &mut parts.map_err(|error| FragmentError::Bytes { head, error })?[..] {
                // Each is after what it depends on: the head, with all others in its past, is the last.
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

fn single(state: &State, row: ChangeIdx) -> Fragment {
    let head = state.hash(row);
    let boundary = state.history.at(row).deps().iter().map(|dep| state.hash(*dep)).collect();
    Fragment { head, level: 0, boundary, checkpoints: vec![], members: vec![head] }
}

/// The last sequence number of each actor that is in some past, by the numbers of actors.
#[derive(Clone, Debug)]
struct Past(Vec<u32>);

impl Past {
    fn has(&self, state: &State, row: ChangeIdx) -> bool {
        let change = state.history.at(row);
        change.seq <= self.0[change.run.actor.place()]
    }

    fn add(&mut self, state: &State, row: ChangeIdx) {
        let change = state.history.at(row);
        let seq = &mut self.0[change.run.actor.place()];
        *seq = change.seq.max(*seq);
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(seq, other)| *seq = (*seq).max(*other));
    }
}

/// The head of a fragment of a level above 0.
struct End {
    row: ChangeIdx,
    level: usize,
    boundary: Vec<ChangeIdx>,
}

struct Pieces<'a> {
    state: &'a State,
    budget: Budget,
    /// In the order of rows.
    ends: Vec<End>,
    /// What is before changes that are ends, or were before a higher one came, with themselves.
    pasts: HashMap<ChangeIdx, Past>,
    /// All of that.
    covered: Past,
    /// By row, the last walk that came by.
    visited: Vec<u32>,
    walk: u32,
}

impl<'a> Pieces<'a> {
    fn of(state: &'a State, budget: Budget) -> Result<Self, LimitError> {
        let rows = state.history.len();
        let mut pieces = Self {
            state,
            budget,
            ends: vec![],
            pasts: HashMap::new(),
            covered: Past(vec![0; state.actors.len()]),
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

    /// Notes down a head.
    fn end(&mut self, row: ChangeIdx, level: usize) -> Result<(), LimitError> {
        let past = self.past(row)?;
        self.budget.spend(self.ends.len() as u64, cost::GLANCE)?;
        let (state, before) = (self.state, |end: &End| past.has(self.state, end.row));
        let boundary: Vec<ChangeIdx> = self
            .ends
            .iter()
            .rev()
            .filter(|end| end.level >= level && before(end))
            .map(|end| end.row)
            .collect();
        // Each becomes a hash in the answer.
        self.budget.spend(boundary.len() as u64, cost::STEP)?;
        self.ends.retain(|end| end.level >= level || !past.has(state, end.row));
        self.covered.merge(&past);
        self.ends.push(End { row, level, boundary });
        self.pasts.insert(row, past);
        Ok(())
    }

    /// A change and what is before it.
    fn past(&mut self, row: ChangeIdx) -> Result<Past, LimitError> {
        let state = self.state;
        self.budget.spend(2 * state.actors.len() as u64, cost::GLANCE)?;
        let mut past = Past(vec![0; state.actors.len()]);
        // Who is in this has all that was before there, too.
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
                if !whole.has(state, dep) && self.comes_by(dep) {
                    todo.push(dep);
                }
            }
        }
        past.merge(&whole);
        Ok(past)
    }

    /// Whether this walk comes by a row for the first time.
    fn comes_by(&mut self, row: ChangeIdx) -> bool {
        let walk = self.walk;
        std::mem::replace(&mut self.visited[row.get() as usize], walk) != walk
    }

    /// Some rows and what is before them and not in a past, nearest first.
    fn back(&mut self, rows: Vec<ChangeIdx>, past: &Past) -> Result<Vec<ChangeIdx>, LimitError> {
        self.walk += 1;
        let mut todo = VecDeque::from(rows);
        let mut found = vec![];
        while let Some(row) = todo.pop_front() {
            self.budget.spend(1, cost::STEP)?;
            found.push(row);
            for dep in self.state.history.at(row).deps() {
                if !past.has(self.state, dep) && self.comes_by(dep) {
                    todo.push_back(dep);
                }
            }
        }
        Ok(found)
    }

    fn fragment(&mut self, place: usize) -> Result<Fragment, LimitError> {
        let End { row, level, ref boundary } = self.ends[place];
        let hash = |row: &ChangeIdx| self.state.hash(*row);
        let (head, boundary_hashes) = (hash(&row), boundary.iter().map(hash).collect());
        let mut before = Past(vec![0; self.state.actors.len()]);
        self.budget.spend(boundary.len() as u64 * before.0.len() as u64, cost::GLANCE)?;
        boundary.iter().for_each(|end| before.merge(&self.pasts[end]));
        let members = self.back(vec![row], &before)?;
        let members: Vec<ChangeHash> = members.iter().map(|row| self.state.hash(*row)).collect();
        let checkpoints = members[1..].iter().copied().filter(|hash| self::level(hash) > 0).collect();
        Ok(Fragment { head, level, boundary: boundary_hashes, checkpoints, members })
    }

    /// The changes that are in no fragment of a higher level, the newest first.
    fn loose(&mut self) -> Result<Vec<ChangeIdx>, LimitError> {
        let mut heads: Vec<ChangeIdx> = self.state.history.heads.rows().to_vec();
        heads.sort_by_cached_key(|row| self.state.hash(*row));
        heads.retain(|row| level(&self.state.hash(*row)) == 0);
        let covered = self.covered.clone();
        self.back(heads, &covered)
    }

    fn single(&self, row: ChangeIdx) -> Fragment {
        single(self.state, row)
    }
}
