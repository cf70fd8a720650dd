//! Files written by one implementation and read by the other.

use crate::node::{said, well};
use crate::say::{load, say};
use hashmill_doc::{
    CommitOptions, Document, ExpandMark, Literal, Mark, ROOT, ScalarValue, TextEncoding, Transactable as _,
};
use std::fs;
use std::path::Path;

fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path of Unicode")
}

#[test]
fn documents_of_the_package_are_read_and_edited() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("made.automerge");
    let content = said("document.mjs", ["make", path_text(&path)]);
    assert_eq!(say(&path), content);
    assert_eq!(content["title"].as_array().map(Vec::len), Some(2), "a conflict");
    assert!(content["spans"].as_array().is_some_and(|spans| spans.len() > 4));
    // The command line exports the same value.
    let exported: serde_json::Value =
        serde_json::from_str(&well(["export", "--tagged", path_text(&path)])).expect("JSON");
    assert_eq!(exported, content["value"]);
    well(["check", path_text(&path)]);
    // The package reads the same content from Hashmill's file.
    let hashmill_file = folder.path().join("ours.automerge");
    fs::write(&hashmill_file, load(&path).save()).expect("a file");
    assert_eq!(said("document.mjs", ["read", path_text(&hashmill_file)]), content);
    well(["put", path_text(&path), "/list/0", "{\"__type\": \"counter\", \"value\": 7}"]);
    assert_eq!(said("document.mjs", ["read", path_text(&path)]), say(&path));
}

/// A document with every kind of content.
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
fn documents_of_hashmill_are_read_and_edited_by_the_package() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("made.automerge");
    let mut doc = rich();
    fs::write(&path, doc.save()).expect("a file");
    let content = say(&path);
    assert_eq!(content["title"].as_array().map(Vec::len), Some(2), "a conflict");
    assert_eq!(said("document.mjs", ["read", path_text(&path)]), content);
    let edited = said("document.mjs", ["edit", path_text(&path)]);
    assert_eq!(say(&path), edited);
    assert_eq!(edited["value"]["count"]["value"], 99);
    // The package's edits depend on Hashmill's changes.
    doc.merge(&load(&path)).expect("changes of the package");
    assert_eq!(doc.get_heads(), load(&path).get_heads());
}
