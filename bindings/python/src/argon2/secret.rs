//! Functions on secrets with explicit parameters: the native part of `hashmill.argon2.low_level`.

use std::mem;
use std::sync::{Arc, LazyLock};

use hashmill_hash::argon2::{Arenas, HashError, Hasher, Input, Params, Stop, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax, VerifyError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::failure::{HashingError, VerificationError, from_hash_error, from_phc_error, from_verify_error};
use crate::boundary::Bytes;
use crate::long_call::interruptible;

/// Minimum length of a salt in the reference implementation.
const MIN_SALT: usize = 8;

/// Maximum memory kept for the next hash: 256 MiB.
static ARENAS: LazyLock<Arenas> = LazyLock::new(|| Arenas::new(256 << 10));

/// Hashes with more work than this, in KiB times passes, check for signals: smaller ones take a few hundred milliseconds.
const LONG_KIB: u64 = 1 << 19;

/// A variant by its number in the reference implementation.
pub(super) fn variant(number: u32) -> PyResult<Variant> {
    match number {
        0 => Ok(Variant::D),
        1 => Ok(Variant::I),
        2 => Ok(Variant::Id),
        _ => Err(PyValueError::new_err(format!("type {number}: 0, 1 and 2 exist"))),
    }
}

/// `time_cost`, `memory_cost`, `parallelism`, the number of the type, the version.
type Costs = (u32, u32, u32, u32, u32);

fn params((time, memory, lanes, kind, version): Costs) -> PyResult<Params> {
    let variant = variant(kind)?;
    let params = Params::new(memory, time, lanes)
        .and_then(|params| Ok(params.with_variant(variant).with_version(Version::from_number(version)?)));
    params.map_err(|error| HashingError::new_err(error.to_string()))
}

/// The tag of a secret, computed in memory that is kept for the next call.
fn tag(
    params: Params,
    secret: &[u8],
    salt: &[u8],
    tag_len: usize,
    stop: &Stop,
) -> Result<Zeroizing<Vec<u8>>, HashError> {
    let mut tag = Zeroizing::new(Vec::new());
    let room = tag.try_reserve_exact(tag_len);
    room.map_err(|_| HashError::OutOfMemory { bytes: tag_len as u64 })?;
    tag.resize(tag_len, 0);
    let input = Input::new(secret, salt);
    ARENAS.lend(Hasher::new(params), |hasher| hasher.hash_until(&input, &mut tag, stop))?;
    Ok(tag)
}

/// [`tag`] while other Python threads run. A long computation checks for signals: a handler that raises ends it.
fn tag_for(
    py: Python<'_>,
    params: Params,
    secret: &[u8],
    salt: &[u8],
    tag_len: usize,
) -> PyResult<Result<Zeroizing<Vec<u8>>, HashError>> {
    let work = u64::from(params.memory_kib()) * u64::from(params.passes()) + (tag_len as u64 >> 10);
    if work < LONG_KIB {
        return Ok(py.detach(|| tag(params, secret, salt, tag_len, &Stop::new())));
    }
    let stop = Arc::new(Stop::new());
    let stopped = Arc::clone(&stop);
    let (secret, salt) = (Zeroizing::new(secret.to_vec()), salt.to_vec());
    interruptible(py, || stop.set(), move || tag(params, &secret, &salt, tag_len, &stopped))
}

fn hash(
    py: Python<'_>,
    secret: &Bound<'_, PyAny>,
    salt: &Bound<'_, PyAny>,
    costs: Costs,
    tag_len: usize,
) -> PyResult<PasswordHash> {
    let (secret, salt) = (Bytes::borrow(secret)?, Bytes::borrow(salt)?);
    let (secret, salt) = (secret.as_slice(), salt.as_slice());
    let params = params(costs)?;
    if salt.len() < MIN_SALT {
        let given = salt.len();
        return Err(HashingError::new_err(format!(
            "a salt of {given} bytes: at least {MIN_SALT} are needed"
        )));
    }
    let mut tag = tag_for(py, params, secret, salt, tag_len)?.map_err(from_hash_error)?;
    Ok(PasswordHash::new(params, salt.to_vec(), mem::take(&mut tag)))
}

/// An encoded hash.
#[pyfunction]
#[pyo3(signature = (secret, salt, costs, hash_len))]
pub(super) fn hash_secret<'py>(
    py: Python<'py>,
    secret: &Bound<'py, PyAny>,
    salt: &Bound<'py, PyAny>,
    costs: Costs,
    hash_len: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let hash = hash(py, secret, salt, costs, hash_len)?;
    Ok(PyBytes::new(py, hash.to_string().as_bytes()))
}

/// A raw hash.
#[pyfunction]
#[pyo3(signature = (secret, salt, costs, hash_len))]
pub(super) fn hash_secret_raw<'py>(
    py: Python<'py>,
    secret: &Bound<'py, PyAny>,
    salt: &Bound<'py, PyAny>,
    costs: Costs,
    hash_len: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, hash(py, secret, salt, costs, hash_len)?.tag()))
}

/// Whether a secret matches an encoded hash, with limits for memory and for memory times passes.
#[pyfunction]
#[pyo3(signature = (hash, secret, kind, max_memory_cost, max_work))]
pub(super) fn verify_secret(
    py: Python<'_>,
    hash: &Bound<'_, PyAny>,
    secret: &Bound<'_, PyAny>,
    kind: u32,
    max_memory_cost: Option<u32>,
    max_work: Option<u64>,
) -> PyResult<bool> {
    let mut limits = Limits::NONE;
    limits.memory_kib = max_memory_cost.unwrap_or(limits.memory_kib);
    limits.work_kib = max_work.unwrap_or(limits.work_kib);
    let (hash, secret) = (Bytes::borrow(hash)?, Bytes::borrow(secret)?);
    let stored = PasswordHash::decode(hash.as_slice(), Syntax::Strict, &limits).map_err(from_phc_error)?;
    let (params, salt) = (stored.params(), stored.salt());
    if params.variant() != variant(kind)? {
        return Err(VerificationError::new_err(format!(
            "a hash of {}, which is another type",
            params.variant()
        )));
    }
    if salt.len() < MIN_SALT {
        let given = salt.len();
        return Err(VerificationError::new_err(format!(
            "a salt of {given} bytes: at least {MIN_SALT} are needed"
        )));
    }
    let tag = tag_for(py, params, secret.as_slice(), salt, stored.tag_len())?;
    let tag = tag.map_err(|error| from_verify_error(VerifyError::Hash(error)))?;
    if stored.matches(&tag) { Ok(true) } else { Err(from_verify_error(VerifyError::Mismatch)) }
}
