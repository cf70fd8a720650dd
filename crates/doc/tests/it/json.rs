//! Documents as JSON, both ways, and the ways into them.

use hashmill_doc::json::{Form, Layout, Pointer, PointerError, read, write};
use hashmill_doc::{
    ActorId, AutoCommit, Document, Literal, ObjType, Prop, ROOT, ReadDoc, ScalarValue, Transactable, Value,
    View, literal,
};

use crate::Rng;

fn text(view: &View<'_>, form: Form, layout: Layout) -> String {
    let mut out = vec![];
    write(view, (Value::Object(ObjType::Map), ROOT), form, layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn made(value: &Literal) -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1]));
    doc.transact(|tx| tx.init_root(value)).unwrap();
    doc
}

fn scalars() -> Vec<ScalarValue<'static>> {
    let numbers =
        [0.0, -0.0, 1.0, 0.1, -1.5e300, 5e-324, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut all: Vec<ScalarValue<'_>> = numbers.map(ScalarValue::F64).into();
    all.extend([i64::MIN, -1, 0, i64::MAX].map(ScalarValue::Int));
    all.extend([0, 7, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX].map(ScalarValue::Uint));
    all.extend([i64::MIN, 0, i64::MAX].map(ScalarValue::Counter));
    all.extend([i64::MIN, 0, i64::MAX].map(ScalarValue::Timestamp));
    all.extend([ScalarValue::Null, true.into(), false.into(), "".into(), "\"\\\n\u{0}é😀\u{2028}".into()]);
    all.extend([vec![].into(), vec![0, 255].into()]);
    all.extend((10..16).map(|type_code| ScalarValue::Unknown { type_code, bytes: vec![type_code].into() }));
    all
}

#[test]
fn every_value_has_its_form() {
    let map = literal!({ "__type": "x", "value": 1 });
    let doc = made(&literal!({
        "bytes": (vec![1_u8, 255]), "counter": (ScalarValue::Counter(-2)), "f": 1.0, "i": (-3), "inf": (f64::INFINITY),
        "list": [(ScalarValue::Null), "s"], "map": (map), "text": (Literal::text("t")), "time": (ScalarValue::Timestamp(5)),
        "u": 7_u64, "v": (u64::MAX), "x": (ScalarValue::Unknown { type_code: 12, bytes: vec![9].into() })
    }));
    let plain = r#"{"bytes":[1,255],"counter":-2,"f":1.0,"i":-3,"inf":null,"list":[null,"s"],"map":{"__type":"x","value":1},"text":"t","time":5,"u":7,"v":18446744073709551615,"x":[9]}"#;
    assert_eq!(text(&doc.view(), Form::Plain, Layout::Compact), plain);
    let tagged = [
        r#"{"bytes":{"__type":"bytes","value":"01ff"}"#,
        r#""counter":{"__type":"counter","value":-2}"#,
        r#""f":1.0,"i":-3"#,
        r#""inf":{"__type":"f64","value":"inf"}"#,
        r#""list":[null,"s"]"#,
        r#""map":{"__type":"map","value":{"__type":"x","value":1}}"#,
        r#""text":{"__type":"text","value":"t"}"#,
        r#""time":{"__type":"timestamp","value":5}"#,
        r#""u":{"__type":"uint","value":7}"#,
        r#""v":18446744073709551615"#,
        r#""x":{"__type":12,"value":"09"}}"#,
    ];
    assert_eq!(text(&doc.view(), Form::Tagged, Layout::Compact), tagged.join(","));
    let small = made(&literal!({ "a": [], "b": {}, "c": [1, { "d": 2 }] }));
    let lines = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 2\n    }\n  ]\n}";
    assert_eq!(text(&small.view(), Form::Plain, Layout::Lines), lines);
}

fn any(rng: &mut Rng, depth: usize) -> Literal {
    let scalars = scalars();
    match rng.below(if depth == 0 { 2 } else { 5 }) {
        0 => scalars[rng.below(scalars.len())].clone().into(),
        1 => Literal::text(["", "words", "é\n"][rng.below(3)]),
        2 => (0..rng.below(4)).map(|_| any(rng, depth - 1)).collect(),
        _ => {
            let key = |rng: &mut Rng| ["a", "__type", "value", "", "é\"", "~/"][rng.below(6)].to_owned();
            Literal::Map((0..rng.below(4)).map(|_| (key(rng), any(rng, depth - 1))).collect())
        }
    }
}

