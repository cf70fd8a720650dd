//! Reads at earlier heads, forks, and queued changes.

use crate::support::forge::{At, Draft, Op, put};
use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, Blame, BlamedPart, Change, ChangeHash, Document, EditError, LoadError,
    ObjId, ObjType, ROOT, ReadDoc, Transactable, View,
};

fn document(actor: u8) -> AutoCommit {
    AutoCommit::from(Document::new().with_actor(ActorId::from([actor])))
}

#[test]
fn every_earlier_state_can_be_read() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    let mut rng = crate::Rng::new(5);
    let mut past = vec![];
    for i in 0..200 {
        let len = doc.length(&text);
        doc.splice_text(&text, rng.below(len + 1), rng.below(4) as isize, "ab").unwrap();
        doc.put(ROOT, "i", i).unwrap();
        doc.commit();
        past.push((doc.document().get_heads(), doc.text(&text).unwrap(), i));
    }
    for (heads, expected, i) in &past {
        assert_eq!(doc.text_at(&text, heads).unwrap(), *expected);
        assert_eq!(doc.length_at(&text, heads).unwrap(), expected.len());
        let (value, _) = doc.get_at(ROOT, "i", heads).unwrap().unwrap();
        assert_eq!(value, i64::from(*i).into());
        let fork = doc.document().fork_at(heads).unwrap();
        fork.check(true);
        assert_eq!((fork.text(&text).unwrap(), fork.get_heads()), (expected.clone(), heads.clone()));
    }
    let unknown = ChangeHash([7; 32]);
    assert_eq!(doc.text_at(&text, &[unknown]), Err(EditError::UnknownHash(unknown)));
}

/// Long histories of a key are searched with skip pointers, which must not skip concurrent values.
#[test]
fn key_history_is_exact_at_every_state() {
    let mut docs = [1, 2].map(|who| Document::new().with_actor(ActorId::from([who])));
    let mut states = vec![];
    for round in 0..300_i64 {
        // Mostly sequential, sometimes concurrent.
        let who = usize::from(round % 7 == 3);
        docs[who]
            .transact(|tx| if round % 11 == 5 { tx.delete(ROOT, "k") } else { tx.put(ROOT, "k", round) })
            .unwrap();
        if round % 5 > 0 {
            let other = docs[1 - who].clone();
            docs[who].merge(&other).unwrap();
            let other = docs[who].clone();
            docs[1 - who].merge(&other).unwrap();
        }
        let values = |doc: &Document| {
            doc.get_all(ROOT, "k").unwrap().iter().map(|(value, _)| value.as_i64()).collect::<Vec<_>>()
        };
        states.push((docs[who].get_heads(), values(&docs[who])));
    }
    let loaded = Document::load(&docs[0].save()).unwrap();
    docs[0].check(true);
    for (heads, values) in &states {
        for doc in [&docs[0], &loaded] {
            let then = doc.get_all_at(ROOT, "k", heads).unwrap();
            assert!(then.iter().map(|(value, _)| value.as_i64()).eq(values.iter().copied()));
        }
    }
}

#[test]
fn conflicts_have_all_values_and_the_greatest_id_wins() {
    let (mut a, mut b) = (document(1), document(2));
    a.put(ROOT, "k", "from a").unwrap();
    b.put(ROOT, "k", "from b").unwrap();
    a.document().merge(b.document()).unwrap();
    let all = a.get_all(ROOT, "k").unwrap();
    let values: Vec<_> = all.iter().map(|(value, id)| (value.clone(), id.to_string())).collect();
    assert_eq!(values, [("from a".into(), "1@01".to_owned()), ("from b".into(), "1@02".to_owned())]);
    a.put(ROOT, "k", "from b").unwrap();
    assert_eq!(a.get_all(ROOT, "k").unwrap().len(), 1, "the losers are deleted");
}

