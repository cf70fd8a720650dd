//! Check of the element order of a loaded sequence: applying its changes one by one must give the same order.

use crate::store::actors::Actors;
use crate::types::OpId;
use crate::types::error::OpFault;

/// Insertion path from the head of a sequence to the last element read: each element was inserted after the one before.
/// Elements of one actor with consecutive ids are one entry, with the first id and their number.
#[derive(Debug, Default)]
pub(in crate::store) struct OriginChain(Vec<(OpId, u32)>);

impl OriginChain {
    pub(in crate::store) fn clear(&mut self) {
        self.0.clear();
    }

    /// Advances by `len` elements, the first inserted after `origin`, each other after the one before it.
    ///
    /// Elements inserted after the same element are ordered newest first, each followed by all that was inserted after
    /// it.
    #[inline]
    pub(in crate::store) fn advance(
        &mut self,
        first: OpId,
        len: u32,
        origin: OpId,
        actors: &Actors,
    ) -> Result<(), OpFault> {
        // Most elements were typed after the one before.
        if let Some((id, count)) = self.0.last_mut()
            && id.plus(*count - 1) == origin
        {
            if origin.plus(1) == first {
                *count += len;
            } else {
                self.0.push((first, len));
            }
            return Ok(());
        }
        self.turn(first, len, origin, actors)
    }

    /// As [`Self::advance`], if the path branches off before its end.
    fn turn(&mut self, first: OpId, len: u32, origin: OpId, actors: &Actors) -> Result<(), OpFault> {
        let mut newer = None;
        while let Some((id, count)) = self.0.last_mut() {
            if id.actor == origin.actor && origin.ctr >= id.ctr && origin.ctr - id.ctr < *count {
                let distance = origin.ctr - id.ctr + 1;
                if distance < *count {
                    newer = Some(id.plus(distance));
                    *count = distance;
                }
                break;
            }
            newer = Some(*id);
            self.0.pop();
        }
        let found = origin.is_none() || !self.0.is_empty();
        if !found || newer.is_some_and(|newer| actors.cmp(newer, first).is_lt()) {
            return Err(OpFault::ElementOrder);
        }
        self.0.push((first, len));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ActorId, ActorIdx};

    /// The order of the elements when they are inserted one by one, in the order of their ids.
    fn inserted(elements: &[(OpId, OpId)], actors: &Actors) -> Vec<(OpId, OpId)> {
        let mut list: Vec<(OpId, OpId)> = vec![];
        for (id, origin) in elements {
            let mut at = list.iter().position(|(other, _)| other == origin).map_or(0, |at| at + 1);
            while list.get(at).is_some_and(|(other, _)| actors.cmp(*other, *id).is_gt()) {
                at += 1;
            }
            list.insert(at, (*id, *origin));
        }
        list
    }

    fn accepts(list: &[(OpId, OpId)], actors: &Actors) -> bool {
        let mut chain = OriginChain::default();
        list.iter().all(|(id, origin)| chain.advance(*id, 1, *origin, actors).is_ok())
    }

    #[test]
    fn accepts_only_the_order_that_insertions_give() {
        let mut actors = Actors::default();
        for actor in 0..3 {
            actors.add(&ActorId::from([9 - actor]));
        }
        let mut state = 7u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..2000 {
            // Elements in an order in which they may have arrived.
            let mut elements: Vec<(OpId, OpId)> = vec![];
            for ctr in 1..=1 + random(8) {
                for actor in 0..=random(3) {
                    let earlier: Vec<OpId> =
                        elements.iter().map(|(id, _)| *id).filter(|id| id.ctr < ctr).collect();
                    let origin = match random(earlier.len() as u32 + 1) {
                        0 => OpId::NONE,
                        n => earlier[n as usize - 1],
                    };
                    elements.push((OpId::new(ctr, ActorIdx::from_u32(actor)), origin));
                }
            }
            let list = inserted(&elements, &actors);
            assert!(accepts(&list, &actors), "{list:?}");
            let (a, b) = (random(list.len() as u32) as usize, random(list.len() as u32) as usize);
            let mut other = list.clone();
            other.swap(a, b);
            assert_eq!(accepts(&other, &actors), a == b, "{other:?}");
        }
    }
}
