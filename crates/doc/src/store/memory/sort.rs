//! Sorting by operation ids. Counters are small and dense, so a radix sort beats comparisons.

use crate::types::{ActorIdx, OpId};

/// Bits per digit.
const DIGIT: u32 = 11;

/// Below this length, comparison sort is faster than counting digits.
const FEW: usize = 512;

/// Sorts by actor, then by counter.
pub(in crate::store) fn by_id<T: Copy>(items: &mut Vec<T>, id: impl Fn(&T) -> OpId) {
    if items.len() < FEW {
        return items.sort_unstable_by_key(|item| (id(item).actor, id(item).ctr));
    }
    let sorted = order(items, id).into_iter().map(|at| items[at as usize]).collect();
    *items = sorted;
}

/// Positions of the items in that order.
pub(in crate::store) fn order<T>(items: &[T], id: impl Fn(&T) -> OpId) -> Vec<u64> {
    let most = items
        .iter()
        .map(&id)
        .fold((0, ActorIdx::FIRST), |(ctr, actor), id| (id.ctr.max(ctr), id.actor.max(actor)));
    let (index_bits, low) = (bits(items.len() as u64), bits(most.0.into()));
    let end = index_bits + low + bits(most.1.into());
    if items.len() < FEW || index_bits > u32::BITS || end > u64::BITS {
        let mut order: Vec<u64> = (0..items.len() as u64).collect();
        order.sort_unstable_by_key(|at| {
            let id = id(&items[*at as usize]);
            (id.actor, id.ctr)
        });
        return order;
    }
    // Actor, counter and position in one word: these tables add to the peak memory of a load.
    let word = |(at, item)| (u64::from(id(item).actor) << low | u64::from(id(item).ctr)) << index_bits | at;
    let mut order: Vec<u64> = (0..).zip(items).map(word).collect();
    let mut other = vec![0; order.len()];
    for shift in (index_bits..end).step_by(DIGIT as usize) {
        pass(&order, &mut other, shift);
        std::mem::swap(&mut order, &mut other);
    }
    order.iter_mut().for_each(|word| *word &= (1 << index_bits) - 1);
    order
}

/// Number of bits that a number needs.
fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Distributes by one digit; stable.
fn pass(from: &[u64], to: &mut [u64], shift: u32) {
    let digit = |word: u64| (word >> shift) as usize & ((1 << DIGIT) - 1);
    let mut starts = [0u32; 1 << DIGIT];
    from.iter().for_each(|word| starts[digit(*word)] += 1);
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    for word in from {
        let start = &mut starts[digit(*word)];
        to[*start as usize] = *word;
        *start += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_comparison_sort() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for (len, ctr, actors) in
            [(0, 9, 1), (500, 99, 3), (5000, 30_000, 1), (5000, u32::MAX, 5000), (5000, u32::MAX, u32::MAX)]
        {
            let mut items: Vec<(OpId, u32)> = (0..len)
                .map(|n| (OpId::new(random() % ctr, ActorIdx::from_u32(random() % actors)), n))
                .collect();
            let mut expected = items.clone();
            by_id(&mut items, |item| item.0);
            expected.sort_by_key(|(id, _)| (id.actor, id.ctr));
            let ids = |items: &[(OpId, u32)]| items.iter().map(|item| item.0).collect::<Vec<_>>();
            assert_eq!(ids(&items), ids(&expected));
            items.sort_unstable_by_key(|item| item.1);
            assert!(items.iter().zip(0..).all(|(item, n)| item.1 == n), "every item occurs once");
        }
    }
}
