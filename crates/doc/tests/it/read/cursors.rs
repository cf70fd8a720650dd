//! Cursors: positions that stay valid during edits.

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, Cursor, CursorMismatch, CursorPosition, Document, EditError, LoadError,
    LoadOptions, MoveCursor, ObjId, ObjType, OpFault, ROOT, ReadDoc, RecoveryLevel, Rule, ScalarValue,
    TextEncoding, Transactable,
};

use crate::Rng;
use crate::support::forge::tables;

/// A document by one actor with a text and a list.
fn document(encoding: TextEncoding) -> (Document, ObjId, ObjId) {
    let actor: ActorId = "00112233445566778899aabbccddeeff".parse().unwrap();
    let mut doc = Document::with_encoding(encoding).with_actor(actor);
    let (text, list) = doc
        .transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            Ok::<_, EditError>((text, tx.put_object(ROOT, "list", ObjType::List)?))
        })
        .unwrap();
    (doc, text, list)
}

fn scalars() -> (Document, ObjId, ObjId) {
    document(TextEncoding::UnicodeCodePoint)
}

fn splice(doc: &mut Document, text: &ObjId, at: usize, del: isize, new: &str) {
    doc.transact(|tx| tx.splice_text(text, at, del, new)).unwrap();
}

/// A cursor that moves after, and one that moves before.
fn both(doc: &impl ReadDoc, obj: &ObjId, index: usize) -> [Cursor; 2] {
    let after = doc.get_cursor(obj, index).unwrap();
    assert_eq!(doc.get_cursor_moving(obj, index, MoveCursor::After), Ok(after.clone()));
    [after, doc.get_cursor_moving(obj, index, MoveCursor::Before).unwrap()]
}

fn places<const N: usize>(doc: &impl ReadDoc, obj: &ObjId, cursors: &[Cursor; N]) -> [usize; N] {
    cursors.each_ref().map(|cursor| doc.get_cursor_position(obj, cursor).unwrap())
}

#[test]
fn cursor_encoding_matches_other_implementations() {
    let mut doc = Document::new().with_actor("00112233445566778899aabbccddeeff".parse().unwrap());
    let text = doc
        .transact(|tx| {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&text, 0, 0, "héllo")?;
            Ok::<_, EditError>(text)
        })
        .unwrap();
    let [after, before] = both(&doc, &text, 2);
    assert_eq!(after.to_string(), "4@00112233445566778899aabbccddeeff");
    assert_eq!(before.to_string(), "-4@00112233445566778899aabbccddeeff");
    let bytes = crate::support::forge::hex("0103 10 00112233445566778899aabbccddeeff 04 02");
    assert_eq!(after.to_bytes(), bytes);
    assert_eq!(Cursor::try_from(&bytes[..]), Ok(after));
    let ends = [CursorPosition::Start, CursorPosition::End].map(|end| doc.get_cursor(&text, end).unwrap());
    assert_eq!(ends, [Cursor::Start, Cursor::End]);
    assert_eq!(places(&doc, &text, &ends), [0, 5]);
}

#[test]
fn cursors_follow_remote_edits() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "hello world");
    let [after, before] = both(&doc, &text, 6);
    let ends = [Cursor::Start, Cursor::End];
    let mut other = doc.fork().with_actor(ActorId::from([2]));
    splice(&mut other, &text, 0, 5, "Good morning, my");
    splice(&mut doc, &text, 11, 0, "!");
    doc.merge(&other).unwrap();
    assert_eq!(doc.text(&text).unwrap(), "Good morning, my world!");
    assert_eq!(places(&doc, &text, &[after.clone(), before.clone()]), [17, 17]);
    assert_eq!(places(&doc, &text, &ends), [0, 23]);
    // Deleted together with everything after it, then with all text.
    splice(&mut doc, &text, 16, 7, "");
    assert_eq!(places(&doc, &text, &[after.clone(), before.clone()]), [16, 0]);
    splice(&mut doc, &text, 0, 16, "");
    assert_eq!(places(&doc, &text, &[after, before]), [0, 0]);
    assert_eq!(places(&doc, &text, &ends), [0, 0]);
}