#[test]
fn changes_wait_for_their_dependencies() {
    let mut doc = document(1);
    for i in 0..5 {
        doc.put(ROOT, "k", i).unwrap();
        doc.commit();
    }
    let changes = doc.document().get_changes(&[]);
    let mut other = Document::new();
    other.apply_changes(changes[1..].iter().rev().cloned()).unwrap();
    assert_eq!(other.get_missing_deps(&[]), [changes[0].hash()]);
    assert_eq!(other.length(ROOT), 0);
    let mut loaded = Document::load(&doc.document().save_after(&[])).unwrap();
    assert_eq!(loaded.get_heads(), doc.document().get_heads());
    loaded.apply_changes(changes[2..3].iter().cloned()).unwrap();
    other.apply_changes([changes[0].clone()]).unwrap();
    assert_eq!(other.get_heads(), doc.document().get_heads());
    assert!(other.get_missing_deps(&[]).is_empty());
}

#[test]
fn repeated_sequence_number_rejects_the_batch() {
    let (mut a, mut b) = (document(1), document(1));
    a.put(ROOT, "k", 1).unwrap();
    b.put(ROOT, "k", 2).unwrap();
    b.commit();
    b.put(ROOT, "l", 2).unwrap();
    let heads = a.document().get_heads();
    let changes = b.document().get_changes(&[]);
    let error = a.document().apply_changes(changes).unwrap_err();
    assert!(matches!(error, ApplyError::DuplicateSeq { seq: 1, .. }), "{error}");
    assert_eq!(a.document().get_heads(), heads);
    a.document().check(true);
}

#[test]
fn repeated_sequence_number_rejects_the_added_file() {
    let (mut a, mut b, mut c) = (document(1), document(1), document(3));
    a.put(ROOT, "k", 1).unwrap();
    b.put(ROOT, "k", 2).unwrap();
    c.put(ROOT, "c", 3).unwrap();
    let (doc, good) = (a.document(), c.document().save());
    let (heads, file) = (doc.get_heads(), doc.save());
    let repeated = b.document().save_after(&[]);
    // After a valid document, before a valid change, and with truncated bytes at the end.
    let streams = [
        [&good[..], &repeated].concat(),
        [&repeated[..], &c.document().save_after(&[])].concat(),
        [&good[..], &repeated, &good[..20]].concat(),
    ];
    for stream in streams {
        let error = doc.load_incremental(&stream).unwrap_err();
        assert!(matches!(error, LoadError::Apply(ApplyError::DuplicateSeq { seq: 1, .. })), "{error}");
        doc.check(true);
        assert_eq!((doc.get_heads(), doc.save(), doc.length(ROOT)), (heads.clone(), file.clone(), 1));
    }
    // Without the duplicate, the valid beginning is applied.
    assert_eq!(doc.load_incremental(&[&good[..], &good[..20]].concat()), Ok(1));
    assert_eq!(doc.get_heads().len(), 2);
}

#[test]
fn forks_do_not_see_later_edits() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, &"long enough for many leaves ".repeat(500)).unwrap();
    let mut fork = AutoCommit::from(doc.document().fork());
    doc.splice_text(&text, 5, 3, "one").unwrap();
    fork.splice_text(&text, 9000, 3, "two").unwrap();
    assert_ne!(doc.text(&text).unwrap(), fork.text(&text).unwrap());
    doc.document().check(true);
    fork.document().check(true);
    let other = fork.document().clone();
    doc.document().merge(&other).unwrap();
    let text = doc.text(&text).unwrap();
    assert!(text.contains("one") && text.contains("two"));
}

#[test]
fn errors_name_wrong_places() {
    let mut doc = document(1);
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    assert_eq!(doc.insert(&list, 2, 1), Err(EditError::Index { index: 2, len: 0 }));
    assert!(matches!(doc.put(&list, "key", 1), Err(EditError::WrongType(_))));
    assert!(matches!(doc.increment(ROOT, "list", 1), Err(EditError::NotCounter(_))));
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    assert_eq!(doc.splice_text(&text, 1, -2, ""), Err(EditError::Underflow { index: 1, count: 2 }));
    let mut other = document(2);
    assert_eq!(other.put(&list, 0, 1), Err(EditError::UnknownObject(list)));
}

