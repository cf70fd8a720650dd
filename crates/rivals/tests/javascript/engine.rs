//! Automerge for JavaScript on Hashmill's engine: documents, peers and servers, and its own tests.

use crate::node::{Server, checkout, said, said_on_ours};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Tests that fail, with the reason.
type ExpectedFailures<const N: usize> = [(&'static str, &'static str); N];

/// Expected failures of the package.
const PACKAGE_FAILURES: ExpectedFailures<1> = [(
    "Automerge load can load a doc without checking the heads",
    "the operations of that file are out of order: their original order is unknown, so the file is refused",
)];

/// Expected failures of the module that the package loads.
const MODULE_FAILURES: ExpectedFailures<0> = [];

#[test]
fn documents_are_equal_on_both_engines() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path of Unicode").to_owned();
    for (name, created) in [
        ("theirs", said("document.mjs", ["make", &path("theirs")])),
        ("ours", said_on_ours("document.mjs", ["make", &path("ours")])),
    ] {
        assert_eq!(said("document.mjs", ["read", &path(name)]), created);
        assert_eq!(said_on_ours("document.mjs", ["read", &path(name)]), created);
        let edited = said_on_ours("document.mjs", ["edit", &path(name)]);
        assert_eq!(edited["value"]["title"]["value"], "from JavaScript");
        assert_eq!(said("document.mjs", ["read", &path(name)]), edited);
    }
}

/// Tests that two peers of a server exchange a document: the first creates it, the second edits it.
fn exchange_document(
    server: &Server,
    first: fn(&str, [&str; 2]) -> Value,
    second: fn(&str, [&str; 5]) -> Value,
) {
    let created = first("peers/peer.mjs", [&server.url(), "create"]);
    let url = created["url"].as_str().expect("a URL");
    let edited = second("peers/peer.mjs", [&server.url(), "put", url, "there", "a text"]);
    for read in [said::<3>, said_on_ours::<3>] {
        assert_eq!(read("peers/peer.mjs", [&server.url(), "read", url]), edited);
    }
}

#[test]
fn peers_on_both_engines_sync_through_the_reference_server() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::reference(data.path(), None);
    exchange_document(&server, said_on_ours, said);
    exchange_document(&server, said, said_on_ours);
}

#[test]
fn peers_on_both_engines_sync_through_a_server_on_hashmill() {
    let server = Server::newest_on_ours();
    exchange_document(&server, said_on_ours, said_on_ours);
    exchange_document(&server, said, said);
}

#[test]
fn no_call_crashes_the_engine() {
    let output = said("engine/hostile.mjs", ["4000"]);
    assert_eq!((&output["ended"], &output["works"]), (&json!([]), &json!(true)));
    assert_eq!(output["taken"], json!(0), "values that only look like a date or bytes");
    let calls = |name: &str| output[name].as_u64().expect("a number");
    assert!(calls("returned") > 4000 && calls("threw") > 4000, "{output}");
    assert!(calls("bytes") < 200 << 20, "{output}");
}

#[test]
fn users_in_all_programs_see_each_other() {
    assert_eq!(said("engine/presence.mjs", []), json!(8));
}

#[test]
fn examples_of_the_package_run() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/javascript-documents/README.md");
    let output = said("engine/readme.mjs", [readme.to_str().expect("a path of Unicode")]);
    let printed = "updated [ 'ada' ] { cursor: 3, name: 'Ada' }";
    assert_eq!((&output["examples"], &output["said"]), (&json!(2), &json!([printed])));
}

#[test]
fn unpaired_surrogates_are_replaced() {
    let text = "a\u{fffd}b😀\u{fffd}";
    let shown = json!({"text": text, "\u{fffd}": "\u{fffd}\u{fffd}"});
    assert_eq!(said("engine/shown.mjs", [])["halves"], json!([shown, 6, "\u{fffd}", text]));
}

#[test]
fn values_larger_than_memory_are_refused() {
    let error = |bytes: u64| format!("RangeError: the module has no memory for {bytes} more bytes");
    let text = 3 * ((1 << 29) - 24);
    let results = &said("engine/shown.mjs", [])["large"];
    let one_by_one = results.as_array().expect("a list").split_at(4);
    assert_eq!(*one_by_one.0, [error((1 << 32) - 1), error(text), error(text), error(1 << 30)]);
    let (after, many) = one_by_one.1.split_last().expect("the document after the errors");
    assert_eq!((after, many.len()), (&json!({"a": 1}), 7));
    for output in many {
        assert!(output.as_str().is_some_and(|message| message.contains("has no memory for")), "{output}");
    }
}

#[test]
fn an_invalid_fragment_refuses_its_batch() {
    let refused = json!(["the bytes of fragment ", 0]);
    assert_eq!(said("engine/shown.mjs", [])["fragments"], json!([refused, refused, [null, 1]]));
}

#[test]
fn freed_documents_release_memory() {
    let output = said("engine/leaks.mjs", ["20000"]);
    let bytes = |name: &str| output[name].as_u64().expect("a number");
    assert!(bytes("early") > 1 << 20 && bytes("late") < bytes("early") + (512 << 10), "{output}");
    assert_eq!((&output["threw"], &output["text"]), (&json!(["Error", "Error", "Error"]), &json!("a text")));
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
    let output = said("engine/shown.mjs", []);
    assert_eq!(output["again"], json!([shown, shown, shown]));
    let patch = json!({"action": "put", "path": ["count"], "value": {"value": 5}});
    assert_eq!(output["kept"], json!(["broken", [patch], []]));
}

#[test]
fn automerge_tests_pass_except_the_listed_ones() {
    check_suite("package", "javascript/test", PACKAGE_FAILURES, 327);
}

#[test]
fn automerge_wasm_tests_pass_except_the_listed_ones() {
    check_suite("module", "rust/automerge-wasm/test", MODULE_FAILURES, 156);
}

#[test]
fn patches_of_both_engines_are_equal() {
    let output = said("engine/patches.mjs", ["100"]);
    assert_eq!(output["different"], json!([]));
    assert!(output["compared"].as_u64().is_some_and(|compared| compared > 300), "{output}");
}

/// Runs one of Automerge's test suites; at least `min` tests must pass, and only the listed ones may fail.
#[track_caller]
fn check_suite<const N: usize>(kind: &str, tests: &str, failures: ExpectedFailures<N>, min: u64) {
    let what = format!("the tests of the JavaScript implementation in {tests}");
    let Some(checkout) = checkout("AUTOMERGE", &what) else { return };
    let tests = checkout.join(tests);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("automerge-{kind}"));
    let path = |path: &Path| path.to_str().expect("a path of Unicode").to_owned();
    let output = said("suites/automerge.mjs", [kind, &path(&tests), &path(&folder)]);
    let failed: BTreeMap<String, String> = serde_json::from_value(output["failed"].clone()).expect("a map");
    let expected: BTreeMap<&str, &str> = failures.into();
    assert!(failed.keys().map(String::as_str).eq(expected.keys().copied()), "{failed:#?}");
    assert!(output["passed"].as_u64().is_some_and(|passed| passed >= min), "{output}");
}
