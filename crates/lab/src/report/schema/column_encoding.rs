//! Column encoding of sessions: one column per field instead of repeated field names.

use super::Memory;
use crate::stats::MAX_SESSIONS;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sessions of a row, in order. A column is absent if it would be empty.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionColumns {
    /// Number of complete sessions.
    count: usize,
    /// Resident memory of its processes in bytes, in pages of any size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resident_bytes: Vec<Option<u64>>,
    /// Memory of its processes in huge pages, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    huge_bytes: Vec<Option<u64>>,
    /// Memory of its processes in reserved huge pages, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reserved_bytes: Vec<Option<u64>>,
    /// Memory of its processes in reserved pages of 1 GiB and more, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gigantic_bytes: Vec<Option<u64>>,
}

pub(crate) fn serialize<S: Serializer>(sessions: &[Memory], to: S) -> Result<S::Ok, S::Error> {
    SessionColumns {
        count: sessions.len(),
        resident_bytes: column(sessions, |session| session.resident_bytes),
        huge_bytes: column(sessions, |session| session.huge_bytes),
        reserved_bytes: column(sessions, |session| session.reserved_bytes),
        gigantic_bytes: column(sessions, |session| session.gigantic_bytes),
    }
    .serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Memory>, D::Error> {
    let columns = SessionColumns::deserialize(from)?;
    let count = columns.count;
    if count > MAX_SESSIONS {
        return Err(D::Error::custom(format!("{count} sessions are more than {MAX_SESSIONS}")));
    }
    let lengths = [
        columns.resident_bytes.len(),
        columns.huge_bytes.len(),
        columns.reserved_bytes.len(),
        columns.gigantic_bytes.len(),
    ];
    if let Some(length) = lengths.into_iter().find(|length| ![0, count].contains(length)) {
        return Err(D::Error::custom(format!("a column of {length} belongs to {count} sessions")));
    }
    let sessions = (0..count).map(|i| Memory {
        resident_bytes: at(&columns.resident_bytes, i),
        huge_bytes: at(&columns.huge_bytes, i),
        reserved_bytes: at(&columns.reserved_bytes, i),
        gigantic_bytes: at(&columns.gigantic_bytes, i),
    });
    Ok(sessions.collect())
}

fn column<T>(sessions: &[Memory], of: impl Fn(&Memory) -> Option<T>) -> Vec<Option<T>> {
    let column: Vec<Option<T>> = sessions.iter().map(of).collect();
    if column.iter().any(Option::is_some) { column } else { Vec::new() }
}

fn at<T: Copy>(column: &[Option<T>], session: usize) -> Option<T> {
    column.get(session).copied().flatten()
}
