//! Reports on disk: written whole or not at all, read with distrust.

use super::schema::{Report, SCHEMA};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Largest report that is read: ten thousand times a usual one.
const MOST_BYTES: u64 = 256 << 20;

/// Why a file is not a report that this lab can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Too large to be one.
    #[error("{} is larger than {} MiB, which no report is", path.display(), MOST_BYTES >> 20)]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// Not JSON, or not of the schema that it names.
    #[error("{}: {_0}", misfit(_0))]
    Invalid(#[from] serde_json::Error),
    /// JSON of something else.
    #[error("not a report of this lab: `schema` is {found}, this version reads {SCHEMA}")]
    Foreign {
        /// What stands in `schema`.
        found: String,
    },
}

fn misfit(error: &serde_json::Error) -> &'static str {
    if error.is_data() { "it does not fit the schema that it names" } else { "it is not JSON, or cut off" }
}

/// Reads a report. That it can be read does not make it true: see [`check`](super::check).
pub fn read(path: &Path) -> Result<Report, ReadError> {
    parse(&read_bytes(path)?)
}

/// The bytes of a file that may be a report.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ReadError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Reads a report from memory.
pub fn parse(bytes: &[u8]) -> Result<Report, ReadError> {
    // The name first: of a newer or foreign file, no other message would help.
    match schema_of(bytes)?.as_deref() {
        Some(SCHEMA) => serde_json::from_slice(bytes).map_err(ReadError::Invalid),
        other => Err(ReadError::Foreign {
            found: other.map_or_else(|| "missing".to_owned(), |name| format!("`{name}`")),
        }),
    }
}

/// What stands in `schema`, where there is such a field.
pub(crate) fn schema_of(bytes: &[u8]) -> Result<Option<String>, ReadError> {
    let document: serde_json::Value = serde_json::from_slice(bytes)?;
    Ok(document.get("schema").map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned)))
}

/// A report as JSON text.
#[must_use]
pub fn to_json(report: &Report) -> String {
    pretty(report)
}

/// JSON for people who also read the file: indented, but each column of numbers on one line.
pub(crate) fn pretty(document: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(document).expect("documents are plain data");
    let mut text = String::new();
    write_value(&value, 0, &mut text);
    text.push('\n');
    text
}

fn write_value(value: &serde_json::Value, indent: usize, out: &mut String) {
    use serde_json::Value;
    let pad = |n: usize| " ".repeat(n);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push_str("{\n");
            for (i, (name, field)) in fields.iter().enumerate() {
                out.push_str(&pad(indent + 1));
                out.push_str(&format!("{}: ", Value::from(name.as_str())));
                write_value(field, indent + 1, out);
                out.push_str(if i + 1 < fields.len() { ",\n" } else { "\n" });
            }
            out.push_str(&pad(indent));
            out.push('}');
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push_str("[\n");
            for (i, item) in items.iter().enumerate() {
                out.push_str(&pad(indent + 1));
                write_value(item, indent + 1, out);
                out.push_str(if i + 1 < items.len() { ",\n" } else { "\n" });
            }
            out.push_str(&pad(indent));
            out.push(']');
        }
        flat => out.push_str(&flat.to_string()),
    }
}

/// Replaces the file at `path` in one step, so that whoever reads it finds a whole one, also after a crash.
pub fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let written = std::fs::File::create(&partial).and_then(|mut file| file.write_all(text.as_bytes()));
    let result = written.and_then(|()| std::fs::rename(&partial, path));
    if result.is_err() {
        std::fs::remove_file(&partial).ok();
    }
    result
}
