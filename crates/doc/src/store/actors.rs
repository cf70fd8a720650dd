//! Who writes in this document. Operations name their actor by a number given in order of arrival; the order of
//! operations compares the actors' bytes, so each number has a rank.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;

use crate::types::{ActorId, OpId};

/// Tables of at most this many actors are searched one by one.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
struct Table {
    ids: Vec<ActorId>,
    ranks: Vec<u32>,
    /// The numbers by rank.
    order: Vec<u32>,
    numbers: HashMap<ActorId, u32>,
    /// The length of the longest.
    longest: usize,
}

impl Table {
    /// Gives each number its rank.
    fn rank(&mut self) {
        self.ranks.resize(self.ids.len(), 0);
        self.order.iter().zip(0..).for_each(|(number, rank)| self.ranks[*number as usize] = rank);
    }
}

/// The table of actors. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actors(Arc<Table>);

impl Actors {
    pub(crate) fn len(&self) -> usize {
        self.0.ids.len()
    }

    /// The length of the longest name.
    pub(crate) fn longest(&self) -> usize {
        self.0.longest
    }

    #[inline]
    pub(crate) fn id(&self, number: u32) -> &ActorId {
        &self.0.ids[number as usize]
    }

    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        self.0.ids[number as usize].as_bytes()
    }

    pub(crate) fn find(&self, id: &ActorId) -> Option<u32> {
        if self.0.ids.len() <= FEW {
            return (0..).zip(&self.0.ids).find(|(_, known)| known.is(id)).map(|(number, _)| number);
        }
        self.0.numbers.get(id).copied()
    }

    /// The number of an actor, new if need be.
    pub(crate) fn add(&mut self, id: &ActorId) -> u32 {
        if let Some(number) = self.find(id) {
            return number;
        }
        let number = self.len() as u32;
        self.add_all([id]);
        number
    }

    /// Adds those that are not there yet. Costs a pass over all of them, however many are new.
    pub(crate) fn add_all<'a>(&mut self, ids: impl IntoIterator<Item = &'a ActorId>) {
        let table = Arc::make_mut(&mut self.0);
        let known = table.ids.len();
        for id in ids {
            let number = table.ids.len() as u32;
            if let EntryRef::Vacant(entry) = table.numbers.entry_ref(id) {
                entry.insert(number);
                table.ids.push(id.clone());
                table.longest = table.longest.max(id.as_bytes().len());
            }
        }
        let Table { ids, order, .. } = table;
        let mut new: Vec<u32> = (known as u32..ids.len() as u32).collect();
        new.sort_unstable_by(|a, b| ids[*a as usize].cmp(&ids[*b as usize]));
        if let [number] = new[..] {
            let at = order.partition_point(|before| ids[*before as usize] < ids[number as usize]);
            order.insert(at, number);
        } else {
            // Two ascending runs, which a stable sort merges.
            order.extend(new);
            order.sort_by(|a, b| ids[*a as usize].cmp(&ids[*b as usize]));
        }
        table.rank();
    }

    /// Adds one as long as the longest of `others`, if all are shorter here.
    pub(crate) fn add_longest(&mut self, others: &Self) {
        let longest = |id: &&ActorId| id.as_bytes().len() == others.longest();
        if self.longest() < others.longest()
            && let Some(id) = others.0.ids.iter().find(longest)
        {
            self.add(id);
        }
    }

    /// Forgets all but the first `len`. Costs a pass over all of them.
    pub(crate) fn cut(&mut self, len: usize) {
        if len == self.len() {
            return;
        }
        let table = Arc::make_mut(&mut self.0);
        for id in table.ids.drain(len..) {
            table.numbers.remove(&id);
        }
        table.order.retain(|number| (*number as usize) < len);
        table.longest = table.ids.iter().map(|id| id.as_bytes().len()).max().unwrap_or(0);
        table.rank();
    }

    #[inline]
    pub(crate) fn rank(&self, number: u32) -> u32 {
        self.0.ranks[number as usize]
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
        // Some at once, of which one is there.
        let more: Vec<ActorId> = [[7], [9], [1], [8]].map(ActorId::from).to_vec();
        actors.add_all(&more);
        actors.add_all(&[]);
        let mut numbers: Vec<u32> = (0..5).collect();
        numbers.sort_unstable_by_key(|number| actors.rank(*number));
        let bytes: Vec<&[u8]> = numbers.iter().map(|number| actors.bytes(*number)).collect();
        assert_eq!(bytes, [&[1][..], &[1, 2], &[7], &[8], &[9]]);
        assert_eq!(actors.find(&more[3]).map(|number| actors.id(number)), Some(&more[3]));
        // The last ones go, and one comes again.
        actors.cut(3);
        assert_eq!((actors.len(), actors.longest()), (3, 2));
        assert_eq!([&more[0], &more[2], &more[3]].map(|id| actors.find(id)), [Some(2), None, None]);
        assert_eq!(actors.add(&more[2]), 3);
        assert_eq!([0, 1, 2, 3].map(|number| actors.rank(number)), [3, 1, 2, 0]);
    }
}
