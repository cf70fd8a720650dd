//! Observers: patches of any origin equal the diff, with and without shortcuts.

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{
    ActorId, ChangeHash, CommitOptions, Document, EditError, ExpandMark, Limits, LoadOptions, Mark, ObjId,
    ObjType, Observer, PatchAction, Prop, ROOT, ReadDoc as _, ScalarValue, Shortcuts, TextEncoding,
    Transactable as _, Transaction, UndoManager,
};
use hashmill_testkit::{Rng, size};

const ENCODINGS: [TextEncoding; 4] = [
    TextEncoding::UnicodeCodePoint,
    TextEncoding::Utf8CodeUnit,
    TextEncoding::Utf16CodeUnit,
    TextEncoding::GraphemeCluster,
];

fn doc(encoding: TextEncoding, shortcuts: Shortcuts) -> Document {
    let limits = Limits { shortcuts, ..Limits::default() };
    let options = LoadOptions::new().limits(limits).text_encoding(encoding).actor(ActorId::from([1; 16]));
    Document::load_with(&[], options).expect("an empty document")
}

/// Objects to edit: in the root, a map, a list, a block of a text, and as an invisible element of a text.
struct Objects {
    texts: Vec<ObjId>,
    lists: Vec<ObjId>,
    maps: Vec<ObjId>,
}

fn furnish(doc: &mut Document) -> Objects {
    let created = doc.transact(|tx| {
        let map = tx.put_object(ROOT, "map", ObjType::Map)?;
        let list = tx.put_object(&map, "list", ObjType::List)?;
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "some wörds 字")?;
        let block = tx.split_block(&text, 4)?;
        let in_list = tx.insert_object(&list, 0, ObjType::Text)?;
        let in_map = tx.put_object(&map, "text", ObjType::Text)?;
        let in_block = tx.put_object(&block, "text", ObjType::Text)?;
        let unseen = tx.insert_object(&text, 2, ObjType::Text)?;
        let inner = tx.insert_object(&list, 1, ObjType::List)?;
        tx.put(ROOT, "count", ScalarValue::counter(1))?;
        Ok::<_, EditError>(Objects {
            texts: vec![text, in_list, in_map, in_block, unseen],
            lists: vec![list, inner],
            maps: vec![ROOT, map, block],
        })
    });
    created.expect("a new document takes everything")
}

const WORDS: [&str; 6] = ["x", "ß", "𝄞", "e\u{301}", "\r\n", "a few characters"];

/// One edit, mostly of the kinds with shortcuts; missing objects are skipped.
fn edit(tx: &mut Transaction<'_>, at: &Objects, typed: &mut usize, rng: &mut Rng) -> Result<(), EditError> {
    let text = &at.texts[rng.below(at.texts.len())];
    let list = &at.lists[rng.below(at.lists.len())];
    let map = &at.maps[rng.below(at.maps.len())];
    let (len, elements) = (tx.length(text), tx.length(list));
    let index = rng.below(len + 1);
    let key = ["a", "b", "count", "text"][rng.below(4)];
    match rng.below(24) {
        0..5 => {
            // At the same position again.
            let index = (*typed).min(len);
            *typed = index + 1;
            tx.splice_text(text, index, 0, WORDS[rng.below(WORDS.len())])
        }
        5..8 => tx.splice_text(text, index, 0, WORDS[rng.below(WORDS.len())]),
        8..11 => tx.splice_text(text, index, rng.below(4) as isize, ""),
        11 => tx.splice_text(text, index, -(index.min(3) as isize), ""),
        12 => tx.splice_text(text, index, 2, "instead"),
        13..16 => tx.put(map, key, rng.below(3) as i64),
        16 => tx.delete(map, key),
        17 => match tx.increment(map, "count", rng.below(3) as i64 - 1) {
            Err(EditError::NotCounter(_)) => tx.put(map, "count", ScalarValue::counter(7)),
            done => done,
        },
        18 => tx.put_object(map, "a", [ObjType::Map, ObjType::Text, ObjType::List][rng.below(3)]).map(drop),
        19 => tx.insert(list, rng.below(elements + 1), "element"),
        20 if elements > 0 => tx.delete(list, rng.below(elements)),
        21 if elements > 0 => tx.put(list, rng.below(elements), rng.below(9) as i64),
        22 if len > 0 => tx.put(text, index.min(len - 1), "Q"),
        23 if rng.below(6) == 0 => {
            let end = index + rng.below(len + 1 - index);
            tx.mark(text, Mark::new("bold", true, index, end), ExpandMark::After)
        }
        _ => Ok(()),
    }
}

/// An observer that is read each time, one that is read sometimes, and the expected patches.
struct Listener {
    observer: Observer,
    heads: Vec<ChangeHash>,
}

impl Listener {
    fn hear(&mut self, doc: &Document, what: &str) {
        let heads = doc.get_heads();
        let expected = doc.diff(&self.heads, &heads).expect("known heads");
        assert_eq!(self.observer.patches_since_last(doc), expected, "{what}");
        assert!(self.observer.patches_since_last(doc).is_empty());
        self.heads = heads;
    }
}

