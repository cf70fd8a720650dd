//! [`PasswordHash`]: a stored password hash, and its canonical string.

use crate::argon2::Params;
use base64ct::{Base64Unpadded, Encoding};
use core::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The stored data of one password: parameters, salt and tag.
///
/// `Display` writes the PHC string. `Debug` omits salt and tag. Comparing takes the same time wherever the
/// tags differ, and the tag is wiped on drop.
#[derive(Clone)]
pub struct PasswordHash {
    params: Params,
    salt: Vec<u8>,
    tag: Zeroizing<Vec<u8>>,
    /// Both are empty except in strings of early drafts, see [`Syntax::Lenient`](super::Syntax::Lenient).
    key_id: Vec<u8>,
    associated_data: Vec<u8>,
}

impl PasswordHash {
    /// A hash of these parts. Nothing is computed.
    pub fn new(params: Params, salt: Vec<u8>, tag: Vec<u8>) -> PasswordHash {
        let (key_id, associated_data) = (Vec::new(), Vec::new());
        PasswordHash { params, salt, tag: Zeroizing::new(tag), key_id, associated_data }
    }

    /// The same hash with the extra parts of early drafts: the id of the secret, and data that the hash is
    /// bound to.
    pub fn with_draft_parts(self, key_id: Vec<u8>, associated_data: Vec<u8>) -> PasswordHash {
        PasswordHash { key_id, associated_data, ..self }
    }

    /// Variant, version and costs.
    pub fn params(&self) -> Params {
        self.params
    }

    /// The salt.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// The tag. Compare it with [`matches`](PasswordHash::matches) only.
    pub fn tag(&self) -> &[u8] {
        &self.tag
    }

    /// The length of the tag in bytes.
    pub fn tag_len(&self) -> usize {
        self.tag.len()
    }

    /// The id of the secret, which strings of early drafts may have. Empty elsewhere.
    pub fn key_id(&self) -> &[u8] {
        &self.key_id
    }

    /// Other data that the hash is bound to, which strings of early drafts may have. Empty elsewhere.
    pub fn associated_data(&self) -> &[u8] {
        &self.associated_data
    }

    /// Is `tag` this hash's tag? Takes the same time wherever they differ.
    #[must_use]
    pub fn matches(&self, tag: &[u8]) -> bool {
        self.tag[..].ct_eq(tag).into()
    }
}

impl PartialEq for PasswordHash {
    fn eq(&self, other: &PasswordHash) -> bool {
        self.params == other.params
            && self.salt == other.salt
            && self.key_id == other.key_id
            && self.associated_data == other.associated_data
            && self.matches(&other.tag)
    }
}

impl Eq for PasswordHash {}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash").field("params", &self.params).finish_non_exhaustive()
    }
}

impl fmt::Display for PasswordHash {
    /// The canonical PHC string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, version) = (self.params.variant(), self.params.version().number());
        let (m, t, p) = (self.params.memory_kib(), self.params.passes(), self.params.lanes());
        write!(f, "${variant}$v={version}$m={m},t={t},p={p}")?;
        for (name, bytes) in [(",keyid=", &self.key_id), (",data=", &self.associated_data)] {
            if !bytes.is_empty() {
                f.write_str(name)?;
                write_base64(f, bytes)?;
            }
        }
        f.write_str("$")?;
        write_base64(f, &self.salt)?;
        f.write_str("$")?;
        write_base64(f, &self.tag)
    }
}

/// Base64 without padding, in pieces on the stack.
fn write_base64(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    // A multiple of three bytes ends between characters.
    for piece in bytes.chunks(48) {
        let mut text = Zeroizing::new([0; 64]);
        f.write_str(Base64Unpadded::encode(piece, &mut text[..]).map_err(|_| fmt::Error)?)?;
    }
    Ok(())
}
