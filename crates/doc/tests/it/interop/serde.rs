//! Rust values in documents, with serde.

use ::serde::de::DeserializeOwned;
use ::serde::{Deserialize, Serialize};
use hashmill_doc::serde::{
    Counter, Error, Reconciler, Text, Timestamp, from_literal, hydrate, reconcile, to_literal,
};
use hashmill_doc::{
    ActorId, Document, Literal, ObjId, ObjType, ROOT, ReadDoc as _, ScalarValue, Value, literal,
};
use hashmill_testkit::rng::Rng;
use std::collections::BTreeMap;
use std::fmt::Debug;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Line(i32, i32),
    Area { width: u8, text: Text },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Colour {
    Red,
    Green,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    yes: bool,
    small: (i8, i16, i32, i64),
    large: (u8, u16, u32, u64),
    huge: (i128, u128),
    float: (f32, f64),
    c: char,
    string: String,
    text: Text,
    counter: Counter,
    time: Timestamp,
    some: Option<i32>,
    none: Option<i32>,
    unit: (),
    nothing: Unit,
    wrapped: Wrapped,
    list: Vec<Shape>,
    names: BTreeMap<String, u8>,
    numbers: BTreeMap<i32, Colour>,
    colours: BTreeMap<Colour, bool>,
    yesses: BTreeMap<bool, char>,
}

fn everything() -> Everything {
    Everything {
        yes: true,
        small: (i8::MIN, i16::MIN, i32::MIN, i64::MIN),
        large: (u8::MAX, u16::MAX, u32::MAX, u64::MAX),
        huge: (i64::MIN.into(), u64::MAX.into()),
        float: (0.1, -1.5e300),
        c: 'é',
        string: "a\0b".into(),
        text: Text("together".into()),
        counter: Counter(-3),
        time: Timestamp(77),
        some: Some(1),
        none: None,
        unit: (),
        nothing: Unit,
        wrapped: Wrapped(4),
        list: vec![
            Shape::Point,
            Shape::Circle(1.5),
            Shape::Line(1, -2),
            Shape::Area { width: 3, text: Text("x".into()) },
        ],
        names: [("a/b".into(), 1), (String::new(), 2)].into(),
        numbers: [(-1, Colour::Red), (70000, Colour::Green)].into(),
        colours: [(Colour::Green, true)].into(),
        yesses: [(false, 'x')].into(),
    }
}

fn with<T: Serialize>(value: &T) -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| reconcile(tx, ROOT, value)).unwrap();
    doc
}

fn out<T: DeserializeOwned>(doc: &Document) -> Result<T, Error> {
    hydrate(&doc.view(), ROOT)
}

#[test]
fn all_serde_types_round_trip() {
    let value = everything();
    let mut doc = with(&value);
    assert_eq!(out::<Everything>(&doc).unwrap(), value);
    let mut again = Document::load(&doc.save()).unwrap();
    assert_eq!(out::<Everything>(&again).unwrap(), value);
    assert_eq!(again.transact(|tx| reconcile(tx, ROOT, &value)), Ok(()));
    assert_eq!(again.stats().operations, doc.stats().operations, "what is equal stays");
    // In another format, these types are serialized as their contents.
    let json = serde_json::to_value(&value).unwrap();
    assert_eq!((&json["text"], &json["counter"]), (&"together".into(), &(-3).into()));
    assert_eq!(serde_json::from_value::<Everything>(json).unwrap(), value);
}

#[test]
fn serde_types_map_to_document_types() {
    let kind = |key: &str| with(&everything()).get(ROOT, key).unwrap().unwrap().0.into_owned();
    for (key, value) in [
        ("yes", true.into()),
        ("c", "é".into()),
        ("counter", ScalarValue::Counter(-3).into()),
        ("time", ScalarValue::Timestamp(77).into()),
        ("none", ().into()),
        ("nothing", ().into()),
        ("wrapped", 4_i64.into()),
        ("text", Value::Object(ObjType::Text)),
        ("string", "a\0b".into()),
    ] {
        assert_eq!(kind(key), value, "{key}");
    }
    let large = to_literal(&everything().large).unwrap();
    assert_eq!(large, Literal::list([255_u64, 65535, u32::MAX.into(), u64::MAX]));
    let shapes = to_literal(&everything().list).unwrap();
    let area = literal!({ "Area": { "width": 3_u64, "text": (Literal::text("x")) } });
    assert_eq!(shapes, literal!(["Point", { "Circle": 1.5 }, { "Line": [1, (-2)] }, area]));
    assert_eq!(to_literal(&[1_u8, 2]).unwrap(), Literal::list([1_u64, 2]));
    assert_eq!(to_literal(&everything().numbers).unwrap(), literal!({ "-1": "Red", "70000": "Green" }));
}

