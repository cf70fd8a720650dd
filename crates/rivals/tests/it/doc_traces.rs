//! Recordings of real typing, and of the testkit's typist, through our engine: the text must come out, in one
//! transaction and in one for each edit, from the official crate's files and the other way round, and in any order of
//! delivery.

use hashmill_rivals::doc::engines::official::Official;
use hashmill_rivals::doc::fixtures::{Fixtures, replay};
use hashmill_rivals::doc::row::Commits;
use hashmill_testkit::{Rng, Trace, skip};
use hashmill_workloads::doc::{Hashmill, Shared as _, Texts};

/// The recording, or a line that says why it was not typed.
fn trace(fixtures: &mut Fixtures, name: &str) -> Option<std::rc::Rc<Trace>> {
    fixtures.trace(name).map_err(|why| skip(&format!("typing {name}"), &why)).ok()
}

#[test]
fn recordings_end_with_their_text() {
    let mut fixtures = Fixtures::default();
    let real = ["automerge-paper", "rustcode", "sveltecomponent", "friendsforever_flat"];
    for name in ["typed-2000"].iter().chain(&real) {
        let Some(trace) = trace(&mut fixtures, name) else { continue };
        for commits in [Commits::One, Commits::Each] {
            let mut doc: Hashmill = replay(&trace, commits);
            assert!(doc.text() == trace.end, "{name} {commits}");
            let saved = doc.save();
            assert!(Hashmill::load(&saved).text() == trace.end, "{name} {commits}, saved and loaded");
        }
    }
}

#[test]
fn both_engines_write_the_same_history_and_read_each_other() {
    let mut fixtures = Fixtures::default();
    for name in ["typed-2000", "friendsforever_flat"] {
        let Some(trace) = trace(&mut fixtures, name) else { continue };
        for commits in [Commits::One, Commits::Each] {
            let (mut theirs, mut ours): (Official, Hashmill) =
                (replay(&trace, commits), replay(&trace, commits));
            assert!(theirs.heads() == ours.heads(), "{name} {commits}");
            let (their_file, our_file) = (theirs.save(), ours.save());
            assert!(Official::load(&our_file).text() == trace.end, "{name} {commits}, ours in theirs");
            let mut loaded = Hashmill::load(&their_file);
            assert!(loaded.text() == trace.end, "{name} {commits}, theirs in ours");
            assert!(loaded.heads() == theirs.heads(), "{name} {commits}");
        }
    }
}

/// Changes of several people reach somebody in random orders, in parts, some of them twice.
#[test]
fn the_order_of_delivery_does_not_matter() {
    let mut fixtures = Fixtures::default();
    if trace(&mut fixtures, "friendsforever").is_none() {
        return;
    }
    let session = fixtures.session::<Hashmill>("friendsforever").expect("the recording is there");
    let (base, updates) = &*session;
    let deliver = |order: &[Vec<u8>], part: usize| {
        let mut doc = Hashmill::load(base);
        order.chunks(part).for_each(|part| doc.hear(part));
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
    official.hear(updates);
    assert!((official.text(), official.heads()) == expected, "as the official crate merges them");
}
