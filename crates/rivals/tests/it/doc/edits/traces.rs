//! Recordings of real typing, and the testkit's generated one, on Hashmill's engine: the final text must be right in one transaction
//! and in one per edit, with files of the official crate and vice versa, and in any order of delivery.

use hashmill_rivals::engines::official::Official;
use hashmill_rivals::recording::{Commits, Recording, TYPIST};
use hashmill_testkit::{Rng, skip};
use hashmill_workloads::doc::{Hashmill, Shared as _, Texts};

/// The recording, or `None` after a line with the reason of the skip.
fn recording(name: &str, commits: Commits) -> Option<Recording> {
    let recording = match name {
        TYPIST => Recording::read(name, 2_000, commits),
        _ => Recording::read_all(name, commits),
    };
    recording.map_err(|error| skip(&format!("typing {name}"), &error.to_string())).ok()
}

#[test]
fn recordings_end_with_their_text() {
    for name in [TYPIST, "automerge-paper", "rustcode", "sveltecomponent", "friendsforever_flat"] {
        for commits in [Commits::One, Commits::Each] {
            let Some(recording) = recording(name, commits) else { continue };
            let trace = &recording.trace;
            let mut doc: Hashmill = recording.replay();
            assert!(doc.text() == trace.end, "{name} {commits}");
            let saved = doc.save();
            assert!(Hashmill::load(&saved).text() == trace.end, "{name} {commits}, saved and loaded");
        }
    }
}

#[test]
fn both_engines_write_the_same_history_and_read_each_other() {
    for name in [TYPIST, "friendsforever_flat"] {
        for commits in [Commits::One, Commits::Each] {
            let Some(recording) = recording(name, commits) else { continue };
            let trace = &recording.trace;
            let (mut official, mut hashmill): (Official, Hashmill) = (recording.replay(), recording.replay());
            assert!(official.heads() == hashmill.heads(), "{name} {commits}");
            let (official_file, hashmill_file) = (official.save(), hashmill.save());
            assert!(
                Official::load(&hashmill_file).text() == trace.end,
                "{name} {commits}, Hashmill's file in the official crate"
            );
            let mut loaded = Hashmill::load(&official_file);
            assert!(loaded.text() == trace.end, "{name} {commits}, the official file in Hashmill");
            assert!(loaded.heads() == official.heads(), "{name} {commits}");
        }
    }
}

/// Changes of several users arrive in random orders, in parts, some of them twice.
#[test]
fn the_order_of_delivery_does_not_matter() {
    let Some(recording) = recording("friendsforever", Commits::Each) else { return };
    let (base, updates) = &recording.session::<Hashmill>().expect("a folder for the cache");
    let deliver = |order: &[Vec<u8>], part: usize| {
        let mut doc = Hashmill::load(base);
        order.chunks(part).for_each(|part| doc.apply_updates(part));
        (doc.text(), doc.heads())
    };
    let expected = deliver(updates, updates.len());
    assert!(deliver(updates, 1) == expected, "one by one");
    let mut rng = Rng::new(1);
    for part in [1_000, updates.len()] {
        let mut order = updates.clone();
        order.extend((0..500).map(|_| updates[rng.below(updates.len())].clone()));
        rng.shuffle(&mut order);
        assert!(deliver(&order, part) == expected, "in random order, {part} at a time");
    }
    let mut official = Official::load(base);
    official.apply_updates(updates);
    assert!((official.text(), official.heads()) == expected, "as the official crate merges them");
}
