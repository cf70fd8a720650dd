//! Tests of column names and types.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int32Array, Int64Array, LargeStringArray,
    NullArray, StringArray, StringViewArray, UInt64Array,
};
use hashmill_hash::blake3::hash;
use hashmill_inventory::inventory::{Columns, rows};
use hashmill_inventory::{FailureKind, Options};

use crate::{answers, files, listed, table, texts};

#[test]
fn reads_all_text_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(folder.path(), 3);
    let path = files[2].0.to_str().expect("text");
    let columns: [ArrayRef; 4] = [
        texts([path]),
        Arc::new(LargeStringArray::from(vec![path])),
        Arc::new(StringViewArray::from(vec![path])),
        Arc::new([path].into_iter().collect::<DictionaryArray<Int32Type>>()),
    ];
    for column in columns {
        let answers = answers(Options::default(), listed(vec![("PATH", column)]));
        assert_eq!(answers[0].url.as_deref(), Some(path));
        assert!(answers[0].result.is_ok());
    }
}

#[test]
fn reads_binary_and_hex_digests() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(folder.path(), 3);
    let path = files[2].0.to_str().expect("text");
    let right = hash(&files[2].1);
    let bytes: &[u8] = right.as_bytes();
    let columns: [(ArrayRef, Option<bool>); 7] = [
        (texts([&*right.to_hex()]), Some(true)),
        (texts([&*right.to_hex().to_uppercase()]), Some(true)),
        (Arc::new(BinaryArray::from(vec![bytes])), Some(true)),
        (Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).expect("32 bytes")), Some(true)),
        (Arc::new(BinaryArray::from(vec![&[0_u8; 32][..]])), Some(false)),
        (Arc::new(StringArray::from(vec![None::<&str>])), None),
        (Arc::new(NullArray::new(1)), None),
    ];
    for (column, expected) in columns {
        let answers = answers(Options::default(), listed(vec![("url", texts([path])), ("blake3", column)]));
        assert!(answers[0].result.is_ok());
        assert_eq!(answers[0].matches, expected);
    }
    for column in [texts(["12"]), Arc::new(BinaryArray::from(vec![&[0_u8; 31][..]])) as ArrayRef] {
        let answers = answers(Options::default(), listed(vec![("url", texts([path])), ("blake3", column)]));
        assert_eq!(answers[0].result.as_ref().expect_err("no digest").kind, FailureKind::Row);
    }
}

#[test]
fn empty_row_has_a_result() {
    let url: ArrayRef = Arc::new(StringArray::from(vec![None, Some("x"), Some("x")]));
    let size: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(-1), None]));
    let answers = answers(Options::default(), listed(vec![("url", url), ("size", size)]));
    let kinds: Vec<FailureKind> =
        answers.iter().map(|answer| answer.result.as_ref().expect_err("nothing").kind).collect();
    assert_eq!(kinds, [FailureKind::Row, FailureKind::Row, FailureKind::Missing]);
}

#[test]
fn reads_integer_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = files(folder.path(), 2);
    let path = files[1].0.to_str().expect("text");
    let columns: [ArrayRef; 3] = [
        Arc::new(Int32Array::from(vec![37])),
        Arc::new(Int64Array::from(vec![37])),
        Arc::new(UInt64Array::from(vec![37])),
    ];
    for column in columns {
        assert!(
            answers(Options::default(), listed(vec![("url", texts([path])), ("size", column)]))[0]
                .result
                .is_ok()
        );
    }
    let other = listed(vec![("url", texts([path])), ("size", Arc::new(Int64Array::from(vec![38])))]);
    assert_eq!(
        answers(Options::default(), other)[0].result.as_ref().expect_err("another").kind,
        FailureKind::Changed
    );
}

#[test]
fn rejects_missing_and_mistyped_columns() {
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for columns in [
        vec![("name", texts(["x"]))],
        vec![("key", texts(["x"]))],
        vec![("url", Arc::clone(&number))],
        vec![("url", texts(["x"])), ("size", texts(["1"]))],
        vec![("url", texts(["x"])), ("blake3", Arc::clone(&number))],
    ] {
        assert!(rows(&table(columns), &Columns::default()).is_err());
    }
    let mut named = Columns::default();
    named.url = Some("name".to_owned());
    assert!(rows(&table(vec![("name", texts(["x"]))]), &named).is_ok());
    assert!(rows(&table(vec![("url", texts(["x"]))]), &named).is_err());
}

#[test]
fn rejects_too_long_names() {
    let long = "x".repeat(100_000);
    let rows = listed(vec![("url", texts([&*long, "y"])), ("etag", texts(["", &*long]))]);
    let answers = answers(Options::default(), rows);
    for answer in &answers {
        assert_eq!(answer.result.as_ref().expect_err("too long").kind, FailureKind::Row);
        assert!(answer.url.as_ref().expect("a name").len() < 20_000);
    }
    let rows = listed(vec![("bucket", texts([&*long])), ("key", texts([&*long]))]);
    assert_eq!(
        crate::answers(Options::default(), rows)[0].result.as_ref().expect_err("too long").kind,
        FailureKind::Row
    );
}
