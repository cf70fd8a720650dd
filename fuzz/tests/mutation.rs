//! A short, deterministic part of the mutation search; `cargo xtask mutate` runs longer ones.

use std::collections::BTreeMap;
use std::panic;
use std::sync::Mutex;
use std::thread;

use hashmill_fuzz::hunt::{self, TARGETS, Tally, Target, run_block, shrink};
use hashmill_testkit::{hex, size};

/// Seed of all inputs.
const SEED: u64 = 20_261_122;

/// Minimum number of inputs of each target. Conversations and orders are many deliveries each.
fn least(target: &Target) -> u64 {
    match target.name {
        "doc_converse" | "doc_orders" => size::of(300, 1_500),
        _ => size::of(2_000, 10_000),
    }
}

/// Messages of the findings, one for each kind.
fn search(target: &Target) -> (Tally, BTreeMap<String, String>) {
    let (mut tally, mut found) = (Tally::default(), BTreeMap::new());
    for number in 0.. {
        tally += run_block(target, SEED, number, &mut |_| {}, &mut |input, finding| {
            found.entry(finding.kind()).or_insert_with(|| {
                let digits = hex::encode(&shrink(target, input, &finding));
                format!(
                    "{}, block {number}: {}\n{}\n{digits}",
                    target.name, finding.location, finding.message
                )
            });
        });
        if tally.executions >= least(target) {
            break;
        }
    }
    (tally, found)
}

#[test]
fn mutated_inputs_are_refused_or_accepted() {
    // Panics are findings while the search runs, and are reported at its end.
    hunt::quietly();
    let (targets, results) = (Mutex::new(TARGETS.iter()), Mutex::new(vec![]));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(target) = { targets.lock().expect("no panic").next() } {
                    let result = search(target);
                    results.lock().expect("no panic").push((target.name, result));
                }
            });
        }
    });
    drop(panic::take_hook());
    let results = results.into_inner().expect("no panic");
    assert_eq!(results.len(), TARGETS.len());
    let mut all = vec![];
    for (name, (tally, found)) in results {
        println!("{name}: {tally:?}");
        // A search that reaches nothing finds nothing.
        assert!(
            tally.accepted * 50 > tally.executions && tally.refused * 50 > tally.executions,
            "{name}: {tally:?}"
        );
        all.extend(found.into_values());
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
fn a_block_is_decided_by_its_number() {
    let inputs = |target: &Target| {
        let mut inputs = vec![];
        run_block(target, 7, 3, &mut |input| inputs.push(input.to_vec()), &mut |_, _| {});
        inputs
    };
    for target in TARGETS.iter().filter(|target| ["doc_load", "doc_change"].contains(&target.name)) {
        assert_eq!(inputs(target), inputs(target), "{}", target.name);
    }
}
