//! Marks and blocks, as used by rich-text editors.

use hashmill_doc::{
    ActorId, AutoCommit, Document, EditError, Entries, ExpandMark, Literal, LoadOptions, Mark, MarkSet,
    ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Span, TextEncoding, Transactable, UpdateSpansConfig, literal,
};

use crate::Rng;

const EXPANDS: [ExpandMark; 4] = [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None];

fn with_text(text: &str) -> (AutoCommit, ObjId) {
    with_text_in(text, TextEncoding::UnicodeCodePoint)
}

fn with_text_in(text: &str, encoding: TextEncoding) -> (AutoCommit, ObjId) {
    let mut doc = AutoCommit::from(Document::with_encoding(encoding).with_actor(ActorId::from([7])));
    let id = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    doc.splice_text(&id, 0, 0, text).unwrap();
    (doc, id)
}

fn bold(start: usize, end: usize) -> Mark<'static> {
    Mark::new("bold", true, start, end)
}

fn fork(doc: &mut AutoCommit, actor: u8) -> AutoCommit {
    doc.document().fork().with_actor(ActorId::from([actor])).into()
}

/// Marks as `name@start..end`, with the value unless it is true.
fn marks(doc: &impl ReadDoc, text: &ObjId) -> String {
    let marks = doc.marks(text).unwrap();
    let words = marks.iter().map(|Mark { start, end, name, value }| match value {
        ScalarValue::Boolean(true) => format!("{name}@{start}..{end}"),
        _ => format!("{name}={value}@{start}..{end}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Accepted contents are saved and loaded again, equal.
fn assert_round_trips(doc: &mut AutoCommit, text: &ObjId) {
    let options = LoadOptions::new().text_encoding(doc.text_encoding());
    let loaded = Document::load_with(&doc.save(), options).unwrap();
    loaded.check(true);
    assert!(doc.spans(text).unwrap().eq(loaded.spans(text).unwrap()));
    assert_eq!(doc.marks(text).unwrap(), loaded.marks(text).unwrap());
}

#[test]
fn text_typed_at_an_edge_belongs_to_an_expanding_mark() {
    for (expand, before, behind) in [
        (ExpandMark::Before, "bold@2..6", "bold@2..5"),
        (ExpandMark::After, "bold@3..6", "bold@2..6"),
        (ExpandMark::Both, "bold@2..6", "bold@2..6"),
        (ExpandMark::None, "bold@3..6", "bold@2..5"),
    ] {
        let (mut doc, text) = with_text("abcdefg");
        doc.mark(&text, bold(2, 5), expand).unwrap();
        let mut other = fork(&mut doc, 8);
        doc.splice_text(&text, 2, 0, "x").unwrap();
        assert_eq!(marks(&doc, &text), before, "{expand:?}");
        other.splice_text(&text, 5, 0, "x").unwrap();
        assert_eq!(marks(&other, &text), behind, "{expand:?}");
        assert_round_trips(&mut other, &text);
    }
}

#[test]
fn no_insertion_gets_inside_an_empty_mark() {
    for expand in EXPANDS {
        let (mut doc, text) = with_text("ab");
        doc.mark(&text, bold(1, 1), expand).unwrap();
        assert_eq!(doc.pending_ops() == 3, expand == ExpandMark::None, "{expand:?}");
        doc.splice_text(&text, 1, 0, "x").unwrap();
        assert_eq!(marks(&doc, &text), "", "{expand:?}");
        assert_round_trips(&mut doc, &text);
    }
}

#[test]
fn mark_survives_deletion_of_its_edges() {
    let (mut doc, text) = with_text("abcdef");
    doc.mark(&text, bold(1, 5), ExpandMark::After).unwrap();
    doc.splice_text(&text, 1, 1, "").unwrap();
    doc.splice_text(&text, 3, 1, "").unwrap();
    assert_eq!((doc.text(&text).unwrap().as_str(), marks(&doc, &text).as_str()), ("acdf", "bold@1..3"));
    doc.splice_text(&text, 3, 0, "x").unwrap();
    assert_eq!(marks(&doc, &text), "bold@1..4");
    // All its text is deleted, but its position is still there.
    doc.splice_text(&text, 1, 3, "").unwrap();
    assert_eq!((doc.text(&text).unwrap().as_str(), marks(&doc, &text).as_str()), ("af", ""));
    assert_round_trips(&mut doc, &text);
}

#[test]
fn newest_mark_of_a_name_wins() {
    let (mut doc, text) = with_text("abcdefghij");
    doc.mark(&text, Mark::new("color", "red", 0, 6), ExpandMark::None).unwrap();
    doc.mark(&text, Mark::new("color", "blue", 4, 8), ExpandMark::None).unwrap();
    assert_eq!(marks(&doc, &text), "color=\"red\"@0..4 color=\"blue\"@4..8");
    doc.mark(&text, Mark::new("color", "blue", 2, 5), ExpandMark::None).unwrap();
    assert_eq!(marks(&doc, &text), "color=\"red\"@0..2 color=\"blue\"@2..8");
    doc.unmark(&text, "color", 3, 7, ExpandMark::None).unwrap();
    assert_eq!(marks(&doc, &text), "color=\"red\"@0..2 color=\"blue\"@2..3 color=\"blue\"@7..8");
    doc.mark(&text, bold(0, 10), ExpandMark::None).unwrap();
    assert_eq!(marks(&doc, &text), "bold@0..10 color=\"red\"@0..2 color=\"blue\"@2..3 color=\"blue\"@7..8");
    let set = |index: usize| doc.get_marks(&text, index).unwrap().into_owned();
    assert_eq!(set(2), MarkSet::from([("color", ScalarValue::from("blue")), ("bold", true.into())]));
    assert_eq!(set(2).get("color"), Some(&"blue".into()));
    assert_eq!(set(9), MarkSet::from([("bold", true)]));
    assert!(set(10).is_empty() && set(11).is_empty());
    assert_round_trips(&mut doc, &text);
}

#[test]
fn newest_of_two_zeros_with_different_signs_wins() {
    let (mut doc, text) = with_text("ab");
    doc.mark(&text, Mark::new("n", -0.0, 0, 2), ExpandMark::None).unwrap();
    doc.mark(&text, Mark::new("n", 0.0, 0, 2), ExpandMark::None).unwrap();
    // Compared as text: as numbers they are equal.
    assert_eq!(format!("{:?}", doc.marks(&text).unwrap()[0].value), "F64(0.0)");
    assert_eq!(format!("{:?}", doc.get_marks(&text, 0).unwrap().get("n")), "Some(F64(0.0))");
}

#[test]
fn concurrent_overlapping_marks_converge() {
    let (mut a, text) = with_text("abcdefgh");
    let mut b = fork(&mut a, 9);
    a.mark(&text, Mark::new("link", "a", 0, 5), ExpandMark::None).unwrap();
    b.mark(&text, Mark::new("link", "b", 3, 8), ExpandMark::None).unwrap();
    b.splice_text(&text, 4, 0, "xy").unwrap();
    let heads = a.get_heads();
    a.merge(&mut b).unwrap();
    b.merge(&mut a).unwrap();
    // Both ids have the same counter: the greater actor wins.
    assert_eq!(marks(&a, &text), "link=\"a\"@0..3 link=\"b\"@3..10");
    assert_eq!(marks(&b, &text), marks(&a, &text));
    assert_eq!(a.marks_at(&text, &heads).unwrap(), [Mark::new("link", "a", 0, 5)]);
    assert_eq!(a.get_marks_at(&text, 4, &heads).unwrap(), MarkSet::from([("link", "a")]));
    assert_round_trips(&mut a, &text);
}

#[test]
fn spans_are_equally_marked_texts_and_blocks() {
    let (mut doc, text) = with_text("one two");
    doc.mark(&text, bold(4, 7), ExpandMark::After).unwrap();
    let before = doc.get_heads();
    let block = doc.split_block(&text, 0).unwrap();
    doc.put(&block, "type", "heading").unwrap();
    doc.split_block(&text, 5).unwrap();
    let bold = MarkSet::from([("bold", true)]);
    let heading = Entries::from_iter([("type".to_owned(), "heading".into())]);
    let spans: Vec<Span<'_>> = doc.spans(&text).unwrap().collect();
    assert_eq!(
        spans,
        [heading.into(), "one ".into(), Entries::default().into(), Span::marked("two", bold.clone())]
    );
    let then: Vec<Span<'_>> = doc.spans_at(&text, &before).unwrap().collect();
    assert_eq!(then, ["one ".into(), Span::marked("two", bold)]);
    assert_eq!(doc.text(&text).unwrap(), "\u{fffc}one \u{fffc}two");
    assert_round_trips(&mut doc, &text);
}

#[test]
fn blocks_are_joined_and_replaced() {
    for encoding in [TextEncoding::UnicodeCodePoint, TextEncoding::Utf8CodeUnit] {
        let (mut doc, text) = with_text_in("ab", encoding);
        let width = encoding.width("\u{fffc}");
        let first = doc.split_block(&text, 1).unwrap();
        doc.put(&first, "type", "p").unwrap();
        let second = doc.replace_block(&text, width).unwrap();
        assert_ne!(first, second);
        let spans: Vec<Span<'_>> = doc.spans(&text).unwrap().collect();
        assert_eq!(spans, ["a".into(), Entries::default().into(), "b".into()], "{encoding:?}");
        for index in [0, 1 + width] {
            let refused = [doc.join_block(&text, index), doc.replace_block(&text, index).map(drop)];
            assert!(refused.iter().all(|refused| matches!(refused, Err(EditError::WrongValue { .. }))));
        }
        assert_eq!(
            doc.join_block(&text, 2 + width),
            Err(EditError::Index { index: 2 + width, len: 2 + width })
        );
        doc.join_block(&text, 1).unwrap();
        assert_eq!(doc.text(&text).unwrap(), "ab");
        assert_round_trips(&mut doc, &text);
    }
}

#[test]
fn failed_marks_leave_no_operations() {
    let (mut doc, text) = with_text("abc");
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    doc.commit();
    let long = "x".repeat(70);
    let unknown = ScalarValue::Unknown { type_code: 3, bytes: vec![1].into() };
    let refused = [
        doc.mark(&text, bold(0, 4), ExpandMark::After),
        doc.mark(&text, bold(4, 4), ExpandMark::None),
        doc.mark(&text, bold(2, 1), ExpandMark::After),
        doc.mark(&text, bold(usize::MAX, usize::MAX), ExpandMark::Both),
        doc.mark(&text, Mark::new(&long[..], unknown, 0, 1), ExpandMark::After),
        doc.mark(&list, bold(0, 0), ExpandMark::After),
        doc.mark(ROOT, bold(0, 0), ExpandMark::After),
        doc.split_block(&list, 0).map(drop),
        doc.update_spans(&list, &UpdateSpansConfig::default(), [Span::from("x")]),
    ];
    let words: Vec<String> = refused.map(|refused| refused.expect_err("refused").to_string()).into();
    assert_eq!(words[2], "the range ends at 1, before it starts at 2");
    assert!(words.iter().all(|words| !words.is_empty()));
    assert_eq!(doc.pending_ops(), 0);
    for wrong in [&list, &ROOT] {
        assert!(doc.marks(wrong).is_err() && doc.spans(wrong).is_err() && doc.get_marks(wrong, 0).is_err());
    }
}

#[test]
fn range_inside_one_element_is_an_empty_mark() {
    // One element of two units: no boundary gets inside it.
    let (mut doc, text) = with_text_in("a😀b", TextEncoding::Utf16CodeUnit);
    for expand in EXPANDS {
        doc.mark(&text, bold(2, 3), expand).unwrap();
        doc.mark(&text, bold(2, 2), expand).unwrap();
    }
    doc.document().check(true);
    assert_eq!(marks(&doc, &text), "");
    assert_round_trips(&mut doc, &text);
}

#[test]
fn rollback_removes_marks() {
    let (mut doc, text) = with_text("abcdef");
    doc.mark(&text, bold(1, 3), ExpandMark::After).unwrap();
    doc.commit();
    let before = doc.save();
    doc.mark(&text, bold(2, 6), ExpandMark::Both).unwrap();
    doc.splice_text(&text, 3, 1, "xyz").unwrap();
    doc.split_block(&text, 2).unwrap();
    doc.unmark(&text, "bold", 0, 3, ExpandMark::None).unwrap();
    doc.rollback();
    doc.document().check(true);
    assert_eq!((marks(&doc, &text).as_str(), doc.save()), ("bold@1..3", before));
}

#[test]
fn thousands_of_marks_on_one_range_are_read() {
    let (mut doc, text) = with_text("ab");
    for n in 0..2_000_u32 {
        let name = if n % 2 == 0 { "same".to_owned() } else { n.to_string() };
        let value = if n % 4 == 1 { ScalarValue::Null } else { n.into() };
        doc.mark(&text, Mark::new(name, value, 0, 1), ExpandMark::Both).unwrap();
    }
    assert_eq!(doc.marks(&text).unwrap().len(), 501);
    assert_eq!(doc.get_marks(&text, 0).unwrap().len(), 501);
    assert_eq!(doc.spans(&text).unwrap().count(), 2);
}

fn words(rng: &mut Rng) -> String {
    (0..rng.below(5)).map(|_| ["one ", "é", "e\u{301}", "👨‍👩‍👧", "\n", "x"][rng.below(6)]).collect()
}

fn rich(rng: &mut Rng) -> Vec<Span<'static>> {
    let span = |rng: &mut Rng| match rng.below(4) {
        0 => {
            let kind = ["p", "h1"][rng.below(2)];
            let Literal::Map(block) = literal!({ "type": kind, "attrs": { "n": (rng.below(2) as u32) } })
            else {
                unreachable!("the literal is a map")
            };
            Span::Block(block)
        }
        _ => {
            let names = ["bold", "link"].into_iter().filter(|_| rng.below(2) == 0).collect::<Vec<_>>();
            let marks: MarkSet<'static> = names.into_iter().map(|name| (name, rng.below(2) as u32)).collect();
            Span::marked(words(rng), marks)
        }
    };
    (0..rng.below(7)).map(|_| span(rng)).collect()
}

/// Spans as read: none empty, and none with the marks of the previous one.
fn joined<'a>(spans: &[Span<'a>]) -> Vec<Span<'a>> {
    let mut joined: Vec<Span<'a>> = vec![];
    for span in spans {
        match (joined.last_mut(), span) {
            (_, Span::Text { text, .. }) if text.is_empty() => {}
            (Some(Span::Text { text, marks }), Span::Text { text: more, marks: same }) if marks == same => {
                text.to_mut().push_str(more);
            }
            _ => joined.push(span.clone()),
        }
    }
    joined
}

