//! Bundles: both engines read each other's, and write the same bytes if the official crate's order of operations is deterministic.

use automerge::Automerge;
use hashmill_doc::{Bundle, Change, ChangeHash, Document, legacy};
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::Rng;

/// The same changes in both engines, in the same order.
fn both(bytes: &[Vec<u8>]) -> (Document, Automerge) {
    let (mut hashmill, mut official) = (Document::new(), Automerge::new());
    for change in bytes {
        hashmill.apply_changes([Change::from_bytes(change).expect("a change")]).expect("in order");
        let change = automerge::Change::from_bytes(change.clone()).expect("a change");
        official.apply_changes([change]).expect("in order");
    }
    (hashmill, official)
}

fn official_hash(hash: &ChangeHash) -> automerge::ChangeHash {
    automerge::ChangeHash(*hash.as_bytes())
}

/// Whether the official crate's bytes are deterministic and comparable: several deletions of one element are in the order of a hash
/// table, and DEFLATE output of long columns differs.
fn is_deterministic(changes: &[Change], bytes: &[u8]) -> bool {
    let mut deleted = std::collections::HashSet::new();
    let is_deleted_once = changes.iter().flat_map(|change| change.decode().operations).all(|op| {
        !matches!(op.action, legacy::OpType::Delete) || deleted.insert(format!("{:?} {:?}", op.obj, op.key))
    });
    is_deleted_once && bytes.len() < 256
}

/// Some of the changes, in the order of the document or in another one.
fn choose_changes(rng: &mut Rng, all: &[Change]) -> Vec<ChangeHash> {
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
    let (mut rng, mut deterministic, mut bundles, mut external) = (Rng::new(7), 0, 0, 0);
    for seed in 0..80 {
        let made_changes = changes::<Official>(&Script::random(seed, 60));
        let (hashmill, official) = both(&made_changes);
        let all = hashmill.get_changes(&[]);
        if all.is_empty() {
            continue;
        }
        for _ in 0..6 {
            let hashes = choose_changes(&mut rng, &all);
            let bundle = hashmill.bundle(hashes.iter().copied()).expect("changes that are there");
            let official_bundle =
                official.bundle(hashes.iter().map(official_hash)).expect("changes that are there");
            let selected: Vec<Change> = all.iter().filter(|c| hashes.contains(&c.hash())).cloned().collect();
            let raw = |changes: &[Change]| changes.iter().map(|c| c.raw_bytes()).collect::<Vec<_>>();
            assert_eq!(raw(bundle.changes()), raw(&selected), "of script {seed}");

            let read = Bundle::try_from(official_bundle.bytes()).expect("a bundle of the official crate");
            assert_eq!(raw(read.changes()), raw(&selected), "of script {seed}");
            let hashes = |deps: &[automerge::ChangeHash]| deps.iter().map(|dep| dep.0).collect::<Vec<_>>();
            let deps: Vec<[u8; 32]> = bundle.deps().iter().map(|dep| *dep.as_bytes()).collect();
            assert_eq!(deps, hashes(official_bundle.deps()), "of script {seed}");
            let actors: Vec<&[u8]> = bundle.actors().iter().map(|actor| actor.as_bytes()).collect();
            assert!(actors.into_iter().eq(official_bundle.actors().iter().map(automerge::ActorId::to_bytes)));
            external += usize::from(!deps.is_empty());

            let read_back = automerge::Bundle::try_from(bundle.bytes()).expect("a bundle of Hashmill");
            let read_back = read_back.to_changes().expect("the changes of Hashmill's bundle");
            let read_back: Vec<Vec<u8>> =
                read_back.iter().map(|change| change.raw_bytes().to_vec()).collect();
            assert_eq!(read_back, raw(&selected), "of script {seed}");
            bundles += 1;
            if is_deterministic(&selected, official_bundle.bytes()) {
                assert_eq!(bundle.bytes(), official_bundle.bytes(), "of script {seed}");
                deterministic += 1;
            }
        }
        // A bundle of all changes is a file; a bundle of missing changes is an increment.
        let complete = hashmill.bundle(all.iter().map(Change::hash)).expect("all changes");
        let mut loaded = Automerge::load(complete.bytes()).expect("a bundle of everything");
        assert_eq!(loaded.get_heads(), official.get_heads(), "of script {seed}");
        assert_eq!(loaded.hydrate(None), official.hydrate(None), "of script {seed}");
        assert_eq!(
            Document::load(complete.bytes()).expect("a bundle of everything").get_heads(),
            hashmill.get_heads()
        );
        let (first, rest) = all.split_at(all.len() / 2);
        let mut partly = both(&made_changes[..0]).1;
        let first = first.iter().map(|c| automerge::Change::from_bytes(c.raw_bytes().to_vec()).unwrap());
        partly.apply_changes(first).expect("the first half");
        let rest = hashmill.bundle(rest.iter().map(Change::hash)).expect("the second half");
        partly.load_incremental(rest.bytes()).expect("the second half");
        assert_eq!(partly.get_heads(), official.get_heads(), "of script {seed}");
        loaded.merge(&mut partly).expect("the same document");
    }
    assert!(bundles > 400 && deterministic > 60 && external > 150, "{bundles}, {deterministic}, {external}");
}
