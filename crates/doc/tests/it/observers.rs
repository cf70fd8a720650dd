//! Observers: whatever brings something new, what they hear is what the difference says, and so are the shortcuts to it.

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{
    ActorId, ChangeHash, CommitOptions, Document, EditError, ExpandMark, Limits, LoadOptions, Mark, ObjId,
    ObjType, Observer, PatchAction, Prop, ROOT, ReadDoc as _, ScalarValue, Shortcuts, TextEncoding,
    Transactable as _, Transaction, Undo,
};
use hashmill_testkit::rng::Rng;

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

/// Objects to edit: at the root, in a map, in a list, in a block of a text, in a text where nobody sees them.
struct Objects {
    texts: Vec<ObjId>,
    lists: Vec<ObjId>,
    maps: Vec<ObjId>,
}

fn furnish(doc: &mut Document) -> Objects {
    let made = doc.transact(|tx| {
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
    made.expect("a new document takes everything")
}

const WORDS: [&str; 6] = ["x", "ß", "𝄞", "e\u{301}", "\r\n", "a few characters"];

/// One edit, mostly of the kinds that shortcuts are about; what is not there any more is left alone.
fn edit(tx: &mut Transaction<'_>, at: &Objects, typed: &mut usize, rng: &mut Rng) -> Result<(), EditError> {
    let text = &at.texts[rng.below(at.texts.len())];
    let list = &at.lists[rng.below(at.lists.len())];
    let map = &at.maps[rng.below(at.maps.len())];
    let (len, elements) = (tx.length(text), tx.length(list));
    let place = rng.below(len + 1);
    let key = ["a", "b", "count", "text"][rng.below(4)];
    match rng.below(24) {
        0..5 => {
            // At the same place again.
            let place = (*typed).min(len);
            *typed = place + 1;
            tx.splice_text(text, place, 0, WORDS[rng.below(WORDS.len())])
        }
        5..8 => tx.splice_text(text, place, 0, WORDS[rng.below(WORDS.len())]),
        8..11 => tx.splice_text(text, place, rng.below(4) as isize, ""),
        11 => tx.splice_text(text, place, -(place.min(3) as isize), ""),
        12 => tx.splice_text(text, place, 2, "instead"),
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
        22 if len > 0 => tx.put(text, place.min(len - 1), "Q"),
        23 if rng.below(6) == 0 => {
            let end = place + rng.below(len + 1 - place);
            tx.mark(text, Mark::new("bold", true, place, end), ExpandMark::After)
        }
        _ => Ok(()),
    }
}

/// Who asks each time, who asks now and then, and what they should hear.
struct Listener {
    observer: Observer,
    heads: Vec<ChangeHash>,
}

impl Listener {
    fn hear(&mut self, doc: &Document, what: &str) {
        let heads = doc.get_heads();
        let expected = doc.diff(&self.heads, &heads).expect("known heads");
        assert_eq!(self.observer.news(doc), expected, "{what}");
        assert!(self.observer.news(doc).is_empty());
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

/// Two people at work, one of them observed.
fn observed(seed: u64, shortcuts: Shortcuts) {
    let mut rng = Rng::new(seed);
    let mut a = doc(ENCODINGS[seed as usize % 4], shortcuts);
    let at = furnish(&mut a);
    let mut b = a.fork().with_actor(ActorId::from([if seed.is_multiple_of(2) { 0 } else { 2 }; 16]));
    let listener = || Listener { observer: Observer::new(), heads: vec![] };
    let mut listeners = [listener(), listener()];
    let (mut undo, mut typed) = (Undo::new(), [0, 0]);
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
                let ((), told) = a.transact_with_patches(edit).unwrap();
                assert_eq!(told, a.diff(&before, &a.get_heads()).unwrap(), "{seed}, {round}");
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
fn what_is_heard_is_the_difference() {
    for seed in 0..96 {
        observed(seed, Shortcuts::Usual);
    }
    for seed in 0..16 {
        observed(seed, Shortcuts::Never);
    }
}

#[test]
fn typing_is_heard_character_by_character() {
    let mut doc = Document::new();
    let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
    let mut observer = Observer::of(&doc);
    assert!(observer.news(&doc).is_empty());
    // Past the end of a leaf's span, of a chunk of the heap and of a leaf.
    for at in 0..40_000 {
        doc.transact(|tx| tx.splice_text(&text, at, 0, "x")).unwrap();
        let [told] = observer.news(&doc) else { panic!("one character is one step") };
        assert!(
            matches!(&told.action, PatchAction::SpliceText { index, value, marks } if *index == at && value == "x" && marks.is_empty())
        );
        assert_eq!((&told.obj, told.path.last()), (&text, Some((&ROOT, &Prop::from("text")))));
    }
    for at in (30_000..40_000).rev() {
        doc.transact(|tx| tx.splice_text(&text, at, 1, "")).unwrap();
        let [told] = observer.news(&doc) else { panic!("one character is one step") };
        assert_eq!(told.action, PatchAction::DeleteSeq { index: at, length: 1 });
    }
}

#[test]
fn another_document_is_told_whole() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let mut observer = Observer::of(&doc);
    let mut copy = doc.fork();
    assert_eq!(observer.news(&copy), copy.current_state());
    copy.transact(|tx| tx.put(ROOT, "b", 2)).unwrap();
    assert_eq!(observer.news(&copy).len(), 1);
    assert_eq!(observer.news(&doc), doc.current_state());
    assert_eq!(observer.news(&Document::new()), []);
}

#[test]
fn what_was_empty_and_is_loaded_is_told() {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).unwrap();
    let saved = doc.save();
    let mut empty = Document::new();
    let mut observer = Observer::of(&empty);
    assert!(observer.news(&empty).is_empty());
    empty.load_incremental(&saved).unwrap();
    assert_eq!(observer.news(&empty), doc.current_state());
}
