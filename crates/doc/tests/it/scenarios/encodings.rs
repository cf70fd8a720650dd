//! The four text encodings. One cluster here is seven scalar values, 25 bytes, and 11 words of UTF-16.

use hashmill_doc::{
    AutoCommit, ExpandMark, Mark, ObjId, ObjType, PatchAction, ROOT, ReadDoc, Span, TextEncoding,
    Transactable,
};

const FAMILY: &str = "👩‍👩‍👧‍👦";

/// Each encoding with the width of the family in it.
const WIDTHS: [(TextEncoding, usize); 4] = [
    (TextEncoding::UnicodeCodePoint, 7),
    (TextEncoding::Utf8CodeUnit, 25),
    (TextEncoding::Utf16CodeUnit, 11),
    (TextEncoding::GraphemeCluster, 1),
];

/// For each encoding, a text with the family between `ab` and `cd`, and the index after it.
fn each(test: impl Fn(&mut AutoCommit, &ObjId, usize)) {
    for (encoding, width) in WIDTHS {
        let mut doc = AutoCommit::with_encoding(encoding);
        let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
        doc.splice_text(&text, 0, 0, &format!("ab{FAMILY}cd")).unwrap();
        doc.update_diff_cursor();
        assert_eq!(doc.length(&text), width + 4);
        test(&mut doc, &text, width + 2);
    }
}

#[test]
fn reading_counts_units() {
    each(|doc, text, behind| {
        let at = |index| doc.get(text, index).unwrap().and_then(|(value, _)| value.into_string().ok());
        assert_eq!((at(behind).as_deref(), at(behind + 2)), (Some("c"), None));
        assert_eq!(doc.get_all(text, behind + 1).unwrap().len(), 1);
        let heads = doc.fork().get_heads();
        assert_eq!(doc.length_at(text, &heads).unwrap(), behind + 2);
        let then = doc.get_at(text, behind, &heads).unwrap().unwrap().0;
        assert_eq!(then.as_str(), Some("c"));
    });
}

#[test]
fn writing_counts_units() {
    let after = |edit: &dyn Fn(&mut AutoCommit, &ObjId, usize), expected: &str| {
        each(|doc, text, behind| {
            edit(doc, text, behind);
            assert_eq!(doc.text(text).unwrap(), expected.replace('F', FAMILY));
        });
    };
    after(&|doc, text, at| doc.splice_text(text, at, 1, "é").unwrap(), "abFéd");
    after(&|doc, text, at| doc.insert(text, at, "x").unwrap(), "abFxcd");
    after(&|doc, text, at| doc.put(text, at, "C").unwrap(), "abFCd");
    after(&|doc, text, at| doc.delete(text, at).unwrap(), "abFd");
    after(&|doc, text, at| doc.splice_text(text, at, -((at - 2) as isize), "").unwrap(), "abcd");
    after(&|doc, text, at| doc.splice_text(text, 2, (at - 2) as isize, "-").unwrap(), "ab-cd");
    after(&|doc, text, _| doc.update_text(text, &format!("ab{FAMILY}{FAMILY}d")).unwrap(), "abFFd");
}

#[test]
fn marks_blocks_and_cursors_count_units() {
    each(|doc, text, behind| {
        let cursor = doc.get_cursor(text, behind).unwrap();
        doc.mark(text, Mark::new("bold", true, 1, behind + 1), ExpandMark::Both).unwrap();
        let ranges: Vec<(usize, usize)> =
            doc.marks(text).unwrap().iter().map(|mark| (mark.start, mark.end)).collect();
        assert_eq!(ranges, [(1, behind + 1)]);
        assert_eq!(doc.get_marks(text, behind).unwrap().len(), 1);
        assert!(doc.get_marks(text, behind + 1).unwrap().is_empty());
        doc.unmark(text, "bold", 1, behind + 1, ExpandMark::Both).unwrap();
        assert!(doc.marks(text).unwrap().is_empty());
        doc.splice_text(text, 0, 0, FAMILY).unwrap();
        assert_eq!(doc.get_cursor_position(text, &cursor).unwrap(), 2 * behind - 2);
        doc.split_block(text, 2 * behind - 2).unwrap();
        let spans: Vec<Span<'_>> = doc.spans(text).unwrap().collect();
        let texts: Vec<&str> = spans.iter().map(Span::as_str).collect();
        assert_eq!(texts, [format!("{FAMILY}ab{FAMILY}").as_str(), "\u{fffc}", "cd"]);
    });
}

#[test]
fn patches_count_units() {
    let check = |edit: &dyn Fn(&mut AutoCommit, &ObjId, usize),
                 is_expected: &dyn Fn(&PatchAction, usize) -> bool| {
        each(|doc, text, behind| {
            edit(doc, text, behind);
            let patches = doc.diff_incremental();
            assert_eq!(patches.len(), 1, "{patches:?}");
            assert!(is_expected(&patches[0].action, behind), "{:?}", patches[0].action);
        });
    };
    check(
        &|doc, text, at| doc.splice_text(text, at, 0, "x").unwrap(),
        &|action, at| matches!(action, PatchAction::SpliceText { index, value, .. } if *index == at && value == "x"),
    );
    check(
        &|doc, text, at| doc.splice_text(text, at, 2, "").unwrap(),
        &|action, at| matches!(action, PatchAction::DeleteSeq { index, length: 2 } if *index == at),
    );
    check(
        &|doc, text, at| doc.mark(text, Mark::new("m", 1, 1, at), ExpandMark::None).unwrap(),
        &|action, at| matches!(action, PatchAction::Mark { marks } if (marks[0].start, marks[0].end) == (1, at)),
    );
}

/// An element of several units is never split: an index inside it means the position after it.
#[test]
fn indexes_inside_a_character_are_moved_after_it() {
    for (encoding, width) in [(TextEncoding::Utf8CodeUnit, 4), (TextEncoding::Utf16CodeUnit, 2)] {
        for inside in 1..width {
            let mut doc = AutoCommit::with_encoding(encoding);
            let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
            doc.splice_text(&text, 0, 0, "🐻x").unwrap();
            doc.splice_text(&text, inside, 0, "-").unwrap();
            assert_eq!(doc.text(&text).unwrap(), "🐻-x");
            doc.splice_text(&text, inside, 1, "").unwrap();
            assert_eq!(doc.text(&text).unwrap(), "🐻x");
            doc.splice_text(&text, 0, inside as isize, "").unwrap();
            assert_eq!(doc.text(&text).unwrap(), "x");
        }
    }
}
