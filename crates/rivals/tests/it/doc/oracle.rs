//! Tests of the document oracle against the official crate: each reads the other's files with equal results. Hashmill's engine is
//! tested against the oracle, so these tests justify its verdicts.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use automerge::marks::{ExpandMark, Mark};
use automerge::transaction::Transactable as _;
use automerge::{
    ActorId, AutoCommit, Automerge, ChangeHash, ObjId, ObjType, ROOT, ReadDoc, ScalarValue,
    Value as OfficialValue,
};
use hashmill_doc::Document as HashmillDocument;
use hashmill_testkit::Rng;
use hashmill_testkit::data;
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{
    Action, Actor, Change, Content, Document, Element, Entry, Hash, History, Id, Key, Kind, MOST, Object, Op,
    State, Value,
};

fn kind(kind: ObjType) -> Kind {
    match kind {
        ObjType::Map => Kind::Map,
        ObjType::List => Kind::List,
        ObjType::Text => Kind::Text,
        ObjType::Table => Kind::Table,
    }
}

fn value(value: &ScalarValue) -> Value {
    match value {
        ScalarValue::Null => Value::Null,
        ScalarValue::Boolean(value) => Value::Bool(*value),
        ScalarValue::Int(value) => Value::Int(*value),
        ScalarValue::Uint(value) => Value::Uint(*value),
        ScalarValue::F64(value) => Value::F64(value.to_bits()),
        ScalarValue::Str(text) => Value::Str(text.to_string()),
        ScalarValue::Bytes(bytes) => Value::Bytes(bytes.clone()),
        ScalarValue::Counter(value) => Value::Counter(value.into()),
        ScalarValue::Timestamp(value) => Value::Timestamp(*value),
        ScalarValue::Unknown { type_code, bytes } => Value::Unknown(*type_code, bytes.clone()),
    }
}

