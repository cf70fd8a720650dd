//! Who writes in this document. Operations name their actor by a number given in order of arrival; the order of
//! operations compares the actors' bytes, so each number has a rank.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::types::{ActorId, OpId};

/// Tables of at most this many actors are searched one by one.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
struct Table {
    ids: Vec<ActorId>,
    ranks: Vec<u32>,
    numbers: HashMap<ActorId, u32>,
}

/// The table of actors. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actors(Arc<Table>);

impl Actors {
    pub(crate) fn len(&self) -> usize {
        self.0.ids.len()
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
        let table = Arc::make_mut(&mut self.0);
        let number = table.ids.len() as u32;
        table.ids.push(id.clone());
        table.numbers.insert(id.clone(), number);
        let mut order: Vec<u32> = (0..=number).collect();
        order.sort_unstable_by(|a, b| table.ids[*a as usize].cmp(&table.ids[*b as usize]));
        table.ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(number, rank)| table.ranks[*number as usize] = rank);
        number
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
    }
}
