//! Changes that arrive before their dependencies, files in parts, and duplicate sequence numbers.

use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, Change, CommitOptions, Document, LoadError, LoadOptions, OnPartialLoad,
    ROOT, SaveOptions, Transactable, literal,
};

use super::{all, doc, fork};

/// A document with a queued change, and its missing dependency.
fn waiting() -> (AutoCommit, Change) {
    let mut a = doc(1);
    a.put(ROOT, "k", 1).unwrap();
    let mut b = fork(&mut a, 2);
    b.put(ROOT, "k", 2).unwrap();
    let missing = b.get_last_local_change().unwrap();
    b.put(ROOT, "k", 3).unwrap();
    a.apply_changes(b.get_last_local_change()).unwrap();
    assert_eq!(a.get_missing_deps(&[]), [missing.hash()]);
    assert_eq!(all(&a), literal!({ "k": 1 }));
    (a, missing)
}

#[test]
fn queued_changes_are_saved_or_left_out() {
    for (retain_orphans, then) in [(true, 3), (false, 2)] {
        let (mut a, missing) = waiting();
        let file = a.save_with(SaveOptions { retain_orphans, ..SaveOptions::default() });
        let mut loaded = AutoCommit::load(&file).unwrap();
        assert_eq!(all(&loaded), literal!({ "k": 1 }));
        loaded.apply_changes([missing]).unwrap();
        assert_eq!(all(&loaded), literal!({ "k": (then) }));
    }
}

#[test]
fn repeated_delivery_applies_once() {
    let mut a = doc(1);
    for n in 0..12 {
        a.put(ROOT, format!("k{n}"), n).unwrap();
        a.commit();
    }
    let changes = a.get_changes(&[]);
    let mut b = Document::new();
    for round in 1..4 {
        for at in (0..changes.len()).rev().step_by(round) {
            b.apply_changes([changes[at].clone()]).unwrap();
        }
    }
    b.apply_changes(changes.iter().rev().chain(&changes).cloned()).unwrap();
    assert_eq!((b.get_heads(), b.stats().changes), (a.get_heads(), 12));
}

#[test]
fn incremental_saves_need_their_base() {
    let mut a = doc(1);
    a.put(ROOT, "k", 1).unwrap();
    let first = a.save_incremental();
    a.put(ROOT, "k", 2).unwrap();
    let second = a.save_incremental();
    assert!(
        matches!(AutoCommit::load(&second), Err(LoadError::MissingDeps { missing }) if missing.len() == 1)
    );
    let options = LoadOptions::new().on_partial_load(OnPartialLoad::Ignore);
    assert_eq!(AutoCommit::load_with(&second, options).unwrap().get_heads(), []);
    assert_eq!(all(&AutoCommit::load(&[first, second.clone()].concat()).unwrap()), literal!({ "k": 2 }));
    // After a document it is queued.
    let mut b = doc(2);
    b.put(ROOT, "other", 1).unwrap();
    assert_eq!(b.load_incremental(&second).unwrap(), 0);
    assert_eq!((b.get_missing_deps(&[]).len(), all(&b)), (1, literal!({ "other": 1 })));
    // Trailing bytes of a stream that are not a chunk are ignored.
    let mut stream = a.save();
    stream.extend([1, 2, 3, 4]);
    assert_eq!(Document::new().load_incremental(&stream).unwrap(), 2);
    assert!(AutoCommit::load(&stream).is_err());
    // A file that shares its heads with present changes still brings the others.
    let (mut c, mut d) = (fork(&mut a, 3), fork(&mut a, 4));
    c.put(ROOT, "c", 1).unwrap();
    d.load_incremental(&c.save()).unwrap();
    let mut e = fork(&mut a, 5);
    e.put(ROOT, "e", 1).unwrap();
    e.merge(&mut c).unwrap();
    d.load_incremental(&e.save()).unwrap();
    assert_eq!((d.get_heads(), d.get_heads().len()), (e.get_heads(), 2));
}

#[test]
fn two_changes_with_one_sequence_number_are_refused() {
    let mut base = doc(1);
    base.put(ROOT, "k", 1).unwrap();
    let heads = base.get_heads();
    let (mut left, mut right) = (fork(&mut base, 9), fork(&mut base, 9));
    left.put(ROOT, "left", 1).unwrap();
    right.put(ROOT, "right", 1).unwrap();
    let (left, right) = (left.get_changes(&heads), right.get_changes(&heads));
    let both = left.iter().chain(&right).cloned();
    let outcome = base.apply_changes(both);
    assert!(
        matches!(outcome, Err(ApplyError::DuplicateSeq { seq: 1, actor, .. }) if actor == ActorId::from([9]))
    );
    assert_eq!((all(&base), base.get_heads()), (literal!({ "k": 1 }), heads));
    base.apply_changes(left).unwrap();
    assert!(base.apply_changes(right).is_err());
    assert_eq!(all(&base), literal!({ "k": 1, "left": 1 }));
}

/// A change that waits for a refused duplicate can never be applied, and does not block the actor's own next change.
#[test]
fn dependents_of_a_refused_duplicate_are_dropped() {
    let mut here = doc(7);
    here.put(ROOT, "base", 0).unwrap();
    let base = here.get_heads();
    let mut there = fork(&mut here, 7);
    here.put(ROOT, "here", 2).unwrap();
    here.commit();
    for key in ["second", "third"] {
        there.put(ROOT, key, 1).unwrap();
        there.commit();
    }
    there.set_actor(ActorId::from([3]));
    there.put(ROOT, "after", 1).unwrap();
    let changes = there.get_changes(&base);
    here.apply_changes(changes[1..].iter().cloned()).unwrap();
    let outcome = here.apply_changes(changes[..1].iter().cloned());
    assert!(matches!(outcome, Err(ApplyError::DuplicateSeq { seq: 2, .. })));
    // An error changes nothing, so the change is still queued. With `apply_valid`, changes that cannot be applied are
    // dropped.
    assert_eq!(here.get_missing_deps(&[]), [changes[0].hash()]);
    let applied = here.document().apply_valid(changes[..1].iter().cloned());
    let refused: Vec<_> = applied.refused.iter().map(|(hash, _)| *hash).collect();
    assert!(refused.contains(&changes[0].hash()), "{refused:?}");
    assert_eq!(here.get_missing_deps(&[]), []);
    here.put(ROOT, "third", "here").unwrap();
    here.commit();
    let loaded = AutoCommit::load(&here.save()).unwrap();
    assert_eq!(all(&loaded), literal!({ "base": 0, "here": 2, "third": "here" }));
}

#[test]
fn changes_without_operations_are_part_of_the_history() {
    let mut a = Document::new().with_actor(ActorId::from([1]));
    let commit = a.empty_commit(&CommitOptions::default());
    let head = a.hash(commit).unwrap();
    assert_eq!(a.get_changes(&[head]), []);
    a.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
    let mut b = a.fork().with_actor(ActorId::from([2]));
    b.empty_commit(&CommitOptions::default().with_message("seen"));
    a.merge(&b).unwrap();
    let loaded = Document::load(&a.save()).unwrap();
    assert_eq!((loaded.get_heads(), loaded.get_changes(&[]).len()), (b.get_heads(), 3));
    assert_eq!(loaded.get_changes(&[head]).len(), 2);
}