#[test]
fn what_is_written_with_types_is_read_back() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let value = Literal::Map(
            [("k".to_owned(), any(&mut rng, 4)), ("l".to_owned(), any(&mut rng, 2))].into_iter().collect(),
        );
        let doc = made(&value);
        for layout in [Layout::Compact, Layout::Lines] {
            let json = text(&doc.view(), Form::Tagged, layout);
            serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
            let back = read(json.as_bytes(), Form::Tagged).unwrap();
            // In words: a number that is none is not equal to itself.
            assert_eq!(format!("{back:?}"), format!("{value:?}"), "seed {seed}: {json}");
            let plain = text(&doc.view(), Form::Plain, layout);
            serde_json::from_str::<serde_json::Value>(&plain).expect("JSON");
        }
    }
}

#[test]
fn a_document_deeper_than_a_stack_is_written() {
    let mut doc = AutoCommit::new();
    let mut at = ROOT;
    for _ in 0..100_000 {
        at = doc.put_object(&at, "k", ObjType::Map).unwrap();
    }
    let json = text(&doc.view(), Form::Plain, Layout::Compact);
    assert_eq!(json.len(), 100_000 * r#"{"k":}"#.len() + 2);
    assert!(read(json.as_bytes(), Form::Plain).unwrap_err().to_string().contains("recursion limit"));
}

#[test]
fn what_is_no_value_is_refused() {
    for json in [
        "",
        "{",
        "[1,]",
        "nul",
        "1 2",
        "1e999",
        "{\"__type\":\"counter\"}",
        r#"{"__type":"counter","value":1.5}"#,
        r#"{"__type":"counter","value":1,"more":2}"#,
        r#"{"__type":"strange","value":1}"#,
        r#"{"__type":"bytes","value":"0"}"#,
        r#"{"__type":9,"value":"00"}"#,
        r#"{"__type":16,"value":"00"}"#,
        r#"{"__type":"map","value":[]}"#,
        r#"{"__type":"f64","value":"1"}"#,
        r#"{"__type":null,"value":1}"#,
    ] {
        let error = read(json.as_bytes(), Form::Tagged).expect_err(json);
        assert!(!error.to_string().is_empty());
    }
    // Without types this is a map like any other.
    assert_eq!(read(br#"{"__type":"counter"}"#, Form::Plain).unwrap(), literal!({ "__type": "counter" }));
}

#[test]
fn pointers_are_those_of_rfc_6901() {
    // The document and the pointers of the RFC's section 5.
    let json =
        br#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
    let doc = made(&read(json, Form::Plain).unwrap());
    let find = |pointer: &str| pointer.parse::<Pointer>().unwrap().find(&doc.view()).map(|(value, _)| value);
    let numbers = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
    for (number, pointer) in (0..).zip(numbers) {
        assert_eq!(find(pointer), Ok(Value::from(number)), "{pointer}");
        assert_eq!(pointer.parse::<Pointer>().unwrap().to_string(), pointer);
    }
    assert_eq!(find("/foo/0"), Ok("bar".into()));
    assert_eq!((find(""), find("/foo")), (Ok(ObjType::Map.into()), Ok(ObjType::List.into())));

    assert_eq!("foo".parse::<Pointer>(), Err(PointerError::NoSlash));
    for (pointer, at) in [("/~", 1), ("/a/b~2", 4), ("/~01~", 4)] {
        assert_eq!(pointer.parse::<Pointer>(), Err(PointerError::Tilde { at }), "{pointer}");
    }
    for (pointer, words) in [
        ("/nope", "there is nothing at /nope"),
        ("/nope/deeper", "there is nothing at /nope"),
        ("/foo/2", "there is nothing at /foo/2"),
        ("/foo/-", "there is nothing at /foo/-"),
        ("/foo/3", "/foo is a list, where '3' is no place (it has 2)"),
        ("/foo/00", "/foo is a list, where '00' is no place (it has 2)"),
        ("/foo/+1", "/foo is a list, where '+1' is no place (it has 2)"),
        ("/foo/99999999999999999999", "/foo is a list, where '99999999999999999999' is no place (it has 2)"),
        ("/a~1b/c", "/a~1b is a single value: there is nothing inside"),
    ] {
        assert_eq!(find(pointer).expect_err(pointer).to_string(), words);
    }
    let place = |pointer: &str| pointer.parse::<Pointer>().unwrap().place(&doc.view());
    let there = |pointer: &str| place(pointer).map(|place| (place.prop, place.taken));
    assert_eq!(there("/foo/-"), Ok((Prop::Seq(2), false)));
    assert_eq!(there("/foo/1"), Ok((Prop::Seq(1), true)));
    assert_eq!(there("/new"), Ok(("new".into(), false)));
    assert!(place("").is_err() && place("/nope/x").is_err());
}
