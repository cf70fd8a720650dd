//! Table of the document's actors. Operations refer to an actor by a number, assigned in order of arrival. The order of
//! operations compares the actors' bytes, so each number has a rank.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;

use crate::types::{ActorId, ActorIdx, OpId};

/// Tables of at most this many actors are searched linearly.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
struct Table {
    ids: Vec<ActorId>,
    ranks: Vec<u32>,
    /// Actor numbers by rank.
    order: Vec<ActorIdx>,
    numbers: HashMap<ActorId, ActorIdx>,
    /// Length of the longest actor id.
    longest: usize,
}

impl Table {
    /// Computes the rank of each number.
    fn rank(&mut self) {
        self.ranks.resize(self.ids.len(), 0);
        self.order.iter().zip(0..).for_each(|(number, rank)| self.ranks[number.index()] = rank);
    }
}

/// The table of actors. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actors(Arc<Table>);

impl Actors {
    pub(crate) fn len(&self) -> usize {
        self.0.ids.len()
    }

    /// Number of the next new actor.
    pub(crate) fn next(&self) -> ActorIdx {
        ActorIdx::from_u32(self.len() as u32)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = ActorIdx> + use<> {
        (0..self.len() as u32).map(ActorIdx::from_u32)
    }

    /// Length of the longest actor id.
    pub(crate) fn longest(&self) -> usize {
        self.0.longest
    }

    #[inline]
    pub(crate) fn id(&self, number: ActorIdx) -> &ActorId {
        &self.0.ids[number.index()]
    }

    pub(crate) fn bytes(&self, number: ActorIdx) -> &[u8] {
        self.0.ids[number.index()].as_bytes()
    }

    pub(crate) fn find(&self, id: &ActorId) -> Option<ActorIdx> {
        if self.0.ids.len() <= FEW {
            return (0..)
                .map(ActorIdx::from_u32)
                .zip(&self.0.ids)
                .find(|(_, known)| known.is(id))
                .map(|(number, _)| number);
        }
        self.0.numbers.get(id).copied()
    }

    /// The number of an actor; adds the actor if it is missing.
    pub(crate) fn add(&mut self, id: &ActorId) -> ActorIdx {
        if let Some(number) = self.find(id) {
            return number;
        }
        let number = self.next();
        self.add_all([id]);
        number
    }

    /// Adds the missing actors. Costs one pass over all actors, however many are new.
    pub(crate) fn add_all<'a>(&mut self, ids: impl IntoIterator<Item = &'a ActorId>) {
        let table = Arc::make_mut(&mut self.0);
        let known = table.ids.len();
        for id in ids {
            let number = ActorIdx::from_u32(table.ids.len() as u32);
            if let EntryRef::Vacant(entry) = table.numbers.entry_ref(id) {
                entry.insert(number);
                table.ids.push(id.clone());
                table.longest = table.longest.max(id.as_bytes().len());
            }
        }
        let Table { ids, order, .. } = table;
        let mut new: Vec<ActorIdx> = (known as u32..ids.len() as u32).map(ActorIdx::from_u32).collect();
        new.sort_unstable_by(|a, b| ids[a.index()].cmp(&ids[b.index()]));
        if let [number] = new[..] {
            let at = order.partition_point(|before| ids[before.index()] < ids[number.index()]);
            order.insert(at, number);
        } else {
            // Two ascending runs, which a stable sort merges.
            order.extend(new);
            order.sort_by(|a, b| ids[a.index()].cmp(&ids[b.index()]));
        }
        table.rank();
    }

    /// Adds one actor with an id as long as the longest of `others`, if all ids here are shorter.
    pub(crate) fn add_longest(&mut self, others: &Self) {
        let longest = |id: &&ActorId| id.as_bytes().len() == others.longest();
        if self.longest() < others.longest()
            && let Some(id) = others.0.ids.iter().find(longest)
        {
            self.add(id);
        }
    }

    /// Removes all but the first `len` actors. Costs one pass over all of them.
    pub(crate) fn cut(&mut self, len: usize) {
        if len == self.len() {
            return;
        }
        let table = Arc::make_mut(&mut self.0);
        for id in table.ids.drain(len..) {
            table.numbers.remove(&id);
        }
        table.order.retain(|number| number.index() < len);
        table.longest = table.ids.iter().map(|id| id.as_bytes().len()).max().unwrap_or(0);
        table.rank();
    }

    #[inline]
    pub(crate) fn rank(&self, number: ActorIdx) -> u32 {
        self.0.ranks[number.index()]
    }

    /// The order of operations: counters, then actors bytewise.
    #[inline]
    pub(crate) fn cmp(&self, a: OpId, b: OpId) -> Ordering {
        a.ctr.cmp(&b.ctr).then_with(|| {
            if a.actor == b.actor { Ordering::Equal } else { self.rank(a.actor).cmp(&self.rank(b.actor)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_bytes_not_arrival() {
        let mut actors = Actors::default();
        let late = actors.add(&ActorId::from([9]));
        let early = actors.add(&ActorId::from([1, 2]));
        assert_eq!(actors.add(&ActorId::from([9])), late);
        assert_eq!(actors.cmp(OpId::new(5, late), OpId::new(5, early)), Ordering::Greater);
        assert_eq!(actors.cmp(OpId::new(5, late), OpId::new(6, early)), Ordering::Less);
        // Several at once, one of which is present already.
        let more: Vec<ActorId> = [[7], [9], [1], [8]].map(ActorId::from).to_vec();
        actors.add_all(&more);
        actors.add_all(&[]);
        let mut numbers: Vec<ActorIdx> = (0..5).map(ActorIdx::from_u32).collect();
        numbers.sort_unstable_by_key(|number| actors.rank(*number));
        let bytes: Vec<&[u8]> = numbers.iter().map(|number| actors.bytes(*number)).collect();
        assert_eq!(bytes, [&[1][..], &[1, 2], &[7], &[8], &[9]]);
        assert_eq!(actors.find(&more[3]).map(|number| actors.id(number)), Some(&more[3]));
        // Removes the last ones, then adds one of them again.
        actors.cut(3);
        assert_eq!((actors.len(), actors.longest()), (3, 2));
        assert_eq!(
            [&more[0], &more[2], &more[3]].map(|id| actors.find(id)),
            [Some(ActorIdx::from_u32(2)), None, None]
        );
        assert_eq!(actors.add(&more[2]), ActorIdx::from_u32(3));
        assert_eq!([0, 1, 2, 3].map(|number| actors.rank(ActorIdx::from_u32(number))), [3, 1, 2, 0]);
    }
}
