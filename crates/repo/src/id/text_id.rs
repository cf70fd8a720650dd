//! Ids that are free text: those of peers and of storages.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

/// The id of a peer: any text, unique among the peers that can meet. A clone is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(Arc<str>);

/// The id of a storage: any text, by convention a UUID. It stays the same over restarts. A clone is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StorageId(Arc<str>);

impl PeerId {
    /// `PREFIX-` and the hexadecimal digits of random bytes.
    pub fn from_random_bytes(prefix: &str, bytes: [u8; 8]) -> PeerId {
        PeerId(format!("{prefix}-{:016x}", u64::from_be_bytes(bytes)).into())
    }
}

impl StorageId {
    /// The text of a UUID of version 4 with these random bytes.
    pub fn from_random_bytes(bytes: [u8; 16]) -> StorageId {
        let mut text = String::with_capacity(36);
        for (index, byte) in super::uuid_v4(bytes).iter().enumerate() {
            if [4, 6, 8, 10].contains(&index) {
                text.push('-');
            }
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        }
        StorageId(text.into())
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_id!(PeerId);
text_id!(StorageId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_have_the_usual_forms() {
        let peer = PeerId::from_random_bytes("peer", [0, 0, 0, 0, 0, 0, 1, 0xab]);
        assert_eq!(peer.as_str(), "peer-00000000000001ab");
        let storage = StorageId::from_random_bytes([0xff; 16]);
        assert_eq!(storage.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
