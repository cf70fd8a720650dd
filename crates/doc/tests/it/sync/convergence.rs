//! Convergence: replicas that edit and exchange changes in any order are equal in the end, with consistent structures
//! on the way.

use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, Change, CommitOptions, DecodeError, Document, Limits, LoadOptions,
    ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Transactable, Verify,
};

use hashmill_testkit::size;

use crate::Rng;
use crate::support::forge::{Draft, put};

/// All visible contents of a document, as text.
fn dump(doc: &impl ReadDoc, obj: &ObjId, out: &mut String) {
    let kind = doc.object_type(obj).unwrap();
    let places: Vec<Vec<(hashmill_doc::Value<'_>, ObjId)>> = if kind.is_sequence() {
        (0..doc.length(obj)).map(|i| doc.get_all(obj, i).unwrap()).collect()
    } else {
        doc.keys(obj).map(|key| doc.get_all(obj, key).unwrap()).collect()
    };
    out.push_str(&format!("{kind} {:?} {{", doc.keys(obj).collect::<Vec<_>>()));
    for (value, id) in places.iter().flatten() {
        out.push_str(&format!("{value:?}@{id} "));
        if matches!(value, hashmill_doc::Value::Object(_)) {
            dump(doc, id, out);
        }
    }
    out.push('}');
}

pub(crate) fn shown(doc: &impl ReadDoc) -> String {
    let mut out = String::new();
    dump(doc, &ROOT, &mut out);
    out
}

/// One random edit. Errors are allowed; the checks detect any effect they leave.
pub(crate) fn edit(doc: &mut AutoCommit, rng: &mut Rng) {
    let text = doc.get(ROOT, "text").unwrap().map(|(_, id)| id);
    let list = doc.get(ROOT, "list").unwrap().map(|(_, id)| id);
    let number = rng.below(5) as i64;
    let _ = match (rng.below(14), &text, &list) {
        (0, _, _) | (_, None, _) => doc.put_object(ROOT, "text", ObjType::Text).map(drop),
        (1, _, _) | (_, _, None) => doc.put_object(ROOT, "list", ObjType::List).map(drop),
        (2 | 3, _, _) => doc.put(ROOT, ["a", "b", "c"][rng.below(3)], ScalarValue::counter(number)),
        (4, _, _) => doc.increment(ROOT, ["a", "b", "c"][rng.below(3)], number),
        (5, _, Some(list)) => doc.insert(list, rng.below(doc.length(list) + 1), number),
        (6, _, Some(list)) => doc.put(list, rng.below(doc.length(list) + 1), number),
        (7, _, Some(list)) => doc.delete(list, rng.below(doc.length(list) + 1)),
        (8, _, Some(list)) => doc.increment(list, rng.below(doc.length(list) + 1), number),
        (_, Some(text), _) => {
            let len = doc.length(text);
            let what = ["a", "", "typed in one go ", "é👨‍👩‍👧", "x".repeat(90).as_str()][rng.below(5)].to_owned();
            doc.splice_text(text, rng.below(len + 2), rng.below(7) as isize - 2, &what)
        }
    };
}

fn replicas(count: u8) -> Vec<AutoCommit> {
    let actor = |i: u8| ActorId::from([i.wrapping_mul(91), 1]);
    (0..count).map(|i| AutoCommit::from(Document::new().with_actor(actor(i)))).collect()
}

#[test]
fn replicas_converge_for_any_order_of_delivery() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(3);
        for step in 0..60 {
            let i = rng.below(3);
            for _ in 0..1 + rng.below(4) {
                edit(&mut docs[i], &mut rng);
            }
            if rng.below(5) == 0 {
                docs[i].rollback();
            }
            docs[i].document().check(true);
            if step % 5 == 4 {
                let j = rng.below(3);
                let mut changes = docs[j].document().get_changes(&[]);
                (1..changes.len()).rev().for_each(|k| changes.swap(k, rng.below(k + 1)));
                for change in changes {
                    let change = Change::from_bytes(&change.bytes()).unwrap();
                    docs[i].document().apply_changes([change.clone(), change]).unwrap();
                }
                docs[i].document().check(true);
            }
        }
        for i in 0..3 {
            for j in 0..3 {
                let other = docs[j].document().clone();
                docs[i].document().merge(&other).unwrap();
            }
        }
        let last = docs.pop().unwrap().into_document();
        for doc in &mut docs {
            let other = last.clone();
            doc.document().merge(&other).unwrap();
            assert_eq!(doc.document().get_heads(), last.get_heads(), "seed {seed}");
            assert_eq!(shown(doc), shown(&last), "seed {seed}");
        }
    }
}

