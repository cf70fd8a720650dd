//! Result files: the results of one part, with its input digest and counts as metadata. Written atomically.

use std::fs::File;
use std::io::ErrorKind;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader as _, SerializedFileReader};
use serde::{Deserialize, Serialize};

use super::columns;
use crate::error::Error;
use crate::output::dir::OutputDir;
use crate::row_result::{FailureKind, RowResult, Summary};

/// Metadata key.
const KEY: &str = "hashmill.manifest";

/// Maximum bytes of a result file in a store, as it is read whole.
const PART_LEN: u64 = 1 << 30;

/// Metadata of a result file. A restart compares `inputs` with its own rows.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(crate) struct ResultFileMeta {
    /// Digest of the input rows.
    pub(crate) inputs: String,
    rows: u64,
    hashed: u64,
    bytes: u64,
    matched: u64,
    mismatched: u64,
    failed: [u64; FailureKind::ALL.len()],
}

impl ResultFileMeta {
    pub(crate) fn new(inputs: String, summary: &Summary) -> ResultFileMeta {
        let Summary { rows, hashed, bytes, matched, mismatched, failed } = *summary;
        ResultFileMeta { inputs, rows, hashed, bytes, matched, mismatched, failed }
    }

    pub(crate) fn summary(&self) -> Summary {
        let ResultFileMeta { inputs: _, rows, hashed, bytes, matched, mismatched, failed } = *self;
        Summary { rows, hashed, bytes, matched, mismatched, failed }
    }
}

/// Reads the metadata of a result file; `None` if it does not exist.
pub(crate) fn read(folder: &OutputDir, name: &str) -> Result<Option<ResultFileMeta>, Error> {
    match folder {
        OutputDir::Disk(disk) => match File::open(disk.join(name)) {
            Ok(file) => parse_meta(folder, name, file).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Io(disk.join(name), error)),
        },
        OutputDir::Store(_) => {
            folder.read(name, PART_LEN)?.map(|file| parse_meta(folder, name, file)).transpose()
        }
    }
}

fn parse_meta(
    folder: &OutputDir,
    name: &str,
    file: impl ChunkReader + 'static,
) -> Result<ResultFileMeta, Error> {
    let other = |what: String| Error::Other(folder.path(name), what);
    let reader = SerializedFileReader::new(file).map_err(|error| other(error.to_string()))?;
    let metadata = reader.metadata().file_metadata();
    let found = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == KEY);
    let about = found.and_then(|pair| serde_json::from_str::<ResultFileMeta>(pair.value.as_deref()?).ok());
    let about = about.filter(|about| u64::try_from(metadata.num_rows()) == Ok(about.rows));
    about.ok_or_else(|| other("no part that was written here".to_owned()))
}

pub(crate) fn write(
    folder: &OutputDir,
    name: &str,
    results: &[RowResult],
    about: &ResultFileMeta,
) -> Result<(), Error> {
    let path = &folder.path(name);
    let about = serde_json::to_string(about).map_err(|error| Error::Io(path.clone(), error.into()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_owned(), about)]))
        .build();
    let batch = columns::batch(results).map_err(|error| Error::writing(path, error.into()))?;
    let mut writer = ArrowWriter::try_new(Vec::new(), columns::schema(), Some(properties))
        .map_err(|error| Error::writing(path, error))?;
    writer.write(&batch).map_err(|error| Error::writing(path, error))?;
    folder.write(name, writer.into_inner().map_err(|error| Error::writing(path, error))?)
}
