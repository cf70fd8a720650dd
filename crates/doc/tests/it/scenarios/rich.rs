//! Marks, blocks and cursors.

use hashmill_doc::{
    AutoCommit, CursorPosition, Entries, ExpandMark, Literal, Mark, MoveCursor, ObjId, ReadDoc, ScalarValue,
    Span, Transactable, UpdateSpansConfig, View, literal,
};

use super::{doc, fork, meet, text};

fn mark(doc: &mut AutoCommit, text: &ObjId, name: &str, at: (usize, usize), expand: ExpandMark) {
    doc.mark(text, Mark::new(name, true, at.0, at.1), expand).unwrap();
}

/// Text, with the names of the marks before each marked part.
fn shown(doc: &impl ReadDoc, text: &ObjId) -> String {
    marked_text(&doc.view(), text)
}

fn marked_text(view: &View<'_>, text: &ObjId) -> String {
    let spans = view.spans(text).unwrap().map(|span| match span {
        Span::Text { text, marks } => {
            let names: Vec<&str> = marks.iter().map(|(name, _)| name).collect();
            if names.is_empty() { text.into_owned() } else { format!("<{}:{text}>", names.join(",")) }
        }
        Span::Block(entries) => format!("[{}]", entries.len()),
    });
    spans.collect()
}

#[test]
fn text_typed_at_edges_of_marks() {
    for (expand, before, after) in [
        (ExpandMark::None, "a>", "<d"),
        (ExpandMark::Before, "", "<d"),
        (ExpandMark::After, "a>", ""),
        (ExpandMark::Both, "", ""),
    ] {
        let mut a = doc(1);
        let t = text(&mut a, "t", "abcd");
        mark(&mut a, &t, "m", (1, 3), expand);
        a.splice_text(&t, 3, 0, "<").unwrap();
        a.splice_text(&t, 1, 0, ">").unwrap();
        let inside = format!(
            "{}bc{}",
            if before.is_empty() { ">" } else { "" },
            if after.is_empty() { "<" } else { "" }
        );
        let expected = format!(
            "{}<m:{inside}>{}",
            if before.is_empty() { "a" } else { before },
            if after.is_empty() { "d" } else { after }
        );
        assert_eq!(shown(&a, &t), expected, "{expand:?}");
        // Other replicas see the same text, typed locally or remotely.
        let mut b = fork(&mut a, 2);
        b.splice_text(&t, 2, 0, "typed").unwrap();
        meet(&mut a, &mut b);
        assert_eq!(shown(&a, &t), shown(&b, &t));
    }
}

#[test]
fn marks_of_one_name_and_of_several() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "one two three");
    mark(&mut a, &t, "bold", (0, 7), ExpandMark::None);
    mark(&mut a, &t, "it", (4, 13), ExpandMark::None);
    assert_eq!(shown(&a, &t), "<bold:one ><bold,it:two><it: three>");
    // Adjacent marks with one value are one; with different values they are two.
    mark(&mut a, &t, "bold", (7, 9), ExpandMark::None);
    let ranges = |doc: &AutoCommit| -> Vec<String> {
        let marks = doc.marks(&t).unwrap();
        marks
            .iter()
            .map(|mark| format!("{} {}..{} {}", mark.name, mark.start, mark.end, mark.value))
            .collect()
    };
    assert_eq!(ranges(&a), ["bold 0..9 true", "it 4..13 true"]);
    a.mark(&t, Mark::new("bold", "very", 2, 5), ExpandMark::None).unwrap();
    assert_eq!(ranges(&a), ["bold 0..2 true", "bold 2..5 \"very\"", "bold 5..9 true", "it 4..13 true"]);
    // A removed mark is not reported, not even as null.
    a.unmark(&t, "it", 4, 13, ExpandMark::None).unwrap();
    a.mark(&t, Mark::new("bold", ScalarValue::Null, 0, 6), ExpandMark::None).unwrap();
    assert_eq!(ranges(&a), ["bold 6..9 true"]);
    assert!(a.get_marks(&t, 3).unwrap().is_empty());
    assert_eq!(a.get_marks(&t, 6).unwrap().get("bold"), Some(&true.into()));
    // A mark on a deleted range is gone, and text typed there later is not marked.
    a.splice_text(&t, 6, 3, "").unwrap();
    assert_eq!(ranges(&a), Vec::<String>::new());
    let heads = a.fork().get_heads();
    a.splice_text(&t, 6, 0, "new").unwrap();
    assert_eq!(shown(&a, &t), "one twnewhree");
    assert_eq!(a.marks_at(&t, &heads).unwrap(), vec![]);
}

#[test]
fn empty_marks_and_marks_beside_blocks() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "1234");
    mark(&mut a, &t, "m", (1, 1), ExpandMark::Both);
    mark(&mut a, &t, "m", (2, 2), ExpandMark::Both);
    assert_eq!(shown(&a, &t), "1234");
    // Marks extend over blocks; a block is not text.
    let block = a.split_block(&t, 2).unwrap();
    a.put(&block, "type", "p").unwrap();
    mark(&mut a, &t, "m", (1, 4), ExpandMark::None);
    assert_eq!(shown(&a, &t), "1<m:2>[1]<m:3>4");
    a.split_block(&t, 0).unwrap();
    a.split_block(&t, 0).unwrap();
    a.splice_text(&t, 2, 0, "a").unwrap();
    assert_eq!(shown(&a, &t), "[0][0]a1<m:2>[1]<m:3>4");
    // A concurrent join of split parts removes only the block.
    let mut b = fork(&mut a, 2);
    a.join_block(&t, 0).unwrap();
    b.split_block(&t, 3).unwrap();
    b.splice_text(&t, 4, 0, "new").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(shown(&a, &t), "[0]a[0]new1<m:2>[1]<m:3>4");
    let heads = a.fork().get_heads();
    a.splice_text(&t, 0, 100, "").unwrap();
    assert_eq!((shown(&a, &t).as_str(), a.length(&t)), ("", 0));
    assert_eq!(marked_text(&a.at(&heads).unwrap(), &t), "[0]a[0]new1<m:2>[1]<m:3>4");
}

