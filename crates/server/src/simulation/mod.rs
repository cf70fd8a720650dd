//! Simulation of the server: seeded worlds of clients, network and storage, with faults, and invariants after each event.
//!
//! A failure names the seed: `World::new(seed, None).run()` repeats it.

mod client;
mod disk;
mod exchange;
mod hostile;
mod knobs;
mod probes;
mod promise;
mod violation;
mod world;

use std::collections::BTreeSet;

use crate::core::defect::Defect;
use probes::Probes;
use world::World;

/// Names the seed of a world that panics.
struct SeedNote(u64);

impl Drop for SeedNote {
    #[expect(clippy::print_stdout, reason = "the harness shows it with the panic")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}", self.0);
        }
    }
}

/// More worlds are run by hand until the open points of the crate's README are closed.
const WORLDS: u64 = 150;

#[test]
fn no_world_breaks_an_invariant() {
    let (mut reached, mut events) = (BTreeSet::new(), 0);
    for seed in 0..WORLDS {
        let _note = SeedNote(seed);
        let mut world = World::new(seed, None);
        if let Err(violation) = world.run() {
            panic!("{}seed {seed}, event {}: {violation}", world.trace(), world.events);
        }
        world.probes.add_reached(&mut reached);
        events += world.events;
    }
    let missing: Vec<&str> = Probes::names().filter(|name| !reached.contains(name)).collect();
    assert!(missing.is_empty(), "never reached in {events} events: {missing:?}");
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
        (Defect::NoPause, &["rate"], 100),
        (Defect::NoRelease, &["convergence"], 200),
    ] {
        let found =
            (0..most_seeds).find_map(|seed| Some((seed, World::new(seed, Some(defect)).run().err()?)));
        let (seed, violation) = found.unwrap_or_else(|| panic!("{defect:?} is not found"));
        assert!(invariants.contains(&violation.invariant), "{defect:?}, seed {seed}: {violation}");
    }
}
