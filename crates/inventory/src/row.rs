//! One row of an inventory: the name of an object and its listed properties.

use hashmill_hash::blake3;

use crate::location::Location;
use crate::row_result::Failure;

/// An object to hash, with its listed properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRequest {
    pub(crate) location: Location,
    /// Listed size in bytes.
    pub(crate) size: Option<u64>,
    pub(crate) etag: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) blake3: Option<[u8; 32]>,
}

/// One row of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub(crate) url: Option<String>,
    pub(crate) request: Result<ObjectRequest, Failure>,
}

impl Row {
    /// A row that lists only a name.
    pub fn from_url(url: impl Into<String>) -> Row {
        let url = url.into();
        let request = Location::from_url(&url).map(|location| ObjectRequest {
            location,
            size: None,
            etag: None,
            version: None,
            blake3: None,
        });
        Row { url: Some(url), request }
    }

    /// Adds all fields of the row to `hasher`.
    pub(crate) fn hash(&self, hasher: &mut blake3::Hasher) {
        let mut field = |bytes: Option<&[u8]>| {
            // No field has this length, so it marks a missing one.
            let len = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
            hasher.update(&len.to_le_bytes()).update(bytes.unwrap_or_default());
        };
        field(self.url.as_deref().map(str::as_bytes));
        match &self.request {
            Ok(request) => {
                field(request.size.map(u64::to_le_bytes).as_ref().map(<[u8; 8]>::as_slice));
                field(request.etag.as_deref().map(str::as_bytes));
                field(request.version.as_deref().map(str::as_bytes));
                field(request.blake3.as_ref().map(<[u8; 32]>::as_slice));
            }
            Err(failure) => field(Some(failure.words.as_bytes())),
        }
    }
}
