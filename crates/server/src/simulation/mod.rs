//! Simulation of the server: seeded worlds of clients, network and storage, with faults, and invariants after each event.
//!
//! A failure names a scenario with few operations: `run(&scenario, None)` repeats it.

mod client;
mod cluster;
mod disk;
mod exchange;
mod hostile;
mod probes;
mod promise;
mod scenario;
mod trace;
mod violation;
mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_testkit::size;

use crate::core::defect::Defect;
use probes::Probes;
use scenario::Scenario;
use violation::Violation;
use world::World;

/// Runs a scenario to its end, or to a violation. A panic is one, too.
fn run(scenario: &Scenario, defect: Option<Defect>) -> (World, Result<(), Violation>) {
    let mut world = World::new(scenario, defect);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    // The panic's message is above in the output.
    let result = result.unwrap_or_else(|_| Err(Violation::new("panic", "the server or a client panicked")));
    (world, result)
}

/// A scenario with fewer operations and faults that breaks the same invariant.
fn reduced(world: &World, scenario: &Scenario, defect: Option<Defect>, violation: &Violation) -> Scenario {
    scenario::reduce(scenario, world.operations, |candidate| {
        run(candidate, defect).1.is_err_and(|found| found.invariant == violation.invariant)
    })
}

/// Explains a violation by the last events of a reduced world.
fn explain(world: &World, scenario: &Scenario, violation: &Violation) -> String {
    let reduced = reduced(world, scenario, None, violation);
    let (least, result) = run(&reduced, None);
    let found = result.expect_err("it breaks the invariant each time");
    let (before, after) = (world.events, least.events);
    let text = least.trace.text();
    format!(
        "{text}seed {}, event {before}: {violation}\nreduced to {after} events: {found}\n{reduced}",
        scenario.seed
    )
}

#[test]
#[expect(clippy::print_stdout, reason = "a record has the numbers")]
fn no_world_breaks_an_invariant() {
    let worlds = size::of(150, 1000);
    let (mut probes, mut events) = (Probes::default(), 0);
    // Presence of a deleted document was sent while the document could not be read after a start.
    let found = [705].into_iter().filter(|seed| *seed >= worlds);
    for seed in (0..worlds).chain(found) {
        let scenario = Scenario::new(seed);
        let (world, result) = run(&scenario, None);
        if let Err(violation) = result {
            panic!("{}", explain(&world, &scenario, &violation));
        }
        probes.add(&world.probes);
        events += world.events;
    }
    println!("{worlds} worlds, {events} events");
    let rare = probes.too_rare(worlds);
    assert!(rare.is_empty(), "too rare in {events} events: {rare:?}");
}

/// The same seed makes the same world, event by event: otherwise a violation could not be repeated.
#[test]
fn worlds_repeat_themselves() {
    let (mut hashes, seeds) = (BTreeSet::new(), size::of(30, 200));
    for seed in 0..seeds {
        let [first, second] = [(); 2].map(|()| run(&Scenario::new(seed), None).0);
        assert_eq!(first.trace.hash(), second.trace.hash(), "seed {seed}");
        hashes.insert(first.trace.hash());
    }
    assert_eq!(hashes.len() as u64, seeds, "other seeds make other worlds");
}

/// Each known mistake is found, by the invariant that it breaks. The worlds are those of the test above, which pass without it.
#[test]
fn known_mistakes_are_found() {
    for (defect, invariants, most_seeds) in [
        (Defect::TellBeforeDurable, &["promise"][..], 20),
        (Defect::UnknownIsDone, &["promise"], 100),
        (Defect::NoReset, &["exchange", "convergence"], 100),
        (Defect::UnboundedQueue, &["memory"], 200),
        (Defect::DeletesUnread, &["promise"], 600),
        (Defect::RightsAtOpenOnly, &["rights"], 100),
        (Defect::DeletesUsed, &["deletion"], 200),
        (Defect::AnswersEarly, &["deletion"], 100),
        (Defect::IgnoresTombstones, &["deletion"], 100),
        (Defect::PurgesEarly, &["deletion", "promise", "panic"], 600),
        (Defect::OpenUntilAnswered, &["rights"], 100),
        (Defect::NoRenewal, &["rights", "convergence"], 100),
        (Defect::NoPause, &["rate"], 100),
        (Defect::NoRelease, &["convergence"], 200),
        (Defect::TrustsMachineClock, &["deletion"], 600),
        (Defect::RestoresInUse, &["promise", "panic", "convergence", "quota", "deletion"], 200),
    ] {
        let found =
            (0..most_seeds).find_map(|seed| Some((seed, run(&Scenario::new(seed), Some(defect)).1.err()?)));
        let (seed, violation) = found.unwrap_or_else(|| panic!("{defect:?} is not found"));
        assert!(invariants.contains(&violation.invariant), "{defect:?}, seed {seed}: {violation}");
    }
}

/// A world with a known mistake needs few operations to show it, and each of those.
#[test]
fn violations_are_reduced() {
    for (defect, most_operations) in [(Defect::TellBeforeDurable, 1), (Defect::NoReset, 5)] {
        let failing = |seed| {
            let scenario = Scenario::new(seed);
            let (world, result) = run(&scenario, Some(defect));
            Some((scenario, world, result.err()?))
        };
        let (scenario, world, violation) = (0..600).find_map(failing).expect("it is found");
        let reduced = reduced(&world, &scenario, Some(defect), &violation);
        let fails = |scenario: &Scenario| {
            let (least, result) = run(scenario, Some(defect));
            result.is_err_and(|found| found.invariant == violation.invariant).then_some(least.events)
        };
        let events = fails(&reduced).expect("it still fails");
        let operations = reduced.operations.clone().expect("a list");
        assert!(operations.len() <= most_operations, "{events} of {} events: {reduced}", world.events);
        for index in 0..operations.len() {
            let mut fewer = reduced.clone();
            fewer.operations.as_mut().expect("a list").remove(index);
            assert_eq!(fails(&fewer), None, "{fewer}");
        }
    }
}
