//! Equality of shortcuts and general paths: with all shortcuts, with the usual ones, and with none, all output is equal
//! byte for byte.

use hashmill_doc::{
    ActorId, Change, Document, Limits, LoadOptions, ObjId, ObjType, ROOT, ReadDoc, Shortcuts, Transactable,
};
use hashmill_testkit::rng::Rng;

const WAYS: [Shortcuts; 3] = [Shortcuts::Usual, Shortcuts::Always, Shortcuts::Never];

fn limits(shortcuts: Shortcuts) -> Limits {
    Limits { shortcuts, parallel_from: 0, ..Limits::default() }
}

fn load(bytes: &[u8], shortcuts: Shortcuts) -> Document {
    let options = LoadOptions::new().limits(limits(shortcuts)).actor(ActorId::from([9; 16]));
    Document::load_with(bytes, options).expect("what was saved loads")
}

/// Changes of the kinds with shortcuts, and others between them: single characters and deletions per commit,
/// overwritten keys, values too long for a block, several operations per change.
fn edit(doc: &mut Document, text: &ObjId, list: &ObjId, rng: &mut Rng, commits: usize) {
    for _ in 0..commits {
        let length = doc.length(text);
        let at = rng.below(length + 1);
        let done = match rng.below(9) {
            0..3 => doc.transact(|tx| tx.splice_text(text, at, 0, ["x", "ß", "𝄞"][at % 3])),
            3 if length > at => doc.transact(|tx| tx.splice_text(text, at, 1, "")),
            4 | 5 => doc.transact(|tx| tx.put(ROOT, ["a", "key"][at % 2], (rng.next_u64() >> 24) as i64)),
            6 => doc.transact(|tx| tx.put(ROOT, "long", "value ".repeat(at % 40))),
            7 => doc.transact(|tx| {
                tx.put(list, 0, at as i64)?;
                tx.insert(list, 0, "element")?;
                tx.splice_text(text, at, 0, "a few characters")
            }),
            _ => doc.transact(|tx| tx.increment(ROOT, "count", 1)),
        };
        done.expect("an edit of present objects");
    }
}

/// A document by two actors: each edits, both merge, and one continues.
fn built(seed: u64, shortcuts: Shortcuts) -> Document {
    let mut rng = Rng::new(seed);
    let mut doc = load(&[], shortcuts).with_actor(ActorId::from([1; 16]));
    let objects = doc.transact(|tx| {
        tx.put(ROOT, "count", hashmill_doc::ScalarValue::Counter(0))?;
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.insert(&list, 0, 1_i64)?;
        Ok::<_, hashmill_doc::EditError>((text, list))
    });
    let (text, list) = objects.expect("a new document takes everything");
    let mut other = doc.fork().with_actor(ActorId::from([2; 16]));
    let commits = 20 + rng.below(300);
    edit(&mut doc, &text, &list, &mut rng, commits);
    edit(&mut other, &text, &list, &mut rng, commits / 2);
    doc.merge(&other).expect("changes of a copy");
    doc.save();
    edit(&mut doc, &text, &list, &mut rng, commits / 3);
    doc
}

/// All output of a document.
fn given(doc: &mut Document) -> (Vec<u8>, Vec<u8>, Vec<Vec<u8>>) {
    let changes = doc.get_changes(&[]).iter().map(|change| change.raw_bytes().to_vec()).collect();
    (doc.save_nocompress(), doc.save(), changes)
}

#[test]
fn documents_are_equal_with_and_without_shortcuts() {
    for seed in 0..24 {
        let [mut usual, mut always, mut never] = WAYS.map(|shortcuts| built(seed, shortcuts));
        let (saved, deflated, changes) = given(&mut usual);
        for other in [&mut always, &mut never] {
            assert!(given(other) == (saved.clone(), deflated.clone(), changes.clone()), "seed {seed}, made");
        }
        for shortcuts in WAYS {
            let mut loaded = load(&deflated, shortcuts);
            loaded.check(true);
            assert!(
                given(&mut loaded) == (saved.clone(), deflated.clone(), changes.clone()),
                "{seed} loaded"
            );
            let mut merged = load(&[], shortcuts);
            merged.merge(&loaded).expect("changes of a document");
            assert_eq!(merged.save_nocompress(), saved, "seed {seed}, merged");
            let mut applied = load(&[], shortcuts);
            let read =
                |bytes: &Vec<u8>| Change::from_bytes_with(bytes, &limits(shortcuts)).expect("a change");
            applied.apply_changes(changes.iter().map(read)).expect("in their order");
            applied.check(true);
            assert_eq!(applied.save_nocompress(), saved, "seed {seed}, applied");
        }
    }
}

#[test]
fn edited_loaded_document_saves_like_an_unloaded_one() {
    for seed in 100..112 {
        let saved = built(seed, Shortcuts::Usual).save();
        let files = WAYS.map(|shortcuts| {
            let mut doc = load(&saved, shortcuts);
            for round in 0..3_i64 {
                doc.transact(|tx| tx.put(ROOT, "a", round)).expect("a put");
                doc.save();
            }
            doc.save_nocompress()
        });
        assert!(files[0] == files[1] && files[0] == files[2], "seed {seed}");
    }
}
