//! Fuzz target for delivery orders: the accepted changes and the resulting document are equal in every order.

use std::collections::HashSet;

use hashmill_doc::{Change, Document};
use hashmill_testkit::mutate::chunk;

use crate::accepted::{accepted, same};
use crate::deliver::Ledger;
use crate::targets::doc::{LIMITS, within};
use crate::verdict::Verdict;

/// Maximum number of used changes: more of them show no other errors.
const MOST: usize = 10;

/// Maximum number of changes of which every order is tried.
const ALL: usize = 4;

/// An input is a file of changes.
pub fn doc_orders(data: &[u8]) -> Verdict {
    let mut positions = HashSet::new();
    let changes: Vec<Change> = chunk::pieces(data)
        .into_iter()
        .filter_map(|piece| Change::from_bytes_with(piece, &LIMITS).ok())
        // Two writers with one actor: the first change is accepted, so the order matters.
        .filter(|change| positions.insert((change.actor_id().clone(), change.seq())))
        .take(MOST)
        .collect();
    if changes.is_empty() {
        return Verdict::Refused;
    }
    let mut ledger = Ledger::default();
    let mut first: Option<Document> = None;
    let mut batch = within(LIMITS);
    let whole = batch.apply_changes(changes.iter().cloned()).is_ok();
    for order in orders(changes.len()) {
        let mut doc = within(LIMITS);
        // Again, because a change may have been refused for an invalid one that waited.
        for _ in 0..2 {
            order.iter().for_each(|at| ledger.deliver(&mut doc, &changes[*at]));
        }
        if ledger.limited {
            accepted(&doc);
            return Verdict::Refused;
        }
        match &first {
            Some(first) => same(first, &doc),
            None => {
                // Work that exceeds the limits of one call may be within those of several.
                if whole {
                    same(&batch, &doc);
                } else {
                    let nothing = within(LIMITS).stats();
                    assert_eq!(batch.stats(), nothing, "a batch that is refused leaves something");
                }
                accepted(&doc);
                first = Some(doc);
            }
        }
    }
    if first.is_some_and(|doc| !doc.is_empty()) { Verdict::Accepted } else { Verdict::Refused }
}

/// Orders of `count` changes: all if there are few, else forwards, backwards, from the middle, and the last one first.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let forwards: Vec<usize> = (0..count).collect();
    if count < ALL {
        return permutations(&forwards);
    }
    let mut backwards = forwards.clone();
    backwards.reverse();
    let turned = |by: usize| {
        let mut order = forwards.clone();
        order.rotate_right(by);
        order
    };
    vec![forwards.clone(), backwards, turned(1), turned(count / 2)]
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = items.split_first() else { return vec![vec![]] };
    let with =
        |order: Vec<usize>| (0..=order.len()).map(move |at| [&order[..at], &[*first], &order[at..]].concat());
    permutations(rest).into_iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_come_in_every_order() {
        let orders: HashSet<_> = orders(3).into_iter().collect();
        assert_eq!(orders.len(), 6);
        assert!(super::orders(5).iter().all(|order| order.iter().sum::<usize>() == 10));
    }
}
