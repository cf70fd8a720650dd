//! Parser for lines of JSON, as `sum --json` writes them.

use super::parse::{self, Entry, LineError, LineWarning, Mode, ParsedLine};
use super::{Algorithm, ListFormat};
use std::path::Path;

/// The relevant fields. Others are ignored.
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

/// Parses a line that begins like an object.
pub(super) fn parse(line: &[u8], style: ListFormat) -> Result<ParsedLine, LineError> {
    let object: Object = serde_json::from_slice(line).map_err(|_| LineError::Json)?;
    let Object { path: Some(path), path_hex, algorithm, mode, size, seek, digest, error } = object else {
        return Err(LineError::Json);
    };
    if error.is_some() && digest.is_none() {
        return Ok(ParsedLine::Nothing(LineWarning::Failure));
    }
    let (Some(algorithm), Some(digest)) = (algorithm, digest) else { return Err(LineError::Json) };
    let algorithm = Algorithm::by_key(&algorithm).ok_or(LineError::OtherAlgorithm { known: None })?;
    let mode = match mode {
        Some(mode) => Some(Mode::by_key(&mode).ok_or(LineError::Json)?),
        None => None,
    };
    // The digest of a tree has a fixed length.
    let style = if mode == Some(Mode::Tree) { ListFormat { length: None, ..style } } else { style };
    parse::function(digest.len(), Some(algorithm), style)?;
    let mut notes = Vec::new();
    let digest = parse::decode(digest.as_bytes(), &mut notes)?;
    // JSON preserves every character; names that are not text are in `path_hex`.
    let bytes = match path_hex {
        Some(digits) => parse::decode(digits.as_bytes(), &mut Vec::new())?,
        None => path.into_bytes(),
    };
    let path = parse::path(bytes, ListFormat { bytes: true, ..style })?;
    let label = label(&path);
    Ok(ParsedLine::Entry(Entry {
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

/// The name as in a list.
fn label(path: &Path) -> Vec<u8> {
    let (escaped, text) = super::escape(path.to_string_lossy());
    [if escaped { "\\" } else { "" }, &text].concat().into_bytes()
}