#[test]
fn edits_at_earlier_heads_are_concurrent_to_later_changes() {
    let mut doc = document(1);
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&text, 0, 0, "one").unwrap();
    doc.commit();
    let past = doc.document().get_heads();
    doc.splice_text(&text, 3, 0, " two").unwrap();
    doc.isolate(&past).unwrap();
    assert_eq!(doc.text(&text).unwrap(), "one");
    doc.splice_text(&text, 0, 1, "O").unwrap();
    doc.integrate();
    assert_eq!(doc.text(&text).unwrap(), "One two");
    assert_eq!(doc.document().get_heads().len(), 2);
    let done = doc.document().transact_at(&past, &hashmill_doc::CommitOptions::default(), |tx| {
        tx.splice_text(&text, 3, 0, "!")?;
        tx.text(&text)
    });
    assert_eq!(done.unwrap().0, "one!");
    assert_eq!(doc.document().get_heads().len(), 3);
    doc.document().check(true);
}

#[test]
fn nested_values_are_inserted_and_updated_with_few_edits() {
    use hashmill_doc::Literal;
    let mut doc = document(1);
    let card = Literal::from([
        ("title", Literal::Text("A title".to_owned())),
        ("tags", ["a", "b"].into_iter().collect()),
        ("size", 3.into()),
    ]);
    let id = doc.put_literal(ROOT, "card", card).unwrap().unwrap();
    assert_eq!(doc.get_as::<u8>(&id, "size"), Ok(Some(3)));
    let wrong = doc.get_as::<bool>(&id, "size").unwrap_err().to_string();
    assert_eq!(wrong, format!("object {id}, key \"size\": expected true or false, found 3"));
    let (_, title) = doc.get_path(["card", "title"]).unwrap().unwrap();
    assert_eq!(doc.text(&title).unwrap(), "A title");
    let before = doc.pending_ops();
    let card = Literal::from([
        ("title", Literal::Text("A new title".to_owned())),
        ("tags", ["a", "b", "c"].into_iter().collect()),
        ("size", 3.into()),
    ]);
    doc.update_object(&id, &card).unwrap();
    assert_eq!(doc.text(&title).unwrap(), "A new title");
    assert_eq!(doc.pending_ops() - before, 5, "four letters and one tag");
    let (_, tags) = doc.get(&id, "tags").unwrap().unwrap();
    let (_, tag) = doc.get(&tags, 2).unwrap().unwrap();
    assert_eq!(doc.parents(&tags).unwrap().len(), 2);
    let head = doc.document().get_heads()[0];
    assert_eq!(doc.document().change_of(&tag), Some(head));
}

#[test]
fn isolated_edits_stay_valid_after_other_changes() {
    let mut doc = document(1);
    doc.put(ROOT, "k", 1).unwrap();
    doc.commit();
    let heads = doc.get_heads();
    doc.isolate(&heads).unwrap();
    doc.put(ROOT, "k", 2).unwrap();
    doc.commit();
    // The same actor writes outside, so the next edit inside must have another actor.
    doc.empty_commit(&hashmill_doc::CommitOptions::default());
    let mut other = document(2);
    other.put(ROOT, "l", 3).unwrap();
    doc.document().merge(other.document()).unwrap();
    doc.put(ROOT, "k", 4).unwrap();
    doc.commit();
    assert_eq!(doc.length(ROOT), 1, "what came from outside is not seen inside");
    assert_eq!(doc.get_at(ROOT, "k", &heads).unwrap().unwrap().0, 1.into());
    doc.integrate();
    assert_eq!(doc.length(ROOT), 2);
    let changes = doc.document().get_changes(&[]);
    let last = changes.iter().max_by_key(|change| change.start_op()).unwrap();
    assert_ne!(last.actor_id(), &ActorId::from([1]));
    let again = Document::load(&doc.document().save()).unwrap();
    assert_eq!(again.get_heads(), doc.document().get_heads());
}

