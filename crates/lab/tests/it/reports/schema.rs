//! Validates documents against the committed JSON Schemas with an independent validator: `jsonschema` for Python. The
//! Rust crate would add nearly eighty dependencies for this test.

use crate::program::{Folder, lab, result_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints one line per pair of schema and document: `ok`, or where and why it does not match.
const VALIDATE: &str = "\
import json, sys
from jsonschema import Draft202012Validator
paths = sys.argv[1:]
for schema, document in zip(paths[::2], paths[1::2]):
    schema = json.load(open(schema))
    Draft202012Validator.check_schema(schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(json.load(open(document))), key=lambda e: list(e.path))
    print('; '.join('/'.join(map(str, e.path)) + ': ' + e.message[:200] for e in errors[:3]) or 'ok')
";

fn python() -> Option<Command> {
    let mut python = Command::new("python3");
    let there = python.args(["-c", "import jsonschema"]).stderr(Stdio::null()).status();
    there.is_ok_and(|status| status.success()).then(|| Command::new("python3"))
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("committed")).expect("JSON")
}

/// Every document of the lab that is committed, with the schema that it names.
fn documents() -> Vec<(PathBuf, PathBuf)> {
    let mut found = vec![own("tests/golden/report.json")];
    let mut folders = vec![own("../../bench")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("committed") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    let named = |path: PathBuf| {
        let name = read(&path)["schema"].as_str()?.strip_prefix("lab.")?.replace('/', ".v");
        Some((own(&format!("schema/{name}.json")), path))
    };
    found.into_iter().filter_map(named).collect()
}

#[test]
fn committed_documents_fit_their_schemas_and_broken_ones_do_not() {
    let Some(mut python) = python() else {
        hashmill_testkit::skip(
            "lab: reports against their JSON Schema",
            "no jsonschema for python3 here; Debian: apt-get install python3-jsonschema",
        );
        return;
    };
    let documents = documents();
    assert!(documents.len() >= 3, "the golden report, a record of noise, reports: {documents:?}");
    let mut pairs = documents.clone();

    let folder = Folder::new("schema");
    let golden = read(&own("tests/golden/report.json"));
    let breaks: [(&str, Value, &str); 4] = [
        ("/rows/0/sides/0/session_ns/0", json!("fast"), "rows/0/sides/0/session_ns/0: 'fast' is not"),
        ("/rows/0/comparisons/0/verdict", json!("great"), "rows/0/comparisons/0/verdict: 'great' is not"),
        ("/plan", json!({}), "plan: 'looks' is a required property"),
        ("/quality/flags", json!(null), "quality/flags: None is not of type 'array'"),
    ];
    for (index, (pointer, value, _)) in breaks.iter().enumerate() {
        let mut broken = golden.clone();
        *broken.pointer_mut(pointer).expect(pointer) = value.clone();
        let path = folder.join(&format!("{index}.json"));
        std::fs::write(&path, broken.to_string()).expect("writable");
        pairs.push((own("schema/report.v2.json"), path));
    }
    let mut surprise = golden;
    surprise["surprise"] = json!(1);
    let path = folder.join("surprise.json");
    std::fs::write(&path, surprise.to_string()).expect("writable");
    pairs.push((own("schema/report.v2.json"), path));

    python.args(["-c", VALIDATE]);
    let output = python.args(pairs.iter().flat_map(|(schema, document)| [schema, document])).output();
    let output = output.expect("it answered before");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), pairs.len(), "{text}");
    for ((_, document), line) in documents.iter().zip(&lines) {
        assert_eq!(*line, "ok", "{}", document.display());
    }
    let refused = breaks.iter().map(|(_, _, message)| *message).chain(["'surprise' was unexpected"]);
    for (message, line) in refused.zip(&lines[documents.len()..]) {
        assert!(line.contains(message), "{line} should say: {message}");
    }
}

#[test]
fn the_program_prints_every_committed_schema() {
    let committed = std::fs::read_dir(own("schema")).expect("committed");
    let mut files: Vec<_> = committed.map(|entry| entry.expect("readable").path()).collect();
    files.sort_unstable();
    assert_eq!(files.len(), 5, "one for each kind: {files:?}");
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let kind = name.split('.').next().expect("a name");
        let printed = result_of(lab().args(["report", "schema", kind]));
        assert_eq!(printed.code, Some(0), "{printed:?}");
        assert_eq!(printed.out, std::fs::read_to_string(&file).expect("UTF-8"), "{kind}");
    }
}
