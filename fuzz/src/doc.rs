//! No bytes may panic, hang, or take more memory than the limits allow; what is accepted can be saved, and what is saved
//! can be loaded again with the same heads.

use hashmill_doc::{
    ActorId, Change, Cursor, Document, Limits, LoadOptions, MoveCursor, ObjId, ObjType, OnPartialLoad, ROOT,
    ReadDoc, Transactable,
};
use sha2::{Digest as _, Sha256};

/// What one input may ask for: a hundredth of what a fuzzer's process has.
const LIMITS: Limits = Limits {
    inflated_bytes: 1 << 20,
    operations: 1 << 16,
    total: 1 << 17,
    changes: 1 << 12,
    steps: 1 << 12,
    parallel_from: u64::MAX,
};

/// The same for threads that read side by side, however little there is to read.
const TOGETHER: Limits = Limits { parallel_from: 0, ..LIMITS };

fn options() -> LoadOptions {
    LoadOptions::new().limits(LIMITS).actor(ActorId::from([7; 4]))
}

/// The first byte says what the rest is: a file, or the body of a chunk of one type, whose checksum is made right so that
/// the fuzzer need not guess it.
pub fn doc_load(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let bytes = framed(first, rest);
    for partial in [OnPartialLoad::Error, OnPartialLoad::Ignore] {
        let options = options().on_partial_load(partial);
        let together = Document::load_with(&bytes, options.clone().limits(TOGETHER));
        match Document::load_with(&bytes, options) {
            Ok(doc) => {
                let together = together.unwrap_or_else(|error| panic!("side by side: {error}"));
                together.check(true);
                assert_eq!((together.get_heads(), seen(&together)), (doc.get_heads(), seen(&doc)));
                keeps(doc);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(together.expect_err("side by side it loads"), error);
            }
        }
    }
}

/// As [`doc_load`], added to a document that has something in it; what is refused must leave it as it was.
pub fn doc_incremental(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let bytes = framed(first, rest);
    for limits in [LIMITS, TOGETHER] {
        let mut doc = within(limits);
        doc.merge(&small()).expect("a new document takes everything");
        let before = (doc.get_heads(), seen(&doc));
        match doc.load_incremental(&bytes) {
            Ok(_) => keeps(doc),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!((doc.get_heads(), seen(&doc)), before);
            }
        }
    }
}

/// As [`doc_load`], for files that do not load: what is had of them is a document, and the report names every byte that is
/// not in it, in the order of the file.
pub fn doc_rescue(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let bytes = framed(first, rest);
    let rescue = Document::rescue(&bytes, options());
    let mut end = 0;
    for loss in &rescue.losses {
        assert!(end <= loss.bytes.start && loss.bytes.start < loss.bytes.end, "{loss:?} after {end}");
        assert!(!loss.why.to_string().is_empty());
        end = loss.bytes.end;
    }
    assert!(end <= bytes.len());
    assert_eq!(rescue.missing, rescue.document.get_missing_deps(&[]));
    match Document::load_with(&bytes, options()) {
        Ok(doc) => assert_eq!((rescue.losses.len(), rescue.document.get_heads()), (0, doc.get_heads())),
        Err(error) => assert!(!rescue.losses.is_empty() || !rescue.missing.is_empty(), "{error}"),
    }
    keeps(rescue.document);
}

/// The body of one change, applied to an empty document and to one that has something in it.
pub fn doc_change(data: &[u8]) {
    let bytes = framed(2, data);
    let Ok(change) = Change::from_bytes_with(&bytes, &LIMITS) else { return };
    assert_eq!(change.raw_bytes(), bytes, "a change keeps its bytes, or it would lose its name");
    let mut full = within(LIMITS);
    full.merge(&small()).expect("a new document takes everything");
    for mut doc in [within(LIMITS), full] {
        let before = (doc.get_heads(), seen(&doc));
        match doc.apply_changes([change.clone()]) {
            Ok(()) => keeps(doc),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!((doc.get_heads(), seen(&doc)), before);
            }
        }
    }
}

