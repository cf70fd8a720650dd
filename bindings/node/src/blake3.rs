//! BLAKE3 of bytes: in one call, in pieces, and with any length of output.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hashmill_hash::blake3::hazmat::{self, Mode};
use hashmill_hash::blake3::{self, OUT_LEN, OutputReader};
use napi::bindgen_prelude::{AsyncTask, BigInt, Error, Result, Status};
use napi_derive::napi;

use crate::error::Failure;
use crate::mode::checked_key;
use crate::work::{Stop, Work};

/// A JavaScript buffer that is filled synchronously.
pub type Room<'a> = &'a mut [u8];

/// The hash of `input`, with the length of `out`.
#[napi(catch_unwind)]
pub fn hash(input: &[u8], out: Room<'_>) {
    fill(&Mode::Hash, input, out);
}

#[napi(catch_unwind)]
pub fn keyed_hash(key: &[u8], input: &[u8], out: Room<'_>) -> Result<()> {
    fill(&Mode::KeyedHash(checked_key(key)?), input, out);
    Ok(())
}

/// In the original package a context is bytes, which need not be UTF-8.
#[napi(catch_unwind)]
pub fn derive_key(context: &[u8], material: &[u8], out: Room<'_>) {
    let context = hazmat::hash_derive_key_context_bytes(context);
    fill(&Mode::DeriveKeyMaterial(&context), material, out);
}

fn fill(mode: &Mode<'_>, input: &[u8], out: &mut [u8]) {
    let mut hasher = blake3::Hasher::with_mode(mode);
    hasher.update_parallel(input);
    finish(&hasher, out);
}

fn finish(hasher: &blake3::Hasher, out: &mut [u8]) {
    match <&mut [u8; OUT_LEN]>::try_from(&mut *out) {
        Ok(out) => *out = *hasher.finalize().as_bytes(),
        Err(_) => hasher.finalize_xof().fill(out),
    }
}

/// A message in progress.
#[napi]
pub struct Hasher(Arc<Shared>);

struct Shared {
    state: Mutex<blake3::Hasher>,
    /// Pieces that wait for a thread, in order: the thread that holds the state takes the first.
    pieces: Mutex<VecDeque<Vec<u8>>>,
}

#[napi]
impl Hasher {
    #[napi(constructor)]
    pub fn new(key: Option<&[u8]>, context: Option<&[u8]>) -> Result<Hasher> {
        let context = context.map(hazmat::hash_derive_key_context_bytes);
        let hasher = match (key, &context) {
            (Some(key), _) => blake3::Hasher::with_mode(&Mode::KeyedHash(checked_key(key)?)),
            (None, Some(context)) => blake3::Hasher::with_mode(&Mode::DeriveKeyMaterial(context)),
            (None, None) => blake3::Hasher::new(),
        };
        Ok(Hasher(Arc::new(Shared { state: Mutex::new(hasher), pieces: Mutex::default() })))
    }

    #[napi(catch_unwind)]
    pub fn update(&self, input: &[u8]) -> Result<()> {
        self.state()?.update_parallel(input);
        Ok(())
    }

    /// [`update`](Hasher::update) on another thread, with a copy of the bytes. Until all such calls are done, no other method
    /// may be called.
    #[napi(catch_unwind)]
    pub fn update_later(&self, input: &[u8], stop: &Stop) -> Result<AsyncTask<Work<()>>> {
        let mut bytes = Vec::new();
        let words = || format!("no memory for {} bytes", input.len());
        bytes.try_reserve_exact(input.len()).map_err(|_| Error::from_reason(words()))?;
        bytes.extend_from_slice(input);
        self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner).push_back(bytes);
        let (shared, stop) = (Arc::clone(&self.0), Arc::clone(&stop.0));
        Ok(AsyncTask::new(Work::new(move || {
            let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            let piece = shared.pieces.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if stop.is_set() {
                return Err(Failure::stopped());
            }
            state.update_parallel(&piece.unwrap_or_default());
            Ok(())
        })))
    }

    /// The digest of the input so far.
    #[napi(catch_unwind)]
    pub fn digest(&self, out: Room<'_>) -> Result<()> {
        finish(&*self.state()?, out);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn reader(&self) -> Result<Reader> {
        Ok(Reader(self.state()?.finalize_xof()))
    }

    /// The state, without waiting: a thread may hold it for a long time.
    fn state(&self) -> Result<MutexGuard<'_, blake3::Hasher>> {
        match self.0.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(Status::GenericFailure, "another thread updates this hasher"))
            }
        }
    }
}

/// The output of a message, from any position on.
#[napi]
pub struct Reader(OutputReader);

#[napi]
impl Reader {
    #[napi(getter, catch_unwind)]
    pub fn position(&self) -> BigInt {
        self.0.position().into()
    }

    #[napi(catch_unwind)]
    pub fn seek(&mut self, position: BigInt) -> Result<()> {
        match position.get_u64() {
            (false, position, true) => {
                self.0.set_position(position);
                Ok(())
            }
            _ => Err(Error::new(Status::InvalidArg, "a position from 0 to 2^64 - 1 is needed")),
        }
    }

    #[napi(catch_unwind)]
    pub fn fill(&mut self, out: Room<'_>) {
        self.0.fill(out);
    }
}
