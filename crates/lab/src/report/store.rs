//! Files of reports: written atomically, and validated when read.

use super::schema::{Report, SCHEMA};
use hashmill_machine::open_output;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Size limit of a report: ten thousand times the usual size.
const MOST_BYTES: u64 = 256 << 20;

/// Reason why a file cannot be read as a report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is larger than {} MiB, too large for a report", path.display(), MOST_BYTES >> 20)]
    TooLarge { path: PathBuf },
    #[error("{}: {_0}", misfit(_0))]
    Invalid(#[from] serde_json::Error),
    #[error("it does not match its schema: {row} refers to a side that it does not have")]
    Sideless { row: String },
    #[error("not a report of this lab: `schema` is {found}, this version reads {SCHEMA}")]
    Foreign { found: String },
}

fn misfit(error: &serde_json::Error) -> &'static str {
    if error.is_data() { "it does not match its schema" } else { "it is not JSON, or it is truncated" }
}

/// Reads a report. A readable report may still be wrong: see [`check`](super::check).
pub(crate) fn read(path: &Path) -> Result<Report, ReadError> {
    parse(&read_bytes(path)?)
}

/// Reads a file of limited size.
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
pub(crate) fn parse(bytes: &[u8]) -> Result<Report, ReadError> {
    // The schema first: for a newer or foreign file no other error would help.
    match schema_of(bytes)?.as_deref() {
        Some(SCHEMA) => {
            let report: Report = serde_json::from_slice(bytes)?;
            // Indices of sides must be valid, also for users who show a report without checking it.
            match report.rows.iter().find(|row| !row.is_whole()) {
                Some(row) => Err(ReadError::Sideless { row: row.title.clone() }),
                None => Ok(report),
            }
        }
        other => Err(ReadError::Foreign {
            found: other.map_or_else(|| "missing".to_owned(), |name| format!("`{name}`")),
        }),
    }
}

/// Value of the field `schema`, if any.
pub(crate) fn schema_of(bytes: &[u8]) -> Result<Option<String>, ReadError> {
    let document: serde_json::Value = serde_json::from_slice(bytes)?;
    Ok(document.get("schema").map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned)))
}

/// Readable JSON: indented, but objects and columns of numbers that fit stay on one line.
pub(crate) fn pretty(document: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(document).expect("documents are plain data");
    let mut text = String::new();
    write_value(&value, 0, &mut text);
    text.push('\n');
    text
}

/// Maximum length of an object or list on one line.
const LINE: usize = 200;

fn write_value(value: &serde_json::Value, indent: usize, out: &mut String) {
    use serde_json::Value;
    let nested = |item: &Value| item.is_object() || item.is_array();
    let parts: Vec<(Option<&String>, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (Some(name), field)).collect(),
        Value::Array(items) if items.iter().any(nested) => items.iter().map(|item| (None, item)).collect(),
        _ => Vec::new(),
    };
    let line = value.to_string();
    if parts.is_empty() || line.len() <= LINE {
        return out.push_str(&line);
    }
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    let pad = |n: usize| format!("\n{}", " ".repeat(n));
    out.push(open);
    for (i, (name, part)) in parts.into_iter().enumerate() {
        out.push_str(if i > 0 { "," } else { "" });
        out.push_str(&pad(indent + 1));
        if let Some(name) = name {
            out.push_str(&format!("{}: ", Value::from(name.as_str())));
        }
        write_value(part, indent + 1, out);
    }
    out.push_str(&pad(indent));
    out.push(close);
}

/// Replaces the file at `path` atomically and creates its folder if needed. Devices and pipes are written directly; a
/// pipe must have a reader within a second.
pub(crate) fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    if is_special(path) {
        return open_output(path, &|| false)?.write_all(text.as_bytes());
    }
    make_folder_of(path)?;
    hashmill_atomic_file::write(path, text.as_bytes())?;
    Ok(())
}

/// Tests whether a file can be written, and removes it again.
pub(crate) fn try_writing(path: &Path) -> io::Result<()> {
    if is_special(path) {
        return Ok(());
    }
    make_folder_of(path)?;
    Ok(hashmill_atomic_file::Replacement::begin(path).map(drop)?)
}

/// Whether the path is neither a file nor a folder.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Creates the folder of `path`.
fn make_folder_of(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder),
        None => Ok(()),
    }
}
