//! A browser with Hashmill's engine: two tabs, and a peer with Automerge's engine, on Automerge's server.

use crate::node::{Server, program_path, said};
use hashmill_testkit::browser;
use serde_json::{Value, json};
use std::env;

/// The output of all peers, which must be equal.
#[track_caller]
fn common_output(outputs: &Value) -> &Value {
    let all = outputs.as_array().expect("a list");
    assert!(all.len() > 1 && all.iter().all(|one| *one == all[0]), "{outputs:#}");
    &all[0]
}

#[test]
fn browser_applications_run_on_hashmill() {
    let test = "automerge-repo, ProseMirror and React in a browser";
    let Some(chromium) = browser::find(test) else { return };
    let data = tempfile::tempdir().expect("a directory");
    let folder = tempfile::tempdir().expect("a directory");
    let engine = env::var("HASHMILL_ENGINE_FOR_BROWSERS").expect("`cargo xtask javascript` builds it");
    let server = Server::reference(data.path(), None);
    let folder = folder.path().to_str().expect("a path of Unicode");
    let output = said("browser.mjs", [chromium, &engine, &server.url(), folder]);

    assert_eq!(
        (&output["engine"], &output["complaints"]),
        (&json!("hashmill-javascript-documents"), &json!([]))
    );
    // All peers wrote concurrently, two of them without a server.
    assert_eq!(common_output(&output["lists"])["doc"]["list"].as_array().map(Vec::len), Some(150));
    // Two typed into one text.
    let text = |text: &str| json!({"type": "text", "text": text});
    let bold = json!({"type": "text", "text": "bold", "marks": [{"type": "strong"}]});
    let paragraph = |content: Value| json!({"type": "paragraph", "attrs": {}, "content": content});
    let typed = json!({"type": "doc", "attrs": {}, "content": [
        {"type": "heading", "attrs": {"level": 2}, "content": [text("Title. Hello")]},
        paragraph(json!([text("plain, then "), bold, text(" 😀")])),
        paragraph(json!([text("the end")])),
    ]});
    assert_eq!(*common_output(&output["editors"]), typed);
    assert_eq!(*common_output(&output["buttons"]), json!("42 of Ada, Grace"));
    // The browser's stored document is there after a reload, without a peer.
    assert_eq!(common_output(&output["kept"])["doc"]["count"], json!(42));
}

#[test]
fn users_of_a_react_application_go_on_after_kills_of_our_server() {
    let Some(chromium) = browser::find("a React application with `hashmill serve`") else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path().to_str().expect("a path of Unicode");
    let program = program_path();
    let output = said("peers/todo.mjs", [chromium, program.to_str().expect("a path of Unicode"), folder]);
    assert_eq!(output["complaints"], json!([]));
    let mut tasks: Vec<String> = serde_json::from_value(output["last"].clone()).expect("a list");
    tasks.sort_unstable();
    let expected = ["bread ✓", "last", "milk and honey", "offline one", "offline two", "paper", "pens ✓"];
    assert_eq!(tasks, expected);
}
