//! Documents with limits: accepted contents are saved, and load within the same limits.

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{
    ActorId, CommitOptions, Document, EditError, ExpandMark, Limits, LoadOptions, Mark, ObjId, ObjType, ROOT,
    ReadDoc as _, ScalarValue, Transactable as _, Transaction, UndoManager,
};

use crate::Rng;
use crate::support::worlds::for_all;

/// Limits of which one or several are low.
fn limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    for _ in 0..1 + rng.below(3) {
        match rng.below(5) {
            0 | 1 => limits.inflated_bytes = 2000 << rng.below(6),
            2 => limits.operations = 10 + rng.below(200) as u64,
            3 => limits.total = 50 + rng.below(1000) as u64,
            _ => limits.steps = rng.below(2000) as u64,
        }
    }
    if rng.below(4) == 0 {
        limits.changes = 5 + rng.below(50) as u64;
    }
    limits
}

/// A list and a text that all share.
fn base() -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| {
        tx.put_object(ROOT, "list", ObjType::List)?;
        tx.put_object(ROOT, "text", ObjType::Text)
    })
    .unwrap();
    doc
}

fn edit(tx: &mut Transaction<'_>, rng: &mut Rng) -> Result<(), EditError> {
    let object = |tx: &Transaction<'_>, key| tx.get(ROOT, key).map(|value| value.map(|(_, id)| id));
    let (Some(list), Some(text)): (Option<ObjId>, Option<ObjId>) = (object(tx, "list")?, object(tx, "text")?)
    else {
        return tx.put(ROOT, "key", 1);
    };
    let (kind, count) = (rng.below(11), 1 + rng.below(60));
    for n in 0..count {
        let (length, width) = (tx.length(&list), tx.length(&text));
        match kind {
            0 => tx.insert(&list, rng.below(length + 1), ScalarValue::Null)?,
            1 => tx.insert(&list, rng.below(length + 1), n as i64 * 1000)?,
            2 if length > 0 => tx.delete(&list, rng.below(length))?,
            3 if length > 0 => tx.put(&list, rng.below(length), n % 2 == 0)?,
            4 => tx.splice_text(&text, rng.below(width + 1), 0, if n % 2 == 0 { "a" } else { "é…" })?,
            5 if width > 2 => tx.splice_text(&text, rng.below(width - 1), 1, "")?,
            6 => tx.splice_text(&text, rng.below(width + 1), 0, "aéa…aé words and words")?,
            7 => tx.put(ROOT, format!("key {}", rng.below(50)), n as i64)?,
            8 if width > 4 => {
                let start = rng.below(width - 2);
                let mark = Mark { start, end: start + 2, name: "bold".into(), value: (n as i64).into() };
                tx.mark(&text, mark, ExpandMark::After)?;
            }
            9 => drop(tx.insert_object(&list, rng.below(length + 1), ObjType::Map)?),
            _ => tx.put(ROOT, "flag", n % 2 == 0)?,
        }
    }
    Ok(())
}

/// Checks that an edit fails at most because of a limit.
fn within<T>(result: Result<T, EditError>) {
    if let Err(error) = result {
        assert!(matches!(error, EditError::Limit(_) | EditError::Full), "{error}");
    }
}

fn talk(doc: &mut Document, peer: &mut Document) {
    let (mut of_peer, mut of_doc) = (State::new(), State::new());
    for round in 0.. {
        assert!(round < 40, "sync does not terminate");
        let (call, answer) =
            (doc.generate_sync_message(&mut of_peer), peer.generate_sync_message(&mut of_doc));
        if call.is_none() && answer.is_none() {
            return;
        }
        call.into_iter().for_each(|call| drop(peer.receive_sync_message(&mut of_doc, call).unwrap()));
        answer.into_iter().for_each(|answer| drop(doc.receive_sync_message(&mut of_peer, answer).unwrap()));
    }
}

/// Runs a random world; returns the number of accepted operations.
fn world(seed: u64) -> usize {
    let rng = &mut Rng::new(seed);
    let limits = limits(rng);
    let load = |bytes: &[u8]| Document::load_with(bytes, LoadOptions::new().limits(limits));
    let mut doc = load(&[]).unwrap().with_actor(ActorId::from([7]));
    let base = base();
    drop(doc.merge(&base));
    let mut peers: Vec<Document> =
        (2..4).map(|actor| base.fork().with_actor(ActorId::from([actor]))).collect();
    let mut undo = UndoManager::new();
    for step in 0..24 {
        let peer = &mut peers[step % 2];
        match rng.below(8) {
            0 => drop(doc.merge(peer)),
            1 => drop(doc.apply_changes(peer.get_changes(&doc.get_heads()))),
            2 => talk(&mut doc, peer),
            3 => within(undo.undo(&mut doc)),
            4 => {
                let changes = doc.get_changes(&[]);
                let heads = changes.get(rng.below(changes.len())).map(|change| vec![change.hash()]);
                let past = CommitOptions::default().with_message("in the past");
                within(doc.transact_at(&heads.unwrap_or_default(), &past, |tx| edit(tx, rng)));
            }
            5 => peer.transact(|tx| edit(tx, rng)).unwrap(),
            _ => match doc.transact_with(&CommitOptions::default(), |tx| edit(tx, rng)) {
                Ok((_, commit)) => undo.record(commit),
                Err(error) => within::<()>(Err(error)),
            },
        }
        doc.check(true);
        if step % 4 == 3 {
            let again =
                load(&doc.save()).unwrap_or_else(|error| panic!("{seed}, {step}: {error}, {limits:?}"));
            assert_eq!(again.get_heads(), doc.get_heads(), "{seed}");
        }
    }
    doc.stats().operations as usize
}

