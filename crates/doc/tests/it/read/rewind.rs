//! Documents at earlier heads, by reverting later changes, and rollback of failed edits. The oracle is a new document
//! to which the changes before these heads were applied one by one.

use std::collections::{HashMap, HashSet};

use hashmill_doc::{
    ActorId, AutoCommit, Change, ChangeHash, CommitOptions, Document, Limits, LoadOptions, ObjType, ROOT,
    ReadDoc, ScalarValue, Shortcuts, Transactable,
};

use hashmill_testkit::size;

use crate::Rng;
use crate::sync::convergence::{edit, shown, type_around};

fn options(shortcuts: Shortcuts) -> LoadOptions {
    LoadOptions::new().limits(Limits { shortcuts, ..Limits::default() }).actor(ActorId::from([7]))
}

/// Documents of several actors that revert any number of changes.
fn people(count: u8) -> Vec<AutoCommit> {
    let empty = Document::load_with(&[], options(Shortcuts::Always)).expect("empty input loads");
    (0..count)
        .map(|n| AutoCommit::from(empty.fork().with_actor(ActorId::from([n.wrapping_mul(91), 1]))))
        .collect()
}

/// The document of `changes`, each after its dependencies, up to some heads.
fn anew(changes: &[Change], heads: &[ChangeHash]) -> Document {
    let by_hash: HashMap<ChangeHash, &Change> =
        changes.iter().map(|change| (change.hash(), change)).collect();
    let (mut todo, mut there) = (heads.to_vec(), HashSet::new());
    while let Some(hash) = todo.pop() {
        if there.insert(hash) {
            todo.extend(by_hash[&hash].deps());
        }
    }
    let mut doc = Document::new().with_actor(ActorId::from([7]));
    let before = changes.iter().filter(|change| there.contains(&change.hash()));
    doc.apply_changes(before.cloned()).expect("changes of a document");
    doc
}

fn same(back: &mut Document, anew: &mut Document, what: &str) {
    back.check(true);
    assert_eq!(back.get_heads(), anew.get_heads(), "{what}");
    assert_eq!(shown(back), shown(anew), "{what}");
    assert_eq!(back.stats(), anew.stats(), "{what}");
    assert!(back.save() == anew.save(), "{what}");
    assert!(back.get_changes(&[]) == anew.get_changes(&[]), "{what}");
}

/// Edits both documents equally, with one rollback.
fn go_on(back: Document, anew: Document, rng: &mut Rng) -> [Document; 2] {
    let seed = rng.below(1 << 20) as u64;
    [back, anew].map(|doc| {
        let mut rng = Rng::new(seed);
        let mut doc = AutoCommit::from(doc.with_actor(ActorId::from([7])));
        for n in 0..6 {
            (0..1 + rng.below(3)).for_each(|_| edit(&mut doc, &mut rng));
            if n == 2 {
                doc.rollback();
            }
            doc.commit();
        }
        doc.into_document()
    })
}

/// Heads as a caller may request them: those of an earlier state, or any two changes, of which one may be an ancestor
/// of the other.
fn heads_of(changes: &[Change], moments: &[Vec<ChangeHash>], rng: &mut Rng) -> Vec<ChangeHash> {
    let last = changes.len() - 1;
    let any = |rng: &mut Rng| changes[rng.below(changes.len())].hash();
    match rng.below(6) {
        0 => vec![any(rng)],
        1 => vec![any(rng), any(rng)],
        2 => vec![changes[last - rng.below(last.min(6) + 1)].hash()],
        3 => vec![],
        _ => moments[moments.len() - 1 - rng.below(moments.len().min(9))].clone(),
    }
}