fn entry((official_value, id): &(OfficialValue<'_>, ObjId)) -> Entry {
    let ObjId::Id(counter, actor, _) = id else { panic!("the root is no value") };
    let id = Id { counter: *counter, actor: Actor(actor.to_bytes().into()) };
    let value = match official_value {
        OfficialValue::Object(obj_type) => Content::Object(kind(*obj_type)),
        OfficialValue::Scalar(scalar) => Content::Scalar(value(scalar)),
    };
    Entry { id, value }
}

/// The marks at each unit of a text.
fn marks(doc: &Automerge, text: &ObjId, heads: &[ChangeHash]) -> Vec<BTreeMap<String, Value>> {
    let mut units = vec![BTreeMap::new(); doc.length_at(text, heads)];
    for Mark { start, end, name, value: mark_value } in doc.marks_at(text, heads).expect("a text") {
        units[start..end]
            .iter_mut()
            .for_each(|marks| drop(marks.insert(name.to_string(), value(&mark_value))));
    }
    units
}

fn object(doc: &Automerge, id: &ObjId, kind: Kind, heads: &[ChangeHash]) -> Object {
    let entries = |values: Vec<(OfficialValue<'_>, ObjId)>| values.iter().map(entry).collect::<Vec<_>>();
    let (mut keys, mut elements) = (BTreeMap::new(), vec![]);
    if kind.is_sequence() {
        let marks = if kind == Kind::Text { marks(doc, id, heads) } else { vec![] };
        let mut index = 0;
        while index < doc.length_at(id, heads) {
            let values = entries(doc.get_all_at(id, index, heads).expect("a sequence"));
            let marks = marks.get(index).cloned().unwrap_or_default();
            let element = Element { values, marks };
            index += if kind == Kind::Text { element.text().chars().count() } else { 1 };
            elements.push(element);
        }
    } else {
        for key in doc.keys_at(id, heads) {
            keys.insert(key.clone(), entries(doc.get_all_at(id, key.as_str(), heads).expect("a map")));
        }
    }
    Object { kind, keys, elements }
}

/// The state without content that the official crate cannot return: values of no width in a text, and tables.
fn without_unreadable(mut state: State) -> State {
    state.objects.retain(|_, object| object.kind != Kind::Table);
    for object in state.objects.values_mut().filter(|object| object.kind == Kind::Text) {
        object.elements.retain(|element| !element.text().is_empty());
    }
    state
}

/// The first difference between the oracle and the official crate at these heads.
fn difference(doc: &Automerge, history: &History, heads: &[Hash]) -> Option<String> {
    let state = without_unreadable(history.at(heads).expect("known heads"));
    let at: Vec<ChangeHash> = heads.iter().map(|hash| ChangeHash(*hash)).collect();
    let official_object = |(id, oracle_object): (&Option<Id>, &Object)| {
        let obj_id = id.as_ref().map_or(ROOT, |id| doc.import_obj(&id.to_string()).expect("an object"));
        (id.clone(), object(doc, &obj_id, oracle_object.kind, &at))
    };
    let official =
        State { heads: state.heads.clone(), objects: state.objects.iter().map(official_object).collect() };
    state.difference(&official)
}

/// Panics unless the official crate and the oracle read the same state from `file`, at every head.
fn assert_equal_states(file: &[u8], context: &str) {
    let history = History::load(file, MOST).unwrap_or_else(|error| panic!("{context}: {error}"));
    let doc = Automerge::load(file).unwrap_or_else(|error| panic!("{context}: {error}"));
    let heads: Vec<Hash> = doc.get_heads().iter().map(|hash| hash.0).collect();
    assert_eq!(heads, history.heads(), "{context}");
    let at = std::iter::once(heads).chain(history.changes().iter().map(|change| vec![change.hash]));
    for heads in at {
        if let Some(difference) = difference(&doc, &history, &heads) {
            panic!("{context}: the oracle (-) and the official crate (+) differ:\n{difference}");
        }
    }
}

#[test]
fn files_of_the_official_project() {
    for (name, file) in data::automerge_samples() {
        let is_accepted = catch_unwind(|| Automerge::load(&file).is_ok()).unwrap_or(false);
        match History::load(&file, MOST) {
            Ok(_) => assert_equal_states(&file, &name),
            Err(error) => assert!(!is_accepted, "{name}: only the oracle refuses it: {error}"),
        }
        assert_eq!(HashmillDocument::load(&file).is_ok(), is_accepted, "{name}");
    }
}

/// Marks of the official crate: with every expansion, overlapping, with insertions and deletions at their ends.
#[test]
fn marks_and_edits_of_the_official_crate() {
    let mut marked = 0;
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut docs = vec![AutoCommit::new().with_actor(ActorId::from([9, 1]))];
        let text = docs[0].put_object(ROOT, "text", ObjType::Text).expect("a sound edit");
        docs[0].splice_text(&text, 0, 0, "the text that all of them have").expect("a sound edit");
        for actor in [vec![3], vec![200, 1]] {
            let fork = docs[0].fork().with_actor(ActorId::from(actor));
            docs.push(fork);
        }
        for _ in 0..40 {
            let (i, j) = (rng.below(3), rng.below(3));
            let doc = &mut docs[i];
            let length = doc.length(&text);
            let start = rng.below(length + 1);
            let end = start + rng.below(length + 1 - start);
            let expand =
                [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None][rng.below(4)];
            let name = ["bold", "link"][rng.below(2)];
            match rng.below(6) {
                0 | 1 => {
                    let value = [ScalarValue::Boolean(true), "there".into()][rng.below(2)].clone();
                    doc.mark(&text, Mark::new(name.to_owned(), value, start, end), expand)
                }
                2 => doc.unmark(&text, name, start, end, expand),
                3 => doc.splice_text(&text, start, (end - start).min(6) as isize, ""),
                _ => doc.splice_text(&text, start, 0, ["é", "typed"][rng.below(2)]),
            }
            .expect("a sound edit");
            if i != j && rng.below(3) == 0 {
                docs[j].commit();
                let mut other = docs[j].clone();
                docs[i].merge(&mut other).expect("sound changes");
            }
        }
        let [first, rest @ ..] = &mut docs[..] else { panic!("there are three") };
        rest.iter_mut().for_each(|other| drop(first.merge(other).expect("sound changes")));
        let file = first.save();
        assert_equal_states(&file, &format!("seed {seed}"));
        let state = History::load(&file, MOST).expect("a sound file").state();
        marked += state
            .objects
            .values()
            .flat_map(|object| &object.elements)
            .filter(|element| !element.marks.is_empty())
            .count();
    }
    assert!(marked > 100, "{marked} elements are marked");
}

/// Random documents of the oracle, as document chunks and as changes.
#[test]
fn documents_of_the_oracle() {
    let mut failed = vec![];
    for seed in 0..100 {
        let mut forge = Forge::new(seed, History::new());
        forge.plain = true;
        (0..12).for_each(|_| drop(forge.change(3, 0)));
        let changes = forge.history.changes();
        let (document, chunks) =
            (Document::from_changes(changes).bytes(), changes.iter().flat_map(|change| change.bytes()));
        for (file, form) in [(document, "document"), (chunks.collect::<Vec<u8>>(), "changes")] {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| assert_equal_states(&file, form))) {
                let message =
                    payload.downcast::<String>().map_or_else(|_| "?".to_owned(), |message| *message);
                failed.push(format!("seed {seed}: {message}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} fail:\n{}", failed.len(), failed.join("\n"));
}

/// A change of one writer after earlier ones, with operations on the root or on the object of operation 1.
fn change(before: &[Change], start: u64, ops: Vec<Op>) -> Change {
    let deps: Vec<Hash> = before.last().map(|change| change.hash).into_iter().collect();
    let (seq, actor) = (before.len() as u64 + 1, Forge::actor(0));
    let (hash, time, message, extra) = (Hash::default(), 0, String::new(), vec![]);
    Change { hash, deps, actor, seq, start, time, message, ops, extra }.seal()
}

fn id(counter: u64) -> Id {
    Id { counter, actor: Forge::actor(0) }
}

fn put(counter: u64, action: Action, value: Value, preds: &[u64]) -> Op {
    let key = Key::Map("k".to_owned());
    let preds = preds.iter().map(|pred| id(*pred)).collect();
    let (obj, insert, expand, mark) = (None, false, false, None);
    Op { id: id(counter), obj, key, insert, action, value, expand, mark, preds }
}

fn inside(counter: u64, op: Op) -> Op {
    let (key, insert) = match counter {
        0 => (Key::Head, true),
        element => (Key::Element(id(element)), false),
    };
    Op { obj: Some(id(1)), key, insert, ..op }
}

/// Result of the official crate for a file.
fn official_result(file: &[u8]) -> &'static str {
    match catch_unwind(AssertUnwindSafe(|| assert_equal_states(file, "file"))) {
        Ok(()) => "equal",
        Err(payload) => match payload.downcast_ref::<String>() {
            Some(message) if message.contains("the official crate (+) differ") => "differs",
            Some(message) if message.starts_with("file: ") => "refuses",
            _ => "panics",
        },
    }
}

/// Changes that the rules allow but no program writes, as document chunks and as changes. Hashmill's engine reads all of them as the
/// oracle does. Where the official crate does not, it violates the reference:
/// - Tables are read like maps (1.1). The official crate finds their keys only in a document chunk.
/// - A counter can be incremented anywhere (4.3). In a text, the official crate treats an increment as a value and cannot read it.
/// - A change may start at any counter above those of its dependencies (2.3, 2.7). The official crate refuses such a change without
///   operations.
#[test]
fn unusual_changes_are_read() {
    let int = || put(0, Action::Set, Value::Int(1), &[]);
    let counter = || put(0, Action::Set, Value::Counter(1), &[]);
    let add = || put(0, Action::Increment, Value::Int(1), &[]);
    let make = |action| put(1, action, Value::Null, &[]);
    let with_id = |counter: u64, op: Op, preds: &[u64]| Op {
        id: id(counter),
        preds: preds.iter().map(|pred| id(*pred)).collect(),
        ..op
    };
    let (table, list, text) = (Action::MakeTable, Action::MakeList, Action::MakeText);
    let in_table = |op: Op| Op { obj: Some(id(1)), ..op };
    let empty = put(0, Action::Set, Value::Str(String::new()), &[]);
    let letter = || put(0, Action::Set, Value::Str("a".to_owned()), &[]);
    let begin = Op { mark: Some("bold".to_owned()), ..put(0, Action::Mark, Value::Bool(true), &[]) };
    let unknown = put(0, Action::Set, Value::Unknown(12, vec![1]), &[]);
    let equal = ["equal", "equal"];
    // A name; changes with their first counters; the official crate's results for a document chunk and for changes.
    type Case<'a> = (&'a str, Vec<(u64, Vec<Op>)>, [&'a str; 2]);
    let cases: Vec<Case<'_>> = vec![
        (
            "a put over a put",
            vec![(1, vec![with_id(1, int(), &[])]), (2, vec![with_id(2, int(), &[1])])],
            equal,
        ),
        (
            "a gap of counters",
            vec![(1, vec![with_id(1, int(), &[])]), (5, vec![with_id(5, int(), &[1])])],
            equal,
        ),
        ("a first counter above 1", vec![(5, vec![with_id(5, int(), &[])])], equal),
        (
            "an empty change after a gap",
            vec![(1, vec![with_id(1, int(), &[])]), (5, vec![])],
            ["refuses", "equal"],
        ),
        ("a table", vec![(1, vec![make(table)])], equal),
        (
            "a key of a table",
            vec![(1, vec![make(table), in_table(with_id(2, int(), &[]))])],
            ["equal", "panics"],
        ),
        (
            "a put over an overwritten put",
            vec![(1, vec![with_id(1, int(), &[]), with_id(2, int(), &[1]), with_id(3, int(), &[1])])],
            equal,
        ),
        (
            "a put over a counter and its increment",
            vec![(1, vec![with_id(1, counter(), &[]), with_id(2, add(), &[1]), with_id(3, int(), &[1, 2])])],
            equal,
        ),
        (
            "a put over an increment alone",
            vec![(1, vec![with_id(1, counter(), &[]), with_id(2, add(), &[1]), with_id(3, int(), &[2])])],
            equal,
        ),
        (
            "an increment of an increment",
            vec![(1, vec![with_id(1, counter(), &[]), with_id(2, add(), &[1]), with_id(3, add(), &[2])])],
            equal,
        ),
        (
            "an increment of no counter",
            vec![(1, vec![with_id(1, int(), &[]), with_id(2, add(), &[1])])],
            equal,
        ),
        (
            "an increment of no counter in a list",
            vec![(
                1,
                vec![make(list), inside(0, with_id(2, int(), &[])), inside(2, with_id(3, add(), &[2]))],
            )],
            equal,
        ),
        (
            "an increment of a letter in a text",
            vec![(
                1,
                vec![make(text), inside(0, with_id(2, letter(), &[])), inside(2, with_id(3, add(), &[2]))],
            )],
            equal,
        ),
        (
            "two values at one letter",
            vec![(
                1,
                vec![make(text), inside(0, with_id(2, letter(), &[])), inside(2, with_id(3, letter(), &[]))],
            )],
            equal,
        ),
        (
            "an increment in a text",
            vec![(
                1,
                vec![make(text), inside(0, with_id(2, counter(), &[])), inside(2, with_id(3, add(), &[2]))],
            )],
            ["panics", "panics"],
        ),
        ("a type of later versions", vec![(1, vec![with_id(1, unknown, &[])])], equal),
        ("an empty string in a text", vec![(1, vec![make(text), inside(0, with_id(2, empty, &[]))])], equal),
        ("a mark without an end", vec![(1, vec![make(text), inside(0, with_id(2, begin, &[]))])], equal),
    ];
    let mut unexpected = vec![];
    for (name, parts, expected) in cases {
        let mut changes: Vec<Change> = vec![];
        for (start, ops) in parts {
            changes.push(change(&changes, start, ops));
        }
        let chunks: Vec<u8> = changes.iter().flat_map(Change::bytes).collect();
        for (file, expected) in [Document::from_changes(&changes).bytes(), chunks].iter().zip(expected) {
            HashmillDocument::load(file).unwrap_or_else(|error| panic!("{name}: {error}"));
            let result = official_result(file);
            if result != expected {
                unexpected.push(format!("{name}: {result}, not {expected}"));
            }
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