#[test]
fn change_that_skips_counters_is_loaded() {
    let (mut one, mut two) = (document(1), document(2));
    one.put(ROOT, "k", 1).unwrap();
    one.put(ROOT, "k", 2).unwrap();
    one.put(ROOT, "k", 3).unwrap();
    two.isolate(&[]).unwrap();
    two.put(ROOT, "k", 4).unwrap();
    two.put(ROOT, "k", 5).unwrap();
    two.document().merge(one.document()).unwrap();
    // One operation, but two counters above the actor's last change of two operations.
    two.put(ROOT, "k", 6).unwrap();
    two.integrate();
    two.commit();
    one.document().merge(two.document()).unwrap();
    let starts = |doc: &Document| doc.get_changes(&[]).iter().map(Change::start_op).collect::<Vec<_>>();
    assert_eq!(starts(one.document()), [1, 1, 4], "both changes of the actor are next to each other");
    let again = Document::load(&one.document().save()).unwrap();
    assert_eq!(starts(&again), [1, 1, 4]);
    assert_eq!(again.get_heads(), one.document().get_heads());
    assert_eq!(again.get_all(ROOT, "k").unwrap().len(), 2);
    again.check(true);
}

#[test]
fn nested_values_round_trip() {
    use hashmill_doc::Literal;
    let mut doc = document(1);
    let text = |text: &str| Literal::Text(text.to_owned());
    let cards = Literal::from(vec![Literal::from([("title", text("one"))]), 2.into(), text("three")]);
    let root = Literal::from([("cards", cards), ("note", text("héllo")), ("size", 3.into())]);
    doc.init_root(&root).unwrap();
    assert_eq!(doc.hydrate(ROOT).unwrap(), root);
    assert!(doc.init_root(&root).is_err(), "it is not empty any more");
    let (_, note) = doc.get(ROOT, "note").unwrap().unwrap();
    doc.splice(&note, 1, 4, ["e", "y"]).unwrap();
    assert_eq!(doc.text(&note).unwrap(), "hey");
    let wrong = doc.splice(&note, 0, 0, [1]).unwrap_err().to_string();
    assert_eq!(wrong, format!("object {note}, index 0: expected a string, found 1"));
    let (_, cards) = doc.get(ROOT, "cards").unwrap().unwrap();
    let created = doc.insert_literal(&cards, 1, Literal::from([("title", text("new"))])).unwrap().unwrap();
    assert_eq!(doc.hydrate(&created).unwrap(), Literal::from([("title", text("new"))]));
    assert_eq!(doc.list_range(&cards, 2..).count(), 2);
    assert_eq!(doc.map_range(ROOT, "d".."note").count(), 0);
    assert_eq!(doc.map_range(ROOT, "note"..).map(|item| item.key).collect::<Vec<_>>(), ["note", "size"]);
    doc.commit();
    let heads = doc.get_heads();
    doc.update_object(&cards, &Literal::from(vec![text("only")])).unwrap();
    assert_eq!(doc.hydrate(&cards).unwrap(), Literal::from(vec![text("only")]));
    assert_eq!(doc.list_range_at(&cards, .., &heads).unwrap().count(), 4);
    assert_eq!(doc.values_at(ROOT, &heads).unwrap().len(), 3);
    assert_eq!(doc.parents_at(&created, &heads).unwrap().len(), 2);
}

#[test]
fn save_incremental_after_a_load_writes_everything() {
    let mut doc = document(1);
    doc.put(ROOT, "k", 1).unwrap();
    let file = doc.document().save();
    assert!(doc.document().save_incremental().is_empty());
    let mut fork = doc.document().fork();
    let mut loaded = Document::load(&file).unwrap();
    for doc in [&mut loaded, &mut fork] {
        let all = doc.save_incremental();
        assert_eq!(Document::load(&all).unwrap().get_heads(), doc.get_heads());
        assert!(doc.save_incremental().is_empty());
    }
}

