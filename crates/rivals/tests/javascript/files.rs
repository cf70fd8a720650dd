//! Files written by one implementation and read by the other.

use crate::node::{said, well};
use crate::say::{load, say};
use hashmill_doc::{
    CommitOptions, Document, ExpandMark, Literal, Mark, ROOT, ScalarValue, TextEncoding, Transactable as _,
};
use std::fs;
use std::path::Path;

fn word(path: &Path) -> &str {
    path.to_str().expect("a path of Unicode")
}

#[test]
fn documents_made_there_are_read_here_and_go_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("made.automerge");
    let theirs = said("document.mjs", ["make", word(&path)]);
    assert_eq!(say(&path), theirs);
    assert_eq!(theirs["title"].as_array().map(Vec::len), Some(2), "a conflict");
    assert!(theirs["spans"].as_array().is_some_and(|spans| spans.len() > 4));
    // What the command line says of it is the same.
    let exported: serde_json::Value =
        serde_json::from_str(&well(["export", "--tagged", word(&path)])).expect("JSON");
    assert_eq!(exported, theirs["value"]);
    well(["check", word(&path)]);
    // Our file of it holds the same for them.
    let ours = folder.path().join("ours.automerge");
    fs::write(&ours, load(&path).save()).expect("a file");
    assert_eq!(said("document.mjs", ["read", word(&ours)]), theirs);
    well(["put", word(&path), "/list/0", "{\"__type\": \"counter\", \"value\": 7}"]);
    assert_eq!(said("document.mjs", ["read", word(&path)]), say(&path));
}

/// As much as a program can put into a document.
fn rich() -> Document {
    let mut doc = Document::with_encoding(TextEncoding::Utf16CodeUnit);
    let options = CommitOptions::default().with_message("all of it").with_time(1);
    let (body, _) = doc
        .transact_with(&options, |tx| {
            tx.put(ROOT, "null", ())?;
            tx.put(ROOT, "yes", true)?;
            tx.put(ROOT, "int", -(1_i64 << 50))?;
            tx.put(ROOT, "float", 0.1)?;
            tx.put(ROOT, "string", "a string")?;
            tx.put(ROOT, "bytes", vec![0_u8, 255])?;
            tx.put(ROOT, "time", ScalarValue::Timestamp(-1))?;
            tx.put(ROOT, "count", ScalarValue::counter(5))?;
            tx.increment(ROOT, "count", -7)?;
            tx.put_literal(ROOT, "list", Literal::List(vec![1.into(), "x".into()].into()))?;
            let body = tx.put_literal(ROOT, "body", Literal::text("Hello 😀 wörld"))?.expect("a text");
            tx.mark(&body, Mark::new("bold", true, 0, 5), ExpandMark::After)?;
            tx.mark(&body, Mark::new("link", "https://example.org", 3, 8), ExpandMark::None)?;
            let block = tx.split_block(&body, 6)?;
            tx.put(&block, "type", "paragraph")?;
            tx.put_literal(&block, "parents", Literal::List(vec!["quote".into()].into()))?;
            Ok::<_, hashmill_doc::EditError>(body)
        })
        .expect("sound edits");
    let mut copy = doc.fork();
    doc.transact(|tx| tx.put_literal(ROOT, "title", Literal::text("here"))).expect("a sound edit");
    doc.transact(|tx| tx.splice_text(&body, 5, 0, "!")).expect("a sound edit");
    copy.transact(|tx| tx.put(ROOT, "title", 2)).expect("a sound edit");
    copy.transact(|tx| tx.increment(ROOT, "count", 1)).expect("a sound edit");
    doc.merge(&copy).expect("different actors");
    doc
}

#[test]
fn documents_made_here_are_read_there_and_come_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("made.automerge");
    let mut doc = rich();
    fs::write(&path, doc.save()).expect("a file");
    let ours = say(&path);
    assert_eq!(ours["title"].as_array().map(Vec::len), Some(2), "a conflict");
    assert_eq!(said("document.mjs", ["read", word(&path)]), ours);
    let theirs = said("document.mjs", ["edit", word(&path)]);
    assert_eq!(say(&path), theirs);
    assert_eq!(theirs["value"]["count"]["value"], 99);
    // Their edits go on from ours.
    doc.merge(&load(&path)).expect("their changes");
    assert_eq!(doc.get_heads(), load(&path).get_heads());
}