#[test]
fn cursor_of_a_deleted_element_moves_before_or_after() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "abcdef");
    let cursors = both(&doc, &text, 3);
    splice(&mut doc, &text, 2, 2, "");
    assert_eq!(places(&doc, &text, &cursors), [2, 1]);
    splice(&mut doc, &text, 0, 2, "");
    assert_eq!(places(&doc, &text, &cursors), [0, 0]);
    // A new element at its position is after the deleted one.
    splice(&mut doc, &text, 0, 0, "xy");
    assert_eq!(places(&doc, &text, &cursors), [2, 0]);
}

#[test]
fn before_moves_to_the_insertion_origin() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "ab");
    let cursors = both(&doc, &text, 1);
    // The x is between, but was inserted later: b was inserted after a.
    splice(&mut doc, &text, 1, 0, "x");
    splice(&mut doc, &text, 2, 1, "");
    assert_eq!(doc.text(&text).unwrap(), "ax");
    assert_eq!(places(&doc, &text, &cursors), [2, 0]);
}

#[test]
fn cursor_moving_before_leaves_an_overwritten_element() {
    let (mut doc, _, list) = scalars();
    doc.transact(|tx| tx.splice(&list, 0, 0, [1, 2, 3])).unwrap();
    let first = both(&doc, &list, 2);
    doc.transact(|tx| tx.put(&list, 2, 4)).unwrap();
    assert_eq!(places(&doc, &list, &first), [2, 1]);
    let second = both(&doc, &list, 2);
    assert!(first[0].to_string().starts_with("5@") && second[0].to_string().starts_with("6@"));
    assert_eq!(places(&doc, &list, &second), [2, 2]);
    doc.transact(|tx| tx.insert(&list, 0, 0)).unwrap();
    doc.transact(|tx| tx.delete(&list, 3)).unwrap();
    assert_eq!(places(&doc, &list, &second), [3, 2]);
    // The second update leads to the element of the first one, too.
    let counter = both(&doc, &list, 1);
    doc.transact(|tx| tx.put(&list, 1, ScalarValue::counter(1))).unwrap();
    let again = both(&doc, &list, 1);
    doc.transact(|tx| tx.increment(&list, 1, 5)).unwrap();
    assert_eq!(places(&doc, &list, &again), [1, 1], "a counter that grew is still there");
    doc.transact(|tx| tx.put(&list, 1, "other")).unwrap();
    assert_eq!(places(&doc, &list, &again), [1, 0]);
    assert_eq!(places(&doc, &list, &counter), [1, 0]);
}

#[test]
fn cursor_on_conflicting_values_refers_to_the_winner() {
    let (mut doc, _, list) = scalars();
    doc.transact(|tx| tx.splice(&list, 0, 0, [1, 2])).unwrap();
    let mut other = doc.fork().with_actor(ActorId::from([0xff]));
    doc.transact(|tx| tx.put(&list, 1, 10)).unwrap();
    let loser = both(&doc, &list, 1);
    other.transact(|tx| tx.put(&list, 1, 20)).unwrap();
    let winner = both(&other, &list, 1);
    doc.merge(&other).unwrap();
    assert_eq!(doc.get_all(&list, 1).unwrap().len(), 2);
    assert_eq!(both(&doc, &list, 1), winner);
    assert_eq!(winner[0].to_string(), "5@ff");
    assert_eq!(places(&doc, &list, &winner), [1, 1]);
    assert_eq!(places(&doc, &list, &loser), [1, 1]);
    doc.transact(|tx| tx.put(&list, 1, 30)).unwrap();
    assert_eq!(places(&doc, &list, &winner), [1, 0]);
    assert_eq!(places(&doc, &list, &loser), [1, 0]);
}

#[test]
fn cursor_indexes_are_units_and_never_split_elements() {
    // A family, two letters and a flag.
    let written = "a👨‍👩‍👧bñ🇬🇧";
    for (encoding, units) in [
        (TextEncoding::UnicodeCodePoint, 10),
        (TextEncoding::Utf8CodeUnit, 30),
        (TextEncoding::Utf16CodeUnit, 15),
        (TextEncoding::GraphemeCluster, 5),
    ] {
        let (mut doc, text, _) = document(encoding);
        splice(&mut doc, &text, 0, 0, written);
        assert_eq!(doc.length(&text), units);
        let starts: Vec<usize> = (0..units)
            .map(|index| {
                let cursors = both(&doc, &text, index);
                let [after, before] = places(&doc, &text, &cursors);
                assert_eq!(after, before);
                after
            })
            .collect();
        let elements = if encoding == TextEncoding::GraphemeCluster { 5 } else { 10 };
        assert!(starts.is_sorted() && starts.iter().zip(0..).all(|(start, index)| *start <= index));
        let mut each = starts.clone();
        each.dedup();
        assert_eq!(each.len(), elements, "{encoding:?}: {starts:?}");
        // Their widths count for positions after them.
        let last = both(&doc, &text, units - 1);
        splice(&mut doc, &text, 0, 0, "字");
        let wider = doc.length(&text) - units;
        assert_eq!(places(&doc, &text, &last), [starts[units - 1] + wider; 2]);
    }
}

