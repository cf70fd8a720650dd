//! Invariants of every document after an accepted input: its structures are consistent, the saved file loads, and the loaded document
//! is equal in all reads.
//!
//! The fuzz targets, the replay of their seeds and the mutation runner share this check. It uses only the public interface of the
//! engine, and panics with a message.

use hashmill_doc::{
    ApplyError, BundleError, Change, ChangeHash, DecodeError, Document, EditError, Limits, LoadError,
    LoadOptions, MapRangeItem, MoveCursor, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Shortcuts, Value,
    View,
};
use hashmill_testkit::mutate::chunk;

/// Maximum number of elements of a sequence that are read one by one.
const ELEMENTS: usize = 24;

/// Maximum number of earlier versions that are compared.
const MOMENTS: usize = 8;

/// Shorter files have no column that is long enough to deflate, in bytes.
const DEFLATED: usize = 256;

/// Options to load a file saved here: the defaults, on the calling thread.
fn options(shortcuts: Shortcuts) -> LoadOptions {
    LoadOptions::new().limits(Limits { parallel_from: u64::MAX, shortcuts, ..Limits::default() })
}

/// Panics unless the document can be saved, and loaded with equal content.
pub fn accepted(doc: &Document) {
    doc.check(true);
    cursors(doc);
    let mut copy = doc.clone();
    let saved = copy.save_nocompress();
    let load_by = |bytes: &[u8], shortcuts| match Document::load_with(bytes, options(shortcuts)) {
        Ok(again) => again,
        Err(error) => panic!("what was accepted does not load again: {error}"),
    };
    let load = |bytes: &[u8]| load_by(bytes, Shortcuts::Usual);
    let mut again = load(&saved);
    again.check(true);
    let changes = doc.get_changes(&[]);
    for change in &changes {
        let sound = chunk::hash(&change.raw_bytes()) == change.hash().0;
        assert!(sound, "a change is not what it was: its bytes have another hash");
    }
    same(doc, &again);
    assert!(again.save_nocompress() == saved, "saving what was loaded gives another file");
    if saved.len() >= DEFLATED {
        same(doc, &load(&copy.save()));
    }
    bundled(doc, &changes);
    // The same content, applied change by change.
    let mut one_by_one =
        Document::load_with(&[], options(Shortcuts::Usual)).expect("nothing at all is a document");
    if let Err(error) = one_by_one.apply_changes(changes) {
        panic!("its own changes are refused: {error}");
    }
    assert_eq!(one_by_one.get_heads(), doc.get_heads(), "other heads, change by change");
    same_views(&doc.view(), &one_by_one.view());
    // With all shortcuts or with none, in turn, to halve the time.
    let shortcuts = [Shortcuts::Always, Shortcuts::Never][saved.len() % 2];
    let mut other = load_by(&saved, shortcuts);
    assert!(other.save_nocompress() == saved, "another file by other shortcuts");
    let mut merged = Document::load_with(&[], options(shortcuts)).expect("nothing at all is a document");
    if let Err(error) = merged.merge(&other) {
        panic!("its own changes are refused in a merge: {error}");
    }
    assert_eq!(merged.get_heads(), doc.get_heads(), "other heads, merged");
    same_views(&doc.view(), &merged.view());
}

/// Panics unless all changes round-trip through a bundle, or exceed its limits.
fn bundled(doc: &Document, changes: &[Change]) {
    let bundle = match doc.bundle(changes.iter().map(Change::hash)) {
        Ok(bundle) => bundle,
        Err(BundleError::Decode(DecodeError::Limit(_))) => return,
        Err(error) => panic!("its own changes are no bundle: {error}"),
    };
    match Document::load_with(bundle.bytes(), options(Shortcuts::Usual)) {
        Ok(again) => assert_eq!(again.get_heads(), doc.get_heads(), "other heads, out of a bundle"),
        Err(LoadError::Limit(_) | LoadError::Apply(ApplyError::Limit(_))) => {}
        Err(error) => panic!("a bundle of its own changes does not load: {error}"),
    }
}

/// Panics unless two documents are equal in all reads, now and at earlier heads.
pub fn same(a: &Document, b: &Document) {
    let heads = a.get_heads();
    assert_eq!(heads, b.get_heads(), "other heads");
    assert_eq!(a.get_missing_deps(&[]), b.get_missing_deps(&[]), "others are missing");
    let [left, right] = [a, b].map(|doc| (doc.stats().changes, doc.stats().operations));
    assert_eq!(left, right, "more or fewer changes or operations");
    let changes = a.get_changes_meta(&[]);
    let step = changes.len().div_ceil(MOMENTS).max(1);
    for change in &changes {
        assert_eq!(b.get_change_meta_by_hash(&change.hash).as_ref(), Some(change), "another change");
    }
    for hash in changes.iter().map(|change| change.hash).step_by(step).filter(|hash| heads != [*hash]) {
        same_views(&at(a, hash), &at(b, hash));
    }
    same_views(&a.view(), &b.view());
}