#[test]
fn tables_are_readable_but_not_writable() {
    let mut doc = document(1);
    let expected = "expected a map, a list or a text, found a table";
    let refused = doc.put_object(ROOT, "table", ObjType::Table).unwrap_err().to_string();
    assert_eq!(refused, format!("object _root, key \"table\": {expected}"));
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    let refused = doc.insert_object(&list, 0, ObjType::Table).unwrap_err().to_string();
    assert_eq!(refused, format!("object {list}, index 0: {expected}"));
    assert_eq!((doc.keys(ROOT).count(), doc.length(&list)), (1, 0));
    // As written by an old library.
    let make = Draft::new(7, &Op { action: 6, value: (0, vec![]), ..put() }).bytes();
    let row = Draft::new(7, &Op { obj: Some((0, 1)), at: At::Key("row"), ..put() });
    let deps = vec![Change::from_bytes(&make).unwrap().hash().0];
    let row = Draft { seq: vec![2], start: vec![2], deps, ..row }.bytes();
    doc.document().load_incremental(&[make, row].concat()).unwrap();
    let (kind, table) = doc.get(ROOT, "k").unwrap().unwrap();
    assert_eq!((kind.as_object(), doc.length(&table)), (Some(ObjType::Table), 1));
    assert_eq!(doc.get_as(&table, "row"), Ok(Some(1)));
    let refused = format!("object {table}, key \"row\": expected a map, found a table");
    assert_eq!(doc.put(&table, "row", 1).unwrap_err().to_string(), refused);
    assert_eq!(doc.delete(&table, "row").unwrap_err().to_string(), refused);
    assert_eq!(doc.increment(&table, "row", 1).unwrap_err().to_string(), refused);
    let again = Document::load(&doc.save()).unwrap();
    assert_eq!(again.hydrate(ROOT), doc.hydrate(ROOT));
}

#[test]
fn failed_batch_of_many_actors_rolls_back() {
    let mut doc = document(1);
    doc.put(ROOT, "k", 1).unwrap();
    doc.commit();
    let mut doc = doc.into_document();
    let mut changes = vec![];
    for actor in 2..200 {
        let mut other = document(actor);
        other.put(ROOT, format!("key {}", actor % 7), i64::from(actor)).unwrap();
        other.commit();
        other.put(ROOT, "k", i64::from(actor)).unwrap();
        other.commit();
        // The second one depends on the first, which comes later.
        changes.extend(other.document().get_changes(&[]).into_iter().rev());
    }
    let mut twin = document(7);
    twin.put(ROOT, "k", "another one").unwrap();
    let bad = twin.document().get_changes(&[]).remove(0);
    let (heads, file) = (doc.get_heads(), doc.save());
    let error = doc.apply_changes(changes.iter().cloned().chain([bad.clone()])).unwrap_err();
    assert_eq!(error, ApplyError::DuplicateSeq { actor: ActorId::from([7]), seq: 1, hash: bad.hash() });
    doc.check(true);
    assert_eq!((doc.get_heads(), doc.save()), (heads, file));
    assert!(doc.get_missing_deps(&[]).is_empty());
    doc.apply_changes(changes).unwrap();
    assert_eq!(doc.get_heads().len(), 199);
    // A queued change reports its missing dependencies.
    let mut late = Document::new();
    late.apply_changes([doc.get_changes(&[]).pop().unwrap()]).unwrap();
    assert_eq!(late.get_missing_deps(&[]).len(), 1);
}