#[test]
fn cursor_errors_name_index_kind_and_object() {
    let (mut doc, text, list) = scalars();
    splice(&mut doc, &text, 0, 0, "abc");
    doc.transact(|tx| tx.insert(&list, 0, 1)).unwrap();
    let heads = doc.get_heads();
    let past_end = EditError::Index { index: 3, len: 3 };
    assert_eq!(doc.get_cursor(&text, 3), Err(past_end.clone()));
    assert_eq!(doc.get_cursor_moving_at(&text, 3, MoveCursor::Before, &heads), Err(past_end));
    let far = EditError::Index { index: usize::MAX, len: 1 };
    assert_eq!(doc.get_cursor(&list, usize::MAX), Err(far));
    let not_a_sequence = doc.get_cursor(ROOT, 0).unwrap_err();
    assert_eq!(not_a_sequence.to_string(), "object _root is a map: cursors are for lists and texts");
    assert_eq!(doc.get_cursor(ROOT, CursorPosition::End), Err(not_a_sequence.clone()));
    assert_eq!(doc.get_cursor_position(ROOT, &Cursor::Start), Err(not_a_sequence));
    let nowhere = ObjId::parse("77@ab").unwrap();
    let unknown = Err(EditError::UnknownObject(nowhere.clone()));
    assert_eq!(doc.get_cursor_position(&nowhere, &Cursor::Start), unknown);
    assert_eq!(doc.get_cursor(&nowhere, 0), Err(EditError::UnknownObject(nowhere)));

    let resolve = |doc: &Document, obj: &ObjId, cursor: &str, heads: Option<&[ChangeHash]>| {
        let cursor: Cursor = cursor.parse().unwrap();
        let position = match heads {
            None => doc.get_cursor_position(obj, &cursor),
            Some(heads) => doc.get_cursor_position_at(obj, &cursor, heads),
        };
        match position {
            Err(EditError::ForeignCursor(foreign)) => {
                assert_eq!((&foreign.cursor, &foreign.obj), (&cursor, obj));
                Err((foreign.reason, foreign.to_string()))
            }
            position => Ok(position.unwrap()),
        }
    };
    let (reason, words) = resolve(&doc, &text, "-3@beef", None).unwrap_err();
    assert_eq!(reason, CursorMismatch::UnknownActor);
    let id = text.to_string();
    let expected = format!("cursor -3@beef is not in object {id}: this document has no changes by its actor");
    assert_eq!(words, expected);
    let me = doc.get_actor().clone();
    assert_eq!(resolve(&doc, &text, &format!("4@{me}"), None), Ok(1));
    // The object itself, an element of another one, none at all, and counters without an operation.
    for counter in ["1", "6", "7", "0", "4294967300", "18446744073709551615"] {
        let (reason, words) = resolve(&doc, &text, &format!("{counter}@{me}"), None).unwrap_err();
        assert_eq!(reason, CursorMismatch::NotInObject, "{words}");
        assert!(words.contains(&format!("{counter}@{me}")) && words.contains(&id), "{words}");
    }
    // A deletion is not a position, and neither is an operation that updates an element of another list.
    splice(&mut doc, &text, 0, 1, "");
    assert_eq!(resolve(&doc, &text, &format!("7@{me}"), None).unwrap_err().0, CursorMismatch::NotInObject);
    doc.transact(|tx| tx.put(&list, 0, 2)).unwrap();
    assert_eq!(resolve(&doc, &list, &format!("8@{me}"), None), Ok(0));
    assert_eq!(resolve(&doc, &text, &format!("8@{me}"), None).unwrap_err().0, CursorMismatch::NotInObject);
    // An operation may be known now and unknown at earlier heads.
    let (reason, words) = resolve(&doc, &list, &format!("8@{me}"), Some(&heads)).unwrap_err();
    assert_eq!(reason, CursorMismatch::NotAtHeads);
    assert!(words.ends_with("its operation is later than the heads"), "{words}");
    let stranger = ChangeHash([9; 32]);
    assert_eq!(doc.get_cursor_at(&text, 0, &[stranger]), Err(EditError::UnknownHash(stranger)));
}

