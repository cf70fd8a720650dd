//! Fragments: both engines split a history at the same changes, and read each other's fragments.

use automerge::{AutoCommit, Automerge, transaction::Transactable as _};
use hashmill_doc::{ChangeHash, Document, Fragment};

/// A document of three concurrent actors that merge from time to time.
fn concurrent_document(seed: u8, changes: usize) -> AutoCommit {
    let mut docs: Vec<AutoCommit> = vec![AutoCommit::new().with_actor([seed].as_slice().into())];
    docs[0].put(automerge::ROOT, "first", 1).expect("a map");
    for n in 1..=2 {
        let actor = automerge::ActorId::from([seed, n].as_slice());
        let fork = docs[0].fork().with_actor(actor);
        docs.push(fork);
    }
    for n in 0..changes {
        let writer = (n * n / 7) % 3;
        docs[writer].put(automerge::ROOT, format!("key {}", n % 5), n as i64).expect("a map");
        docs[writer].commit();
        if n % 40 == 7 {
            let mut other = docs[(writer + 1) % 3].clone();
            docs[writer].merge(&mut other).expect("other actors");
        }
    }
    let [first, rest @ ..] = &mut docs[..] else { panic!("three documents") };
    rest.iter_mut().for_each(|other| drop(first.merge(other).expect("other actors")));
    docs.swap_remove(0)
}

fn convert_fragment(fragment: &automerge::Fragment) -> Fragment {
    let hashes = |all: &[automerge::ChangeHash]| all.iter().map(|hash| ChangeHash(hash.0)).collect();
    Fragment {
        head: ChangeHash(fragment.head.0),
        level: fragment.level,
        boundary: hashes(&fragment.boundary),
        checkpoints: hashes(&fragment.checkpoints),
        members: hashes(&fragment.members),
    }
}

#[test]
fn both_engines_divide_a_history_equally() {
    let mut longer = 0;
    for seed in 0..6 {
        let bytes = concurrent_document(seed, 900).save();
        let (hashmill, official) =
            (Document::load(&bytes).expect("a file"), Automerge::load(&bytes).expect("a file"));
        for levels in [0..1, 1..2, 1..9, 0..9] {
            let expected: Vec<Fragment> =
                official.fragments(levels.clone()).iter().map(convert_fragment).collect();
            assert_eq!(hashmill.fragments(levels).expect("within the limits"), expected, "{seed}");
        }
        let (mut loaded, mut officially_loaded) = (Document::new(), Automerge::new());
        let all = official.fragments(..);
        for (fragment, bytes) in all.iter().zip(official.bundle_fragments(all.clone())) {
            let written =
                hashmill.fragment_bytes(&convert_fragment(fragment)).expect("changes that are there");
            // DEFLATE output of long columns differs by engine.
            if fragment.level == 0 {
                assert_eq!(written, bytes);
            }
            longer += usize::from(fragment.level > 0);
            loaded.load_incremental(&bytes).expect("a fragment of the official crate");
            officially_loaded.load_incremental(&written).expect("a fragment of Hashmill");
        }
        assert_eq!(loaded.get_heads(), hashmill.get_heads());
        assert_eq!(officially_loaded.get_heads(), official.get_heads());
    }
    assert!(longer > 10, "{longer}");
}