#[test]
fn values_of_other_programs_are_deserialized() {
    fn read<T: DeserializeOwned + Debug + PartialEq>(value: impl Into<Literal>, expected: &T) {
        assert_eq!(from_literal::<T>(&value.into()).unwrap(), *expected);
    }
    read(Literal::text("x"), &"x".to_owned());
    read(Literal::text("Red"), &Colour::Red);
    read("x", &Text("x".into()));
    read(7, &Counter(7));
    read(ScalarValue::Counter(7), &7_u8);
    read(ScalarValue::Timestamp(7), &7_i64);
    read(7, &7_u64);
    read(7, &7.0);
    read(vec![1_u8, 2], &vec![1_u8, 2]);
    read(literal!({ "Point": (ScalarValue::Null) }), &Shape::Point);
    read(literal!({ "a": 1, "b": [2] }), &serde_json::json!({ "a": 1, "b": [2] }));
    let unchanged = literal!({ "a": "x" });
    assert_eq!(from_literal::<BTreeMap<&str, &str>>(&unchanged).unwrap(), [("a", "x")].into());
}

#[test]
fn serde_errors_name_the_path() {
    fn fails<T: DeserializeOwned + Debug>(value: &Literal) -> String {
        let error = from_literal::<T>(value).unwrap_err();
        assert!(error.to_string().starts_with(&error.pointer()));
        error.to_string()
    }
    let value = literal!({ "a/b": [1, { "c": "x" }] });
    let error = fails::<BTreeMap<String, (i32, BTreeMap<String, i32>)>>(&value);
    assert_eq!(error, "/a~1b/1/c: invalid type: string \"x\", expected i32");
    assert_eq!(fails::<Vec<u8>>(&literal!([1, 256])), "/1: invalid value: integer `256`, expected u8");
    assert_eq!(fails::<(i32,)>(&literal!([1, 2])), "invalid length 2, expected fewer elements");
    assert_eq!(
        fails::<Shape>(&literal!({ "Circle": "x" })),
        "/Circle: invalid type: string \"x\", expected f64"
    );
    assert!(fails::<Shape>(&literal!("Square")).starts_with("unknown variant `Square`"));
    assert_eq!(
        fails::<Shape>(&literal!("Circle")),
        "a variant with contents is a map with its name as the only key"
    );
    assert_eq!(
        fails::<Shape>(&literal!([])),
        "a variant is a string, or a map with its name as the only key"
    );
    assert!(fails::<BTreeMap<i32, i32>>(&literal!({ "x": 1 })).starts_with("/x: invalid type: string \"x\""));
    assert_eq!(fails::<Everything>(&literal!({})), "missing field `yes`");

    let error = to_literal(&BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert_eq!(error.to_string(), "a key of a map is a string, a number, a boolean or a variant");
    let error = to_literal(&[i128::MAX]).unwrap_err();
    assert_eq!(error.to_string(), format!("/0: {} does not fit 64 bits", i128::MAX));
    let mut doc = Document::new();
    let error = doc.transact(|tx| reconcile(tx, ROOT, "x")).unwrap_err();
    assert_eq!(error.to_string(), "the object is a map, the value is not");
    let elsewhere = with(&everything()).get(ROOT, "list").unwrap().unwrap().1;
    let error = doc.transact(|tx| reconcile(tx, elsewhere, &[1])).unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
    assert!(doc.is_empty());
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Deep(Vec<Deep>);

#[test]
fn recursive_type_does_not_overflow_the_stack() {
    let mut value = Deep::default();
    (0..2000).for_each(|_| value = Deep(vec![std::mem::take(&mut value)]));
    assert!(to_literal(&value).unwrap_err().to_string().ends_with("more than 128 levels"));
    let mut there = literal!([]);
    for _ in 0..100_000 {
        there = Literal::List(vec![there].into());
    }
    assert!(from_literal::<Deep>(&there).unwrap_err().to_string().ends_with("more than 128 levels"));
    let mut value = Deep::default();
    (0..127).for_each(|_| value = Deep(vec![std::mem::take(&mut value)]));
    let literal = to_literal(&value).unwrap();
    assert_eq!(to_literal(&from_literal::<Deep>(&literal).unwrap()).unwrap(), literal);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Card {
    id: u32,
    title: Text,
    done: bool,
}

fn card(id: u32, title: &str) -> Card {
    Card { id, title: Text(title.into()), done: false }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Board {
    cards: Vec<Card>,
    tags: Vec<String>,
    votes: Counter,
}

/// Two users change the same board concurrently, each by reconciling a Rust value.
#[test]
fn concurrent_reconciliations_merge() {
    let by_id = Reconciler::default().by_key("id");
    let mut board = Board {
        cards: vec![card(1, "one"), card(2, "two"), card(3, "three")],
        tags: vec!["a".into(), "b".into()],
        votes: Counter(1),
    };
    let mut a = with(&board);
    let mut b = a.fork();
    let third = |doc: &Document| {
        let (_, cards) = doc.get(ROOT, "cards").unwrap().unwrap();
        doc.get(&cards, 2).unwrap().unwrap().1
    };
    let id = third(&a);

    let mut other = board.clone();
    other.cards[2].title.0 = "three!".into();
    other.cards[2].done = true;
    other.tags.push("c".into());
    other.votes.0 += 2;
    b.transact(|tx| by_id.reconcile(tx, ROOT, &other)).unwrap();

    board.cards.remove(0);
    board.cards.insert(0, card(4, "four"));
    board.cards[2].title.0 = "the three".into();
    board.tags.remove(0);
    board.votes.0 += 3;
    a.transact(|tx| by_id.reconcile(tx, ROOT, &board)).unwrap();

    a.merge(&b).unwrap();
    let both: Board = out(&a).unwrap();
    let done = Card { done: true, ..card(3, "the three!") };
    assert_eq!(both.cards, [card(4, "four"), card(2, "two"), done]);
    assert_eq!((both.tags, both.votes), (vec!["b".into(), "c".into()], Counter(6)));
    assert_eq!(third(&a), id, "the card is the one it was");
}

#[test]
fn elements_without_keys_are_matched_by_contents() {
    #[derive(Serialize)]
    struct List(Vec<BTreeMap<&'static str, Vec<i32>>>);
    let element = |n| BTreeMap::from([("n", vec![n, n])]);
    let of = |all: &[i32]| BTreeMap::from([("list", List(all.iter().map(|n| element(*n)).collect()))]);
    let mut doc = with(&of(&[1, 2, 3, 4]));
    let ids = |doc: &Document| -> Vec<ObjId> {
        let (_, list) = doc.get(ROOT, "list").unwrap().unwrap();
        doc.values(&list).into_iter().map(|(_, id)| id).collect()
    };
    let before = ids(&doc);
    doc.transact(|tx| reconcile(tx, ROOT, &of(&[0, 1, 3, 4, 5]))).unwrap();
    let after = ids(&doc);
    assert_eq!((&after[1], &after[2], &after[3]), (&before[0], &before[2], &before[3]));
    // A different element at the same position is updated.
    doc.transact(|tx| reconcile(tx, ROOT, &of(&[0, 1, 7, 4, 5]))).unwrap();
    assert_eq!(ids(&doc), after);
}

fn any(rng: &mut Rng, depth: usize) -> serde_json::Value {
    match rng.below(if depth == 0 { 3 } else { 6 }) {
        0 => serde_json::Value::Null,
        1 => (rng.below(4) as i64).into(),
        2 => ["", "a", "b"][rng.below(3)].into(),
        3 => (0..rng.below(5)).map(|_| any(rng, depth - 1)).collect(),
        _ => {
            let keys = ["a", "b", "id"];
            (0..rng.below(4)).map(|_| (keys[rng.below(3)].to_owned(), any(rng, depth - 1))).collect()
        }
    }
}

/// With any previous contents and any keys, the document equals the value afterwards.
#[test]
fn reconcile_reaches_any_value() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut doc = Document::new().with_actor(ActorId::from([1]));
        for keys in [&[][..], &["id"], &["b", "a"]] {
            let reconciler = keys.iter().fold(Reconciler::default(), |all, key| all.by_key(*key));
            let value = serde_json::json!({ "a": any(&mut rng, 4), "b": any(&mut rng, 3) });
            doc.transact(|tx| reconciler.reconcile(tx, ROOT, &value)).unwrap();
            assert_eq!(out::<serde_json::Value>(&doc).unwrap(), value, "seed {seed}");
            let operations = doc.stats().operations;
            doc.transact(|tx| reconciler.reconcile(tx, ROOT, &value)).unwrap();
            assert_eq!(doc.stats().operations, operations, "seed {seed}");
        }
    }
}