#[test]
fn update_spans_reaches_the_given_spans() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let encodings =
            [TextEncoding::UnicodeCodePoint, TextEncoding::Utf8CodeUnit, TextEncoding::Utf16CodeUnit];
        let (mut doc, text) = with_text_in(&words(&mut rng), encodings[rng.below(3)]);
        for _ in 0..4 {
            let config = UpdateSpansConfig::default()
                .with_default_expand(EXPANDS[rng.below(4)])
                .with_mark_expand("link", ExpandMark::None);
            let spans = rich(&mut rng);
            doc.update_spans(&text, &config, spans.clone()).unwrap();
            let there: Vec<Span<'_>> = doc.spans(&text).unwrap().collect();
            assert_eq!(there, joined(&spans), "seed {seed}");
            let ops = doc.pending_ops();
            doc.update_spans(&text, &config, spans).unwrap();
            assert_eq!(doc.pending_ops(), ops, "seed {seed}: nothing was to be changed");
            doc.document().check(true);
        }
        assert_round_trips(&mut doc, &text);
    }
}

#[test]
fn update_spans_edits_only_differences() {
    let (mut doc, text) = with_text("one two three");
    let block = doc.split_block(&text, 8).unwrap();
    doc.mark(&text, bold(0, 7), ExpandMark::After).unwrap();
    let cursor = doc.get_cursor(&text, 9).unwrap();
    doc.commit();
    let Literal::Map(heading) = literal!({ "type": "h1" }) else { unreachable!("the literal is a map") };
    let spans = [Span::marked("one ", [("bold", true)]), "two ".into(), heading.into(), "threes".into()];
    doc.update_spans(&text, &UpdateSpansConfig::default(), spans).unwrap();
    // A key of the block, a letter, and one removed mark.
    assert_eq!(doc.pending_ops(), 4);
    assert_eq!(marks(&doc, &text), "bold@0..4");
    assert_eq!(doc.get_cursor_position(&text, &cursor), Ok(9));
    assert_eq!(doc.get(&block, "type").unwrap().map(|(value, _)| value), Some("h1".into()));
}