/// Each unit of a text, each element of a list or each key with the change that wrote it, looked up individually.
fn one_by_one(doc: &Document, view: &View<'_>, obj: &ObjId) -> Vec<(String, ChangeHash)> {
    let change = |id: &ObjId| doc.change_of(id).expect("a change made it");
    match view.object_type(obj).unwrap() {
        ObjType::Map | ObjType::Table => {
            view.map_range(obj, ..).map(|item| (item.key.to_owned(), change(&item.id))).collect()
        }
        kind => {
            let mut units = vec![];
            for (value, id) in view.values_of(obj) {
                let shown = value.as_str().unwrap_or("\u{fffc}");
                let width = if kind == ObjType::Text { view.text_encoding().width(shown) } else { 1 };
                (0..width).for_each(|_| units.push((units.len().to_string(), change(&id))));
            }
            units
        }
    }
}

/// Expanded result of [`View::blame`].
fn blamed(view: &View<'_>, obj: &ObjId) -> Vec<(String, ChangeHash)> {
    let parts = view.blame(obj).unwrap();
    let like = |pair: &[Blame<'_>]| matches!(pair, [Blame { blamed: BlamedPart::Range(_), change: a }, Blame { change: b, .. }] if a == b);
    assert!(!parts.windows(2).any(like), "neighbours are merged");
    let part = |Blame { blamed, change }: Blame<'_>| {
        let names = match blamed {
            BlamedPart::Key(key) => vec![key.to_owned()],
            BlamedPart::Range(range) => range.map(|unit| unit.to_string()).collect(),
        };
        names.into_iter().map(move |name| (name, change.expect("nothing is open")))
    };
    parts.into_iter().flat_map(part).collect()
}

#[test]
fn blame_covers_all_visible_contents() {
    for seed in 0..30 {
        let mut rng = crate::Rng::new(seed);
        let mut first = document(1);
        let objects = [ObjType::Map, ObjType::List, ObjType::Text].map(|kind| {
            let key = kind.to_string();
            first.put_object(ROOT, &key, kind).unwrap()
        });
        let mut docs = vec![first];
        for actor in [2, 3] {
            let fork = docs[0].document().fork().with_actor(ActorId::from([actor]));
            docs.push(fork.into());
        }
        let mut moments = vec![];
        for _ in 0..40 {
            let (i, j) = (rng.below(3), rng.below(3));
            let [map, list, text] = &objects;
            let doc = &mut docs[i];
            let (at, end) = (rng.below(doc.length(list) + 1), rng.below(doc.length(text) + 1));
            doc.put(map, ["a", "b", "c"][rng.below(3)], rng.below(9) as u32).unwrap();
            doc.insert(list, at, 1).unwrap();
            doc.put(list, at, rng.below(3) as u32).unwrap();
            doc.splice_text(text, end, rng.below(3) as isize, ["né", "x"][rng.below(2)]).unwrap();
            if rng.below(4) == 0 {
                doc.put(text, 0, "whole").unwrap();
            }
            moments.push(doc.get_heads());
            if i != j {
                let [one, two] = docs.get_disjoint_mut([i, j]).unwrap();
                one.merge(two).unwrap();
            }
        }
        let mut all = docs.remove(0).into_document();
        docs.into_iter().for_each(|doc| drop(all.merge(&doc.into_document()).unwrap()));
        for obj in objects.iter().chain([&ROOT]) {
            assert_eq!(blamed(&all.view(), obj), one_by_one(&all, &all.view(), obj), "seed {seed}");
            let then = all.at(&moments[rng.below(moments.len())]).unwrap();
            if then.object_type(obj).is_ok() {
                assert_eq!(blamed(&then, obj), one_by_one(&all, &then, obj), "seed {seed}");
            }
        }
    }
}

#[test]
fn blame_of_uncommitted_edits_has_no_change() {
    let mut doc = document(1);
    doc.put(ROOT, "a", 1).unwrap();
    let change = doc.get_heads()[0];
    doc.put(ROOT, "b", 2).unwrap();
    let blamed: Vec<_> =
        doc.blame(ROOT).unwrap().into_iter().map(|part| (part.blamed, part.change)).collect();
    assert_eq!(blamed, [(BlamedPart::Key("a"), Some(change)), (BlamedPart::Key("b"), None)]);
}
