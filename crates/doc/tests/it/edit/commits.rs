//! A commit is valid in the document that made it and in later copies of that document, and nowhere else.

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, Commit, CommitOptions, Document, ROOT, ReadDoc, Transactable,
};

fn document(actor: u8) -> Document {
    Document::new().with_actor(ActorId::from([actor]))
}

/// Puts a value; returns the commit and its hash.
fn put(doc: &mut Document, value: i64) -> (Commit, ChangeHash) {
    let (_, commit) = doc.transact_with(&CommitOptions::default(), |tx| tx.put(ROOT, "k", value)).unwrap();
    (commit.unwrap(), doc.get_heads()[0])
}

#[test]
fn commit_is_unknown_in_another_document() {
    let (mut doc, mut other) = (document(1), document(1));
    let (first, hash) = put(&mut doc, 1);
    let (second, later) = put(&mut doc, 2);
    assert_eq!((doc.hash(first), doc.hash(second)), (Some(hash), Some(later)));
    assert_eq!((other.hash(first), Document::new().hash(second)), (None, None));
    // The same actor, number and row.
    let (foreign, _) = put(&mut other, 3);
    assert_eq!((other.hash(first), other.hash(second), doc.hash(foreign)), (None, None, None));
    // Even a loaded document with the same changes has not made them.
    let mut loaded = Document::load(&doc.save()).unwrap();
    assert_eq!(loaded.hash(first), None);
    loaded.merge(&doc).unwrap();
    assert_eq!((loaded.hash(first), loaded.get_heads()), (None, vec![later]));
    assert_eq!(doc.fork_at(&[later]).unwrap().hash(first), None);
}

#[test]
fn copies_know_earlier_commits() {
    let mut doc = document(1);
    let (first, hash) = put(&mut doc, 1);
    let mut fork = doc.fork().with_actor(ActorId::from([2]));
    let mut clone = doc.clone();
    let (our_commit, our_hash) = put(&mut doc, 2);
    let (their_commit, their_hash) = put(&mut fork, 3);
    let (cloned, cloned_hash) = put(&mut clone, 4);
    let mut deep = fork.fork().fork().with_actor(ActorId::from([3]));
    let (last, last_hash) = put(&mut deep, 5);
    for copy in [&doc, &fork, &clone, &deep] {
        assert_eq!(copy.hash(first), Some(hash));
    }
    // All of these are in the second row.
    assert_eq!(
        [our_commit, their_commit, cloned, last].map(|commit| doc.hash(commit)),
        [Some(our_hash), None, None, None]
    );
    let known = [our_commit, their_commit, cloned, last].map(|commit| fork.hash(commit));
    assert_eq!(known, [None, Some(their_hash), None, None]);
    let known = [our_commit, their_commit, cloned, last].map(|commit| clone.hash(commit));
    assert_eq!(known, [None, None, Some(cloned_hash), None]);
    let known = [our_commit, their_commit, cloned, last].map(|commit| deep.hash(commit));
    assert_eq!(known, [None, Some(their_hash), None, Some(last_hash)]);
}

#[test]
fn remote_changes_are_not_mistaken_for_commits() {
    let mut doc = document(1);
    let (first, hash) = put(&mut doc, 1);
    let mut fork = doc.fork().with_actor(ActorId::from([2]));
    let mut by_bytes = doc.fork().with_actor(ActorId::from([3]));
    let mut other = document(4);
    put(&mut other, 2);
    // In both, the second row is a remote change; here it is a local one.
    fork.merge(&other).unwrap();
    by_bytes.apply_changes(other.get_changes(&[])).unwrap();
    let (second, second_hash) = put(&mut doc, 3);
    assert_eq!((fork.hash(second), by_bytes.hash(second)), (None, None));
    assert_eq!((fork.hash(first), by_bytes.hash(first)), (Some(hash), Some(hash)));
    doc.merge(&fork).unwrap();
    assert_eq!((doc.hash(first), doc.hash(second)), (Some(hash), Some(second_hash)));
    // A failed batch rolls back its rows, without effect on known commits.
    let bad = [other.get_changes(&[]), fork.get_changes(&[]), vec![duplicate()]].concat();
    assert!(by_bytes.apply_changes(bad).is_err());
    let (third, third_hash) = put(&mut by_bytes, 4);
    let known = [first, second, third].map(|commit| by_bytes.hash(commit));
    assert_eq!(known[..2], [Some(hash), None]);
    assert!(known[2] == Some(third_hash) || by_bytes.get_heads().contains(&known[2].unwrap()));
}

/// A first change of actor 1 that differs from the one in the documents.
fn duplicate() -> hashmill_doc::Change {
    let mut doc = document(1);
    put(&mut doc, 99);
    doc.get_last_local_change().unwrap()
}

#[test]
fn commits_at_earlier_heads_are_known_to_the_whole_document() {
    let mut doc = document(1);
    let (_, hash) = put(&mut doc, 1);
    put(&mut doc, 2);
    let edit = |tx: &mut hashmill_doc::Transaction<'_>| tx.put(ROOT, "k", 3);
    let (_, past) = doc.transact_at(&[hash], &CommitOptions::default(), edit).unwrap();
    let committed = doc.hash(past.unwrap()).unwrap();
    assert!(doc.get_heads().contains(&committed));
    let mut auto = AutoCommit::from(doc);
    auto.isolate(&[hash]).unwrap();
    auto.put(ROOT, "k", 4).unwrap();
    let commit = auto.commit().unwrap();
    let heads = auto.get_heads();
    assert_eq!(auto.document().hash(commit), Some(heads[0]));
    auto.integrate();
    let empty = auto.empty_commit(&CommitOptions::default());
    assert_eq!(auto.document().hash(empty), Some(auto.get_heads()[0]));
    assert_eq!(auto.get_all(ROOT, "k").unwrap().len(), 3);
}

#[test]
fn stats_do_not_commit() {
    let mut doc = AutoCommit::new().with_actor(ActorId::from([1]));
    doc.put(ROOT, "k", 1).unwrap();
    doc.commit_with(&CommitOptions::default().with_author([7]));
    doc.put(ROOT, "k", 2).unwrap();
    let stats = doc.stats();
    assert_eq!((stats.changes, stats.operations, stats.actors), (1, 1, 1));
    assert_eq!(doc.get_authors(), [&[7][..]]);
    assert_eq!(doc.get_author_for_actor(doc.get_actor()), Some(&[7][..]));
    assert_eq!(doc.get_actors_for_author(&[7]), [ActorId::from([1])]);
    assert_eq!(doc.pending_ops(), 1);
}