#[test]
fn cursors_work_in_an_uncommitted_change() {
    let (mut doc, text, list) = scalars();
    splice(&mut doc, &text, 0, 0, "abc");
    let mut tx = doc.transaction();
    tx.splice_text(&text, 1, 0, "xy").unwrap();
    tx.insert(&list, 0, 1).unwrap();
    tx.put(&list, 0, 2).unwrap();
    let (typed, updated) = (both(&tx, &text, 2), both(&tx, &list, 0));
    tx.splice_text(&text, 0, 1, "").unwrap();
    assert_eq!((places(&tx, &text, &typed), places(&tx, &list, &updated)), ([1, 1], [0, 0]));
    tx.commit();
    assert_eq!((places(&doc, &text, &typed), places(&doc, &list, &updated)), ([1, 1], [0, 0]));
    let snapshot = doc.snapshot();
    splice(&mut doc, &text, 0, 9, "");
    assert_eq!((places(&snapshot, &text, &typed), places(&doc, &text, &typed)), ([1, 1], [0, 0]));
}

#[test]
fn cursors_work_in_an_uncommitted_change_that_extends_a_run() {
    let (mut doc, _, list) = scalars();
    doc.transact(|tx| tx.splice(&list, 0, 0, [1, 2])).unwrap();
    doc.transact(|tx| tx.put(&list, 0, 10)).unwrap();
    let mut tx = doc.transaction();
    tx.put(&list, 1, 20).unwrap();
    let updated = both(&tx, &list, 1);
    assert_eq!(places(&tx, &list, &updated), [1, 1]);
    tx.commit();
    assert_eq!(places(&doc, &list, &updated), [1, 1]);
}

#[test]
fn cursors_of_later_changes_are_unknown_while_isolated() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "abc");
    let then = doc.get_heads();
    let mut doc = AutoCommit::from(doc);
    doc.splice_text(&text, 1, 0, "later").unwrap();
    let later = both(&doc, &text, 3);
    doc.commit();
    let now = doc.get_heads();
    let last = both(&doc, &text, 7);
    doc.isolate(&then).unwrap();
    assert_eq!(places(&doc, &text, &last), [2, 2]);
    assert!(matches!(doc.get_cursor_position(&text, &later[0]), Err(EditError::ForeignCursor(_))));
    doc.splice_text(&text, 3, 0, "!").unwrap();
    let own_cursors = both(&doc, &text, 3);
    assert_eq!(places(&doc, &text, &own_cursors), [3, 3]);
    // Other heads can be read while isolated.
    assert_eq!(doc.get_cursor_position_at(&text, &later[1], &now), Ok(3));
    doc.integrate();
    assert_eq!(doc.text(&text).unwrap(), "alaterbc!");
    assert_eq!((places(&doc, &text, &later), places(&doc, &text, &own_cursors)), ([3, 3], [8, 8]));
}

/// All reads that take a cursor.
fn answer(view: &impl ReadDoc, obj: &ObjId, cursor: &Cursor) -> Option<usize> {
    view.get_cursor_position(obj, cursor).ok()
}

