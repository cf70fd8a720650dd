//! Sorting by ids of operations. Their counters are small and dense, so distributing them by digits beats comparing.

use crate::types::OpId;

/// Bits of a digit.
const DIGIT: u32 = 11;

/// Below this many, comparing is faster than counting digits.
const FEW: usize = 512;

/// Sorts by actor, then by counter.
pub(super) fn by_id<T: Copy>(items: &mut Vec<T>, id: impl Fn(&T) -> OpId) {
    let key = |item: &T| u64::from(id(item).actor) << 32 | u64::from(id(item).ctr);
    if items.len() < FEW || u32::try_from(items.len()).is_err() {
        return items.sort_unstable_by_key(key);
    }
    let (mut order, mut all) = (Vec::with_capacity(items.len()), 0);
    for (item, at) in items.iter().zip(0u32..) {
        let key = key(item);
        all |= key;
        order.push((key, at));
    }
    let mut other = vec![(0, 0); order.len()];
    let mut shift = 0;
    while shift < u64::BITS {
        // The digits between counters and actors are zeros.
        if all >> shift & ((1 << DIGIT) - 1) != 0 {
            pass(&order, &mut other, shift);
            std::mem::swap(&mut order, &mut other);
        }
        shift += DIGIT;
    }
    let sorted = order.iter().map(|(_, at)| items[*at as usize]).collect();
    *items = sorted;
}

/// Distributes by one digit; equal digits stay in order.
fn pass(from: &[(u64, u32)], to: &mut [(u64, u32)], shift: u32) {
    let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
    let mut starts = [0u32; 1 << DIGIT];
    from.iter().for_each(|(key, _)| starts[digit(*key)] += 1);
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    for item in from {
        let start = &mut starts[digit(item.0)];
        to[*start as usize] = *item;
        *start += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_comparing() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for (len, ctr, actors) in [(0, 9, 1), (500, 99, 3), (5000, 30_000, 1), (5000, u32::MAX, 5000)] {
            let mut items: Vec<(OpId, u32)> =
                (0..len).map(|n| (OpId::new(random() % ctr, random() % actors), n)).collect();
            let mut expected = items.clone();
            by_id(&mut items, |item| item.0);
            expected.sort_by_key(|(id, _)| (id.actor, id.ctr));
            let ids = |items: &[(OpId, u32)]| items.iter().map(|item| item.0).collect::<Vec<_>>();
            assert_eq!(ids(&items), ids(&expected));
            items.sort_unstable_by_key(|item| item.1);
            assert!(items.iter().zip(0..).all(|(item, n)| item.1 == n), "every item is there once");
        }
    }
}