#[test]
fn update_spans_reaches_each_given_text() {
    let block = |kind: &'static str| -> Span<'static> {
        Entries::from_iter([("type".to_owned(), kind.into())]).into()
    };
    let marked = |text: &'static str, names: &[&'static str]| Span::Text {
        text: text.into(),
        marks: names.iter().map(|name| (*name, true)).collect(),
    };
    let mut a = doc(1);
    let t = text(&mut a, "t", "");
    let config = UpdateSpansConfig::default().with_default_expand(ExpandMark::None);
    let steps: [Vec<Span<'static>>; 7] = [
        vec![block("h1"), marked("Title", &[]), block("p"), marked("some ", &[]), marked("bold", &["b"])],
        // A block becomes another kind of block at the same position.
        vec![block("h2"), marked("Title", &[]), block("p"), marked("some ", &[]), marked("bold", &["b"])],
        // Words move into and out of a mark.
        vec![block("h2"), marked("Title", &["b"]), block("p"), marked("some bold", &[])],
        vec![block("p"), marked("some 👨‍👩‍👦 bo", &["i"]), marked("ld", &["i", "b"])],
        vec![marked("no blocks", &["b"])],
        vec![block("only"), block("blocks")],
        vec![],
    ];
    for spans in &steps {
        a.update_spans(&t, &config, spans.iter().cloned()).unwrap();
        assert_eq!(a.spans(&t).unwrap().collect::<Vec<_>>(), *spans);
        // A repeated update changes nothing.
        a.commit();
        a.update_spans(&t, &config, spans.iter().cloned()).unwrap();
        assert_eq!(a.pending_ops(), 0);
    }
    // Concurrent updates with different results keep the edits of both.
    a.update_spans(&t, &config, steps[0].iter().cloned()).unwrap();
    let mut b = fork(&mut a, 2);
    a.update_spans(&t, &config, steps[1].iter().cloned()).unwrap();
    b.update_text(&t, "\u{fffc}Title\u{fffc}some bolder").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(a.text(&t).unwrap(), "\u{fffc}Title\u{fffc}some bolder");
    let block = a.get(&t, 0).unwrap().unwrap().1;
    assert_eq!(a.hydrate(block).unwrap(), literal!({ "type": "h2" }));
}

#[test]
fn concurrent_text_updates_keep_both() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "Good morning, world!");
    let mut b = fork(&mut a, 2);
    a.update_text(&t, "Good evening, world!").unwrap();
    b.update_text(&t, "Good morning, friends!").unwrap();
    meet(&mut a, &mut b);
    assert_eq!(a.text(&t).unwrap(), "Good evening, friends!");
    // A cluster is never split.
    let f = text(&mut a, "f", "left👨‍👩‍👦right");
    let mut b = fork(&mut a, 2);
    a.update_text(&f, "left👨‍👩‍👦‍👦right").unwrap();
    b.update_text(&f, "left👨‍👩‍👧right").unwrap();
    meet(&mut a, &mut b);
    let both = a.text(&f).unwrap();
    assert!(both.contains("👨‍👩‍👦‍👦") && both.contains("👨‍👩‍👧"), "{both}");
    a.update_object(&f, &Literal::text("left")).unwrap();
    assert_eq!(a.text(&f).unwrap(), "left");
}

#[test]
fn cursors_follow_their_elements() {
    let mut a = doc(1);
    let t = text(&mut a, "t", "abcdef");
    let at = |doc: &AutoCommit, moving| doc.get_cursor_moving(&t, 3, moving).unwrap();
    let (after, before) = (at(&a, MoveCursor::After), at(&a, MoveCursor::Before));
    let (start, end) =
        (a.get_cursor(&t, CursorPosition::Start).unwrap(), a.get_cursor(&t, CursorPosition::End).unwrap());
    let heads = a.get_heads();
    let mut b = fork(&mut a, 2);
    b.splice_text(&t, 0, 0, "123").unwrap();
    a.splice_text(&t, 6, 0, "gh").unwrap();
    meet(&mut a, &mut b);
    let positions = |doc: &AutoCommit| {
        [&start, &before, &after, &end].map(|cursor| doc.get_cursor_position(&t, cursor).unwrap())
    };
    assert_eq!(positions(&a), [0, 6, 6, 11]);
    // Their element is deleted: one is before its position, the other after it.
    a.splice_text(&t, 4, 4, "").unwrap();
    assert_eq!(a.text(&t).unwrap(), "123afgh");
    assert_eq!(positions(&a), [0, 3, 4, 7]);
    a.splice_text(&t, 0, 100, "").unwrap();
    assert_eq!(positions(&a), [0, 0, 0, 0]);
    let then = [&start, &before, &after, &end].map(|c| a.get_cursor_position_at(&t, c, &heads).unwrap());
    assert_eq!(then, [0, 3, 3, 6]);
    assert!(a.get_cursor(&t, 0).is_err(), "nothing is there");
    let list = super::list(&mut a, "l", [1, 2, 3]);
    let cursor = a.get_cursor(&list, 1).unwrap();
    a.put(&list, 1, "other").unwrap();
    a.insert(&list, 0, 0).unwrap();
    assert_eq!(a.get_cursor_position(&list, &cursor).unwrap(), 2);
    assert!(a.get_cursor_position(&t, &cursor).is_err(), "of another object");
}
