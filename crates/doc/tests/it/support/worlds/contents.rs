//! Contents of a document, read value by value: without code that writes, compares or copies whole objects.

use std::collections::BTreeMap;

use hashmill_doc::{MarkSet, ObjId, ObjType, ROOT, ScalarValue, Span, Value, View};

/// Contents that are read in addition to the winning values.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// None: what a copy without history keeps.
    Winners,
    /// The ids of values, and the losers of conflicts.
    Everything,
}

/// An object or a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// As text, which distinguishes zeros with two signs and makes NaN comparable.
    Scalar(String),
    Map(BTreeMap<String, Vec<Entry>>),
    /// A map written by old libraries.
    Table(BTreeMap<String, Vec<Entry>>),
    List(Vec<Vec<Entry>>),
    Text(Box<Text>),
}

/// A value with its id, if ids are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Option<(u64, Vec<u8>)>,
    pub(crate) value: Contents,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The winner of each element, including elements without width.
    pub(crate) elements: Vec<Entry>,
    /// The values at each unit, and their marks.
    pub(crate) units: Vec<(Vec<Entry>, Marks)>,
    pub(crate) marks: Vec<(usize, usize, String, String)>,
    pub(crate) spans: Vec<Part>,
}

/// Names with values.
pub(crate) type Marks = Vec<(String, String)>;

/// All contents of a document.
pub(crate) fn contents_of(view: &View<'_>, depth: Depth) -> Contents {
    object(view, ObjType::Map, &ROOT, depth)
}

pub(crate) fn words(value: &ScalarValue<'_>) -> String {
    format!("{value:?}")
}

fn entry(view: &View<'_>, (value, id): &(Value<'_>, ObjId), depth: Depth) -> Entry {
    let value = match value {
        Value::Scalar(value) => Contents::Scalar(words(value)),
        Value::Object(kind) => object(view, *kind, id, depth),
    };
    let id = match (depth, id) {
        (Depth::Winners, _) | (_, ObjId::Root) => None,
        (Depth::Everything, ObjId::Id { counter, actor, .. }) => Some((*counter, actor.as_bytes().to_vec())),
    };
    Entry { id, value }
}

fn entries(view: &View<'_>, mut values: Vec<(Value<'_>, ObjId)>, depth: Depth) -> Vec<Entry> {
    if let Depth::Winners = depth {
        values.drain(..values.len().saturating_sub(1));
    }
    values.iter().map(|value| entry(view, value, depth)).collect()
}

fn object(view: &View<'_>, kind: ObjType, id: &ObjId, depth: Depth) -> Contents {
    assert_eq!(view.object_type(id), Ok(kind));
    let at = |index: usize| entries(view, view.get_all(id, index).expect("a sequence"), depth);
    match kind {
        ObjType::Map | ObjType::Table => {
            let value = |key: &str| entries(view, view.get_all(id, key).expect("a map"), depth);
            let keys = view.keys(id).map(|key| (key.to_owned(), value(key))).collect();
            match (kind, depth) {
                (ObjType::Table, Depth::Everything) => Contents::Table(keys),
                _ => Contents::Map(keys),
            }
        }
        ObjType::List => Contents::List((0..view.length(id)).map(at).collect()),
        ObjType::Text => {
            // A copy without history has no tables: in a text, where only a map can be a block, the placeholder of a
            // table stays.
            let without_tables = |mut entry: Entry, value: &Value<'_>| {
                if matches!((depth, value), (Depth::Winners, Value::Object(ObjType::Table))) {
                    entry.value = Contents::Scalar(words(&"\u{fffc}".into()));
                }
                entry
            };
            let element = |found: &(Value<'_>, ObjId)| without_tables(entry(view, found, depth), &found.0);
            let at = |unit: usize| {
                let values = entries(view, view.get_all(id, unit).expect("a text"), depth);
                let winner = view.get(id, unit).expect("a text").expect("a unit of it");
                values.into_iter().map(|entry| without_tables(entry, &winner.0)).collect()
            };
            let marks = |unit: usize| marks_of(&view.get_marks(id, unit).expect("a text"));
            Contents::Text(Box::new(Text {
                text: view.text(id).expect("a text"),
                elements: view.values_of(id).iter().map(element).collect(),
                units: (0..view.length(id)).map(|unit| (at(unit), marks(unit))).collect(),
                marks: view.marks(id).expect("a text").iter().map(mark).collect(),
                spans: spans(view.spans(id).expect("a text"), depth),
            }))
        }
    }
}

fn mark(mark: &hashmill_doc::Mark<'_>) -> (usize, usize, String, String) {
    (mark.start, mark.end, mark.name.clone().into_owned(), words(&mark.value))
}

fn marks_of(set: &MarkSet<'_>) -> Marks {
    set.iter().map(|(name, value)| (name.to_owned(), words(value))).collect()
}

/// Text with its marks, or a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String, Marks),
    Block(String),
}

fn span(span: Span<'_>) -> Part {
    match span {
        Span::Text { text, marks } => Part::Text(text.into_owned(), marks_of(&marks)),
        Span::Block(entries) => Part::Block(format!("{entries:?}")),
    }
}

/// A mark on only elements without characters splits the text around it, here and in the official engine. A read of the
/// marks does not report it, so a copy without history lacks it.
pub(crate) fn spans<'a>(read: impl Iterator<Item = Span<'a>>, depth: Depth) -> Vec<Part> {
    let mut spans: Vec<Part> = vec![];
    for part in read.map(span) {
        match (spans.last_mut(), part, depth) {
            (Some(Part::Text(text, marks)), Part::Text(more, same), Depth::Winners) if *marks == same => {
                text.push_str(&more);
            }
            (_, part, _) => spans.push(part),
        }
    }
    spans
}