#[test]
fn save_and_load_round_trip() {
    for seed in 100..115 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(2);
        for step in 0..80 {
            let i = rng.below(2);
            edit(&mut docs[i], &mut rng);
            if step % 20 == 19 {
                let other = docs[1 - i].document().clone();
                docs[i].document().merge(&other).unwrap();
                let bytes = docs[i].document().save();
                let loaded = Document::load(&bytes).unwrap();
                loaded.check(true);
                assert_eq!(shown(&loaded), shown(&docs[i]), "seed {seed}");
                assert_eq!(loaded.get_heads(), docs[i].document().get_heads());
                let actor = docs[i].document().get_actor().clone();
                docs[i] = AutoCommit::from(loaded.with_actor(actor));
            }
        }
    }
}

#[test]
fn rollback_restores_the_document() {
    for seed in 200..230 {
        let mut rng = Rng::new(seed);
        let mut doc = replicas(1).remove(0);
        for _ in 0..30 {
            edit(&mut doc, &mut rng);
        }
        doc.commit();
        let (before, bytes) = (shown(&doc), doc.document().save());
        for _ in 0..1 + rng.below(30) {
            edit(&mut doc, &mut rng);
        }
        let pending = doc.pending_ops();
        assert_eq!(doc.rollback(), pending);
        doc.document().check(true);
        assert_eq!(shown(&doc), before, "seed {seed}");
        assert_eq!(doc.document().save(), bytes, "seed {seed}");
    }
}

/// One random edit of a few keys, mostly writing the current value of one of them.
fn rewrite(docs: &mut [&mut AutoCommit; 2], rng: &mut Rng) {
    let key = ["a", "", "b", "ab"][rng.below(4)];
    let number = [rng.below(60), rng.below(9000)][rng.below(2)] as i64;
    let edit = rng.below(40);
    for doc in docs {
        let _ = match edit {
            0 => doc.delete(ROOT, key),
            1 => doc.put(ROOT, key, ScalarValue::counter(number)),
            2 => doc.increment(ROOT, key, number),
            3 => doc.put_object(ROOT, key, ObjType::Map).map(drop),
            4..8 => doc.put(ROOT, key, "words"),
            _ => doc.put(ROOT, key, number),
        };
    }
}

/// A save that extends a cached earlier save equals a first save.
#[test]
fn cached_saves_equal_first_saves() {
    for seed in 400..420 {
        let mut rng = Rng::new(seed);
        let (mut often, mut once) = (replicas(2), replicas(2));
        for _ in 0..60 {
            let who = rng.below(2);
            let docs = &mut [&mut often[who], &mut once[who]];
            (0..1 + rng.below(40)).for_each(|_| rewrite(docs, &mut rng));
            match rng.below(8) {
                0 => assert_eq!(docs[0].rollback(), docs[1].rollback()),
                1 => assert_eq!(docs[0].commit().is_some(), docs[1].commit().is_some()),
                2 => {
                    for docs in [&mut often, &mut once] {
                        let [one, two] = &mut docs[..] else { panic!() };
                        one.merge(two).unwrap();
                    }
                }
                _ => drop((often[who].save(), once[who].commit())),
            }
        }
        for (often, once) in often.iter_mut().zip(&mut once) {
            let mut forked = often.fork();
            assert_eq!(often.save(), once.save(), "seed {seed}");
            assert_eq!(often.save(), forked.save(), "seed {seed}");
            let mut loaded = AutoCommit::load(&often.save()).unwrap();
            assert_eq!(loaded.save(), once.save(), "seed {seed}");
        }
    }
}

/// A key may be written again without superseding the saved value.
#[test]
fn save_cache_is_dropped_for_concurrent_rewrites() {
    let (mut often, mut once) = (Document::new(), Document::new());
    for doc in [&mut often, &mut once] {
        doc.set_actor(ActorId::from([7]));
        for number in 0..20 {
            doc.transact(|tx| tx.put(ROOT, "k", number)).expect("a sound edit");
        }
    }
    often.save();
    let deps = vec![often.get_heads()[0].0];
    let beside = Draft { deps, seq: vec![21], start: vec![21], ..Draft::new(7, &put()) };
    for doc in [&mut often, &mut once] {
        doc.apply_changes([Change::from_bytes(&beside.bytes()).unwrap()]).unwrap();
        assert_eq!(doc.get_all(ROOT, "k").unwrap().len(), 2);
    }
    assert_eq!(often.save(), once.save());
}

