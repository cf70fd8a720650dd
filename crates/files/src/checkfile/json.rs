//! Lines of JSON, as `sum --json` writes them.

use super::parse::{self, Entry, LineError, Mode, Note, Parsed};
use super::{Algorithm, Style};
use std::path::Path;

/// The fields that matter. Others may come.
#[derive(serde::Deserialize)]
struct Object {
    path: Option<String>,
    path_hex: Option<String>,
    algorithm: Option<String>,
    mode: Option<String>,
    size: Option<u64>,
    seek: Option<u64>,
    digest: Option<String>,
    error: Option<String>,
}

/// Reads a line that begins as an object does.
pub(super) fn parse(line: &[u8], style: Style) -> Result<Parsed, LineError> {
    let object: Object = serde_json::from_slice(line).map_err(|_| LineError::Json)?;
    let Object { path: Some(path), path_hex, algorithm, mode, size, seek, digest, error } = object else {
        return Err(LineError::Json);
    };
    if error.is_some() && digest.is_none() {
        return Ok(Parsed::Nothing(Note::Failure));
    }
    let (Some(algorithm), Some(digest)) = (algorithm, digest) else { return Err(LineError::Json) };
    let algorithm = Algorithm::by_key(&algorithm).ok_or(LineError::OtherAlgorithm { known: None })?;
    let mode = match mode {
        Some(mode) => Some(Mode::by_key(&mode).ok_or(LineError::Json)?),
        None => None,
    };
    // The digest of a tree has its own length, whatever that of files is.
    let style = if mode == Some(Mode::Tree) { Style { length: None, ..style } } else { style };
    parse::function(digest.len(), Some(algorithm), style)?;
    let mut notes = Vec::new();
    let digest = parse::decode(digest.as_bytes(), &mut notes)?;
    // JSON keeps every character, and the bytes of names that have others.
    let bytes = match path_hex {
        Some(digits) => parse::decode(digits.as_bytes(), &mut Vec::new())?,
        None => path.into_bytes(),
    };
    let path = parse::path(bytes, Style { bytes: true, ..style })?;
    let label = label(&path);
    Ok(Parsed::Entry(Entry {
        path,
        label,
        digest,
        algorithm: Some(algorithm),
        tagged: true,
        mode,
        seek,
        size,
        modified: None,
        notes,
    }))
}

/// The name as a list would have it.
fn label(path: &Path) -> Vec<u8> {
    let (escaped, text) = super::escape(path.to_string_lossy());
    [if escaped { "\\" } else { "" }, &text].concat().into_bytes()
}
