//! Known-answer tests of a device before timing: published vectors, and nonces that the CPU repeats.

use super::open;
use crate::argon2::pow::header;
use crate::known_answers::{ARGON2, CONTEXT, KEY, Tally, argon2_inputs, vectors};
use hashmill_gpu::{BackEnd, Device};
use hashmill_hash::argon2::pow::{HitChecker, Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{Job, PagePolicy, Params, Plan};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, SearchMonitor, search};
use hashmill_hash::hex;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) fn check(back_end: BackEnd) -> Result<usize, String> {
    let device = open(back_end).map_err(text)?;
    let mut tally = Tally::default();
    blake3(&device, &mut tally)?;
    argon2(&device, &mut tally)?;
    nonces(&device, &mut tally)?;
    Ok(tally.count())
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn blake3(device: &Device, tally: &mut Tally) -> Result<(), String> {
    let vectors = vectors()?;
    let (derived, name) = (hash_derive_key_context(CONTEXT), device.back_end());
    let modes = [Mode::Hash, Mode::KeyedHash(KEY), Mode::DeriveKeyMaterial(&derived)];
    for (number, mode) in modes.iter().enumerate() {
        let blake3 = device.blake3(mode).map_err(text)?;
        let messages: Vec<&[u8]> = vectors.iter().map(|vector| &vector.input[..]).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        blake3.hash_many(&messages, &mut digests).map_err(text)?;
        for (vector, digest) in vectors.iter().zip(digests) {
            let answer = [vector.hash, vector.keyed, vector.derived][number];
            let len = vector.input.len();
            tally.expect(format!("{name}, one of many, of {len} bytes"), digest.as_bytes(), answer)?;
            let buffer = device.buffer(len as u64).map_err(text)?;
            buffer.write(0, &vector.input).map_err(text)?;
            let digest = blake3.hash_buffer(&buffer, 0, len as u64).map_err(text)?;
            tally.expect(format!("{name}, a buffer of {len} bytes"), digest.as_bytes(), answer)?;
        }
    }
    Ok(())
}

fn argon2(device: &Device, tally: &mut Tally) -> Result<(), String> {
    let (params, input) = argon2_inputs()?;
    for (variant, answer) in ARGON2 {
        let mut argon2 = device.argon2(params.with_variant(variant), 1).map_err(text)?;
        let mut tag = [0; 32];
        argon2.hash(&mut [Job { input, tag: &mut tag }]).map_err(text)?;
        tally.expect(format!("{}, {}", device.back_end(), variant.name()), &tag, answer)?;
    }
    Ok(())
}

fn nonces(device: &Device, tally: &mut Tally) -> Result<(), String> {
    let params = Params::new(64, 2, 1).map_err(text)?;
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let mut processor = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 1).map_err(text)?;
    let right = hits(&mut processor).map_err(text)?;
    let checker = Arc::new(HitChecker::new(pow).map_err(text)?);
    let found = hits(&mut device.nonces(checker, 2).map_err(text)?).map_err(text)?;
    for (nonce, digest) in right {
        let digits = hex::encode(&digest);
        let given = found.iter().find(|(found, _)| *found == nonce).map_or(&[][..], |(_, digest)| digest);
        tally.expect(format!("{}, nonce {nonce}", device.back_end()), given, &digits)?;
    }
    Ok(())
}

/// Digests of five nonces that are all hits.
fn hits(engine: &mut dyn NonceEngine) -> Result<Vec<(u64, [u8; 32])>, EngineError> {
    let header = header();
    let found = Mutex::new(Vec::new());
    let note = |hit: Hit| found.lock().unwrap_or_else(PoisonError::into_inner).push((hit.nonce, hit.digest));
    search(engine, &NonceJob::new(&header, [0xff; 32]), 0..5, &SearchMonitor::new(), &note)?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}
