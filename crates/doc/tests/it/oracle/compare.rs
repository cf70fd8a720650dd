//! Contents of the engine in the types of the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_doc::{
    ActorId, Change, ChangeHash, Document, MarkSet, ObjId, ObjType, ReadDoc, ScalarValue, Span,
    Value as Shown, View,
};
use hashmill_testkit::doc::{
    Actor, Change as OracleChange, Content, Element, Entry, Hash, History, Id, Kind, MOST, Object, State,
    Value, chunks,
};

fn actor(actor: &ActorId) -> Actor {
    Actor(actor.as_bytes().into())
}

pub(crate) fn id(obj: &ObjId) -> Option<Id> {
    match obj {
        ObjId::Root => None,
        ObjId::Id { counter, actor: by, .. } => Some(Id { counter: *counter, actor: actor(by) }),
    }
}

pub(super) fn obj(id: &Option<Id>) -> ObjId {
    id.as_ref().map_or(ObjId::Root, |id| ObjId::Id {
        counter: id.counter,
        actor: ActorId::from(&id.actor.0[..]),
        hint: u32::MAX,
    })
}

fn kind(kind: ObjType) -> Kind {
    match kind {
        ObjType::Map => Kind::Map,
        ObjType::List => Kind::List,
        ObjType::Text => Kind::Text,
        ObjType::Table => Kind::Table,
    }
}

pub(super) fn value(value: &ScalarValue<'_>) -> Value {
    match value {
        ScalarValue::Null => Value::Null,
        ScalarValue::Boolean(value) => Value::Bool(*value),
        ScalarValue::Int(value) => Value::Int(*value),
        ScalarValue::Uint(value) => Value::Uint(*value),
        ScalarValue::F64(value) => Value::F64(value.to_bits()),
        ScalarValue::Str(text) => Value::Str(text.clone().into_owned()),
        ScalarValue::Bytes(bytes) => Value::Bytes(bytes.clone().into_owned()),
        ScalarValue::Counter(value) => Value::Counter(*value),
        ScalarValue::Timestamp(value) => Value::Timestamp(*value),
        ScalarValue::Unknown { type_code, bytes } => Value::Unknown(*type_code, bytes.clone().into_owned()),
    }
}

