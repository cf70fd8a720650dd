//! Fuzz targets for document files: no panic, no hang, and no memory beyond the limits; an accepted document can be saved and loaded
//! with the same heads.

use std::borrow::Cow;

use hashmill_doc::{
    ActorId, Change, Cursor, Document, LazyDocument, Limits, LoadError, LoadOptions, ObjId, ObjType,
    OnPartialLoad, OpenCheck, ROOT, ReadDoc, Shortcuts, Transactable,
};
use hashmill_testkit::mutate::chunk;

use crate::accepted::{accepted, same};
use crate::verdict::Verdict;

/// Limits of one input: a hundredth of the resources of a fuzzer's process.
pub(crate) const LIMITS: Limits = Limits {
    inflated_bytes: 1 << 20,
    operations: 1 << 16,
    total: 1 << 17,
    changes: 1 << 12,
    steps: 1 << 12,
    parallel_from: u64::MAX,
    shortcuts: Shortcuts::DEFAULT,
};

/// The same limits, with parallel reads and shortcuts for inputs of any size.
const TOGETHER: Limits = Limits { parallel_from: 0, shortcuts: Shortcuts::Always, ..LIMITS };

pub(crate) fn options() -> LoadOptions {
    LoadOptions::new().limits(LIMITS).actor(ActorId::from([7; 4]))
}

/// Number of framings of an input; see [`framed`]. The first byte divided by it selects the load method; 0 tries all of
/// them.
pub(crate) const FRAMES: u8 = 5;

/// The first byte selects the meaning of the rest: a file, or the body of a chunk of one type. The checksum is computed here,
/// because a fuzzer cannot guess it.
pub fn doc_load(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let bytes = framed(first, rest);
    let route = first / FRAMES % 4;
    let mut verdict = Verdict::Refused;
    for (number, partial) in [(1, OnPartialLoad::Error), (2, OnPartialLoad::Ignore)] {
        if route == 0 || route == number {
            verdict = load_by_itself(&bytes, partial);
            open_and_ask(&bytes, partial);
        }
        if route == 0 || (route == 3 && number == 1) {
            load_side_by_side(&bytes, partial);
        }
    }
    verdict
}

fn load_by_itself(bytes: &[u8], partial: OnPartialLoad) -> Verdict {
    match Document::load_with(bytes, options().on_partial_load(partial)) {
        Ok(doc) => {
            accepted(&doc);
            if doc.is_empty() { Verdict::Refused } else { Verdict::Accepted }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            match error {
                LoadError::Heads { computed, .. } => Verdict::OtherHeads(computed),
                _ => Verdict::Refused,
            }
        }
    }
}

/// A document that is opened and parsed later equals one that is loaded at once, or gives the same error.
fn open_and_ask(bytes: &[u8], partial: OnPartialLoad) {
    let options = options().on_partial_load(partial);
    let loaded = Document::load_with(bytes, options.clone());
    for opening in [OpenCheck::Checksums, OpenCheck::Frames] {
        let opened = Document::open_with(bytes, options.clone().open_check(opening));
        match (opened.and_then(LazyDocument::into_document), &loaded) {
            (Ok(doc), Ok(loaded)) => same(loaded, &doc),
            (Err(error), Err(other)) => assert_eq!(&error, other, "another error when read later"),
            (Ok(_), Err(error)) => panic!("opened and read, loaded not: {error}"),
            (Err(error), Ok(_)) => panic!("loaded, opened and read not: {error}"),
        }
    }
}

/// Parallel and sequential loads give the same result.
fn load_side_by_side(bytes: &[u8], partial: OnPartialLoad) {
    let options = options().on_partial_load(partial);
    let together = Document::load_with(bytes, options.clone().limits(TOGETHER));
    match Document::load_with(bytes, options) {
        Ok(doc) => {
            let together = together.unwrap_or_else(|error| panic!("side by side: {error}"));
            together.check(true);
            same(&doc, &together);
        }
        Err(error) => assert_eq!(together.expect_err("side by side it loads"), error),
    }
}

/// As [`doc_load`], added to a document with contents, which a refused input must leave unchanged.
pub fn doc_incremental(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let bytes = framed(first, rest);
    let route = first / FRAMES % 3;
    let mut verdict = Verdict::Refused;
    for (number, limits) in [(1, LIMITS), (2, TOGETHER)] {
        if route == 0 || route == number {
            verdict = incremental(&bytes, small_within(limits));
        }
    }
    verdict
}

fn incremental(bytes: &[u8], mut doc: Document) -> Verdict {
    let before = doc.clone();
    match doc.load_incremental(bytes) {
        Ok(_) => extended(&doc, &before),
        Err(error) => refused(&doc, &before, &error),
    }
}

/// Verdict for an input without an error: accepted if it added anything.
fn extended(doc: &Document, before: &Document) -> Verdict {
    accepted(doc);
    let waiting = doc.get_missing_deps(&[]).len() > before.get_missing_deps(&[]).len();
    if waiting || doc.get_heads() != before.get_heads() { Verdict::Accepted } else { Verdict::Refused }
}

