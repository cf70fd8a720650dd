//! Fragments: both engines split a history at the same changes, and read each other's fragments.

use automerge::{AutoCommit, Automerge, transaction::Transactable as _};
use hashmill_doc::{ChangeHash, Document, Fragment};

/// Three actors who write at the same time, each now and then with what the others wrote.
fn crowd(seed: u8, changes: usize) -> AutoCommit {
    let mut docs: Vec<AutoCommit> = vec![AutoCommit::new().with_actor([seed].as_slice().into())];
    docs[0].put(automerge::ROOT, "first", 1).expect("a map");
    for n in 1..=2 {
        let actor = automerge::ActorId::from([seed, n].as_slice());
        let fork = docs[0].fork().with_actor(actor);
        docs.push(fork);
    }
    for n in 0..changes {
        let at = (n * n / 7) % 3;
        docs[at].put(automerge::ROOT, format!("key {}", n % 5), n as i64).expect("a map");
        docs[at].commit();
        if n % 40 == 7 {
            let mut other = docs[(at + 1) % 3].clone();
            docs[at].merge(&mut other).expect("other actors");
        }
    }
    let [first, rest @ ..] = &mut docs[..] else { panic!("three documents") };
    rest.iter_mut().for_each(|other| drop(first.merge(other).expect("other actors")));
    docs.swap_remove(0)
}

fn ours(fragment: &automerge::Fragment) -> Fragment {
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
fn both_engines_divide_a_history_alike() {
    let mut longer = 0;
    for seed in 0..6 {
        let bytes = crowd(seed, 900).save();
        let (mine, theirs) =
            (Document::load(&bytes).expect("a file"), Automerge::load(&bytes).expect("a file"));
        for levels in [0..1, 1..2, 1..9, 0..9] {
            let expected: Vec<Fragment> = theirs.fragments(levels.clone()).iter().map(ours).collect();
            assert_eq!(mine.fragments(levels).expect("within the limits"), expected, "{seed}");
        }
        let (mut here, mut there) = (Document::new(), Automerge::new());
        let all = theirs.fragments(..);
        for (fragment, bytes) in all.iter().zip(theirs.bundle_fragments(all.clone())) {
            let written = mine.fragment_bytes(&ours(fragment)).expect("changes that are there");
            // What DEFLATE makes of long columns is each one's own.
            if fragment.level == 0 {
                assert_eq!(written, bytes);
            }
            longer += usize::from(fragment.level > 0);
            here.load_incremental(&bytes).expect("their fragment");
            there.load_incremental(&written).expect("our fragment");
        }
        assert_eq!(here.get_heads(), mine.get_heads());
        assert_eq!(there.get_heads(), theirs.get_heads());
    }
    assert!(longer > 10, "{longer}");
}