/// Checks that forks at some earlier heads equal documents of the earlier changes.
fn forks_are_right(doc: &Document, moments: &[Vec<ChangeHash>], rng: &mut Rng, times: usize, what: &str) {
    let changes = doc.get_changes(&[]);
    let whole = shown(doc);
    for _ in 0..times {
        let heads = heads_of(&changes, moments, rng);
        let what = format!("{what}, {heads:?}");
        let (mut back, mut anew) = (doc.fork_at(&heads).expect("known heads"), anew(&changes, &heads));
        same(&mut back, &mut anew, &what);
        let [mut back, mut anew] = go_on(back, anew, rng);
        same(&mut back, &mut anew, &what);
        // Both know each other's changes, and are forked at earlier heads in turn.
        back.merge(doc).expect("changes of a copy");
        anew.merge(doc).expect("changes of a copy");
        same(&mut back, &mut anew, &what);
        let mut again = back.fork_at(&heads).expect("known heads");
        same(&mut again, &mut doc.fork_at(&heads).expect("known heads"), &what);
    }
    doc.check(true);
    assert_eq!(shown(doc), whole, "{what}");
}

#[test]
fn fork_at_equals_a_document_of_earlier_changes() {
    for seed in 0..size::of(12, 40) {
        let mut rng = Rng::new(seed);
        let mut docs = people(3);
        let mut moments = vec![vec![]];
        for _ in 0..50 {
            let (i, j) = (rng.below(3), rng.below(3));
            (0..1 + rng.below(4)).for_each(|_| edit(&mut docs[i], &mut rng));
            match rng.below(9) {
                0 => drop(docs[i].empty_commit(&CommitOptions::default())),
                1 => {
                    let author =
                        CommitOptions::default().with_message("a message").with_author(*b"an author");
                    docs[i].commit_with(&author);
                }
                _ => drop(docs[i].commit()),
            }
            if rng.below(3) == 0 && i != j {
                let other = docs[j].document().clone();
                docs[i].document().merge(&other).expect("changes of a copy");
            }
            if i == 0 {
                moments.push(docs[0].get_heads());
            }
        }
        let other = docs[1].document().clone();
        docs[0].document().merge(&other).expect("changes of a copy");
        let mut doc = docs.remove(0).into_document();
        forks_are_right(&doc, &moments, &mut rng, 8, &format!("{seed}, made"));
        let loaded = Document::load_with(&doc.save(), options(Shortcuts::Always)).expect("what was saved");
        let mut loaded = loaded.with_actor(ActorId::from([8]));
        forks_are_right(&loaded, &moments, &mut rng, 8, &format!("{seed}, loaded"));
        (0..3).for_each(|n| loaded.transact(|tx| tx.put(ROOT, "a", n)).expect("an edit"));
        forks_are_right(&loaded, &moments, &mut rng, 4, &format!("{seed}, loaded and edited"));
    }
}

#[test]
fn fork_at_works_on_long_texts_of_several_actors() {
    for seed in 0..size::of(2, 6) {
        let mut rng = Rng::new(seed);
        let mut docs = people(2);
        let text = docs[0].put_object(ROOT, "text", ObjType::Text).expect("an edit");
        let mut moments = vec![];
        for round in 0..24 {
            type_around(&mut docs[0], &text, &mut rng, [40, 400, 3][round % 3]);
            moments.push(docs[0].get_heads());
            let shared = docs[0].document().clone();
            docs[1].document().merge(&shared).expect("changes of a copy");
            type_around(&mut docs[1], &text, &mut rng, 60);
            if round % 4 == 2 {
                let other = docs[1].document().clone();
                docs[0].document().merge(&other).expect("changes of a copy");
            }
        }
        let mut doc = docs.remove(0).into_document();
        forks_are_right(&doc, &moments, &mut rng, 6, &format!("{seed}, made"));
        let loaded = Document::load_with(&doc.save(), options(Shortcuts::Always)).expect("what was saved");
        forks_are_right(&loaded, &moments, &mut rng, 6, &format!("{seed}, loaded"));
    }
}

