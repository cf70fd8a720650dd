//! Updates of rich texts to a given content: both engines reach it, by different changes.

use automerge::iter::Span as TheirSpan;
use automerge::marks::{ExpandMark as TheirExpand, MarkSet as TheirMarks, UpdateSpansConfig as TheirConfig};
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

const EXPANDS: [(ExpandMark, TheirExpand); 4] = [
    (ExpandMark::Before, TheirExpand::Before),
    (ExpandMark::After, TheirExpand::After),
    (ExpandMark::Both, TheirExpand::Both),
    (ExpandMark::None, TheirExpand::None),
];

fn parts(rng: &mut Rng) -> Vec<Part> {
    let part = |rng: &mut Rng| match rng.below(4) {
        0 => Part::Block(rng.below(3) as i64),
        _ => {
            // Of clusters of several characters the official crate deletes the first only.
            let text = (0..1 + rng.below(4)).map(|_| ["one ", "é", "x", "字\n"][rng.below(4)]).collect();
            Part::Text(text, ["bold", "link"].into_iter().filter(|_| rng.below(2) == 0).collect())
        }
    };
    (0..rng.below(7)).map(|_| part(rng)).collect()
}

fn ours(part: &Part) -> Span<'_> {
    match part {
        Part::Text(text, marks) => {
            Span::Text { text: text.into(), marks: marks.iter().map(|name| (*name, true)).collect() }
        }
        Part::Block(number) => Entries::from_iter([("n".to_owned(), (*number).into())]).into(),
    }
}

fn theirs(part: &Part) -> TheirSpan {
    match part {
        Part::Text(text, marks) => {
            let marks: TheirMarks = marks.iter().map(|name| ((*name).to_owned(), true.into())).collect();
            TheirSpan::Text { text: text.clone(), marks: Some(marks.into()) }
        }
        Part::Block(number) => {
            let inside = std::collections::HashMap::from([("n", hydrate::Value::from(*number))]);
            TheirSpan::Block(inside.into())
        }
    }
}

fn our_part(span: Span<'_>) -> Part {
    match span {
        Span::Text { text, marks } => {
            let names = ["bold", "link"].into_iter();
            let there =
                names.filter(|name| marks.get(name) == Some(&ScalarValue::Boolean(true))).collect::<Vec<_>>();
            assert_eq!(marks.len(), there.len());
            Part::Text(text.into_owned(), there)
        }
        Span::Block(entries) => Part::Block(match &entries["n"] {
            hashmill_doc::Literal::Scalar(number) => number.as_i64().expect("a number"),
            other => panic!("{other:?} is no number"),
        }),
    }
}

fn their_part(span: TheirSpan) -> Part {
    match span {
        TheirSpan::Text { text, marks } => {
            let marks = marks.unwrap_or_default();
            let there = |name: &&str| marks.iter().any(|(other, _)| other == *name);
            Part::Text(text, ["bold", "link"].into_iter().filter(there).collect())
        }
        TheirSpan::Block(entries) => Part::Block(entries.get("n").expect("its number").as_i64()),
    }
}

#[test]
fn doc_updates_of_rich_texts_end_alike() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut our = AutoCommit::new();
        let our_text = our.put_object(ROOT, "text", ObjType::Text).expect("a new key");
        let mut their = automerge::AutoCommit::load(&our.save()).expect("a document of ours");
        let their_text = their.import_obj(&our_text.to_string()).expect("the same text");
        for step in 0..4 {
            let (parts, (expand, their_expand)) = (parts(&mut rng), EXPANDS[rng.below(4)]);
            let config = UpdateSpansConfig::default().with_default_expand(expand);
            our.update_spans(&our_text, &config, parts.iter().map(ours)).expect("a text");
            let config = TheirConfig::default().with_default_expand(their_expand);
            their.update_spans(&their_text, config, parts.iter().map(theirs)).expect("a text");
            let here: Vec<Part> = our.spans(&our_text).expect("a text").map(our_part).collect();
            let there: Vec<Part> = their.spans(&their_text).expect("a text").map(their_part).collect();
            assert_eq!(here, there, "seed {seed}, step {step}: {parts:?}");
            // Each reads what the other one made.
            let read = automerge::AutoCommit::load(&our.save()).expect("a document of ours");
            let read: Vec<Part> = read.spans(&their_text).expect("a text").map(their_part).collect();
            assert_eq!(read, here, "seed {seed}, step {step}");
        }
    }
}
