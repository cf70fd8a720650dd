//! Places that stay where they are while others edit.

use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, Cursor, CursorPosition, Document, EditError, Foreign, Kept, LoadError,
    LoadOptions, MoveCursor, ObjId, ObjType, OpFault, ROOT, ReadDoc, Rule, ScalarValue, TextEncoding,
    Transactable,
};

use crate::Rng;
use crate::forge::tables;

/// A document by one actor with a text and a list, and these two.
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
fn a_cursor_is_written_as_every_other_implementation_writes_it() {
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
    let bytes = crate::forge::hex("0103 10 00112233445566778899aabbccddeeff 04 02");
    assert_eq!(after.to_bytes(), bytes);
    assert_eq!(Cursor::try_from(&bytes[..]), Ok(after));
    let ends = [CursorPosition::Start, CursorPosition::End].map(|end| doc.get_cursor(&text, end).unwrap());
    assert_eq!(ends, [Cursor::Start, Cursor::End]);
    assert_eq!(places(&doc, &text, &ends), [0, 5]);
}

#[test]
fn cursors_move_with_what_others_type() {
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
    // Gone with everything behind it, then with everything.
    splice(&mut doc, &text, 16, 7, "");
    assert_eq!(places(&doc, &text, &[after.clone(), before.clone()]), [16, 0]);
    splice(&mut doc, &text, 0, 16, "");
    assert_eq!(places(&doc, &text, &[after, before]), [0, 0]);
    assert_eq!(places(&doc, &text, &ends), [0, 0]);
}

#[test]
fn a_cursor_of_a_deleted_element_goes_before_or_after() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "abcdef");
    let cursors = both(&doc, &text, 3);
    splice(&mut doc, &text, 2, 2, "");
    assert_eq!(places(&doc, &text, &cursors), [2, 1]);
    splice(&mut doc, &text, 0, 2, "");
    assert_eq!(places(&doc, &text, &cursors), [0, 0]);
    // What comes where it was is behind what went.
    splice(&mut doc, &text, 0, 0, "xy");
    assert_eq!(places(&doc, &text, &cursors), [2, 0]);
}

#[test]
fn before_is_what_the_element_was_inserted_after() {
    let (mut doc, text, _) = scalars();
    splice(&mut doc, &text, 0, 0, "ab");
    let cursors = both(&doc, &text, 1);
    // The x stands between, but it came later: b was inserted after a.
    splice(&mut doc, &text, 1, 0, "x");
    splice(&mut doc, &text, 2, 1, "");
    assert_eq!(doc.text(&text).unwrap(), "ax");
    assert_eq!(places(&doc, &text, &cursors), [2, 0]);
}

