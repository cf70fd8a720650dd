//! JSON: documents converted in both directions, pointers and patches.

use hashmill_doc::json::{
    Layout, MergeDiffError, Patch, Pointer, PointerError, ScalarEncoding, diff, flatten, merge, merge_diff,
    read, unflatten, write,
};
use hashmill_doc::{
    ActorId, AutoCommit, ChangeHash, CommitOptions, Document, Literal, ObjType, Prop, ROOT, ReadDoc,
    ScalarValue, Transactable, Value, View, literal,
};

use crate::Rng;

fn text(view: &View<'_>, form: ScalarEncoding, layout: Layout) -> String {
    let mut out = vec![];
    write(view, (Value::Object(ObjType::Map), ROOT), form, layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document_of(value: &Literal) -> Document {
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
fn every_value_has_its_json_form() {
    let map = literal!({ "__type": "x", "value": 1 });
    let doc = document_of(&literal!({
        "bytes": (vec![1_u8, 255]), "counter": (ScalarValue::Counter(-2)), "f": 1.0, "i": (-3), "inf": (f64::INFINITY),
        "list": [(ScalarValue::Null), "s"], "map": (map), "text": (Literal::text("t")), "time": (ScalarValue::Timestamp(5)),
        "u": 7_u64, "v": (u64::MAX), "x": (ScalarValue::Unknown { type_code: 12, bytes: vec![9].into() })
    }));
    let plain = r#"{"bytes":[1,255],"counter":-2,"f":1.0,"i":-3,"inf":null,"list":[null,"s"],"map":{"__type":"x","value":1},"text":"t","time":5,"u":7,"v":18446744073709551615,"x":[9]}"#;
    assert_eq!(text(&doc.view(), ScalarEncoding::Plain, Layout::Compact), plain);
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
    assert_eq!(text(&doc.view(), ScalarEncoding::Tagged, Layout::Compact), tagged.join(","));
    let small = document_of(&literal!({ "a": [], "b": {}, "c": [1, { "d": 2 }] }));
    let lines = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 2\n    }\n  ]\n}";
    assert_eq!(text(&small.view(), ScalarEncoding::Plain, Layout::Lines), lines);
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
fn tagged_json_round_trips() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let value = Literal::Map(
            [("k".to_owned(), any(&mut rng, 4)), ("l".to_owned(), any(&mut rng, 2))].into_iter().collect(),
        );
        let doc = document_of(&value);
        for layout in [Layout::Compact, Layout::Lines] {
            let json = text(&doc.view(), ScalarEncoding::Tagged, layout);
            serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
            let back = read(json.as_bytes(), ScalarEncoding::Tagged).unwrap();
            // Compared as text: NaN is not equal to itself.
            assert_eq!(format!("{back:?}"), format!("{value:?}"), "seed {seed}: {json}");
            let plain = text(&doc.view(), ScalarEncoding::Plain, layout);
            serde_json::from_str::<serde_json::Value>(&plain).expect("JSON");
        }
    }
}

#[test]
fn deeply_nested_document_is_written() {
    let mut doc = AutoCommit::new();
    let mut at = ROOT;
    for _ in 0..100_000 {
        at = doc.put_object(&at, "k", ObjType::Map).unwrap();
    }
    let json = text(&doc.view(), ScalarEncoding::Plain, Layout::Compact);
    assert_eq!(json.len(), 100_000 * r#"{"k":}"#.len() + 2);
    assert!(
        read(json.as_bytes(), ScalarEncoding::Plain).unwrap_err().to_string().contains("recursion limit")
    );
}

#[test]
fn invalid_json_values_are_refused() {
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
        let error = read(json.as_bytes(), ScalarEncoding::Tagged).expect_err(json);
        assert!(!error.to_string().is_empty());
    }
    // In the plain form this is a map like any other.
    assert_eq!(
        read(br#"{"__type":"counter"}"#, ScalarEncoding::Plain).unwrap(),
        literal!({ "__type": "counter" })
    );
}

#[test]
fn pointers_follow_rfc_6901() {
    // The document and the pointers of section 5 of the RFC.
    let json =
        br#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
    let doc = document_of(&read(json, ScalarEncoding::Plain).unwrap());
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
        ("/foo/3", "/foo is a list: '3' is not a valid index (it has 2)"),
        ("/foo/00", "/foo is a list: '00' is not a valid index (it has 2)"),
        ("/foo/+1", "/foo is a list: '+1' is not a valid index (it has 2)"),
        (
            "/foo/99999999999999999999",
            "/foo is a list: '99999999999999999999' is not a valid index (it has 2)",
        ),
        ("/a~1b/c", "/a~1b is a single value: there is nothing inside"),
    ] {
        assert_eq!(find(pointer).expect_err(pointer).to_string(), words);
    }
    let write_target = |pointer: &str| pointer.parse::<Pointer>().unwrap().write_target(&doc.view());
    let there = |pointer: &str| write_target(pointer).map(|target| (target.prop, target.taken));
    assert_eq!(there("/foo/-"), Ok((Prop::Seq(2), false)));
    assert_eq!(there("/foo/1"), Ok((Prop::Seq(1), true)));
    assert_eq!(there("/new"), Ok(("new".into(), false)));
    assert!(write_target("").is_err() && write_target("/nope/x").is_err());
}

