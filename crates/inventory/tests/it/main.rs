//! Tests of the public interface, with local files and a small server.

mod allowed;
mod columns;
mod hostile;
mod runs;
mod server;
mod stores;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use hashmill_inventory::inventory::{Columns, Row, rows};
use hashmill_inventory::{Hasher, Options, RowResult, RunHandle};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .expect("columns of one length")
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Writes row groups of `group` rows.
fn write(path: &Path, batch: &RecordBatch, group: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("rows");
    writer.close().expect("an end");
}

fn answers(options: Options, rows: Vec<Row>) -> Vec<RowResult> {
    Hasher::new(options).expect("a hasher").hash_rows(rows, &RunHandle::new()).expect("answers")
}

fn listed(columns: Vec<(&str, ArrayRef)>) -> Vec<Row> {
    rows(&table(columns), &Columns::default()).expect("rows")
}

/// Creates files `0`, `1`, … of some bytes each.
fn files(folder: &Path, count: usize) -> Vec<(PathBuf, Vec<u8>)> {
    let file = |index: usize| {
        let path = folder.join(index.to_string());
        let bytes = vec![index as u8; index * 37];
        std::fs::write(&path, &bytes).expect("a file");
        (path, bytes)
    };
    (0..count).map(file).collect()
}