#[test]
fn an_element_with_another_value_is_another_place_to_a_cursor_that_moves_before() {
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
    // The element of the first update is reached from its second as well.
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
fn of_conflicting_values_the_winner_gives_its_name_and_each_is_there() {
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
fn indexes_are_units_of_the_encoding_and_no_element_is_divided() {
    // Of a family, two letters and a flag.
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
        // Their widths count where they stand before a place.
        let last = both(&doc, &text, units - 1);
        splice(&mut doc, &text, 0, 0, "字");
        let wider = doc.length(&text) - units;
        assert_eq!(places(&doc, &text, &last), [starts[units - 1] + wider; 2]);
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_numbers() {
    let (mut doc, text, list) = scalars();
    splice(&mut doc, &text, 0, 0, "abc");
    doc.transact(|tx| tx.insert(&list, 0, 1)).unwrap();
    let heads = doc.get_heads();
    let past_end = EditError::Index { index: 3, len: 3 };
    assert_eq!(doc.get_cursor(&text, 3), Err(past_end.clone()));
    assert_eq!(doc.get_cursor_moving_at(&text, 3, MoveCursor::Before, &heads), Err(past_end));
    let far = EditError::Index { index: usize::MAX, len: 1 };
    assert_eq!(doc.get_cursor(&list, usize::MAX), Err(far));
    let no_place = doc.get_cursor(ROOT, 0).unwrap_err();
    assert_eq!(no_place.to_string(), "object _root is a map: cursors are for lists and texts");
    assert_eq!(doc.get_cursor(ROOT, CursorPosition::End), Err(no_place.clone()));
    assert_eq!(doc.get_cursor_position(ROOT, &Cursor::Start), Err(no_place));
    let nowhere = ObjId::parse("77@ab").unwrap();
    let unknown = Err(EditError::UnknownObject(nowhere.clone()));
    assert_eq!(doc.get_cursor_position(&nowhere, &Cursor::Start), unknown);
    assert_eq!(doc.get_cursor(&nowhere, 0), Err(EditError::UnknownObject(nowhere)));

    let why = |doc: &Document, obj: &ObjId, cursor: &str, heads: Option<&[ChangeHash]>| {
        let cursor: Cursor = cursor.parse().unwrap();
        let place = match heads {
            None => doc.get_cursor_position(obj, &cursor),
            Some(heads) => doc.get_cursor_position_at(obj, &cursor, heads),
        };
        match place {
            Err(EditError::ForeignCursor(foreign)) => {
                assert_eq!((&foreign.cursor, &foreign.obj), (&cursor, obj));
                Err((foreign.why, foreign.to_string()))
            }
            place => Ok(place.unwrap()),
        }
    };
    let (reason, words) = why(&doc, &text, "-3@beef", None).unwrap_err();
    assert_eq!(reason, Foreign::UnknownActor);
    let id = text.to_string();
    let expected =
        format!("cursor -3@beef is not in object {id}: its actor wrote nothing that this document has");
    assert_eq!(words, expected);
    let me = doc.get_actor().clone();
    assert_eq!(why(&doc, &text, &format!("4@{me}"), None), Ok(1));
    // The object itself, an element of another one, none at all, numbers that no operation has.
    for counter in ["1", "6", "7", "0", "4294967300", "18446744073709551615"] {
        let (reason, words) = why(&doc, &text, &format!("{counter}@{me}"), None).unwrap_err();
        assert_eq!(reason, Foreign::NotInObject, "{words}");
        assert!(words.contains(&format!("{counter}@{me}")) && words.contains(&id), "{words}");
    }
    // A deletion names no place, and neither does what an update in another list names.
    splice(&mut doc, &text, 0, 1, "");
    assert_eq!(why(&doc, &text, &format!("7@{me}"), None).unwrap_err().0, Foreign::NotInObject);
    doc.transact(|tx| tx.put(&list, 0, 2)).unwrap();
    assert_eq!(why(&doc, &list, &format!("8@{me}"), None), Ok(0));
    assert_eq!(why(&doc, &text, &format!("8@{me}"), None).unwrap_err().0, Foreign::NotInObject);
    // What is known here need not have been then.
    let (reason, words) = why(&doc, &list, &format!("8@{me}"), Some(&heads)).unwrap_err();
    assert_eq!(reason, Foreign::NotAtHeads);
    assert!(words.ends_with("its operation came after the heads"), "{words}");
    let stranger = ChangeHash([9; 32]);
    assert_eq!(doc.get_cursor_at(&text, 0, &[stranger]), Err(EditError::UnknownHash(stranger)));
}

#[test]
fn an_open_change_has_cursors_too() {
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
fn an_open_change_that_goes_on_where_the_last_one_ended_has_cursors() {
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
fn while_isolated_the_future_is_foreign() {
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
    let mine = both(&doc, &text, 3);
    assert_eq!(places(&doc, &text, &mine), [3, 3]);
    // Other heads can be asked for all the same.
    assert_eq!(doc.get_cursor_position_at(&text, &later[1], &now), Ok(3));
    doc.integrate();
    assert_eq!(doc.text(&text).unwrap(), "alaterbc!");
    assert_eq!((places(&doc, &text, &later), places(&doc, &text, &mine)), ([3, 3], [8, 8]));
}

/// Everything that can be asked with a cursor.
fn answer(view: &impl ReadDoc, obj: &ObjId, cursor: &Cursor) -> Option<usize> {
    view.get_cursor_position(obj, cursor).ok()
}

#[test]
fn the_past_answers_as_it_did_then() {
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
                let place = answer(&then, obj, cursor);
                assert_eq!(view.get_cursor_position(obj, cursor).ok(), place, "{obj} {cursor}");
                assert!(place.is_none_or(|place| place <= then.length(obj)));
            }
            for obj in [&text, &list] {
                for index in 0..then.length(obj) {
                    assert_eq!(doc.get_cursor_at(obj, index, heads), then.get_cursor(obj, index));
                }
            }
        }
        let loaded = Document::load_with(&doc.save(), LoadOptions::new().text_encoding(encoding)).unwrap();
        for (obj, cursor) in &cursors {
            let place = answer(&doc, obj, cursor);
            assert!(place.is_some());
            assert_eq!(answer(&loaded, obj, cursor), place);
        }
    }
}

#[test]
fn a_long_way_before_is_gone_once() {
    // Characters in front of each other lead nowhere. Then each y is inserted after the y before, and the last x after the
    // last y but one: it leads through all of them to the first word.
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
fn a_circle_of_origins_is_refused() {
    // Two deleted elements of a list, each said to be inserted after the other.
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
    assert_eq!(Document::rescue(&bytes, LoadOptions::new()).losses[0].kept, Kept::Nothing);
}
