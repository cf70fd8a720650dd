//! Map from operation ids to numbers: for each actor a sorted list of counters, each valid up to the next.

use std::sync::Arc;

use crate::types::{ActorIdx, OpId};

const BLOCK: usize = 128;

type Block = Vec<(u32, u32)>;

/// Counters of one actor in sorted blocks. Lookup and insertion cost O(log n) plus a move within one block.
#[derive(Clone, Debug, Default)]
struct ActorIds {
    firsts: Vec<u32>,
    blocks: Vec<Arc<Block>>,
}

impl ActorIds {
    /// The block that holds the last key at or below `ctr`, and the number of its keys at or below `ctr`.
    #[inline]
    fn seek(&self, ctr: u32) -> Option<(usize, usize)> {
        let block = self.firsts.partition_point(|first| *first <= ctr).checked_sub(1)?;
        let keys = self.blocks[block].partition_point(|(key, _)| *key <= ctr);
        Some((block, keys))
    }

    #[inline]
    fn floor(&self, ctr: u32) -> Option<(u32, u32)> {
        let (block, keys) = self.seek(ctr)?;
        Some(self.blocks[block][keys - 1])
    }

    /// The last key whose number is at most `value`, if the numbers ascend with the keys.
    fn last_upto(&self, value: u32) -> Option<(u32, u32)> {
        let at = self.blocks.partition_point(|block| block[0].1 <= value).checked_sub(1)?;
        let keys = self.blocks[at].partition_point(|(_, number)| *number <= value);
        Some(self.blocks[at][keys - 1])
    }

    fn insert(&mut self, ctr: u32, value: u32) {
        let Some((at, keys)) = self.seek(ctr) else {
            match self.blocks.first_mut() {
                None => {
                    self.blocks.push(Arc::new(vec![(ctr, value)]));
                    self.firsts.push(ctr);
                }
                Some(first) => {
                    Arc::make_mut(first).insert(0, (ctr, value));
                    self.firsts[0] = ctr;
                    self.split(0);
                }
            }
            return;
        };
        let block = Arc::make_mut(&mut self.blocks[at]);
        if block[keys - 1].0 == ctr {
            block[keys - 1].1 = value;
            return;
        }
        block.insert(keys, (ctr, value));
        self.split(at);
    }

    fn split(&mut self, at: usize) {
        if self.blocks[at].len() < BLOCK {
            return;
        }
        let block = Arc::make_mut(&mut self.blocks[at]);
        // Counters mostly grow, so a full last block stays full.
        let keep = if at + 1 == self.firsts.len() { BLOCK - 8 } else { BLOCK / 2 };
        let right = block.split_off(keep);
        self.firsts.insert(at + 1, right[0].0);
        self.blocks.insert(at + 1, Arc::new(right));
    }

    /// Sets the value of the keys from `ctr` to before `end`, if that changes no block but the one of `ctr`.
    fn reassign(&mut self, ctr: u32, end: u32, value: u32) -> bool {
        let Some((at, keys)) = self.seek(ctr) else { return false };
        let (key, old) = self.blocks[at][keys - 1];
        let next = match self.blocks[at].get(keys) {
            Some((next, _)) => *next,
            None => self.firsts.get(at + 1).copied().unwrap_or(u32::MAX),
        };
        if next < end {
            return false;
        }
        if old == value {
            return true;
        }
        let block = Arc::make_mut(&mut self.blocks[at]);
        let mut behind = keys;
        if key == ctr {
            block[keys - 1].1 = value;
        } else {
            block.insert(keys, (ctr, value));
            behind += 1;
        }
        if end < next {
            block.insert(behind, (end, old));
        } else if block.get(behind).is_some_and(|(_, after)| *after == value) {
            block.remove(behind);
        }
        if key == ctr && keys > 1 && block[keys - 2].1 == value {
            block.remove(keys - 1);
        }
        self.split(at);
        true
    }

    /// Removes the keys from `from` to `to`, both inclusive.
    fn remove(&mut self, from: u32, to: u32) {
        let mut at = self.firsts.partition_point(|first| *first <= from).saturating_sub(1);
        while at < self.blocks.len() && self.firsts[at] <= to {
            let block = &self.blocks[at];
            let (low, high) = (block.partition_point(|e| e.0 < from), block.partition_point(|e| e.0 <= to));
            if low < high {
                let block = Arc::make_mut(&mut self.blocks[at]);
                block.drain(low..high);
                if block.is_empty() {
                    self.blocks.remove(at);
                    self.firsts.remove(at);
                    continue;
                }
                self.firsts[at] = block[0].0;
            }
            at += 1;
        }
    }
}