/// Replicas receive changes in different orders, some twice, some late; a stopped replica keeps its queued changes in
/// its file.
#[test]
fn queued_changes_survive_save_and_any_order() {
    for seed in 300..312 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(3);
        for _ in 0..40 {
            let i = rng.below(3);
            (0..1 + rng.below(3)).for_each(|_| edit(&mut docs[i], &mut rng));
            docs[i].commit();
            if rng.below(4) == 0 {
                let other = docs[rng.below(3)].document().clone();
                docs[i].document().merge(&other).unwrap();
            }
        }
        let mut whole = docs.remove(0).into_document();
        for other in docs {
            whole.merge(&other.into_document()).unwrap();
        }
        let mut changes = whole.get_changes(&[]);
        changes.extend(whole.get_changes(&[]).into_iter().step_by(3));
        (1..changes.len()).rev().for_each(|k| changes.swap(k, rng.below(k + 1)));
        let mut doc = Document::new();
        for part in changes.chunks(7) {
            doc.apply_changes(part.iter().cloned()).unwrap();
            doc.check(true);
            let missing = doc.get_missing_deps(&[]);
            let file = doc.save();
            let partial = LoadOptions::new();
            let partial = partial.on_partial_load(hashmill_doc::OnPartialLoad::Ignore);
            // A valid beginning of a file is a document, whatever follows.
            let cut = rng.below(file.len() + 1);
            Document::load_with(&file[..cut], partial).unwrap().check(true);
            doc = Document::load(&file).unwrap();
            assert_eq!(doc.get_missing_deps(&[]), missing, "seed {seed}");
        }
        assert_eq!((doc.get_heads(), shown(&doc)), (whole.get_heads(), shown(&whole)), "seed {seed}");
        assert!(doc.get_missing_deps(&[]).is_empty());
    }
}

#[test]
fn failed_batch_of_several_actors_rolls_back() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(4);
        (0..12).for_each(|_| edit(&mut docs[0], &mut rng));
        for i in 1..4 {
            let base = docs[0].document().clone();
            docs[i].document().merge(&base).unwrap();
        }
        docs[1].put(ROOT, "b", 1).unwrap();
        docs[1].commit();
        // Three write concurrently, and sometimes exchange changes.
        for _ in 0..12 {
            let (i, j) = (1 + rng.below(3), 1 + rng.below(3));
            (0..1 + rng.below(4)).for_each(|_| edit(&mut docs[i], &mut rng));
            docs[i].commit();
            if rng.below(3) == 0 {
                let other = docs[j].document().clone();
                docs[i].document().merge(&other).unwrap();
            }
        }
        let mut receiver = docs[0].document().clone();
        let mut all = receiver.clone();
        for doc in &mut docs[1..] {
            let other = doc.document().clone();
            all.merge(&other).unwrap();
        }
        let changes = all.get_changes(&receiver.get_heads());
        let mut twin = replicas(2).pop().unwrap();
        twin.put(ROOT, "a", "somebody else's").unwrap();
        let bad = twin.document().get_changes(&[]);
        let before = (shown(&receiver), receiver.save());
        receiver.apply_changes(changes.iter().cloned().chain(bad)).unwrap_err();
        receiver.check(true);
        assert_eq!((shown(&receiver), receiver.save()), before, "seed {seed}");
        receiver.apply_changes(changes).unwrap();
        receiver.check(true);
        assert_eq!(shown(&receiver), shown(&all), "seed {seed}");
        assert_eq!(receiver.get_heads(), all.get_heads(), "seed {seed}");
    }
}

/// Types at many positions of a text, which splits leaves without lookups of their elements.
pub(crate) fn type_around(doc: &mut AutoCommit, text: &ObjId, rng: &mut Rng, edits: usize) {
    for _ in 0..edits {
        let (at, gone) = (rng.below(doc.length(text) + 1), rng.below(3));
        doc.splice_text(text, at, gone as isize, ["ab", "c", "", "é"][rng.below(4)]).unwrap();
    }
    doc.commit();
}