fn applied(doc: &str, patch: &str) -> Result<String, String> {
    let mut doc = document_of(&read(doc.as_bytes(), ScalarEncoding::Plain).unwrap());
    let before = doc.save();
    let patch = Patch::read(patch.as_bytes(), ScalarEncoding::Plain).map_err(|error| error.to_string())?;
    match patch.apply(&mut doc, &CommitOptions::default()) {
        Ok(_) => Ok(text(&doc.view(), ScalarEncoding::Plain, Layout::Compact)),
        Err(error) => {
            assert_eq!(doc.save(), before, "{error}");
            Err(error.to_string())
        }
    }
}

#[test]
fn patches_follow_rfc_6902() {
    // The cases of the RFC's appendix A, with other documents.
    let list = r#"{"l":["a","b"],"m":{"x":1}}"#;
    for (patch, expected) in [
        (
            r#"[{"op":"add","path":"/n","value":{"y":[null]}}]"#,
            r#"{"l":["a","b"],"m":{"x":1},"n":{"y":[null]}}"#,
        ),
        (r#"[{"op":"add","path":"/m/x","value":2}]"#, r#"{"l":["a","b"],"m":{"x":2}}"#),
        (r#"[{"op":"add","path":"/l/1","value":"c"}]"#, r#"{"l":["a","c","b"],"m":{"x":1}}"#),
        (r#"[{"op":"add","path":"/l/2","value":"c"}]"#, r#"{"l":["a","b","c"],"m":{"x":1}}"#),
        (r#"[{"op":"add","path":"/l/-","value":["c"]}]"#, r#"{"l":["a","b",["c"]],"m":{"x":1}}"#),
        (r#"[{"op":"remove","path":"/l/0"},{"op":"remove","path":"/m"}]"#, r#"{"l":["b"]}"#),
        (r#"[{"op":"replace","path":"/l/0","value":7}]"#, r#"{"l":[7,"b"],"m":{"x":1}}"#),
        (r#"[{"op":"move","from":"/m/x","path":"/l/0"}]"#, r#"{"l":[1,"a","b"],"m":{}}"#),
        (r#"[{"op":"move","from":"/l/0","path":"/l/1"}]"#, r#"{"l":["b","a"],"m":{"x":1}}"#),
        (r#"[{"op":"move","from":"/m","path":"/m"}]"#, list),
        (r#"[{"op":"copy","from":"/m","path":"/l/-"}]"#, r#"{"l":["a","b",{"x":1}],"m":{"x":1}}"#),
        (r#"[{"op":"test","path":"/m","value":{"x":1.0}},{"op":"test","path":"/l/1","value":"b"}]"#, list),
        (r#"[{"op":"test","path":"","value":{"m":{"x":1},"l":["a","b"]}}]"#, list),
        (r#"[{"op":"add","path":"","value":{"new":true}}]"#, r#"{"new":true}"#),
        (r#"[{"op":"replace","path":"","value":{"m":{"x":1}},"more":"is ignored"}]"#, r#"{"m":{"x":1}}"#),
        ("[]", list),
    ] {
        assert_eq!(applied(list, patch).as_deref(), Ok(expected), "{patch}");
    }
    for (patch, reason) in [
        (
            r#"[{"op":"add","path":"/l/3","value":1}]"#,
            "step 0: /l is a list: '3' is not a valid index (it has 2)",
        ),
        (r#"[{"op":"add","path":"/no/x","value":1}]"#, "step 0: there is nothing at /no"),
        (
            r#"[{"op":"remove","path":"/l/0"},{"op":"remove","path":"/l/1"}]"#,
            "step 1: there is nothing at /l/1",
        ),
        (r#"[{"op":"remove","path":"/l/-"}]"#, "step 0: there is nothing at /l/-"),
        (r#"[{"op":"replace","path":"/no","value":1}]"#, "step 0: there is nothing at /no"),
        (r#"[{"op":"remove","path":""}]"#, "step 0: a document is a map"),
        (r#"[{"op":"add","path":"","value":[]}]"#, "step 0: a document is a map"),
        (r#"[{"op":"move","from":"/m","path":"/m/x"}]"#, "step 0: /m cannot be moved into itself"),
        (
            r#"[{"op":"add","path":"/q","value":1},{"op":"test","path":"/q","value":"1"}]"#,
            "step 1: the value at /q differs from the tested one",
        ),
        (r#"[{"op":"test","path":"/m","value":{}}]"#, "step 0: the value at /m differs from the tested one"),
        (
            r#"[{"op":"jump","path":"/m"}]"#,
            "step 0: unknown operation 'jump', expected add, remove, replace, move, copy or test",
        ),
        (r#"[{"op":"add","path":"/m"}]"#, "step 0: member 'value' is missing or has the wrong type"),
        (r#"[{"op":"add","value":1}]"#, "step 0: member 'path' is missing or has the wrong type"),
        (r#"[{"op":"copy","path":"/m"}]"#, "step 0: member 'from' is missing or has the wrong type"),
        (r#"[{"op":"add","path":"m","value":1}]"#, "step 0: a pointer must be empty or start with a slash"),
        (r#"{"op":"add"}"#, "a patch must be a list of objects"),
        ("[1]", "a patch must be a list of objects"),
    ] {
        assert_eq!(applied(list, patch), Err(reason.to_owned()), "{patch}");
    }
}

/// The published suite, see `tests/data/README.md`. Its documents are put under a key, because the root of ours must be
/// a map.
#[test]
fn published_json_patch_suite_passes() {
    let files = [
        include_str!("../../data/json-patch-tests/tests.json"),
        include_str!("../../data/json-patch-tests/spec_tests.json"),
    ];
    let (mut passed, mut refused) = (0, 0);
    for suite in files {
        let cases: Vec<serde_json::Value> = serde_json::from_str(suite).expect("JSON");
        for case in cases.iter().filter(|case| case.get("doc").is_some() && case["disabled"] != true) {
            let mut patch = case["patch"].clone();
            for step in patch.as_array_mut().into_iter().flatten() {
                for member in ["path", "from"] {
                    // A pointer without a leading slash is invalid and stays unchanged.
                    match step.get(member).and_then(|pointer| pointer.as_str()) {
                        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                            step[member] = format!("/doc{pointer}").into();
                        }
                        _ => {}
                    }
                }
            }
            let doc = serde_json::json!({ "doc": case["doc"] }).to_string();
            let outcome = applied(&doc, &patch.to_string());
            if case.get("error").is_some() {
                assert!(outcome.is_err(), "{case} gave {outcome:?}");
                refused += 1;
            } else {
                let outcome = outcome.unwrap_or_else(|reason| panic!("{case}: {reason}"));
                let actual: serde_json::Value = serde_json::from_str(&outcome).expect("JSON");
                let expected = case.get("expected").unwrap_or(&case["doc"]);
                assert_eq!(actual["doc"], *expected, "{case}");
                passed += 1;
            }
        }
    }
    assert_eq!((passed, refused), (74, 34));
}

#[test]
fn merge_patches_follow_rfc_7386() {
    let merged = |doc: &str, patch: &str| {
        let mut doc = document_of(&read(doc.as_bytes(), ScalarEncoding::Plain).unwrap());
        let done = merge(patch.as_bytes(), ScalarEncoding::Plain, &mut doc, &CommitOptions::default());
        done.map(|_| text(&doc.view(), ScalarEncoding::Plain, Layout::Compact))
            .map_err(|error| error.to_string())
    };
    // The test cases of the RFC's appendix A whose documents and patches are objects.
    for (doc, patch, expected) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        assert_eq!(merged(doc, patch).as_deref(), Ok(expected), "{patch}");
    }
    // All of them, under a key: there a null patch deletes the key.
    for (doc, patch, expected) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", ""),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        let under = |json: &str| if json.is_empty() { "{}".to_owned() } else { format!(r#"{{"k":{json}}}"#) };
        assert_eq!(merged(&under(doc), &under(patch)), Ok(under(expected)), "{doc} and {patch}");
    }
    assert_eq!(merged("{}", "[]"), Err("a document is a map: its merge patch is an object".to_owned()));
    assert!(merged("{}", "{").is_err());
}

#[test]
fn replaced_text_keeps_its_identity() {
    for method in ["patch", "merge"] {
        let mut doc = document_of(&literal!({ "t": (Literal::text("one two")) }));
        let id = doc.get(ROOT, "t").unwrap().unwrap().1;
        let options = CommitOptions::default();
        match method {
            "patch" => {
                let patch = Patch::read(
                    br#"[{"op":"replace","path":"/t","value":"one three"}]"#,
                    ScalarEncoding::Plain,
                )
                .unwrap();
                patch.apply(&mut doc, &options).unwrap();
            }
            _ => drop(merge(br#"{"t":"one three"}"#, ScalarEncoding::Plain, &mut doc, &options).unwrap()),
        }
        assert_eq!(doc.get(ROOT, "t").unwrap().unwrap(), (ObjType::Text.into(), id.clone()));
        assert_eq!(doc.text(&id).unwrap(), "one three");
    }
}

#[test]
fn string_in_tagged_json_does_not_become_a_text() {
    let mut doc = document_of(&literal!({ "t": (Literal::text("one")) }));
    let options = CommitOptions::default();
    let patch = |value: &str| {
        let json = format!(r#"[{{"op":"replace","path":"/t","value":{value}}}]"#);
        Patch::read(json.as_bytes(), ScalarEncoding::Tagged).unwrap()
    };
    let id = doc.get(ROOT, "t").unwrap().unwrap().1;
    patch(r#"{"__type":"text","value":"two"}"#).apply(&mut doc, &options).unwrap();
    assert_eq!(doc.get(ROOT, "t").unwrap().unwrap(), (ObjType::Text.into(), id));
    patch("\"three\"").apply(&mut doc, &options).unwrap();
    assert_eq!(doc.get(ROOT, "t").unwrap().unwrap().0, "three".into());
}

/// A diff is a patch that leads from any point of the history to any other, in both directions.
#[test]
fn diff_is_a_patch_between_the_states() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut doc = AutoCommit::from(Document::new().with_actor(ActorId::from([1])));
        let mut moments = vec![doc.get_heads()];
        for _ in 0..4 {
            for _ in 0..3 {
                change(&mut doc, &mut rng);
            }
            doc.commit();
            moments.push(doc.get_heads());
        }
        let (from, to) = (rng.below(5), rng.below(5));
        let doc = doc.into_document();
        let [before, after] = [from, to].map(|moment| doc.at(&moments[moment]).unwrap());
        for form in [ScalarEncoding::Plain, ScalarEncoding::Tagged] {
            let mut patch = vec![];
            diff(&before, &after, form, &mut patch).unwrap();
            let mut then = doc.fork_at(&moments[from]).unwrap();
            let words = String::from_utf8_lossy(&patch).into_owned();
            let patch =
                Patch::read(&patch, form).unwrap_or_else(|error| panic!("seed {seed}: {error}: {words}"));
            let ops = then.stats().operations;
            patch
                .apply(&mut then, &CommitOptions::default())
                .unwrap_or_else(|error| panic!("seed {seed}: {error}: {words}"));
            assert_eq!(
                text(&then.view(), form, Layout::Compact),
                text(&doc.at(&moments[to]).unwrap(), form, Layout::Compact),
                "seed {seed}: {words}"
            );
            if from == to {
                assert_eq!((words.as_str(), then.stats().operations), ("[]", ops));
            }
            as_merge_patch(&doc, &moments[from], &moments[to], form);
        }
    }
}

/// As [`diff_is_a_patch_between_the_states`], for a merge patch, if there is one.
fn as_merge_patch(doc: &Document, from: &[ChangeHash], to: &[ChangeHash], form: ScalarEncoding) {
    let [before, after] = [from, to].map(|moment| doc.at(moment).unwrap());
    let patch = match merge_diff(&before, &after, form) {
        Ok(patch) => patch,
        Err(MergeDiffError::Null(pointer)) => {
            let pointer: Pointer = pointer.parse().unwrap();
            assert_eq!(pointer.find(&after).unwrap().0, Value::from(()));
            return;
        }
        Err(MergeDiffError::Type(pointer)) => {
            let inside = format!("{pointer}/__type").parse::<Pointer>().unwrap();
            assert_eq!(form, ScalarEncoding::Tagged);
            assert!([&before, &after].iter().any(|view| inside.find(view).is_ok()));
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let mut then = doc.fork_at(from).unwrap();
    merge(patch.as_bytes(), form, &mut then, &CommitOptions::default()).unwrap();
    assert_eq!(
        text(&then.view(), form, Layout::Compact),
        text(&after, form, Layout::Compact),
        "{patch}, of {}",
        text(&before, form, Layout::Compact)
    );
    if from == to {
        assert_eq!(patch, "{}");
    }
}

#[test]
fn merge_diff_contains_only_changes() {
    let patch_between = |before: &str, after: &str, form: ScalarEncoding| {
        let mut doc = AutoCommit::new();
        doc.init_root(&read(before.as_bytes(), ScalarEncoding::Plain).unwrap()).unwrap();
        let from = doc.get_heads();
        doc.update_object(ROOT, &read(after.as_bytes(), ScalarEncoding::Plain).unwrap()).unwrap();
        let to = doc.get_heads();
        let (before, after) = (doc.at(&from).unwrap(), doc.at(&to).unwrap());
        merge_diff(&before, &after, form).map_err(|error| error.to_string())
    };
    for (before, after, patch) in [
        (
            r#"{"a":{"b":1,"c":{"d":2}},"e":[1,2]}"#,
            r#"{"a":{"b":1,"c":{"d":3}},"e":[1,2]}"#,
            r#"{"a":{"c":{"d":3}}}"#,
        ),
        (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, r#"{"a":{"b":null}}"#),
        (r#"{"a":1}"#, r#"{"a":{}}"#, r#"{"a":{}}"#),
        (r#"{"a":[1,null]}"#, r#"{"a":[1,null,null]}"#, r#"{"a":[1,null,null]}"#),
        (r#"{"a":null,"b":1}"#, r#"{"a":null}"#, r#"{"b":null}"#),
        ("{}", r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{}}}"#),
    ] {
        assert_eq!(patch_between(before, after, ScalarEncoding::Plain).as_deref(), Ok(patch));
        assert_eq!(patch_between(before, after, ScalarEncoding::Tagged).as_deref(), Ok(patch));
    }
    let null = "/~1/b became null, which a merge patch cannot express: there null means deletion";
    assert_eq!(patch_between("{}", r#"{"/":{"b":null}}"#, ScalarEncoding::Plain), Err(null.to_owned()));
    let (before, after) = (r#"{"a":{"__type":1,"b":1}}"#, r#"{"a":{"__type":1,"b":2}}"#);
    assert_eq!(patch_between(before, after, ScalarEncoding::Plain).as_deref(), Ok(r#"{"a":{"b":2}}"#));
    assert_eq!(patch_between(before, before, ScalarEncoding::Tagged).as_deref(), Ok("{}"));
    let tag = "/a has a key __type, so a merge patch with tags cannot express its changes";
    assert_eq!(patch_between(before, after, ScalarEncoding::Tagged), Err(tag.to_owned()));
    let came = r#"{"a":{"__type":"map","value":{"__type":1,"b":2}}}"#;
    assert_eq!(patch_between("{}", after, ScalarEncoding::Tagged).as_deref(), Ok(came));
}

fn flat(doc: &Document, form: ScalarEncoding) -> String {
    let mut out = vec![];
    flatten(&doc.view(), form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn flat_document_has_pointers_and_values() {
    let doc = document_of(&literal!({
        "a": [1, { "b/": (Literal::text("t")) }, []], "e": {}, "list": ["x"], "map": { "0": "x" }, "none": { "1": 1 }
    }));
    let expected = r#"{
"/a/0":1,
"/a/1/b~1":"t",
"/a/2":[],
"/e":{},
"/list/0":"x",
"/map":{},
"/map/0":"x",
"/none/1":1
}"#;
    assert_eq!(flat(&doc, ScalarEncoding::Plain), expected);
    assert_eq!(flat(&Document::new(), ScalarEncoding::Plain), "{}");
    let eleven = literal!({ "n": (Literal::List((0..11).map(Literal::from).collect())) });
    assert_eq!(
        unflatten(flat(&document_of(&eleven), ScalarEncoding::Tagged).as_bytes(), ScalarEncoding::Tagged)
            .unwrap(),
        eleven
    );
}

#[test]
fn flat_documents_round_trip() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let mut doc = AutoCommit::new();
        (0..8).for_each(|_| change(&mut doc, &mut rng));
        for key in ["0", "1", "__type", "01"] {
            if rng.below(2) == 0 {
                doc.put_literal(ROOT, key, any(&mut rng, 2)).unwrap();
            }
        }
        let doc = doc.into_document();
        let flattened = flat(&doc, ScalarEncoding::Tagged);
        let again = unflatten(flattened.as_bytes(), ScalarEncoding::Tagged)
            .unwrap_or_else(|error| panic!("{error}: {flattened}"));
        // Compared as text: NaN is not equal to itself.
        assert_eq!(
            text(&document_of(&again).view(), ScalarEncoding::Tagged, Layout::Compact),
            text(&doc.view(), ScalarEncoding::Tagged, Layout::Compact),
            "{flattened}"
        );
    }
}

#[test]
fn invalid_flat_objects_are_refused() {
    let deep = format!("{{\"{}\":1}}", "/a".repeat(129));
    for (json, reason) in [
        ("[]", "a flat document must be an object of JSON Pointers and values"),
        (r#"{"a":1}"#, r#""a": a pointer must be empty or start with a slash"#),
        (r#"{"/a":1,"/a/b":2}"#, "/a has a value, and other pointers lead inside it"),
        (r#"{"/a/b":[],"/a/b/0":2}"#, "/a/b has a value, and other pointers lead inside it"),
        (r#"{"":1}"#, "a document is a map"),
        (&deep, "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a… has more than 128 levels"),
    ] {
        let error = unflatten(json.as_bytes(), ScalarEncoding::Plain).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }
    assert!(unflatten(b"{", ScalarEncoding::Plain).is_err());
    assert!(unflatten(br#"{"/a":1e400}"#, ScalarEncoding::Plain).is_err());
    assert_eq!(unflatten(br#"{"":{}}"#, ScalarEncoding::Plain).unwrap(), literal!({}));
}

fn change(doc: &mut AutoCommit, rng: &mut Rng) {
    let (mut at, mut kind) = (ROOT, ObjType::Map);
    for _ in 0..rng.below(3) {
        let inside: Vec<_> =
            doc.values(&at).into_iter().filter_map(|(value, id)| Some((value.as_object()?, id))).collect();
        if kind != ObjType::Text && !inside.is_empty() {
            (kind, at) = inside[rng.below(inside.len())].clone();
        }
    }
    let value = loop {
        // Values that are null or infinite in the plain form look like unchanged ones.
        let value = any(rng, 2);
        if !format!("{value:?}").contains("F64") {
            break value;
        }
    };
    let index = rng.below(doc.length(&at) + 1);
    let _ = match (kind, rng.below(4)) {
        (ObjType::Text, 0) => doc.splice_text(&at, index, 2, ""),
        (ObjType::Text, _) => doc.splice_text(&at, index, 0, "né"),
        (ObjType::List, 0) => doc.delete(&at, index),
        (ObjType::List, 1) => doc.put_literal(&at, index, value).map(drop),
        (ObjType::List, _) => doc.insert_literal(&at, index, value).map(drop),
        (_, 0) => doc.delete(&at, ["a", "é", "~/"][rng.below(3)]),
        _ => doc.put_literal(&at, ["a", "é", "~/"][rng.below(3)], value).map(drop),
    };
}

#[test]
fn deeply_nested_difference_is_found() {
    let mut doc = AutoCommit::new();
    let mut at = ROOT;
    for _ in 0..20_000 {
        at = doc.put_object(&at, "k", ObjType::Map).unwrap();
    }
    let before = doc.get_heads();
    doc.put(&at, "x", 1).unwrap();
    let after = doc.get_heads();
    let mut patch = vec![];
    diff(&doc.at(&before).unwrap(), &doc.at(&after).unwrap(), ScalarEncoding::Plain, &mut patch).unwrap();
    let path = "/k".repeat(20_000);
    assert_eq!(
        String::from_utf8(patch).unwrap(),
        format!("[\n{{\"op\":\"add\",\"path\":\"{path}/x\",\"value\":1}}\n]")
    );
}