#[test]
fn cursor_positions_at_earlier_heads_are_stable() {
    for (seed, encoding) in (0..).zip([
        TextEncoding::UnicodeCodePoint,
        TextEncoding::Utf8CodeUnit,
        TextEncoding::Utf16CodeUnit,
        TextEncoding::GraphemeCluster,
    ]) {
        let mut rng = Rng::new(seed + 40);
        let (mut doc, text, list) = document(encoding);
        let mut cursors = vec![];
        let mut past = vec![];
        for round in 0..40 {
            let mut other = doc.fork().with_actor(ActorId::from([1 + round % 3]));
            for doc in [&mut doc, &mut other] {
                let len = doc.length(&text);
                let piece = ["añ", "🦀x", "e\u{301}", "", "字字字"][rng.below(5)];
                splice(doc, &text, rng.below(len + 1), rng.below(5) as isize, piece);
                let (at, len) = (rng.below(6), doc.length(&list));
                let number = rng.below(100) as i64;
                doc.transact(|tx| match (rng.below(4), at < len) {
                    (0, true) => tx.delete(&list, at),
                    (1, true) => tx.put(&list, at, ScalarValue::counter(number)),
                    (2, true) => tx.increment(&list, at, number).or(Ok(())),
                    _ => tx.insert(&list, at.min(len), number),
                })
                .unwrap();
                for obj in [&text, &list] {
                    let Some(last) = doc.length(obj).checked_sub(1) else { continue };
                    let of = both(doc, obj, rng.below(last + 1));
                    cursors.extend(of.map(|cursor| (obj.clone(), cursor)));
                }
            }
            doc.merge(&other).unwrap();
            past.push(doc.get_heads());
        }
        for heads in &past {
            let then = doc.fork_at(heads).unwrap();
            let view = doc.at(heads).unwrap();
            for (obj, cursor) in &cursors {
                let position = answer(&then, obj, cursor);
                assert_eq!(view.get_cursor_position(obj, cursor).ok(), position, "{obj} {cursor}");
                assert!(position.is_none_or(|position| position <= then.length(obj)));
            }
            for obj in [&text, &list] {
                for index in 0..then.length(obj) {
                    assert_eq!(doc.get_cursor_at(obj, index, heads), then.get_cursor(obj, index));
                }
            }
        }
        let loaded = Document::load_with(&doc.save(), LoadOptions::new().text_encoding(encoding)).unwrap();
        for (obj, cursor) in &cursors {
            let position = answer(&doc, obj, cursor);
            assert!(position.is_some());
            assert_eq!(answer(&loaded, obj, cursor), position);
        }
    }
}

#[test]
fn long_origin_path_is_walked_once() {
    // Each x was inserted at the front, so its path ends there. Each y was inserted after the previous y, and the last
    // x after the last but one y: its path leads through all of them to the first word.
    let (mut doc, text, _) = scalars();
    let (mut front, mut back) = (vec![], vec![]);
    doc.transact(|tx| {
        for _ in 0..20_000 {
            tx.splice_text(&text, 0, 0, "x")?;
            front.push(tx.get_cursor_moving(&text, 0, MoveCursor::Before)?);
        }
        tx.splice_text(&text, 0, 20_000, "")?;
        tx.splice_text(&text, 0, 0, "first")?;
        for n in 0..20_000 {
            tx.splice_text(&text, 5 + n, 0, "x")?;
            tx.splice_text(&text, 5 + n, 0, "y")?;
            back.push(tx.get_cursor_moving(&text, 6 + n, MoveCursor::Before)?);
        }
        Ok::<_, EditError>(())
    })
    .unwrap();
    let then = doc.get_heads();
    splice(&mut doc, &text, 5, 40_000, "");
    assert_eq!(doc.text(&text).unwrap(), "first");
    let last = |cursors: &[Cursor]| cursors.last().unwrap().clone();
    assert_eq!(places(&doc, &text, &[last(&front), last(&back)]), [0, 4]);
    let heads = doc.get_heads();
    assert_eq!(doc.get_cursor_position_at(&text, &last(&back), &heads), Ok(4));
    assert_eq!(doc.get_cursor_position_at(&text, &last(&back), &then), Ok(20_005));
}

#[test]
fn cyclic_origins_are_refused() {
    // Two deleted elements of a list, each with the other as its origin.
    let changes =
        [(0x01, "7f00"), (0x03, "7f01"), (0x13, "7f05"), (0x23, "7f00"), (0x40, "7f00"), (0x56, "7f07")];
    let ops = [
        (0x01, "00010200"),
        (0x02, "00010201"),
        (0x11, "00010200"),
        (0x13, "00017e037f"),
        (0x15, "7f016c0002"),
        (0x21, "0300"),
        (0x23, "0301"),
        (0x34, "0102"),
        (0x42, "7f020201"),
        (0x56, "0300"),
        (0x80, "7f000201"),
        (0x81, "0200"),
        (0x83, "7e0401"),
    ];
    let own = |table: &[(u64, &str)]| -> Vec<(u64, String)> {
        table.iter().map(|(spec, data)| (*spec, (*data).to_owned())).collect()
    };
    let bytes = tables(0, &[vec![7]], &own(&changes), &own(&ops));
    let Err(LoadError::Format(error)) = Document::load(&bytes) else { panic!("a circle") };
    assert_eq!(error.rule, Rule::Operation(OpFault::Later));
    assert_eq!(Document::rescue(&bytes, LoadOptions::new()).losses[0].recovered, RecoveryLevel::Nothing);
}
