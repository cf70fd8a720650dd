//! Updates of rich texts to a given content: both engines reach it, by different changes.

use automerge::iter::Span as OfficialSpan;
use automerge::marks::{
    ExpandMark as OfficialExpand, MarkSet as OfficialMarks, UpdateSpansConfig as OfficialConfig,
};
use automerge::transaction::Transactable as _;
use automerge::{ReadDoc as _, hydrate};
use hashmill_doc::{
    AutoCommit, Entries, ExpandMark, ObjType, ROOT, ReadDoc as _, ScalarValue, Span, Transactable as _,
    UpdateSpansConfig,
};
use hashmill_testkit::Rng;

/// A text with the names of its marks, or a block with its number.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String, Vec<&'static str>),
    Block(i64),
}

const EXPANDS: [(ExpandMark, OfficialExpand); 4] = [
    (ExpandMark::Before, OfficialExpand::Before),
    (ExpandMark::After, OfficialExpand::After),
    (ExpandMark::Both, OfficialExpand::Both),
    (ExpandMark::None, OfficialExpand::None),
];

fn parts(rng: &mut Rng) -> Vec<Part> {
    let part = |rng: &mut Rng| match rng.below(4) {
        0 => Part::Block(rng.below(3) as i64),
        _ => {
            // Without clusters of several characters: of these the official crate deletes only the first.
            let text = (0..1 + rng.below(4)).map(|_| ["one ", "é", "x", "字\n"][rng.below(4)]).collect();
            Part::Text(text, ["bold", "link"].into_iter().filter(|_| rng.below(2) == 0).collect())
        }
    };
    (0..rng.below(7)).map(|_| part(rng)).collect()
}

fn hashmill_span(part: &Part) -> Span<'_> {
    match part {
        Part::Text(text, marks) => {
            Span::Text { text: text.into(), marks: marks.iter().map(|name| (*name, true)).collect() }
        }
        Part::Block(number) => Entries::from_iter([("n".to_owned(), (*number).into())]).into(),
    }
}

fn official_span(part: &Part) -> OfficialSpan {
    match part {
        Part::Text(text, marks) => {
            let marks: OfficialMarks = marks.iter().map(|name| ((*name).to_owned(), true.into())).collect();
            OfficialSpan::Text { text: text.clone(), marks: Some(marks.into()) }
        }
        Part::Block(number) => {
            let entries = std::collections::HashMap::from([("n", hydrate::Value::from(*number))]);
            OfficialSpan::Block(entries.into())
        }
    }
}

fn part_from_hashmill(span: Span<'_>) -> Part {
    match span {
        Span::Text { text, marks } => {
            let names = ["bold", "link"].into_iter();
            let true_marks =
                names.filter(|name| marks.get(name) == Some(&ScalarValue::Boolean(true))).collect::<Vec<_>>();
            assert_eq!(marks.len(), true_marks.len());
            Part::Text(text.into_owned(), true_marks)
        }
        Span::Block(entries) => Part::Block(match &entries["n"] {
            hashmill_doc::Literal::Scalar(number) => number.as_i64().expect("a number"),
            value => panic!("{value:?} is no number"),
        }),
    }
}

fn part_from_official(span: OfficialSpan) -> Part {
    match span {
        OfficialSpan::Text { text, marks } => {
            let marks = marks.unwrap_or_default();
            let has_mark = |name: &&str| marks.iter().any(|(other, _)| other == *name);
            Part::Text(text, ["bold", "link"].into_iter().filter(has_mark).collect())
        }
        OfficialSpan::Block(entries) => Part::Block(entries.get("n").expect("its number").as_i64()),
    }
}

#[test]
fn updates_of_rich_texts_reach_the_same_content() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut hashmill = AutoCommit::new();
        let hashmill_text = hashmill.put_object(ROOT, "text", ObjType::Text).expect("a new key");
        let mut official = automerge::AutoCommit::load(&hashmill.save()).expect("a valid document");
        let official_text = official.import_obj(&hashmill_text.to_string()).expect("the same text");
        for step in 0..4 {
            let (parts, (expand, official_expand)) = (parts(&mut rng), EXPANDS[rng.below(4)]);
            let config = UpdateSpansConfig::default().with_default_expand(expand);
            hashmill.update_spans(&hashmill_text, &config, parts.iter().map(hashmill_span)).expect("a text");
            let config = OfficialConfig::default().with_default_expand(official_expand);
            official.update_spans(&official_text, config, parts.iter().map(official_span)).expect("a text");
            let hashmill_parts: Vec<Part> =
                hashmill.spans(&hashmill_text).expect("a text").map(part_from_hashmill).collect();
            let official_parts: Vec<Part> =
                official.spans(&official_text).expect("a text").map(part_from_official).collect();
            assert_eq!(hashmill_parts, official_parts, "seed {seed}, step {step}: {parts:?}");
            // The official crate reads Hashmill's file.
            let loaded = automerge::AutoCommit::load(&hashmill.save()).expect("a valid document");
            let loaded_parts: Vec<Part> =
                loaded.spans(&official_text).expect("a text").map(part_from_official).collect();
            assert_eq!(loaded_parts, hashmill_parts, "seed {seed}, step {step}");
        }
    }
}
