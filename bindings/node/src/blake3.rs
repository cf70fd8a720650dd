//! BLAKE3 of bytes: at once, in pieces, and as much output as wanted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hashmill_hash::blake3::hazmat::{self, Mode};
use hashmill_hash::blake3::{self, OUT_LEN, OutputReader};
use napi::bindgen_prelude::{AsyncTask, BigInt, Error, Result, Status};
use napi_derive::napi;

use crate::failure::Failure;
use crate::mode::key_of;
use crate::work::{Stop, Work};

/// A buffer of JavaScript that is filled at once.
pub type Room<'a> = &'a mut [u8];

/// The hash of `input`, as much of it as `out` has room for.
#[napi(catch_unwind)]
pub fn hash(input: &[u8], out: Room<'_>) {
    fill(&Mode::Hash, input, out);
}

#[napi(catch_unwind)]
pub fn keyed_hash(key: &[u8], input: &[u8], out: Room<'_>) -> Result<()> {
    fill(&Mode::KeyedHash(key_of(key)?), input, out);
    Ok(())
}

/// The context of the original is bytes, which need not be UTF-8.
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
    /// Pieces that wait for a thread, in their order: whichever thread has the state takes the first.
    pieces: Mutex<VecDeque<Vec<u8>>>,
}

#[napi]
impl Hasher {
    #[napi(constructor)]
    pub fn new(key: Option<&[u8]>, context: Option<&[u8]>) -> Result<Hasher> {
        let context = context.map(hazmat::hash_derive_key_context_bytes);
        let hasher = match (key, &context) {
            (Some(key), _) => blake3::Hasher::with_mode(&Mode::KeyedHash(key_of(key)?)),
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

    /// [`update`](Hasher::update) on another thread, of bytes that are copied now. Until all such are done only more of them
    /// may be asked for.
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

    /// The digest of what has come so far.
    #[napi(catch_unwind)]
    pub fn digest(&self, out: Room<'_>) -> Result<()> {
        finish(&*self.state()?, out);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn reader(&self) -> Result<Reader> {
        Ok(Reader(self.state()?.finalize_xof()))
    }

    /// The state, which is never waited for: whoever has it may take long.
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