fn at(doc: &Document, hash: ChangeHash) -> View<'_> {
    match doc.at(&[hash]) {
        Ok(view) => view,
        Err(error) => panic!("no view of its own past: {error}"),
    }
}

/// Every reachable object with its values and their conflicts.
pub fn same_views(a: &View<'_>, b: &View<'_>) {
    let mut open = vec![ROOT];
    while let Some(object) = open.pop() {
        let kind = a.object_type(&object);
        assert_eq!(kind, b.object_type(&object), "another kind of {object}");
        assert_eq!(a.length(&object), b.length(&object), "another length of {object}");
        match kind {
            Ok(ObjType::Map | ObjType::Table) => {
                let (left, right) = (a.map_range(&object, ..), b.map_range(&object, ..));
                assert_eq!(left.len(), right.len(), "more or fewer in {object}");
                for (left, right) in left.zip(right) {
                    let key = left.key;
                    assert_eq!(key, right.key, "another key in {object}");
                    assert_eq!(left.conflict, right.conflict, "another conflict in {object} {key:?}");
                    let (found, other) = ((left.value, left.id), (right.value, right.id));
                    assert!(
                        alike(&found, &other),
                        "another value at a key\n{object} {key:?}: {found:?} and {other:?}"
                    );
                    same_conflicts(&a.get_all(&object, key), &b.get_all(&object, key), &mut open);
                    reach(&found, &mut open);
                }
            }
            Ok(ObjType::List | ObjType::Text) => {
                let (left, right) = (a.list_range(&object, ..), b.list_range(&object, ..));
                assert_eq!(left.len(), right.len(), "more or fewer in {object}");
                for (left, right) in left.zip(right) {
                    assert_eq!(left.conflict, right.conflict, "another conflict at an element of {object}");
                    let (found, other) = ((left.value, left.id), (right.value, right.id));
                    assert!(alike(&found, &other), "another element\n{object}: {found:?} and {other:?}");
                    reach(&found, &mut open);
                }
                if kind == Ok(ObjType::Text) {
                    assert_eq!(a.text(&object), b.text(&object), "another text in {object}");
                    // As text, because NaN is not equal to itself.
                    let marks = |view: &View<'_>| format!("{:?}", view.marks(&object));
                    assert_eq!(marks(a), marks(b), "other marks in {object}");
                    // Each position may have as many marks as there are positions.
                    let spans = |view: &View<'_>| match view.spans(&object) {
                        Ok(spans) => format!("{:?}", spans.take(ELEMENTS).collect::<Vec<_>>()),
                        Err(error) => panic!("no spans of a text: {error}"),
                    };
                    assert_eq!(spans(a), spans(b), "other spans of {object}");
                }
                for index in 0..a.length(&object).min(ELEMENTS) {
                    same_conflicts(&a.get_all(&object, index), &b.get_all(&object, index), &mut open);
                }
            }
            Err(error) => panic!("{object} was found and is not there: {error}"),
        }
    }
}

/// Result of a read.
type Found<'a> = Result<Vec<(Value<'a>, ObjId)>, EditError>;

/// All values of a key or element. The last is the winner, which is also read without its conflicts.
fn same_conflicts(left: &Found<'_>, right: &Found<'_>, open: &mut Vec<ObjId>) {
    match (left, right) {
        (Ok(left), Ok(right)) => {
            let same = left.len() == right.len() && left.iter().zip(right).all(|(a, b)| alike(a, b));
            assert!(same, "other values at one place\n{left:?} and {right:?}");
            left.split_last().iter().for_each(|(_, rest)| rest.iter().for_each(|found| reach(found, open)));
        }
        _ => panic!("no values where there is one\n{left:?} and {right:?}"),
    }
}

/// Whether two values are bitwise equal: NaN equals itself here.
fn alike((a, a_id): &(Value<'_>, ObjId), (b, b_id): &(Value<'_>, ObjId)) -> bool {
    let bits = |value: &Value<'_>| match value {
        Value::Scalar(ScalarValue::F64(number)) => Some(number.to_bits()),
        _ => None,
    };
    a_id == b_id && bits(a) == bits(b) && (bits(a).is_some() || a == b)
}

fn reach((value, id): &(Value<'_>, ObjId), open: &mut Vec<ObjId>) {
    if let Value::Object(_) = value {
        open.push(id.clone());
    }
}

/// A cursor at a visible element must resolve to it, for every move option.
fn cursors(doc: &Document) {
    for MapRangeItem { value, id, .. } in doc.map_range(ROOT, ..) {
        let Value::Object(ObjType::List | ObjType::Text) = value else { continue };
        for index in 0..doc.length(&id).min(ELEMENTS) {
            let [after, before] = [MoveCursor::After, MoveCursor::Before].map(|moving| {
                let cursor = doc.get_cursor_moving(&id, index, moving).expect("an index below the length");
                doc.get_cursor_position(&id, &cursor).expect("a cursor of this document")
            });
            assert!(after == before && after <= index, "cursors at {after} and {before} for {index}");
        }
    }
}