/// A cursor as bytes, or as text where the first byte says so, looked for in a document that has something in it.
pub fn doc_cursor(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let read = match (first & 1, str::from_utf8(rest)) {
        (0, _) => Cursor::try_from(rest),
        (_, Ok(text)) => text.parse(),
        (_, Err(_)) => return,
    };
    let cursor = match read {
        Ok(cursor) => cursor,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(Cursor::try_from(&cursor.to_bytes()[..]), Ok(cursor.clone()));
    assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()));
    let mut doc = small();
    let then = doc.get_heads();
    doc.transact(|tx| tx.splice_text(object(&*tx, "text"), 1, 3, "")).expect("a text of five letters");
    for (key, len) in [("text", 5), ("list", 1)] {
        let place = |at| doc.get_cursor_position_at(object(&doc, key), &cursor, at);
        for place in [place(&then), place(&doc.get_heads())] {
            match place {
                Ok(place) => assert!(place <= len),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

/// A file as it is, or a chunk around a body.
fn framed(first: u8, rest: &[u8]) -> Vec<u8> {
    let Some(kind) = (first % 5).checked_sub(1) else { return rest.to_vec() };
    let mut framed = vec![kind];
    let mut length = rest.len();
    while length >= 0x80 {
        framed.push(length as u8 | 0x80);
        length >>= 7;
    }
    framed.push(length as u8);
    framed.extend_from_slice(rest);
    let checksum = Sha256::digest(&framed);
    [&[0x85, 0x6f, 0x4a, 0x83], &checksum[..4], &framed].concat()
}

/// An empty document with limits.
fn within(limits: Limits) -> Document {
    Document::load_with(&[], options().limits(limits)).expect("nothing at all is a document")
}

/// A document with a text, a list and a counter, by the actor that many seeds have as well.
fn small() -> Document {
    let actor: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
    let mut doc = Document::new().with_actor(ActorId::from(actor));
    let mut tx = doc.transaction();
    let made = tx.put(ROOT, "k", 1_i64).and_then(|()| {
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "hello")?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.insert(&list, 0, 1_i64)
    });
    made.expect("a new document takes everything");
    tx.commit();
    doc
}

/// The object at a key of the root.
fn object(doc: &impl ReadDoc, key: &str) -> ObjId {
    doc.get(ROOT, key).expect("a map").expect("a key that is there").1
}

/// What can be seen of the root.
fn seen(doc: &Document) -> Vec<(String, String)> {
    doc.map_range(ROOT, ..).map(|(key, value, _)| (key.to_owned(), format!("{value:?}"))).collect()
}

/// A cursor at an element that is there is at it, however it moves.
fn points(doc: &Document) {
    for (_, _, id) in doc.map_range(ROOT, ..) {
        let sequence = matches!(doc.object_type(&id), Ok(ObjType::List | ObjType::Text));
        for index in 0..doc.length(&id).min(if sequence { 16 } else { 0 }) {
            let [after, before] = [MoveCursor::After, MoveCursor::Before].map(|moving| {
                let cursor = doc.get_cursor_moving(&id, index, moving).expect("an index below the length");
                doc.get_cursor_position(&id, &cursor).expect("a cursor of this document")
            });
            assert!(after == before && after <= index, "{after} and {before} for {index}");
        }
    }
}

/// What was accepted can be saved and loaded, twice over.
fn keeps(mut doc: Document) {
    doc.check(true);
    points(&doc);
    let heads = doc.get_heads();
    let what = seen(&doc);
    for saved in [doc.save(), doc.save_nocompress()] {
        let again =
            Document::load_with(&saved, options()).unwrap_or_else(|error| panic!("{error}: {heads:?}"));
        assert_eq!((again.get_heads(), seen(&again)), (heads.clone(), what.clone()));
    }
}
