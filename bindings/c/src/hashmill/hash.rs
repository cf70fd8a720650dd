//! BLAKE3 of bytes in memory.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, hm_error};
use super::pointers::{call, free, given, hm_room, hm_span, hm_spans, slot};
use super::pool::hm_pool;
use core::mem::MaybeUninit;
use hashmill_hash::blake3::hazmat::{ContextKey, Mode, forgetting, hash_derive_key_context};
use hashmill_hash::blake3::{Hash, Hasher, KEY_LEN, OUT_LEN, Plan, batch};
use zeroize::Zeroizing;

/// How BLAKE3 is used.
pub type hm_mode = u32;

/// Plain digests, without a key.
pub const HM_MODE_HASH: hm_mode = 0;
/// Digests with a secret key of 32 bytes: a message authentication code.
pub const HM_MODE_KEYED: hm_mode = 1;
/// Key derivation for one purpose. The key is a text that names the purpose, such as `example.com 2026-11-20 session tokens v1`,
/// and the input is the key material.
pub const HM_MODE_DERIVE: hm_mode = 2;

/// BLAKE3 in one of its modes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_function {
    /// Which.
    mode: hm_mode,
    /// The key for the mode.
    key: hm_span,
}

/// A mode with its key, which is wiped.
#[derive(Clone)]
pub(super) enum Keyed {
    Plain,
    Key(Zeroizing<[u8; KEY_LEN]>),
    Context(ContextKey),
}

impl Keyed {
    pub(super) fn mode(&self) -> Mode<'_> {
        match self {
            Keyed::Plain => Mode::Hash,
            Keyed::Key(key) => Mode::KeyedHash(key),
            Keyed::Context(key) => Mode::DeriveKeyMaterial(key),
        }
    }
}

impl hm_function {
    pub(super) fn keyed(&self) -> Result<Keyed, hm_error> {
        let wrong = |text| Err(hm_error::new(HM_ARGUMENT, text));
        match self.mode {
            HM_MODE_HASH if self.key.is_empty() => Ok(Keyed::Plain),
            HM_MODE_HASH => wrong("function.key: HM_MODE_HASH has none".to_owned()),
            HM_MODE_KEYED => match self.key.bytes("function.key")?.try_into() {
                Ok(key) => Ok(Keyed::Key(Zeroizing::new(key))),
                Err(_) => wrong("function.key has not 32 bytes".to_owned()),
            },
            HM_MODE_DERIVE => Ok(Keyed::Context(hash_derive_key_context(self.key.text("function.key")?))),
            other => wrong(format!("function.mode: {other} is no value of hm_mode")),
        }
    }

    pub(super) fn is_keyed(&self) -> bool {
        self.mode != HM_MODE_HASH
    }

    /// The context of a key derivation, or the key.
    pub(super) fn key(&self) -> hm_span {
        self.key
    }

    pub(super) fn number(&self) -> hm_mode {
        self.mode
    }
}

/// Does the work of a call. If there is a key, it is wiped from the stack of this thread, but not from those of a pool's threads.
pub(super) fn hashing(is_keyed: bool, work: impl FnOnce() -> Result<(), hm_error>) -> Option<Box<hm_error>> {
    if is_keyed { forgetting(|| call(work)) } else { call(work) }
}

/// The pool, if a second thread may be faster.
fn useful_pool(pool: Option<&hm_pool>, len: usize) -> Option<&rayon::ThreadPool> {
    pool.filter(|_| len >= Plan::host().parallel_from())?.here()
}

fn update(hasher: &mut Hasher, input: &[u8], pool: Option<&hm_pool>) {
    match useful_pool(pool, input.len()) {
        Some(pool) => {
            pool.install(|| hasher.update_parallel(input));
        }
        None => {
            hasher.update(input);
        }
    }
}

/// Fills `out` with the output for an input: the first 32 bytes are the digest. `pool` may be NULL: then this thread does the
/// work. Input and output may overlap.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hash(
    function: hm_function,
    input: hm_span,
    pool: Option<&hm_pool>,
    mut out: hm_room,
) -> Option<Box<hm_error>> {
    hashing(function.is_keyed(), || {
        let (keyed, input) = (function.keyed()?, input.bytes("input")?);
        out.check("out")?;
        if out.len() == OUT_LEN && useful_pool(pool, input.len()).is_none() {
            let mut digest = [Hash::from_bytes([0; OUT_LEN])];
            batch::hash_all(&keyed.mode(), &[input], &mut digest);
            out.bytes("out")?.copy_from_slice(digest[0].as_bytes());
            return Ok(());
        }
        let mut hasher = Hasher::with_mode(&keyed.mode());
        update(&mut hasher, input, pool);
        hasher.finalize_xof().fill(out.bytes("out")?);
        Ok(())
    })
}

