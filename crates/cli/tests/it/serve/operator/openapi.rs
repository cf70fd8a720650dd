//! The OpenAPI document against the server: every path of the document is answered as it says, and every answer fits its schema.

use super::super::{put, wait_for};
use super::{Operator, id, start, writer};
use crate::world::World;
use hashmill_repo::SyncStatus;
use hashmill_testkit::Rng;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

/// Checks the document, and prints one line per answer: `ok`, or where and why it does not fit. The arguments are the files of the document
/// and of the answers.
const VALIDATE: &str = "\
import json, sys
from jsonschema import Draft202012Validator
document, answers = (json.load(open(path)) for path in sys.argv[1:])
for name, schema in document['components']['schemas'].items():
    Draft202012Validator.check_schema(schema)
for name, schema, answer in answers:
    schema = {**schema, 'components': document['components']}
    Draft202012Validator.check_schema(schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(answer), key=lambda e: list(e.path))
    print(name, '; '.join('/'.join(map(str, e.path)) + ': ' + e.message[:300] for e in errors[:3]) or 'ok')
";

/// Schema of an answer with a status.
fn schema(operation: &Value, status: u16) -> Value {
    let responses = &operation["responses"];
    let response = responses.get(status.to_string()).unwrap_or(&responses["default"]);
    let response = match response["$ref"].as_str() {
        Some("#/components/responses/Refused") => {
            return json!({ "$ref": "#/components/schemas/Error" });
        }
        _ => response,
    };
    let content = response["content"].as_object().expect("contents");
    content.values().next().expect("a kind")["schema"].clone()
}

#[test]
fn every_request_is_answered_as_the_document_says() {
    let Ok(status) = Command::new("python3").args(["-c", "import jsonschema"]).stderr(Stdio::null()).status()
    else {
        return skip();
    };
    if !status.success() {
        return skip();
    }
    let world = World::new();
    let server = start(&world, "max-document-mib = 1\nmax-connections-per-identity = 100\n");
    let operator = Operator::new(&world);
    let document = operator.value("/admin/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    // A document in quarantine, one with a second client and presence, one that is only stored, and a deleted one.
    let (mut ann, mut to_ann) = writer(&server, "ann", &id(1), vec![1]);
    put(&mut ann, &id(1), Rng::new(1).bytes(2 << 20));
    wait_for(&mut to_ann, &mut ann, &id(1), SyncStatus::ReadOnlyPeer);
    let (mut ben, mut to_ben) = writer(&server, "ben", &id(2), vec![2]);
    ben.broadcast(&id(2), vec![0x40]);
    to_ben.exchange(&mut ben).expect("an open socket");
    for number in [3, 4] {
        drop(writer(&server, "cat", &id(number), vec![number]));
    }
    assert_eq!(operator.post(&format!("/admin/documents/{}/delete", id(4))).0, 200);
    let evict = format!("/admin/documents/{}/evict", id(3));
    hashmill_testkit::wait::until("a document that left memory", || operator.post(&evict).0 == 200);

    let mut answers: Vec<(String, Value, Value)> = Vec::new();
    // A stream of events and a backup are checked elsewhere.
    let without_json = ["/admin/events", "/admin/backup"];
    let mut visited = BTreeSet::from(without_json.map(|path| ("get".to_owned(), path.to_owned())));
    let mut visit = |method: &str, template: &str, path: &str, expected: u16| {
        let operation = &document["paths"][template][method];
        assert!(operation.is_object(), "{method} {template} is not in the document");
        let (status, value) = operator.request(&method.to_uppercase(), path);
        assert_eq!(status, expected, "{path}: {value}");
        visited.insert((method.to_owned(), template.to_owned()));
        answers.push((format!("{method} {path}"), schema(operation, status), value));
    };
    let of = |number: u8, verb: &str| format!("/admin/documents/{}{verb}", id(number));
    visit("get", "/admin/server", "/admin/server", 200);
    visit("get", "/admin/openapi.json", "/admin/openapi.json", 200);
    for query in [
        "",
        "?state=open&order=size",
        "?state=stored",
        "?state=stored&order=size",
        "?state=deleted",
        "?state=quarantined",
        "?limit=1",
    ] {
        visit("get", "/admin/documents", &format!("/admin/documents{query}"), 200);
    }
    visit("get", "/admin/documents", "/admin/documents?limit=x", 400);
    for number in 1..=4 {
        visit("get", "/admin/documents/{document}", &of(number, ""), 200);
    }
    visit("get", "/admin/documents/{document}", &of(9, ""), 404);
    visit("get", "/admin/connections", "/admin/connections", 200);
    // The first sample takes some seconds.
    hashmill_testkit::wait::until("a sample", || {
        operator.value("/admin/rates")["samples"].as_array().is_some_and(|samples| !samples.is_empty())
    });
    visit("get", "/admin/rates", "/admin/rates", 200);
    let post = "/admin/documents/{document}/";
    for (verb, number, expected) in [
        ("compact", 3, 200),
        ("compact", 9, 404),
        ("evict", 1, 409),
        ("end-quarantine", 1, 200),
        ("end-quarantine", 2, 409),
        ("delete", 3, 200),
        ("delete", 9, 404),
        ("undelete", 3, 200),
        ("undelete", 9, 404),
    ] {
        visit("post", &format!("{post}{verb}"), &of(number, &format!("/{verb}")), expected);
    }
    let connection = operator.value("/admin/connections")["connections"][0]["connection"].clone();
    let close = "/admin/connections/{connection}/close";
    visit("post", close, &format!("/admin/connections/{connection}/close"), 200);
    visit("post", close, "/admin/connections/999/close", 404);
    visit("post", "/admin/counts/correct", "/admin/counts/correct", 200);
    visit("post", "/admin/server/stop", "/admin/server/stop", 202);

    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().expect("methods").keys().map(|method| (method.clone(), path.clone()))
        })
        .collect();
    assert_eq!(visited, documented, "each path of the document is visited");

    world.write("document.json", document.to_string());
    world.write("answers.json", serde_json::to_string(&answers).expect("JSON"));
    let mut command = Command::new("python3");
    command.args(["-c", VALIDATE]).arg(world.path("document.json")).arg(world.path("answers.json"));
    let output = command.output().expect("python3");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().count(), answers.len(), "{text}");
    let wrong: Vec<&str> = text.lines().filter(|line| !line.ends_with(" ok")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A wrong answer is found.
    let mut broken = answers[0].clone();
    broken.2["uptime_s"] = json!("long");
    broken.2["surprise"] = json!(1);
    fs::write(world.path("answers.json"), serde_json::to_string(&[broken]).expect("JSON")).expect("a file");
    let output = command.output().expect("python3");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("'surprise' was unexpected") && text.contains("'long' is not of type"), "{text}");
    drop((to_ann, to_ben));
}

fn skip() {
    let reason = "no jsonschema for python3 here; Debian: apt-get install python3-jsonschema";
    hashmill_testkit::skip("serve: answers to the operator against their schemas", reason);
}
