//! One file of answers: whole and in its place, or not there. What it answers, and how, stands in its metadata.

use std::fs::File;
use std::io::ErrorKind;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader as _, SerializedFileReader};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Kind, Summary};
use crate::error::Error;
use crate::folder::Folder;
use crate::out;

/// The name of the metadata.
const KEY: &str = "hashmill.manifest";

/// The most bytes of a part in a store, which is read whole.
const PART_LEN: u64 = 1 << 30;

/// What is written about the rows of a part. A restart asks whether they are the same.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(crate) struct About {
    /// The digest of the rows that are answered.
    pub(crate) inputs: String,
    rows: u64,
    hashed: u64,
    bytes: u64,
    matched: u64,
    mismatched: u64,
    failed: [u64; Kind::ALL.len()],
}

impl About {
    pub(crate) fn new(inputs: String, summary: &Summary) -> About {
        let Summary { rows, hashed, bytes, matched, mismatched, failed } = *summary;
        About { inputs, rows, hashed, bytes, matched, mismatched, failed }
    }

    pub(crate) fn summary(&self) -> Summary {
        let About { inputs: _, rows, hashed, bytes, matched, mismatched, failed } = *self;
        Summary { rows, hashed, bytes, matched, mismatched, failed }
    }
}

/// What is known of a part; `None` if there is none.
pub(crate) fn read(folder: &Folder, name: &str) -> Result<Option<About>, Error> {
    match folder {
        Folder::Disk(disk) => match File::open(disk.join(name)) {
            Ok(file) => about(folder, name, file).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Io(disk.join(name), error)),
        },
        Folder::Store(_) => folder.read(name, PART_LEN)?.map(|file| about(folder, name, file)).transpose(),
    }
}

fn about(folder: &Folder, name: &str, file: impl ChunkReader + 'static) -> Result<About, Error> {
    let other = |what: String| Error::Other(folder.path(name), what);
    let reader = SerializedFileReader::new(file).map_err(|error| other(error.to_string()))?;
    let metadata = reader.metadata().file_metadata();
    let found = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == KEY);
    let about = found.and_then(|pair| serde_json::from_str::<About>(pair.value.as_deref()?).ok());
    let about = about.filter(|about| u64::try_from(metadata.num_rows()) == Ok(about.rows));
    about.ok_or_else(|| other("no part that was written here".to_owned()))
}

pub(crate) fn write(folder: &Folder, name: &str, answers: &[Answer], about: &About) -> Result<(), Error> {
    let path = &folder.path(name);
    let about = serde_json::to_string(about).map_err(|error| Error::Io(path.clone(), error.into()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_owned(), about)]))
        .build();
    let batch = out::batch(answers).map_err(|error| Error::writing(path, error.into()))?;
    let mut writer = ArrowWriter::try_new(Vec::new(), out::schema(), Some(properties))
        .map_err(|error| Error::writing(path, error))?;
    writer.write(&batch).map_err(|error| Error::writing(path, error))?;
    folder.write(name, writer.into_inner().map_err(|error| Error::writing(path, error))?)
}
