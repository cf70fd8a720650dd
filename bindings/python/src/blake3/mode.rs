//! The mode of BLAKE3, from the arguments `key` and `derive_key_context` of all functions.

use hashmill_hash::blake3::hazmat::{self, ContextKey, Mode};
use hashmill_hash::blake3::{Hasher, KEY_LEN};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::boundary::Bytes;

/// The mode, with its key.
#[derive(Clone)]
pub(crate) enum Function {
    Hash,
    Keyed(Zeroizing<[u8; KEY_LEN]>),
    DeriveKey { context: String, key: ContextKey },
}

impl Function {
    /// The mode from the arguments.
    pub(crate) fn from_args(key: Option<&Bound<'_, PyAny>>, context: Option<&str>) -> PyResult<Function> {
        match (key, context) {
            (None, None) => Ok(Function::Hash),
            (Some(key), None) => {
                let bytes = Bytes::borrow(key)?;
                let bytes = bytes.as_slice();
                let key = bytes.try_into().map_err(|_| {
                    PyValueError::new_err(format!("a key of {} bytes: {KEY_LEN} are needed", bytes.len()))
                })?;
                Ok(Function::Keyed(Zeroizing::new(key)))
            }
            (None, Some(context)) => Ok(Function::DeriveKey {
                context: context.to_owned(),
                key: hazmat::hash_derive_key_context(context),
            }),
            (Some(_), Some(_)) => {
                Err(PyValueError::new_err("key and derive_key_context exclude one another"))
            }
        }
    }

    pub(crate) fn mode(&self) -> Mode<'_> {
        match self {
            Function::Hash => Mode::Hash,
            Function::Keyed(key) => Mode::KeyedHash(key),
            Function::DeriveKey { key, .. } => Mode::DeriveKeyMaterial(key),
        }
    }

    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::with_mode(&self.mode())
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
