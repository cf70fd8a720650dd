//! Reads, forks and edits at earlier heads; rollback; actors named in files.

use hashmill_doc::{
    ActorId, AutoCommit, Change, CommitOptions, Document, EditError, ObjType, ROOT, ReadDoc, Transactable,
    literal,
};

use super::{all, doc, fork, list, meet, text, values};

#[test]
fn isolated_document_is_at_its_heads() {
    let mut a = doc(1);
    a.put(ROOT, "k", 1).unwrap();
    let l = list(&mut a, "l", [1, 2]);
    let heads = a.get_heads();
    a.put(ROOT, "k", 2).unwrap();
    a.delete(&l, 0).unwrap();
    let t = text(&mut a, "later", "x");
    let later = a.get_heads();
    a.isolate(&heads).unwrap();
    assert_eq!(all(&a), literal!({ "k": 1, "l": [1, 2] }));
    assert_eq!(a.get_heads(), heads);
    // Later objects do not exist there.
    assert!(a.splice_text(&t, 0, 0, "y").is_err());
    a.put(ROOT, "k", 3).unwrap();
    a.insert(&l, 2, 3).unwrap();
    assert_eq!(all(&a), literal!({ "k": 3, "l": [1, 2, 3] }));
    a.integrate();
    assert_eq!(values(&a, ROOT, "k").len(), 2);
    assert_eq!(a.hydrate(&l).unwrap(), literal!([2, 3]));
    assert_eq!(a.get_heads().len(), 2);
    assert_eq!(a.text_at(&t, &later).unwrap(), "x");
    // A single change at heads is equivalent.
    let mut whole = AutoCommit::load(&a.save()).unwrap().into_document().with_actor(ActorId::from([2]));
    whole.transact_at(&heads, &CommitOptions::default(), |tx| tx.put(ROOT, "late", true)).unwrap();
    assert_eq!(whole.get_heads().len(), 3);
    assert_eq!(whole.get(ROOT, "late").unwrap().unwrap().0, true.into());
}

#[test]
fn fork_at_earlier_heads_has_no_later_changes() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "one");
    let mut moments = vec![a.get_heads()];
    for (n, actor) in [2, 0, 2, 1, 2, 0].into_iter().enumerate() {
        a.set_actor(ActorId::from([actor]));
        a.splice_text(&t, n, 1, "é-").unwrap();
        a.put_object(ROOT, n.to_string(), ObjType::Map).unwrap();
        moments.push(a.get_heads());
    }
    for heads in &moments {
        let mut past = a.fork_at(heads).unwrap();
        assert_eq!(
            (past.get_heads(), all(&past)),
            (heads.clone(), a.at(heads).unwrap().hydrate(ROOT).unwrap())
        );
        past.splice_text(&t, 0, 0, "new").unwrap();
        a.merge(&mut past).unwrap();
    }
    let foreign = doc(9).document().empty_commit(&CommitOptions::default());
    assert_eq!(a.hash(foreign), None);
    let foreign = hashmill_doc::ChangeHash([1; 32]);
    assert_eq!(a.fork_at(&[foreign]).unwrap_err(), EditError::UnknownHash(foreign));
    assert_eq!(a.get_at(ROOT, "0", &[foreign]).unwrap_err(), EditError::UnknownHash(foreign));
}

#[test]
fn rollback_leaves_no_actor() {
    let mut a = doc(5);
    a.put(ROOT, "k", 1).unwrap();
    a.commit();
    let before = a.save();
    assert_eq!(a.rollback(), 0);
    for actor in [1, 9, 5] {
        a.set_actor(ActorId::from([actor]));
        let l = list(&mut a, "l", [1, 2, 3]);
        a.delete(&l, 1).unwrap();
        text(&mut a, "t", "text");
        a.delete(ROOT, "k").unwrap();
        assert!(a.rollback() > 8);
        assert_eq!(a.save(), before);
    }
    // Also for a loaded document.
    let mut loaded = AutoCommit::load(&before).unwrap();
    loaded.put_literal(ROOT, "deep", literal!({ "a": [{ "b": [] }] })).unwrap();
    loaded.rollback();
    assert_eq!((loaded.save(), all(&loaded)), (before, literal!({ "k": 1 })));
}

/// Actors that only deleted, or made only an empty change, are in the file, too.
#[test]
fn files_name_all_needed_actors() {
    let mut a = doc(5);
    let l = list(&mut a, "l", [1, 2]);
    let mut b = fork(&mut a, 1);
    b.delete(&l, 0).unwrap();
    let mut c = fork(&mut b, 9);
    c.delete(ROOT, "l").unwrap();
    a.merge(&mut c).unwrap();
    let changes = a.get_changes(&[]);
    let loaded = AutoCommit::load(&a.save()).unwrap().into_document();
    assert_eq!(loaded.get_changes(&[]), changes);
    assert_eq!((changes.len(), all(&loaded)), (3, literal!({})));
    // An actor with earlier changes gets the next sequence number.
    let mut d = fork(&mut a, 1);
    d.put(ROOT, "again", 1).unwrap();
    let last = d.get_last_local_change().unwrap();
    assert_eq!((last.seq(), last.actor_id()), (2, &ActorId::from([1])));
    assert_eq!(fork(&mut a, 77).get_last_local_change(), None);
}

#[test]
fn changes_are_independent_of_their_encoding() {
    let mut a = doc(1);
    let t = text(&mut a, "t", &"a longer text, ".repeat(40));
    a.commit_with(&CommitOptions::default().with_message("first").with_time(1));
    a.splice_text(&t, 3, 200, "é").unwrap();
    for change in a.get_changes(&[]) {
        assert_eq!(Change::from_bytes(&change.raw_bytes()).unwrap(), change);
        assert_eq!(Change::from_bytes(&change.bytes()).unwrap(), change);
        assert_eq!(Change::try_from(&change.decode()).unwrap(), change);
    }
    let first = &a.get_changes(&[])[0];
    assert!(first.bytes().len() < first.raw_bytes().len(), "deflated");
    let mut files = vec![a.save(), a.save_nocompress(), a.save_after(&[])];
    assert!(files[0].len() < files[1].len());
    let apart: Vec<Vec<u8>> = a.get_changes(&[]).iter().map(|change| change.bytes().to_vec()).collect();
    files.extend([apart.concat(), [apart[1].clone(), apart[0].clone()].concat()]);
    for file in files {
        assert_eq!(Document::load(&file).unwrap().get_heads(), a.get_heads());
    }
}

#[test]
fn frequent_merges_converge() {
    let mut people = [doc(1), doc(2), doc(3)];
    let t = text(&mut people[0], "t", "start");
    for round in 0..9 {
        let (one, other) = (round % 3, (round + 1) % 3);
        let mut from = fork(&mut people[one], 50 + round as u8);
        from.splice_text(&t, 0, usize::from(round % 2 == 1) as isize, "x").ok();
        from.put(ROOT, format!("k{}", round % 4), round as i64).unwrap();
        people[other].merge(&mut from).unwrap();
        // Merging known changes has no effect.
        let heads = people[other].get_heads();
        people[other].merge(&mut from).unwrap();
        assert_eq!(people[other].get_heads(), heads);
    }
    let [a, b, c] = &mut people;
    meet(a, b);
    meet(b, c);
    meet(a, b);
    assert_eq!(all(a), all(c));
}