/// Map from operation ids to numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpIdMap {
    by_id: Vec<ActorIds>,
}

impl OpIdMap {
    /// The key at or before `id`, and its number.
    #[inline]
    pub(crate) fn floor(&self, id: OpId) -> Option<(u32, u32)> {
        self.by_id.get(id.actor.index())?.floor(id.ctr)
    }

    /// The last key of an actor whose number is at most `value`, and its number, if the actor's numbers ascend.
    pub(in crate::store) fn last_upto(&self, actor: ActorIdx, value: u32) -> Option<(u32, u32)> {
        self.by_id.get(actor.index())?.last_upto(value)
    }

    /// The number of exactly `id`.
    #[inline]
    pub(crate) fn get(&self, id: OpId) -> Option<u32> {
        self.floor(id).filter(|(key, _)| *key == id.ctr).map(|(_, value)| value)
    }

    fn lane(&mut self, actor: ActorIdx) -> &mut ActorIds {
        let actor = actor.index();
        if self.by_id.len() <= actor {
            self.by_id.resize_with(actor + 1, ActorIds::default);
        }
        &mut self.by_id[actor]
    }

    pub(crate) fn insert(&mut self, id: OpId, value: u32) {
        self.lane(id.actor).insert(id.ctr, value);
    }

    /// Removes every key of an actor from `id` on.
    pub(crate) fn cut(&mut self, id: OpId) {
        if let Some(lane) = self.by_id.get_mut(id.actor.index()) {
            lane.remove(id.ctr, u32::MAX);
        }
    }

    /// Sets the number of the operations from `id` on to `value`. No operation of the actor may have a number after
    /// `id`. Returns whether there is no key after it either.
    #[inline]
    pub(crate) fn push(&mut self, id: OpId, value: u32) -> bool {
        let lane = self.lane(id.actor);
        let last = lane.blocks.last().and_then(|block| block.last()).copied();
        let newest = last.is_none_or(|(key, _)| key <= id.ctr);
        if !newest || last.is_none_or(|(_, before)| before != value) {
            lane.insert(id.ctr, value);
        }
        newest
    }

    /// Builds a map from these operations, each valid up to the next.
    pub(crate) fn build(mut entries: Vec<(OpId, u32)>) -> Self {
        crate::store::memory::sort::by_id(&mut entries, |(id, _)| *id);
        let mut by_id = Self::default();
        for entries in entries.chunk_by(|a, b| a.0.actor == b.0.actor) {
            let lane = by_id.lane(entries[0].0.actor);
            let mut before = None;
            let mut keys = entries
                .iter()
                .filter(|(_, value)| before.replace(*value) != Some(*value))
                .map(|(id, value)| (id.ctr, *value))
                .peekable();
            while let Some(first) = keys.peek() {
                lane.firsts.push(first.0);
                lane.blocks.push(Arc::new(keys.by_ref().take(BLOCK / 4 * 3).collect()));
            }
        }
        by_id
    }

    /// Sets the number of `len` operations from `id` on to `value`; those after them keep theirs.
    pub(crate) fn assign(&mut self, id: OpId, len: u32, value: u32) {
        let lane = self.lane(id.actor);
        let end = id.ctr.checked_add(len);
        if end.is_some_and(|end| lane.reassign(id.ctr, end, value)) {
            return;
        }
        let after = end.and_then(|end| lane.floor(end)).map(|(_, value)| value);
        let before = id.ctr.checked_sub(1).and_then(|ctr| lane.floor(ctr)).map(|(_, value)| value);
        lane.remove(id.ctr, end.unwrap_or(u32::MAX));
        if before != Some(value) {
            lane.insert(id.ctr, value);
        }
        if let (Some(end), Some(after)) = (end, after)
            && after != value
        {
            lane.insert(end, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_an_array() {
        let mut by_id = OpIdMap::default();
        let mut array = [None; 2000];
        let mut state = 7u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..3000 {
            let (from, value) = (random(1900), random(9));
            let len = 1 + random(60);
            by_id.assign(OpId::new(from, ActorIdx::from_u32(1)), len, value);
            array[from as usize..(from + len) as usize].fill(Some(value));
        }
        // Beyond the assigned ranges the map may return anything: callers check that the operation exists.
        for (ctr, expected) in array.iter().enumerate().filter(|(_, value)| value.is_some()) {
            assert_eq!(
                by_id.floor(OpId::new(ctr as u32, ActorIdx::from_u32(1))).map(|(_, value)| value),
                *expected,
                "{ctr}"
            );
        }
    }
}