/// Checks a refusal: it has a reason, and the document is unchanged, without actors of the refused input.
pub(crate) fn refused(doc: &Document, before: &Document, error: &impl ToString) -> Verdict {
    assert!(!error.to_string().is_empty());
    doc.check(true);
    same(doc, before);
    assert_eq!(doc.stats(), before.stats(), "what is refused leaves something");
    Verdict::Refused
}

/// As [`doc_load`], for files that do not load: the rescued part is a document, and the report names every other byte, in
/// the order of the file.
pub fn doc_rescue(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let bytes = framed(first, rest);
    let rescue = Document::rescue(&bytes, options());
    let mut end = 0;
    for loss in &rescue.losses {
        assert!(end <= loss.bytes.start && loss.bytes.start < loss.bytes.end, "{loss:?} after {end}");
        assert!(!loss.reason.to_string().is_empty());
        end = loss.bytes.end;
    }
    assert!(end <= bytes.len());
    assert_eq!(rescue.missing, rescue.document.get_missing_deps(&[]));
    match Document::load_with(&bytes, options()) {
        Ok(doc) => assert_eq!((rescue.losses.len(), rescue.document.get_heads()), (0, doc.get_heads())),
        Err(error) => assert!(!rescue.losses.is_empty() || !rescue.missing.is_empty(), "{error}"),
    }
    accepted(&rescue.document);
    if rescue.document.is_empty() { Verdict::Refused } else { Verdict::Accepted }
}

/// The body of one change, applied to an empty document if it has no dependencies, and to one with contents.
pub fn doc_change(data: &[u8]) -> Verdict {
    let bytes = framed(2, data);
    let Ok(change) = Change::from_bytes_with(&bytes, &LIMITS) else { return Verdict::Refused };
    assert_eq!(change.raw_bytes(), *bytes, "a change keeps its bytes, or it would lose its name");
    let mut docs = vec![small_within(LIMITS)];
    if change.deps().is_empty() {
        docs.push(within(LIMITS));
    }
    let mut verdict = Verdict::Refused;
    for mut doc in docs {
        let before = doc.clone();
        let found = match doc.apply_changes([change.clone()]) {
            Ok(()) => extended(&doc, &before),
            Err(error) => refused(&doc, &before, &error),
        };
        if found == Verdict::Accepted {
            verdict = found;
        }
    }
    verdict
}

/// A cursor as bytes or as text, selected by the first byte, resolved in a document with contents.
pub fn doc_cursor(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let read = match (first & 1, str::from_utf8(rest)) {
        (0, _) => Cursor::try_from(rest),
        (_, Ok(text)) => text.parse(),
        (_, Err(_)) => return Verdict::Refused,
    };
    let cursor = match read {
        Ok(cursor) => cursor,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Verdict::Refused;
        }
    };
    assert_eq!(Cursor::try_from(&cursor.to_bytes()[..]), Ok(cursor.clone()));
    assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()));
    let mut doc = small();
    let then = doc.get_heads();
    doc.transact(|tx| tx.splice_text(object(&*tx, "text"), 1, 3, "")).expect("a text of five letters");
    for (key, len) in [("text", 5), ("list", 1)] {
        let position = |at| doc.get_cursor_position_at(object(&doc, key), &cursor, at);
        for position in [position(&then), position(&doc.get_heads())] {
            match position {
                Ok(position) => assert!(position <= len),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    Verdict::Accepted
}

/// An unchanged file, or a chunk around a body.
pub(crate) fn framed(first: u8, rest: &[u8]) -> Cow<'_, [u8]> {
    let Some(kind) = (first % FRAMES).checked_sub(1) else { return rest.into() };
    let mut framed = vec![];
    chunk::seal(&mut framed, kind, rest);
    framed.into()
}

/// An empty document with limits.
pub(crate) fn within(limits: Limits) -> Document {
    Document::load_with(&[], options().limits(limits)).expect("nothing at all is a document")
}

/// The contents of [`small`] in a document with these limits, which permit them.
pub(crate) fn small_within(limits: Limits) -> Document {
    thread_local! {
        static DOCUMENTS: [(Limits, Document); 2] = [LIMITS, TOGETHER].map(|limits| (limits, new_small(limits)));
    }
    DOCUMENTS.with(|documents| match documents.iter().find(|(known_limits, _)| *known_limits == limits) {
        Some((_, doc)) => doc.clone(),
        None => new_small(limits),
    })
}

fn new_small(limits: Limits) -> Document {
    let mut doc = within(limits);
    doc.merge(&small()).expect("a new document takes everything");
    doc
}

/// A document with a text, a list and a counter, by an actor that many seeds use.
pub(crate) fn small() -> Document {
    let actor: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
    let mut doc = Document::new().with_actor(ActorId::from(actor));
    let mut tx = doc.transaction();
    let result = tx.put(ROOT, "k", 1_i64).and_then(|()| {
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "hello")?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        tx.insert(&list, 0, 1_i64)
    });
    result.expect("a new document takes everything");
    tx.commit();
    doc
}

/// The object at a key of the root.
fn object(doc: &impl ReadDoc, key: &str) -> ObjId {
    doc.get(ROOT, key).expect("a map").expect("a key that is there").1
}