fn sync(a: &mut Document, b: &mut Document) {
    let (mut of_b, mut of_a) = (State::new(), State::new());
    loop {
        let there = a.generate_sync_message(&mut of_b);
        let back = b.generate_sync_message(&mut of_a);
        if there.is_none() && back.is_none() {
            return;
        }
        there.into_iter().for_each(|message| drop(b.receive_sync_message(&mut of_a, message).unwrap()));
        back.into_iter().for_each(|message| drop(a.receive_sync_message(&mut of_b, message).unwrap()));
    }
}

/// Two users at work, one of them observed.
fn observed(seed: u64, shortcuts: Shortcuts) {
    let mut rng = Rng::new(seed);
    let mut a = doc(ENCODINGS[seed as usize % 4], shortcuts);
    let at = furnish(&mut a);
    let mut b = a.fork().with_actor(ActorId::from([if seed.is_multiple_of(2) { 0 } else { 2 }; 16]));
    let listener = || Listener { observer: Observer::new(), heads: vec![] };
    let mut listeners = [listener(), listener()];
    let (mut undo, mut typed) = (UndoManager::new(), [0, 0]);
    for round in 0..150 {
        let event = rng.below(20);
        for _ in 0..rng.below(3) {
            let edits = rng.below(3);
            b.transact(|tx| (0..edits).try_for_each(|_| edit(tx, &at, &mut typed[1], &mut rng))).unwrap();
        }
        match event {
            0 => drop(a.merge(&b).unwrap()),
            1 => drop(b.merge(&a).unwrap()),
            2 => sync(&mut a, &mut b),
            3 => {
                let changes = b.get_changes(&a.get_heads());
                a.apply_changes(changes).unwrap();
            }
            4 => drop(a.load_incremental(&b.save()).unwrap()),
            5 => drop(undo.undo(&mut a).unwrap()),
            6 => drop(undo.redo(&mut a).unwrap()),
            7 => drop(a.empty_commit(&CommitOptions::default())),
            8 => {
                let before = a.get_heads();
                let edits = rng.below(3);
                let edit = |tx: &mut Transaction<'_>| {
                    (0..edits).try_for_each(|_| edit(tx, &at, &mut typed[0], &mut rng))
                };
                let ((), patches) = a.transact_with_patches(edit).unwrap();
                assert_eq!(patches, a.diff(&before, &a.get_heads()).unwrap(), "{seed}, {round}");
            }
            9 => {
                let mut tx = a.transaction();
                edit(&mut tx, &at, &mut typed[0], &mut rng).unwrap();
                match rng.below(2) {
                    0 => drop(tx),
                    _ => std::mem::forget(tx),
                }
            }
            _ => {
                let edits = 1 + rng.below(5) / 4;
                let edit = |tx: &mut Transaction<'_>| {
                    (0..edits).try_for_each(|_| edit(tx, &at, &mut typed[0], &mut rng))
                };
                let (_, commit) = a.transact_with(&CommitOptions::default(), edit).unwrap();
                undo.record(commit);
            }
        }
        let what = format!("seed {seed}, round {round}, event {event}");
        listeners[0].hear(&a, &what);
        if rng.below(5) == 0 {
            listeners[1].hear(&a, &what);
        }
    }
    a.check(true);
}

#[test]
fn observed_patches_equal_the_diff() {
    for seed in 0..size::of(32, 96) {
        observed(seed, Shortcuts::Usual);
    }
    for seed in 0..size::of(6, 16) {
        observed(seed, Shortcuts::Never);
    }
}

#[test]
fn typing_is_observed_character_by_character() {
    let mut doc = Document::new();
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
    let mut observer = Observer::from_current(&doc);
    assert!(observer.patches_since_last(&doc).is_empty());
    // Beyond the limits of a span, a heap chunk and a leaf.
    for at in 0..40_000 {
        doc.transact(|tx| tx.splice_text(&text, at, 0, "x")).unwrap();
        let [patch] = observer.patches_since_last(&doc) else { panic!("one character is one step") };
        assert!(
            matches!(&patch.action, PatchAction::SpliceText { index, value, marks } if *index == at && value == "x" && marks.is_empty())
        );
        assert_eq!((&patch.obj, patch.path.last()), (&text, Some((&ROOT, &Prop::from("text")))));
    }
    for at in (30_000..40_000).rev() {
        doc.transact(|tx| tx.splice_text(&text, at, 1, "")).unwrap();
        let [patch] = observer.patches_since_last(&doc) else { panic!("one character is one step") };
        assert_eq!(patch.action, PatchAction::DeleteSeq { index: at, length: 1 });
    }
}

#[test]
fn another_document_is_reported_completely() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let mut observer = Observer::from_current(&doc);
    let mut copy = doc.fork();
    assert_eq!(observer.patches_since_last(&copy), copy.current_state());
    copy.transact(|tx| tx.put(ROOT, "b", 2)).unwrap();
    assert_eq!(observer.patches_since_last(&copy).len(), 1);
    assert_eq!(observer.patches_since_last(&doc), doc.current_state());
    assert_eq!(observer.patches_since_last(&Document::new()), []);
}

#[test]
fn loading_into_an_empty_document_is_observed() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let saved = doc.save();
    let mut empty = Document::new();
    let mut observer = Observer::from_current(&empty);
    assert!(observer.patches_since_last(&empty).is_empty());
    empty.load_incremental(&saved).unwrap();
    assert_eq!(observer.patches_since_last(&empty), doc.current_state());
}