/// Reverting many changes costs more than a rebuild, so nothing is reverted, without a visible difference.
#[test]
fn isolation_is_equal_with_and_without_shortcuts() {
    for seed in 50..70 {
        let mut rng = Rng::new(seed);
        let build = |shortcuts| {
            let mut rng = Rng::new(seed);
            let doc = Document::load_with(&[], options(shortcuts)).expect("empty input loads");
            let mut doc = AutoCommit::from(doc);
            let moments: Vec<Vec<ChangeHash>> = (0..60)
                .map(|_| {
                    edit(&mut doc, &mut rng);
                    doc.get_heads()
                })
                .collect();
            (doc, moments)
        };
        let [(mut back, moments), (mut anew, _)] = [Shortcuts::Usual, Shortcuts::Never].map(build);
        for round in 0..8 {
            let heads = &moments[moments.len() - 1 - rng.below(if round % 2 == 0 { 4 } else { 50 })];
            let seed = rng.below(1 << 20) as u64;
            for doc in [&mut back, &mut anew] {
                let mut rng = Rng::new(seed);
                doc.isolate(heads).expect("known heads");
                edit(doc, &mut rng);
                doc.commit();
                edit(doc, &mut rng);
                if round == 3 {
                    doc.rollback();
                }
                doc.integrate();
                let at = doc.document();
                let late =
                    at.transact_at(heads, &CommitOptions::default(), |tx| tx.put(ROOT, "late", round as i64));
                late.expect("an edit");
            }
            same(back.document(), anew.document(), &format!("{seed}, {round}"));
        }
    }
}

#[test]
fn failed_edits_of_a_long_text_roll_back() {
    for seed in 0..8 {
        let mut rng = Rng::new(seed);
        let mut doc = people(1).remove(0);
        let text = doc.put_object(ROOT, "text", ObjType::Text).expect("an edit");
        type_around(&mut doc, &text, &mut rng, 500);
        let mut twin = doc.document().clone();
        for round in 0..40 {
            let before = doc.text(&text).expect("a text");
            for _ in 0..1 + rng.below([3, 60, 400][round % 3]) {
                let len = doc.length(&text);
                let (at, gone) = (rng.below(len + 1), [0, 0, 1, 30][rng.below(4)]);
                let typed = ["a", "xyz", "", "𝄞"][rng.below(4)];
                doc.splice_text(&text, at, gone, typed).expect("a place in the text");
            }
            // The insertion splits many leaves, which are empty after the rollback.
            let at = rng.below(doc.length(&text) + 1);
            doc.splice_text(&text, at, 0, &"paste ".repeat(9000)).expect("a place in the text");
            doc.rollback();
            doc.document().check(true);
            assert!(doc.text(&text).expect("a text") == before, "{seed}, {round}");
            // Later edits are the same as without the attempt.
            let (at, typed) = (rng.below(doc.length(&text) + 1), ["b", "", "end"][round % 3]);
            doc.splice_text(&text, at, 1, typed).expect("an edit");
            doc.commit();
            twin.transact(|tx| tx.splice_text(&text, at, 1, typed)).expect("an edit");
        }
        assert!(doc.save() == twin.save(), "{seed}");
    }
}

/// Values and increments at a key with a very long history are found without a pass over it.
#[test]
fn fork_at_works_on_keys_with_long_histories() {
    let mut doc = people(1).remove(0);
    doc.put(ROOT, "count", ScalarValue::counter(0)).expect("an edit");
    let list = doc.put_object(ROOT, "list", ObjType::List).expect("an edit");
    doc.insert(&list, 0, ScalarValue::counter(5)).expect("an edit");
    let mut moments = vec![];
    for n in 0..300_i64 {
        doc.put(ROOT, "k", n).expect("an edit");
        doc.increment(ROOT, "count", n).expect("an edit");
        doc.increment(&list, 0, 1).expect("an edit");
        if n % 50 == 49 {
            doc.delete(ROOT, "k").expect("an edit");
        }
        moments.push(doc.get_heads());
    }
    let (doc, mut rng) = (doc.into_document(), Rng::new(1));
    forks_are_right(&doc, &moments, &mut rng, 12, "keys");
    for (n, heads) in moments.iter().enumerate() {
        let then = doc.fork_at(heads).expect("known heads");
        let sum = (n * (n + 1) / 2) as i64;
        assert_eq!(then.get(ROOT, "count").unwrap().unwrap().0, ScalarValue::counter(sum).into());
        assert_eq!(then.get(&list, 0).unwrap().unwrap().0, ScalarValue::counter(6 + n as i64).into());
    }
}
