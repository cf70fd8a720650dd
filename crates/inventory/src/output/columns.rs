//! Arrow columns of results.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, FixedSizeBinaryBuilder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::row_result::RowResult;

/// Value of `status` for a row with a digest.
pub const HASHED: &str = "hashed";

/// Schema of results. Without a digest, `status` has the kind of the failure and `error` its message.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("url", DataType::Utf8, true),
        Field::new("size", DataType::Int64, true),
        Field::new("blake3", DataType::FixedSizeBinary(32), true),
        Field::new("status", DataType::Utf8, false),
        Field::new("error", DataType::Utf8, true),
        Field::new("matches", DataType::Boolean, true),
        Field::new("etag", DataType::Utf8, true),
        Field::new("version", DataType::Utf8, true),
    ]))
}

/// Results as one batch, a row each.
///
/// # Errors
/// Arrow's error if the batch is larger than its columns can be.
pub fn batch(results: &[RowResult]) -> Result<RecordBatch, ArrowError> {
    // Text columns have 32-bit offsets, and builders panic on overflow.
    let texts = results.iter().map(|result| match &result.result {
        Ok(found) => [&found.etag, &found.version].into_iter().flatten().map(String::len).sum(),
        Err(failure) => failure.words.len(),
    });
    let urls = results.iter().map(|result| result.url.as_ref().map_or(0, String::len));
    if texts.chain(urls).sum::<usize>() + results.len() * 8 > i32::MAX as usize {
        return Err(ArrowError::InvalidArgumentError(
            "more rows than a batch of answers can have".to_owned(),
        ));
    }
    let mut url = StringBuilder::new();
    let mut size = Int64Builder::new();
    let mut blake3 = FixedSizeBinaryBuilder::new(32);
    let mut status = StringBuilder::new();
    let mut error = StringBuilder::new();
    let mut matches = BooleanBuilder::new();
    let mut etag = StringBuilder::new();
    let mut version = StringBuilder::new();
    for result in results {
        let found = result.result.as_ref().ok();
        url.append_option(result.url.as_deref());
        // No object is so large that the conversion fails.
        size.append_option(found.and_then(|found| i64::try_from(found.size).ok()));
        match found {
            Some(found) => blake3.append_value(found.blake3)?,
            None => blake3.append_null(),
        }
        status.append_value(result.result.as_ref().map_or_else(|failure| failure.kind.name(), |_| HASHED));
        error.append_option(result.result.as_ref().err().map(|failure| failure.words.as_str()));
        matches.append_option(result.matches);
        etag.append_option(found.and_then(|found| found.etag.as_deref()));
        version.append_option(found.and_then(|found| found.version.as_deref()));
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(url.finish()),
        Arc::new(size.finish()),
        Arc::new(blake3.finish()),
        Arc::new(status.finish()),
        Arc::new(error.finish()),
        Arc::new(matches.finish()),
        Arc::new(etag.finish()),
        Arc::new(version.finish()),
    ];
    RecordBatch::try_new(schema(), columns)
}
