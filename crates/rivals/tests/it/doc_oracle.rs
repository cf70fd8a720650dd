//! The oracle of documents beside the official crate: what one of them writes, the other reads alike. Our engine is judged
//! by the oracle, so whoever doubts a verdict looks here for who the oracle agrees with.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use automerge::marks::{ExpandMark, Mark};
use automerge::transaction::Transactable as _;
use automerge::{
    ActorId, AutoCommit, Automerge, ChangeHash, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Value as Shown,
};
use hashmill_doc::Document as Ours;
use hashmill_testkit::Rng;
use hashmill_testkit::data;
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{
    Actor, Content, Document, Element, Entry, Hash, History, Id, Kind, MOST, Object, State, Value,
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

fn entry((shown, by): &(Shown<'_>, ObjId)) -> Entry {
    let ObjId::Id(counter, actor, _) = by else { panic!("the root is no value") };
    let id = Id { counter: *counter, actor: Actor(actor.to_bytes().into()) };
    let value = match shown {
        Shown::Object(of) => Content::Object(kind(*of)),
        Shown::Scalar(scalar) => Content::Scalar(value(scalar)),
    };
    Entry { id, value }
}

/// The marks at each unit of a text.
fn marks(doc: &Automerge, of: &ObjId, heads: &[ChangeHash]) -> Vec<BTreeMap<String, Value>> {
    let mut found = vec![BTreeMap::new(); doc.length_at(of, heads)];
    for Mark { start, end, name, value: of } in doc.marks_at(of, heads).expect("a text") {
        found[start..end].iter_mut().for_each(|marks| drop(marks.insert(name.to_string(), value(&of))));
    }
    found
}

fn object(doc: &Automerge, of: &ObjId, kind: Kind, heads: &[ChangeHash]) -> Object {
    let entries = |values: Vec<(Shown<'_>, ObjId)>| values.iter().map(entry).collect::<Vec<_>>();
    let (mut keys, mut elements) = (BTreeMap::new(), vec![]);
    if kind.is_sequence() {
        let marks = if kind == Kind::Text { marks(doc, of, heads) } else { vec![] };
        let mut index = 0;
        while index < doc.length_at(of, heads) {
            let values = entries(doc.get_all_at(of, index, heads).expect("a sequence"));
            let marks = marks.get(index).cloned().unwrap_or_default();
            let element = Element { values, marks };
            index += if kind == Kind::Text { element.text().chars().count() } else { 1 };
            elements.push(element);
        }
    } else {
        for key in doc.keys_at(of, heads) {
            keys.insert(key.clone(), entries(doc.get_all_at(of, key.as_str(), heads).expect("a map")));
        }
    }
    Object { kind, keys, elements }
}

/// What the official crate cannot be asked for: values in a text that take no room, and tables, which it does not read.
fn askable(mut state: State) -> State {
    state.objects.retain(|_, object| object.kind != Kind::Table);
    for object in state.objects.values_mut().filter(|object| object.kind == Kind::Text) {
        object.elements.retain(|element| !element.text().is_empty());
    }
    state
}

/// The first difference between the oracle and the official crate at these heads.
fn difference(doc: &Automerge, history: &History, heads: &[Hash]) -> Option<String> {
    let state = askable(history.at(heads).expect("heads that are here"));
    let at: Vec<ChangeHash> = heads.iter().map(|hash| ChangeHash(*hash)).collect();
    let shown = |(id, object_here): (&Option<Id>, &Object)| {
        let of = id.as_ref().map_or(ROOT, |id| doc.import_obj(&id.to_string()).expect("an object"));
        (id.clone(), object(doc, &of, object_here.kind, &at))
    };
    let shown = State { heads: state.heads.clone(), objects: state.objects.iter().map(shown).collect() };
    state.difference(&shown)
}

/// Panics unless the official crate reads `file` as the oracle reads it, at every head.
fn agree(file: &[u8], when: &str) {
    let history = History::load(file, MOST).unwrap_or_else(|why| panic!("{when}: {why}"));
    let doc = Automerge::load(file).unwrap_or_else(|why| panic!("{when}: {why}"));
    let heads: Vec<Hash> = doc.get_heads().iter().map(|hash| hash.0).collect();
    assert_eq!(heads, history.heads(), "{when}");
    let at = std::iter::once(heads).chain(history.changes().iter().map(|change| vec![change.hash]));
    for heads in at {
        if let Some(difference) = difference(&doc, &history, &heads) {
            panic!("{when}: the oracle (-) and the official crate (+) differ:\n{difference}");
        }
    }
}

#[test]
fn files_of_the_official_project() {
    for (name, file) in data::automerge_samples() {
        let theirs = catch_unwind(|| Automerge::load(&file).is_ok()).unwrap_or(false);
        match History::load(&file, MOST) {
            Ok(_) => agree(&file, &name),
            Err(why) => assert!(!theirs, "{name}: only the oracle refuses it: {why}"),
        }
        assert_eq!(Ours::load(&file).is_ok(), theirs, "{name}");
    }
}

/// Marks as the official crate sets them: in every way to expand, overlapping, with what is typed and deleted at their ends.
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
        agree(&file, &format!("seed {seed}"));
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

/// Documents that the oracle made up and wrote, and the same as changes.
#[test]
fn documents_of_the_oracle() {
    let mut failed = vec![];
    for seed in 0..100 {
        let mut forge = Forge::new(seed, History::new());
        forge.plain = true;
        (0..12).for_each(|_| drop(forge.change(3, 0)));
        let changes = forge.history.changes();
        let (document, chunks) =
            (Document::of(changes).bytes(), changes.iter().flat_map(|change| change.bytes()));
        for (file, form) in [(document, "document"), (chunks.collect::<Vec<u8>>(), "changes")] {
            if let Err(why) = catch_unwind(AssertUnwindSafe(|| agree(&file, form))) {
                let why = why.downcast::<String>().map_or_else(|_| "?".to_owned(), |why| *why);
                failed.push(format!("seed {seed}: {why}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} fail:\n{}", failed.len(), failed.join("\n"));
}