pub(crate) fn entry((shown, by): &(Shown<'_>, ObjId)) -> Entry {
    let value = match shown {
        Shown::Object(of) => Content::Object(kind(*of)),
        Shown::Scalar(scalar) => Content::Scalar(value(scalar)),
    };
    Entry { id: id(by).expect("the root is no value"), value }
}

pub(crate) fn marks(set: &MarkSet<'_>) -> BTreeMap<String, Value> {
    set.iter().map(|(name, shown)| (name.to_owned(), value(shown))).collect()
}

/// Removes from the oracle's state what cannot be read from the engine: marks and losing values of elements without
/// width in a text.
fn askable(mut state: State) -> State {
    for object in state.objects.values_mut() {
        for element in &mut object.elements {
            if object.kind == Kind::Text && element.text().is_empty() {
                element.marks.clear();
                element.values.drain(..element.values.len() - 1);
            }
        }
    }
    state
}

fn object(view: &View<'_>, of: &ObjId) -> Object {
    let kind = kind(view.object_type(of).expect("the oracle has this object"));
    let entries = |values: Vec<(Shown<'_>, ObjId)>| values.iter().map(entry).collect::<Vec<_>>();
    let (mut keys, mut elements) = (BTreeMap::new(), vec![]);
    if kind.is_sequence() {
        let mut index = 0;
        for winner in view.values_of(of) {
            let winner = entry(&winner);
            let mut element = Element { values: vec![winner.clone()], marks: BTreeMap::new() };
            let width = if kind == Kind::Text { element.text().chars().count() } else { 1 };
            if width > 0 && kind == Kind::Text {
                element.marks = marks(&view.get_marks(of, index).expect("a text"));
            }
            if width > 0 {
                element.values = entries(view.get_all(of, index).expect("a sequence"));
            }
            assert_eq!(element.values.last(), Some(&winner), "the winner at {index} of {of}");
            elements.push(element);
            index += width;
        }
        assert_eq!(view.length(of), index, "the length of {of}");
    } else {
        for key in view.keys(of) {
            keys.insert(key.to_owned(), entries(view.get_all(of, key).expect("a map")));
        }
    }
    let object = Object { kind, keys, elements };
    if kind == Kind::Text {
        assert_eq!(view.text(of).expect("a text"), object.text());
        rich(view, of, &object.elements);
    }
    object
}

/// Panics unless the marks and spans of a text agree with its elements.
fn rich(view: &View<'_>, of: &ObjId, elements: &[Element]) {
    let mut units: Vec<&Element> = vec![];
    for element in elements {
        units.extend(element.text().chars().map(|_| element));
    }
    let mut marked = vec![BTreeMap::new(); units.len()];
    for mark in view.marks(of).expect("a text") {
        assert!(mark.start < mark.end, "{mark:?}");
        for unit in &mut marked[mark.start..mark.end] {
            assert_eq!(unit.insert(mark.name.clone().into_owned(), value(&mark.value)), None, "{mark:?}");
        }
        let edge = |unit: usize| units.get(unit).and_then(|element| element.marks.get(&*mark.name));
        let goes_on = [mark.start.checked_sub(1), Some(mark.end)].into_iter().flatten();
        assert!(
            goes_on.map(edge).all(|there| there != Some(&value(&mark.value))),
            "{mark:?} could be longer"
        );
    }
    assert!(units.iter().map(|element| &element.marks).eq(&marked), "the marks of {of}");

    let mut at = 0;
    for span in view.spans(of).expect("a text") {
        match span {
            Span::Block(entries) => {
                let there = view.get(of, at).expect("a text").expect("a block");
                assert_eq!(there.0, ObjType::Map.into());
                let inside = view.hydrate(there.1).expect("a map");
                assert_eq!(hashmill_doc::Literal::Map(entries), inside);
                at += 1;
            }
            Span::Text { text, marks: set } => {
                assert!(!text.is_empty());
                for c in text.chars() {
                    assert!(units[at].text().contains(c), "{c:?} at {at}");
                    assert_eq!(units[at].marks, marks(&set), "the marks of {c:?} at {at} of {of}");
                    at += 1;
                }
            }
        }
    }
    assert_eq!(at, units.len(), "the spans of {of}");
}

/// Panics unless a view equals `state`: every value of every object, with its id.
#[track_caller]
fn shows(view: &View<'_>, state: &State, when: &str) {
    let state = askable(state.clone());
    let objects = state.objects.keys().map(|id| (id.clone(), object(view, &obj(id))));
    let shown = State { heads: state.heads.clone(), objects: objects.collect() };
    if let Some(difference) = state.difference(&shown) {
        panic!("{when}: the oracle (-) and the engine (+) differ:\n{difference}");
    }
}

fn hashes(hashes: &[ChangeHash]) -> Vec<Hash> {
    hashes.iter().map(|hash| hash.0).collect()
}

pub(super) fn hash_of(hash: &Hash) -> ChangeHash {
    ChangeHash(*hash)
}

/// The changes of a document, as read by the oracle.
pub(super) fn read(changes: &[Change]) -> History {
    let mut history = History::new();
    for change in changes {
        let bytes = change.raw_bytes();
        let read = chunks(&bytes).and_then(|chunks| OracleChange::read(&chunks[0].body, MOST));
        let read =
            read.unwrap_or_else(|reason| panic!("the oracle refuses a change of the engine: {reason}"));
        assert_eq!(read.hash, change.hash().0);
        history.deliver(read);
    }
    history
}

/// Panics unless the engine equals the oracle: changes, heads, missing changes, and every value.
#[track_caller]
pub(super) fn agree_now(doc: &Document, history: &History, when: &str) {
    doc.check(true);
    let actual: BTreeSet<Hash> = doc.get_changes(&[]).iter().map(|change| change.hash().0).collect();
    let expected: BTreeSet<Hash> = history.changes().iter().map(|change| change.hash).collect();
    if let Some(hash) = actual.difference(&expected).next() {
        let reason = history.refused().get(hash).map_or_else(|| "it waits".to_owned(), ToString::to_string);
        panic!("{when}: only the engine takes a change: {reason}");
    }
    if let Some(change) = history.changes().iter().find(|change| !actual.contains(&change.hash)) {
        let again = Change::from_bytes(&change.bytes()).map(|change| doc.clone().apply_valid([change]));
        panic!("{when}: only the oracle takes a change: {again:?}");
    }
    assert_eq!(hashes(&doc.get_heads()), history.heads(), "{when}: heads");
    if history.refused().is_empty() {
        assert_eq!(hashes(&doc.get_missing_deps(&[])), history.missing(), "{when}: what is missing");
    }
    shows(&doc.view(), &history.state(), when);
}

/// As [`agree_now`], and also at these heads.
#[track_caller]
pub(super) fn agree_at(doc: &Document, history: &History, heads: &[Hash], when: &str) {
    let state = history.at(heads).expect("heads that are here");
    let hashes: Vec<ChangeHash> = heads.iter().map(hash_of).collect();
    shows(&doc.at(&hashes).expect("heads that are here"), &state, &format!("{when}, at {hashes:?}"));
}

/// As [`agree_now`], and also at every head of the history, in every change, and after a save.
#[track_caller]
pub(super) fn agree(doc: &mut Document, history: &History, when: &str) {
    agree_now(doc, history, when);
    for change in history.changes() {
        agree_at(doc, history, &[change.hash], when);
        let actual = doc.get_change_by_hash(&hash_of(&change.hash)).expect("a change that is here");
        assert_eq!(actual.raw_bytes(), change.bytes(), "{when}");
    }
    saves(doc, history, when);
}

/// Panics unless both read the saved file, with equal contents.
#[track_caller]
pub(super) fn saves(doc: &mut Document, history: &History, when: &str) {
    for file in [doc.save(), doc.save_nocompress()] {
        let read = History::load(&file, MOST)
            .unwrap_or_else(|reason| panic!("{when}: the oracle refuses a save: {reason}"));
        assert_eq!(read.state(), history.state(), "{when}: a save says something else");
        let loaded =
            Document::load(&file).unwrap_or_else(|reason| panic!("{when}: a save does not load: {reason}"));
        agree_now(&loaded, history, &format!("{when}, saved and loaded"));
    }
}

/// Delivers a change to both; the engine gets it as bytes.
pub(crate) fn deliver(doc: &mut Document, history: &mut History, change: &OracleChange) {
    history.deliver(change.clone());
    give(doc, change);
}

/// Delivers a change to the engine. It is applied, queued, or refused; queued changes that waited for it are judged
/// individually.
pub(super) fn give(doc: &mut Document, change: &OracleChange) {
    if let Ok(change) = Change::from_bytes(&change.bytes()) {
        doc.apply_valid([change]);
    }
}

/// Runs the case for every seed, and reports all failing ones.
pub(crate) fn each(seeds: Range<u64>, case: impl Fn(u64)) {
    let mut failed = vec![];
    for seed in seeds.clone() {
        if let Err(reason) = catch_unwind(AssertUnwindSafe(|| case(seed))) {
            let reason = reason.downcast::<String>().map_or_else(|_| "?".to_owned(), |reason| *reason);
            failed.push(format!("seed {seed}: {reason}"));
        }
    }
    let (some, all) = (failed.len(), seeds.count());
    assert!(failed.is_empty(), "{some} of {all} seeds:\n{}", failed.join("\n"));
}
