//! Known answers of a device, before anything is timed: published vectors, and nonces that the processor tries, too.

use super::back_end::BackEnd;
use crate::answers::{ARGON2, CONTEXT, KEY, Tally, argon2_inputs, vectors};
use crate::pow::header;
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{Job, PagePolicy, Params, Plan};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, Watch};
use std::sync::{Mutex, PoisonError};

pub(super) fn check<B: BackEnd>() -> Result<usize, String> {
    let device = B::open().map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    blake3::<B>(&device, &mut tally)?;
    argon2::<B>(&device, &mut tally)?;
    nonces::<B>(&device, &mut tally)?;
    Ok(tally.count())
}

fn blake3<B: BackEnd>(device: &B::Device, tally: &mut Tally) -> Result<(), String> {
    let vectors = vectors()?;
    let derived = hash_derive_key_context(CONTEXT);
    let modes = [Mode::Hash, Mode::KeyedHash(KEY), Mode::DeriveKeyMaterial(&derived)];
    for (number, mode) in modes.iter().enumerate() {
        let blake3 = B::blake3(device, mode).map_err(|error| error.to_string())?;
        let messages: Vec<&[u8]> = vectors.iter().map(|vector| &vector.input[..]).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        B::many(&blake3, &messages, &mut digests).map_err(|error| error.to_string())?;
        for (vector, digest) in vectors.iter().zip(digests) {
            let answer = [vector.hash, vector.keyed, vector.derived][number];
            let len = vector.input.len();
            tally.expect(format!("{}, one of many, of {len} bytes", B::NAME), digest.as_bytes(), answer)?;
            let buffer = B::buffer(device, len).map_err(|error| error.to_string())?;
            B::upload(device, &buffer, &vector.input).map_err(|error| error.to_string())?;
            let digest = B::hash(&blake3, &buffer, len).map_err(|error| error.to_string())?;
            tally.expect(format!("{}, a buffer of {len} bytes", B::NAME), digest.as_bytes(), answer)?;
        }
    }
    Ok(())
}

fn argon2<B: BackEnd>(device: &B::Device, tally: &mut Tally) -> Result<(), String> {
    let (params, input) = argon2_inputs()?;
    for (variant, answer) in ARGON2 {
        let mut argon2 =
            B::argon2(device, params.with_variant(variant), 1).map_err(|error| error.to_string())?;
        let mut tag = [0; 32];
        B::tags(&mut argon2, &mut [Job { input, tag: &mut tag }]).map_err(|error| error.to_string())?;
        tally.expect(format!("{}, {}", B::NAME, variant.name()), &tag, answer)?;
    }
    Ok(())
}

fn nonces<B: BackEnd>(device: &B::Device, tally: &mut Tally) -> Result<(), String> {
    let params = Params::new(64, 2, 1).map_err(|error| error.to_string())?;
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let refused = |error: EngineError| error.to_string();
    let mut processor = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 1).map_err(refused)?;
    let right = hits(&mut processor).map_err(refused)?;
    let found = hits(&mut *B::nonces(device, pow, 2).map_err(|error| error.to_string())?).map_err(refused)?;
    for (nonce, digest) in right {
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let given = found.iter().find(|(found, _)| *found == nonce).map_or(&[][..], |(_, digest)| digest);
        tally.expect(format!("{}, nonce {nonce}", B::NAME), given, &digits)?;
    }
    Ok(())
}

/// The digests of five nonces, all of which are hits.
fn hits(engine: &mut dyn NonceEngine) -> Result<Vec<(u64, [u8; 32])>, EngineError> {
    let header = header();
    let found = Mutex::new(Vec::new());
    let note = |hit: Hit| found.lock().unwrap_or_else(PoisonError::into_inner).push((hit.nonce, hit.digest));
    engine.search(&NonceJob::new(&header, [0xff; 32]), 0..5, &Watch::new(), &note)?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}
