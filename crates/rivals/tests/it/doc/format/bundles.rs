//! Bundles: both engines read each other's, and write the same bytes if the official crate's order of operations is deterministic.

use automerge::Automerge;
use hashmill_doc::{Bundle, Change, ChangeHash, Document, legacy};
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::Rng;

/// The same changes in both engines, in the same order.
fn both(bytes: &[Vec<u8>]) -> (Document, Automerge) {
    let (mut ours, mut theirs) = (Document::new(), Automerge::new());
    for change in bytes {
        ours.apply_changes([Change::from_bytes(change).expect("a change")]).expect("in order");
        let change = automerge::Change::from_bytes(change.clone()).expect("a change");
        theirs.apply_changes([change]).expect("in order");
    }
    (ours, theirs)
}

fn their_hash(hash: &ChangeHash) -> automerge::ChangeHash {
    automerge::ChangeHash(*hash.as_bytes())
}

/// Whether the official crate's bytes are deterministic and comparable: several deletions at one place are in hash-table order, and
/// DEFLATE output of long columns differs.
fn is_certain(changes: &[Change], bytes: &[u8]) -> bool {
    let mut deleted = std::collections::HashSet::new();
    let once = changes.iter().flat_map(|change| change.decode().operations).all(|op| {
        !matches!(op.action, legacy::OpType::Delete) || deleted.insert(format!("{:?} {:?}", op.obj, op.key))
    });
    once && bytes.len() < 256
}

/// Some of the changes, in the order of the document or in another one.
fn some(rng: &mut Rng, all: &[Change]) -> Vec<ChangeHash> {
    let mut hashes: Vec<ChangeHash> = match rng.below(3) {
        0 => all.iter().map(Change::hash).collect(),
        1 => {
            let from = rng.below(all.len());
            all[from..].iter().take(1 + rng.below(8)).map(Change::hash).collect()
        }
        _ => all.iter().map(Change::hash).filter(|_| rng.below(3) == 0).collect(),
    };
    if rng.below(2) == 0 {
        hashes.reverse();
    }
    hashes
}

#[test]
fn each_engine_reads_what_the_other_writes() {
    let (mut rng, mut certain, mut bundles, mut external) = (Rng::new(7), 0, 0, 0);
    for seed in 0..80 {
        let made = changes::<Official>(&Script::invent(seed, 60));
        let (ours, theirs) = both(&made);
        let all = ours.get_changes(&[]);
        if all.is_empty() {
            continue;
        }
        for _ in 0..6 {
            let hashes = some(&mut rng, &all);
            let mine = ours.bundle(hashes.iter().copied()).expect("changes that are there");
            let other = theirs.bundle(hashes.iter().map(their_hash)).expect("changes that are there");
            let asked: Vec<Change> = all.iter().filter(|c| hashes.contains(&c.hash())).cloned().collect();
            let raw = |changes: &[Change]| changes.iter().map(|c| c.raw_bytes()).collect::<Vec<_>>();
            assert_eq!(raw(mine.changes()), raw(&asked), "of script {seed}");

            let read = Bundle::try_from(other.bytes()).expect("their bundle");
            assert_eq!(raw(read.changes()), raw(&asked), "of script {seed}");
            let hashes = |deps: &[automerge::ChangeHash]| deps.iter().map(|dep| dep.0).collect::<Vec<_>>();
            let deps: Vec<[u8; 32]> = mine.deps().iter().map(|dep| *dep.as_bytes()).collect();
            assert_eq!(deps, hashes(other.deps()), "of script {seed}");
            let actors: Vec<&[u8]> = mine.actors().iter().map(|actor| actor.as_bytes()).collect();
            assert!(actors.into_iter().eq(other.actors().iter().map(automerge::ActorId::to_bytes)));
            external += usize::from(!deps.is_empty());

            let back = automerge::Bundle::try_from(mine.bytes()).expect("our bundle");
            let back = back.to_changes().expect("the changes of our bundle");
            let back: Vec<Vec<u8>> = back.iter().map(|change| change.raw_bytes().to_vec()).collect();
            assert_eq!(back, raw(&asked), "of script {seed}");
            bundles += 1;
            if is_certain(&asked, other.bytes()) {
                assert_eq!(mine.bytes(), other.bytes(), "of script {seed}");
                certain += 1;
            }
        }
        // All of it is a file; what one lacks is an increment.
        let whole = ours.bundle(all.iter().map(Change::hash)).expect("all changes");
        let mut loaded = Automerge::load(whole.bytes()).expect("a bundle of everything");
        assert_eq!(loaded.get_heads(), theirs.get_heads(), "of script {seed}");
        assert_eq!(loaded.hydrate(None), theirs.hydrate(None), "of script {seed}");
        assert_eq!(Document::load(whole.bytes()).expect("ours").get_heads(), ours.get_heads());
        let (first, rest) = all.split_at(all.len() / 2);
        let mut partly = both(&made[..0]).1;
        let first = first.iter().map(|c| automerge::Change::from_bytes(c.raw_bytes().to_vec()).unwrap());
        partly.apply_changes(first).expect("the first half");
        let rest = ours.bundle(rest.iter().map(Change::hash)).expect("the second half");
        partly.load_incremental(rest.bytes()).expect("the second half");
        assert_eq!(partly.get_heads(), theirs.get_heads(), "of script {seed}");
        loaded.merge(&mut partly).expect("the same document");
    }
    assert!(bundles > 400 && certain > 60 && external > 150, "{bundles}, {certain}, {external}");
}
