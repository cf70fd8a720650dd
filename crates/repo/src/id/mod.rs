//! Ids of documents, peers and storages.

mod base58check;
mod document_id;
mod document_url;
mod text_id;

pub use document_id::{DocumentId, ParseIdError};
pub use document_url::{DocumentUrl, ParseUrlError};
pub use text_id::{PeerId, StorageId};

pub(crate) use document_url::{head_text, parse_head};

/// Sets the version bits of a UUID of version 4.
fn uuid_v4(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}