#[test]
fn deferred_index_merges_with_remote_changes() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(2);
        let text = docs[0].put_object(ROOT, "text", ObjType::Text).unwrap();
        for round in 0..12 {
            // Some rounds split few leaves, others most of them.
            let edits = [30, 900, 5][round % 3];
            type_around(&mut docs[0], &text, &mut rng, edits);
            let shared = docs[0].document().clone();
            docs[1].document().merge(&shared).unwrap();
            type_around(&mut docs[1], &text, &mut rng, 60);
            let (before, other) = (shared.text(&text).unwrap(), docs[1].document().clone());
            match round % 2 {
                // The copy corrects its index first, while the original is edited further.
                0 => {
                    let mut copy = shared.fork();
                    copy.merge(&other).unwrap();
                    copy.check(true);
                    type_around(&mut docs[0], &text, &mut rng, 40);
                    docs[0].document().merge(&other).unwrap();
                }
                _ => drop(docs[0].document().merge(&other).unwrap()),
            }
            shared.check(true);
            assert_eq!(shared.text(&text).unwrap(), before, "seed {seed}");
            let whole = docs[0].document().clone();
            docs[1].document().merge(&whole).unwrap();
            docs.iter_mut().for_each(|doc| doc.document().check(true));
            assert_eq!(shown(&docs[0]), shown(&docs[1]), "seed {seed}");
        }
    }
}

#[test]
fn parallel_reading_of_changes_equals_sequential_reading() {
    let mut doc = Document::new();
    for number in 0..1000_i64 {
        doc.transact(|tx| tx.put(ROOT, format!("key{}", number % 7), number)).expect("a sound edit");
    }
    let changes = doc.get_changes(&[]);
    let mut chunks: Vec<Vec<u8>> = changes.iter().map(Change::raw_bytes).collect();
    for parallel_from in [0, u64::MAX] {
        let limits = Limits { parallel_from, ..Limits::default() };
        assert_eq!(Change::from_each(&chunks, &limits).unwrap(), changes);
        assert_eq!(Change::from_each(&[[0; 0]; 0], &limits).unwrap(), []);
    }
    // The first bad change is reported, whichever thread finds another one first.
    for bad in [900, 400, 399] {
        chunks[bad].pop();
        for parallel_from in [0, u64::MAX] {
            let limits = Limits { parallel_from, ..Limits::default() };
            match Change::from_each(&chunks, &limits) {
                Err(DecodeError::Format(error)) => assert_eq!(error.position.chunk, bad),
                other => panic!("{:?}", other.map(|changes| changes.len())),
            }
        }
    }
}

/// Text of two authors, some with elements that must be read individually in between: elements with several values, and
/// elements deleted by both.
fn text_of_two(seed: u64, edits: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut docs = replicas(2);
    let text = docs[0].put_object(ROOT, "text", ObjType::Text).unwrap();
    for round in 0..3 {
        type_around(&mut docs[0], &text, &mut rng, edits);
        docs[0].splice_text(&text, 0, 0, &"a long one ".repeat(edits)).unwrap();
        let shared = docs[0].document().clone();
        docs[1].document().merge(&shared).unwrap();
        type_around(&mut docs[1], &text, &mut rng, if seed.is_multiple_of(3) { 0 } else { edits / 3 });
        for doc in docs.iter_mut().filter(|_| seed % 2 == 1) {
            doc.put(&text, 5 * edits + round, "both").unwrap();
            doc.delete(&text, 6 * edits + round).unwrap();
            doc.commit();
        }
        let other = docs[1].document().clone();
        docs[0].document().merge(&other).unwrap();
    }
    docs[0].document().save_nocompress()
}

#[test]
fn text_loaded_by_several_threads_equals_that_of_one() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    // The result or error must not depend on which thread reads what.
    let load = |bytes: &[u8], total| {
        let one = Limits { total, parallel_from: u64::MAX, ..Limits::default() };
        let loaded = [one, Limits { parallel_from: 0, ..one }].map(|limits| {
            let options = LoadOptions::new().limits(limits).verify(Verify::Later);
            let mut doc =
                pool.install(|| Document::load_with(bytes, options)).map_err(|error| error.to_string())?;
            doc.check(true);
            Ok::<_, String>((shown(&doc), doc.save()))
        });
        assert_eq!(loaded[0], loaded[1]);
        loaded.into_iter().next().and_then(Result::ok)
    };
    for seed in 0..size::of(2, 6) {
        let bytes = text_of_two(seed, 150);
        assert!(load(&bytes, u64::MAX).is_some(), "seed {seed}");
        // Minimum number of operations that the limit must allow.
        let (mut less, mut enough) = (0_u64, 1 << 20);
        while less + 1 < enough {
            let total = less.midpoint(enough);
            *(if load(&bytes, total).is_some() { &mut enough } else { &mut less }) = total;
        }
        assert!(less > 4000, "seed {seed}: {less}");
        // A fault at a random position.
        let body = text_of_two(seed, 8)[12..].to_vec();
        for at in body.len() / 4..body.len() {
            for bit in 0..8 {
                let mut body = body.clone();
                body[at] ^= 1 << bit;
                load(&crate::support::forge::chunk(0, &body), u64::MAX);
            }
        }
    }
}
/// Merges `from` twice, in memory and as bytes, and compares the results.
fn merge_both_ways(into: &mut AutoCommit, from: &Document) {
    let into = into.document();
    let mut applied = into.clone();
    let chunks: Vec<Vec<u8>> = applied.get_changes_added(from).iter().map(Change::bytes).collect();
    applied.apply_changes(Change::from_each(&chunks, &Limits::default()).unwrap()).unwrap();
    let heads = into.merge(from).unwrap();
    into.check(true);
    assert_eq!(heads, applied.get_heads());
    assert_eq!(into.save(), applied.save());
    assert_eq!(shown(into), shown(&applied));
    assert!(into.get_changes_added(from).is_empty());
}

