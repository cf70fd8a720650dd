//! The mode of BLAKE3, from the arguments `key` and `context`. `lib/` refuses both together.

use hashmill_hash::blake3::KEY_LEN;
use hashmill_hash::blake3::hazmat::{self, ContextKey, Mode};
use napi::bindgen_prelude::{Error, Result, Status};
use zeroize::Zeroizing;

#[derive(Clone)]
pub(crate) enum Function {
    Hash,
    Keyed(Zeroizing<[u8; KEY_LEN]>),
    DeriveKey { context: String, key: ContextKey },
}

impl Function {
    pub(crate) fn from_args(key: Option<&[u8]>, context: Option<String>) -> Result<Function> {
        Ok(match (key, context) {
            (Some(key), _) => Function::Keyed(Zeroizing::new(*checked_key(key)?)),
            (None, Some(context)) => {
                let key = hazmat::hash_derive_key_context(&context);
                Function::DeriveKey { context, key }
            }
            (None, None) => Function::Hash,
        })
    }

    pub(crate) fn mode(&self) -> Mode<'_> {
        match self {
            Function::Hash => Mode::Hash,
            Function::Keyed(key) => Mode::KeyedHash(key),
            Function::DeriveKey { key, .. } => Mode::DeriveKeyMaterial(key),
        }
    }

    /// The same mode, for files.
    pub(crate) fn for_files(&self) -> hashmill_files::Function {
        match self {
            Function::Hash => hashmill_files::Function::blake3(),
            Function::Keyed(key) => hashmill_files::Function::keyed(key.clone()),
            Function::DeriveKey { context, .. } => hashmill_files::Function::derive_key(context),
        }
    }
}

pub(crate) fn checked_key(key: &[u8]) -> Result<&[u8; KEY_LEN]> {
    let words = || format!("a key of {} bytes: {KEY_LEN} are needed", key.len());
    key.try_into().map_err(|_| Error::new(Status::InvalidArg, words()))
}
