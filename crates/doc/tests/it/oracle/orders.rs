//! Changes delivered in every order: the same ones are applied, and the documents are equal.

use hashmill_doc::Document;
use hashmill_testkit::Rng;
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{Change, History};

use super::compare::{agree, agree_now, deliver, each, give};

/// Are all pairs of actor and sequence number unique? Of duplicates, the one that is ready first is applied.
fn are_named(changes: &[Change]) -> bool {
    let mut names: Vec<_> = changes.iter().map(|change| (&change.actor, change.seq)).collect();
    names.sort();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

/// All permutations of `0..count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for next in 0..count {
        let put = |order: &Vec<usize>| {
            (0..=order.len()).map(|at| [&order[..at], &[next], &order[at..]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(put).collect();
    }
    all
}

/// Delivers the changes in every order, after those of `base`.
fn in_every_order(base: &Document, history: &History, changes: &[Change], when: &str) {
    let mut all = history.clone();
    changes.iter().for_each(|change| all.deliver(change.clone()));
    for order in permutations(changes.len()) {
        let when = format!("{when}, in the order {order:?}");
        let mut doc = base.clone();
        order.iter().for_each(|at| give(&mut doc, &changes[*at]));
        agree_now(&doc, &all, &when);
    }
    let mut doc = base.clone();
    changes.iter().for_each(|change| give(&mut doc, change));
    agree(&mut doc, &all, when);
}

/// A common history, and `count` further changes.
fn small(seed: u64, count: usize, wrong: usize) -> (Document, History, Vec<Change>) {
    let mut forge = Forge::new(seed, History::new());
    let (mut doc, mut history) = (Document::new(), History::new());
    for _ in 0..8 {
        deliver(&mut doc, &mut history, &forge.change(3, 0));
    }
    let changes = (0..count).map(|_| forge.change(3, wrong)).collect();
    (doc, history, changes)
}

#[test]
fn small_sets_of_valid_changes_in_every_order() {
    each(0..12, |seed| {
        let (doc, history, changes) = small(seed, 3 + seed as usize % 3, 0);
        in_every_order(&doc, &history, &changes, "a small set");
    });
    let (doc, history, changes) = small(99, 6, 0);
    in_every_order(&doc, &history, &changes, "six changes");
}

#[test]
fn small_sets_with_invalid_changes_in_every_order() {
    each(0..120, |seed| {
        let (doc, history, changes) = small(seed, 4, 2);
        if are_named(&changes) {
            in_every_order(&doc, &history, &changes, "a small set");
        }
    });
    let (doc, history, changes) = small(1000, 6, 2);
    in_every_order(&doc, &history, &changes, "six changes");
}

#[test]
fn large_sets_in_random_orders() {
    each(0..6, |seed| {
        let wrong = if seed < 2 { 0 } else { 12 };
        let mut forge = Forge::new(seed, History::new());
        let mut changes: Vec<Change> = (0..120).map(|_| forge.change(4, wrong)).collect();
        if !are_named(&changes) {
            return;
        }
        for round in 0..4 {
            let mut doc = Document::new();
            changes.iter().for_each(|change| give(&mut doc, change));
            agree_now(&doc, &forge.history, &format!("round {round}"));
            Rng::new(seed << 8 | round).shuffle(&mut changes);
        }
    });
}

/// Of two changes with one sequence number, oracle and engine apply the same one, in every order.
#[test]
fn two_writers_with_one_actor_id() {
    each(0..60, |seed| {
        let (doc, history, changes) = small(seed, 4, 2);
        for order in permutations(changes.len()) {
            let (mut doc, mut history) = (doc.clone(), history.clone());
            order.iter().for_each(|at| deliver(&mut doc, &mut history, &changes[*at]));
            agree_now(&doc, &history, &format!("in the order {order:?}"));
        }
    });
}