#[test]
fn merge_equals_applying_changes() {
    for seed in 600..620 {
        let mut rng = Rng::new(seed);
        let mut docs = replicas(3);
        for step in 0..80 {
            let (i, j) = (rng.below(3), rng.below(3));
            match rng.below(4) {
                0 => {
                    // Runs of changes with one keystroke each.
                    let text = docs[i].get(ROOT, "text").unwrap().map(|(_, id)| id);
                    for n in 0..text.as_ref().map_or(0, |_| rng.below(9)) {
                        let text = text.as_ref().unwrap();
                        let delete = isize::from(rng.below(3) == 0);
                        let at = if delete == 0 { n } else { 0 };
                        let _ = docs[i].splice_text(text, at, delete, if delete == 0 { "é" } else { "" });
                        docs[i].commit();
                    }
                }
                1 => drop(docs[i].empty_commit(&CommitOptions::default())),
                _ => (0..1 + rng.below(4)).for_each(|_| edit(&mut docs[i], &mut rng)),
            }
            if step % 3 == 2 && i != j {
                let from = docs[j].document().clone();
                merge_both_ways(&mut docs[i], &from);
            }
        }
        let heads = docs[0].get_heads();
        let then = docs[0].document().fork_at(&heads).unwrap();
        then.check(true);
        assert_eq!((then.get_heads(), shown(&then)), (heads, shown(&docs[0])));
    }
}

#[test]
fn merge_of_files_into_empty_documents() {
    let exemplar = include_bytes!("../../data/automerge/exemplar");
    merge_both_ways(&mut AutoCommit::new(), &Document::load(exemplar).unwrap());
}

#[test]
fn merge_beyond_a_limit_rolls_back() {
    let mut docs = replicas(2);
    docs[0].put(ROOT, "a", 1).unwrap();
    let limits = Limits { total: 3, ..Limits::default() };
    let file = docs[0].save();
    let mut doc = Document::load_with(&file, LoadOptions::new().limits(limits)).unwrap();
    for key in ["b", "c", "d"] {
        docs[1].put(ROOT, key, 1).unwrap();
        docs[1].commit();
    }
    let error = doc.merge(docs[1].document()).unwrap_err();
    assert!(matches!(error, ApplyError::Limit(_)), "{error}");
    doc.check(true);
    assert_eq!(doc.save(), file);
}

#[test]
fn hashing_on_two_threads_equals_one() {
    let (mut doc, mut other) = (Document::new(), Document::new());
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).expect("a sound edit");
    for number in 0..300_i64 {
        doc.transact(|tx| {
            (0..3).try_for_each(|at| tx.put(ROOT, format!("key{}", (number + at) % 7), number))
        })
        .expect("a sound edit");
    }
    other.merge(&doc).expect("the same document");
    (0..300).for_each(|at| doc.transact(|tx| tx.splice_text(&text, at, 0, "x")).expect("a sound edit"));
    other.transact(|tx| tx.put(ROOT, "key1", "elsewhere")).expect("a sound edit");
    doc.merge(&other).expect("the same document");
    for number in 0..150 {
        // After the longest value, writing ahead stops.
        let long = "long".repeat(if number == 100 { 1 << 18 } else { 1 + 99 * (number % 2) });
        doc.transact(|tx| tx.put(ROOT, "key1", long)).expect("a sound edit");
    }
    let saved = doc.save();
    for parallel_from in [0, u64::MAX] {
        let limits = Limits { parallel_from, ..Limits::default() };
        let loaded = Document::load_with(&saved, LoadOptions::new().limits(limits)).expect("what was saved");
        loaded.check(true);
        assert_eq!(loaded.get_changes(&[]), doc.get_changes(&[]));
    }
}