#[test]
fn accepted_changes_are_saved_and_loaded() {
    for_all("saves of its own under limits", 0..100, world);
}

/// An edit at earlier heads is checked in a smaller document, whose columns say little about the room in the whole.
#[test]
fn edit_at_earlier_heads_keeps_to_the_limits_of_the_whole() {
    for inflated_bytes in [1 << 12, 1 << 13, 1 << 15] {
        let limits = Limits { inflated_bytes, ..Limits::default() };
        let load = |bytes: &[u8]| Document::load_with(bytes, LoadOptions::new().limits(limits));
        let mut doc = load(&[]).unwrap().with_actor(ActorId::from([7]));
        doc.merge(&base()).unwrap();
        let past = doc.get_heads();
        // More than half of the column limit, so that the columns are measured.
        let words = "words and more of them, é… ".repeat(inflated_bytes as usize / 100);
        let text = doc.get(ROOT, "text").unwrap().expect("a text").1;
        doc.transact(|tx| tx.splice_text(&text, 0, 0, &words)).unwrap();
        let list = doc.get(ROOT, "list").unwrap().expect("a list").1;
        let mut accepted = 0;
        for count in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
            let edit = |tx: &mut Transaction<'_>| {
                (0..count).try_for_each(|n| tx.insert(&list, n / 2, n as i64 * 1000))
            };
            let result = doc.transact_at(&past, &CommitOptions::default(), edit);
            accepted += usize::from(result.is_ok());
            within(result);
            doc.check(true);
            let again =
                load(&doc.save()).unwrap_or_else(|error| panic!("{inflated_bytes}, {count}: {error}"));
            assert_eq!(again.get_heads(), doc.get_heads());
        }
        assert!((1..11).contains(&accepted), "{inflated_bytes}: {accepted} of 11 edits");
    }
}

/// Columns of values without bytes count with their measured size: no more is refused than necessary.
#[test]
fn nulls_are_limited_by_their_columns() {
    for (inflated_bytes, least) in [(1 << 12, 300), (1 << 14, 1800), (1 << 16, 8000)] {
        let limits = Limits { inflated_bytes, ..Limits::default() };
        let mut doc = Document::load_with(&[], LoadOptions::new().limits(limits)).unwrap();
        doc.set_actor(ActorId::from([1]));
        let list = doc.transact(|tx| tx.put_object(ROOT, "list", ObjType::List)).unwrap();
        let rng = &mut Rng::new(inflated_bytes);
        let mut count = 0;
        let refused = loop {
            let result = doc.transact(|tx| {
                (0..50).try_for_each(|n| tx.insert(&list, rng.below(count + n + 1), ScalarValue::Null))
            });
            match result {
                Ok(()) => count += 50,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, EditError::Limit(_)), "{refused}");
        assert!(count >= least, "{inflated_bytes}: {count}");
        let again = Document::load_with(&doc.save(), LoadOptions::new().limits(limits)).unwrap();
        assert_eq!((again.get_heads(), again.length(&list)), (doc.get_heads(), count));
        // Highly compressible data must be inflated for reading.
        let tight = Limits { inflated_bytes: inflated_bytes / 2, ..limits };
        assert!(Document::load_with(&doc.save(), LoadOptions::new().limits(tight)).is_err());
    }
}

/// A text inserted in one call is one run of any length.
#[test]
fn long_text_needs_little_more_than_its_bytes() {
    let limits = Limits { inflated_bytes: 1 << 20, ..Limits::default() };
    let within = || LoadOptions::new().limits(limits).actor(ActorId::from([1]));
    for (letters, most) in [("plain ", 480_000), ("aéa…", 300_000)] {
        let mut doc = Document::load_with(&[], within()).unwrap();
        let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text)).unwrap();
        let long = letters.repeat(most / letters.len());
        doc.transact(|tx| tx.splice_text(&text, 0, 0, &long)).unwrap();
        // Nothing of it is left, and there is room for the deletion.
        let length = doc.length(&text);
        doc.transact(|tx| tx.splice_text(&text, 0, length as isize, "short")).unwrap();
        let again = Document::load_with(&doc.save(), within()).unwrap();
        assert_eq!(again.get_heads(), doc.get_heads());
    }
}