/// The digests of many inputs, side by side in the lanes of the processor, and on the threads of `pool` unless it is NULL. `out`
/// has 32 bytes for each input, in their order; inputs may overlap it.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hash_many(
    function: hm_function,
    inputs: hm_spans,
    pool: Option<&hm_pool>,
    mut out: hm_room,
) -> Option<Box<hm_error>> {
    hashing(function.is_keyed(), || {
        let (keyed, inputs) = (function.keyed()?, inputs.bytes("inputs")?);
        out.check("out")?;
        if inputs.len().checked_mul(OUT_LEN) != Some(out.len()) {
            let (given, count) = (out.len(), inputs.len());
            let text = format!("out has {given} bytes: {count} inputs have digests of 32 bytes each");
            return Err(hm_error::new(HM_ARGUMENT, text));
        }
        let mut digests = vec![Hash::from_bytes([0; OUT_LEN]); inputs.len()];
        match useful_pool(pool, cost(&inputs)) {
            Some(pool) => pool.install(|| hash_in_halves(&keyed.mode(), &inputs, &mut digests)),
            None => batch::hash_all(&keyed.mode(), &inputs, &mut digests),
        }
        for (out, digest) in out.bytes("out")?.chunks_exact_mut(OUT_LEN).zip(&digests) {
            out.copy_from_slice(digest.as_bytes());
        }
        Ok(())
    })
}

/// Minimum work for a second thread.
const SHARE: usize = 128 << 10;

/// Bytes, plus a fixed cost per message.
fn cost(messages: &[&[u8]]) -> usize {
    messages.iter().map(|message| message.len() + 64).fold(0, usize::saturating_add)
}

/// Hands one half to a free thread, until the parts are small.
fn hash_in_halves(mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    if cost(messages) <= SHARE {
        return batch::hash_all(mode, messages, out);
    }
    if let ([message], [out]) = (messages, &mut *out) {
        *out = Hasher::with_mode(mode).update_parallel(message).finalize();
        return;
    }
    let half = messages.len() / 2;
    let (left, right) = out.split_at_mut(half);
    rayon::join(
        || hash_in_halves(mode, &messages[..half], left),
        || hash_in_halves(mode, &messages[half..], right),
    );
}

/// A hasher for input in pieces.
#[derive(Debug)]
pub struct hm_hasher(Hasher);

/// Creates an empty hasher.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_create(
    function: hm_function,
    hasher: Option<&mut MaybeUninit<Option<Box<hm_hasher>>>>,
) -> Option<Box<hm_error>> {
    hashing(function.is_keyed(), || {
        let out = slot(hasher, None, "hasher")?;
        *out = Some(Box::new(hm_hasher(Hasher::with_mode(&function.keyed()?.mode()))));
        Ok(())
    })
}

/// Adds the next piece, with the help of `pool` unless it is NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_update(
    hasher: Option<&mut hm_hasher>,
    input: hm_span,
    pool: Option<&hm_pool>,
) -> Option<Box<hm_error>> {
    hashing(hasher.as_ref().is_some_and(|hasher| hasher.0.is_keyed()), || {
        update(&mut given(hasher, "hasher")?.0, input.bytes("input")?, pool);
        Ok(())
    })
}

/// Fills `out` with the output for the input so far, from byte `seek` on. More input may follow.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_finalize(
    hasher: Option<&hm_hasher>,
    seek: u64,
    mut out: hm_room,
) -> Option<Box<hm_error>> {
    hashing(hasher.as_ref().is_some_and(|hasher| hasher.0.is_keyed()), || {
        let (hasher, out) = (given(hasher, "hasher")?, out.bytes("out")?);
        if seek.checked_add(out.len() as u64).is_none() {
            return Err(hm_error::new(HM_ARGUMENT, "out reaches beyond the last byte of output"));
        }
        let mut output = hasher.0.finalize_xof();
        output.set_position(seek);
        output.fill(out);
        Ok(())
    })
}

/// Discards the input so far.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_reset(hasher: Option<&mut hm_hasher>) -> Option<Box<hm_error>> {
    hashing(hasher.as_ref().is_some_and(|hasher| hasher.0.is_keyed()), || {
        given(hasher, "hasher")?.0.reset();
        Ok(())
    })
}

/// Another hasher with the same state.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_clone(
    hasher: Option<&hm_hasher>,
    copy: Option<&mut MaybeUninit<Option<Box<hm_hasher>>>>,
) -> Option<Box<hm_error>> {
    hashing(hasher.as_ref().is_some_and(|hasher| hasher.0.is_keyed()), || {
        let out = slot(copy, None, "copy")?;
        *out = Some(Box::new(hm_hasher(given(hasher, "hasher")?.0.clone())));
        Ok(())
    })
}

/// Wipes and frees a hasher, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_hasher_free(hasher: Option<Box<hm_hasher>>) {
    free(hasher);
}
