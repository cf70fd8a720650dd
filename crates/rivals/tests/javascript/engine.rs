//! Automerge for JavaScript on Hashmill's engine: documents, peers and servers, and its own tests.

use crate::node::{Server, said, said_on_ours};
use hashmill_testkit::skip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;

/// Tests that fail, and why they do.
type Fails<const N: usize> = [(&'static str, &'static str); N];

/// Those of the package.
const FAILS: Fails<1> = [(
    "Automerge load can load a doc without checking the heads",
    "the operations of that file are out of order: in what order they came is not known, so none of it is taken",
)];

/// Those of the module that the package loads.
const WASM_FAILS: Fails<0> = [];

#[test]
fn documents_are_equal_on_both_engines() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path of Unicode").to_owned();
    for (name, made) in [
        ("theirs", said("document.mjs", ["make", &path("theirs")])),
        ("ours", said_on_ours("document.mjs", ["make", &path("ours")])),
    ] {
        assert_eq!(said("document.mjs", ["read", &path(name)]), made);
        assert_eq!(said_on_ours("document.mjs", ["read", &path(name)]), made);
        let edited = said_on_ours("document.mjs", ["edit", &path(name)]);
        assert_eq!(edited["value"]["title"]["value"], "from JavaScript");
        assert_eq!(said("document.mjs", ["read", &path(name)]), edited);
    }
}

/// What two peers of a server say of a document that the first of them made and the second edited.
fn converse(server: &Server, first: fn(&str, [&str; 2]) -> Value, second: fn(&str, [&str; 5]) -> Value) {
    let made = first("peers/peer.mjs", [&server.url(), "create"]);
    let url = made["url"].as_str().expect("a URL");
    let put = second("peers/peer.mjs", [&server.url(), "put", url, "there", "a text"]);
    for read in [said::<3>, said_on_ours::<3>] {
        assert_eq!(read("peers/peer.mjs", [&server.url(), "read", url]), put);
    }
}

#[test]
fn peers_on_both_engines_meet_at_the_reference_server() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::reference(data.path(), None);
    converse(&server, said_on_ours, said);
    converse(&server, said, said_on_ours);
}

#[test]
fn peers_on_both_engines_meet_at_a_server_on_ours() {
    let server = Server::newest_on_ours();
    converse(&server, said_on_ours, said_on_ours);
    converse(&server, said, said);
}

#[test]
fn no_call_crashes_the_engine() {
    let said = said("engine/hostile.mjs", ["4000"]);
    assert_eq!((&said["ended"], &said["works"]), (&json!([]), &json!(true)));
    assert_eq!(said["taken"], json!(0), "what only looks like a date or bytes");
    let calls = |name: &str| said[name].as_u64().expect("a number");
    assert!(calls("returned") > 4000 && calls("threw") > 4000, "{said}");
    assert!(calls("bytes") < 200 << 20, "{said}");
}

#[test]
fn half_a_character_is_replaced() {
    let text = "a\u{fffd}b😀\u{fffd}";
    let shown = json!({"text": text, "\u{fffd}": "\u{fffd}\u{fffd}"});
    assert_eq!(said("engine/shown.mjs", [])["halves"], json!([shown, 6, "\u{fffd}", text]));
}

#[test]
fn rejects_what_exceeds_memory() {
    let no = |bytes: u64| format!("RangeError: the module has no memory for {bytes} more bytes");
    let text = 3 * ((1 << 29) - 24);
    let said = &said("engine/shown.mjs", [])["large"];
    let one_by_one = said.as_array().expect("a list").split_at(4);
    assert_eq!(*one_by_one.0, [no((1 << 32) - 1), no(text), no(text), no(1 << 30)]);
    let (after, many) = one_by_one.1.split_last().expect("what the module says then");
    assert_eq!((after, many.len()), (&json!({"a": 1}), 7));
    for said in many {
        assert!(said.as_str().is_some_and(|said| said.contains("has no memory for")), "{said}");
    }
}

#[test]
fn a_bad_fragment_is_refused_with_all_that_came_with_it() {
    let refused = json!(["the bytes of fragment ", 0]);
    assert_eq!(said("engine/shown.mjs", [])["fragments"], json!([refused, refused, [null, 1]]));
}

#[test]
fn freed_documents_release_memory() {
    let said = said("engine/leaks.mjs", ["20000"]);
    let bytes = |name: &str| said[name].as_u64().expect("a number");
    assert!(bytes("early") > 1 << 20 && bytes("late") < bytes("early") + (512 << 10), "{said}");
    assert_eq!((&said["threw"], &said["text"]), (&json!(["Error", "Error", "Error"]), &json!("a text")));
}

#[test]
fn shown_objects_have_no_prototype_from_a_document() {
    let shown = |map: &str| json!([true, null, map]);
    let expected = [
        r#"{"__proto__":{"admin":true}}"#,
        r#"{"__proto__":{"admin":true},"a":1}"#,
        r#"{"__proto__":{"admin":false},"a":1}"#,
        r#"{"__proto__":{"admin":false,"__proto__":"text"},"a":1}"#,
        r#"{"__proto__":{"admin":false,"__proto__":"texts"},"a":1}"#,
    ];
    assert_eq!(said("engine/shown.mjs", [])["prototype"], json!(expected.map(shown)));
}

#[test]
fn objects_are_shown_again_after_a_constructor_threw() {
    let shown = json!(["broken", r#"{"a":1,"count":{"value":5}}"#]);
    let said = said("engine/shown.mjs", []);
    assert_eq!(said["again"], json!([shown, shown, shown]));
    let patch = json!({"action": "put", "path": ["count"], "value": {"value": 5}});
    assert_eq!(said["kept"], json!(["broken", [patch], []]));
}

#[test]
fn automerge_tests_pass_except_the_listed_ones() {
    passes("package", "javascript/test", FAILS, 327);
}

#[test]
fn automerge_wasm_tests_pass_except_the_listed_ones() {
    passes("module", "rust/automerge-wasm/test", WASM_FAILS, 156);
}

#[test]
fn patches_are_those_of_the_other_engine() {
    let said = said("engine/patches.mjs", ["100"]);
    assert_eq!(said["different"], json!([]));
    assert!(said["compared"].as_u64().is_some_and(|compared| compared > 300), "{said}");
}

/// Runs one of Automerge's test suites, of which at least the given number of tests must pass.
#[track_caller]
fn passes<const N: usize>(kind: &str, tests: &str, fails: Fails<N>, least: u64) {
    let Ok(checkout) = env::var("HASHMILL_AUTOMERGE_TESTS") else {
        let why = env::var("HASHMILL_NO_AUTOMERGE_TESTS").expect("`cargo xtask javascript` says why");
        return skip(&format!("the tests of the JavaScript implementation in {tests}"), &why);
    };
    let tests = Path::new(&checkout).join(tests);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("automerge-{kind}"));
    let path = |path: &Path| path.to_str().expect("a path of Unicode").to_owned();
    let said = said("suite.mjs", [kind, &path(&tests), &path(&folder)]);
    let failed: BTreeMap<String, String> = serde_json::from_value(said["failed"].clone()).expect("a map");
    let expected: BTreeMap<&str, &str> = fails.into();
    assert!(failed.keys().map(String::as_str).eq(expected.keys().copied()), "{failed:#?}");
    assert!(said["passed"].as_u64().is_some_and(|passed| passed >= least), "{said}");
}
