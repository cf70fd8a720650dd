//! What one call of each row does, on both sides.

use std::num::NonZero;
use std::thread;

use anyhow::Context as _;
use hashmill_hash::argon2::{Hasher, Input, Kernel, Params, Plan};

use super::reference;
use super::row::{Rival, Row};

const PASSWORD: &[u8] = b"MySecurePassword123!";
const SALT: &[u8] = b"0123456789abcdef";

/// One side of a row, with the memory that it keeps.
pub(super) type Call = Box<dyn FnMut(&mut [u8])>;

/// Our side, and the words that say how it works.
pub(super) fn ours(row: Row) -> anyhow::Result<(Call, String)> {
    let params = Params::new(u32::try_from(row.memory / 1024)?, row.passes, row.lanes)?;
    let plan = match row.avx2 {
        true => Plan::of(Kernel::by_name("avx2").context("this CPU cannot run the avx2 kernel")?),
        false => Plan::host(),
    };
    let mut kept = Hasher::with_plan(params, plan);
    let how = format!("{plan:?}, {} streams", plan.width(params));
    let call = move |tag: &mut [u8]| {
        let input = Input::new(PASSWORD, SALT);
        if row.cold {
            kept = Hasher::with_plan(params, plan);
        }
        kept.hash_into(&input, tag).expect("memory for a hash");
        if row.cold {
            // Giving it back belongs to the call as well.
            kept = Hasher::with_plan(params, plan);
        }
    };
    Ok((Box::new(call), how))
}

/// The other side.
pub(super) fn rival(row: Row) -> anyhow::Result<Call> {
    match row.rival {
        Rival::Argon2Rust => argon2_rust(row),
        Rival::RustCrypto => rustcrypto(row),
        Rival::C => Ok(c(row)),
    }
}

fn argon2_rust(row: Row) -> anyhow::Result<Call> {
    use argon2_rust::params::{Memory, TagLen};
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let params = argon2_rust::Params::builder()
        .memory(Memory::kib((row.memory / 1024) as u64))
        .passes(row.passes)
        .lanes(row.lanes)
        .threads(row.lanes.min(cores as u32))
        .tag_len(TagLen::bytes(row.tag_len as u64))
        .build()
        .map_err(|error| anyhow::anyhow!("argon2-rust refuses {row}: {error}"))?;
    let argon2 =
        argon2_rust::Argon2::new(argon2_rust::Algorithm::Argon2id, argon2_rust::Version::V0x13, params);
    let mut kept = argon2.hasher();
    Ok(Box::new(move |tag| match row.cold {
        true => argon2.hash_into(PASSWORD, SALT, tag).expect("a tag of argon2-rust"),
        false => kept.hash_into(PASSWORD, SALT, tag).expect("a tag of argon2-rust"),
    }))
}

fn rustcrypto(row: Row) -> anyhow::Result<Call> {
    let memory = u32::try_from(row.memory / 1024)?;
    let params = argon2::Params::new(memory, row.passes, row.lanes, Some(row.tag_len))
        .map_err(|error| anyhow::anyhow!("argon2 refuses {row}: {error}"))?;
    let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    Ok(Box::new(move |tag| argon2.hash_password_into(PASSWORD, SALT, tag).expect("a tag of argon2")))
}

fn c(row: Row) -> Call {
    Box::new(move |tag| {
        let job = reference::Job {
            variant: 2,
            version: 0x13,
            memory_kib: (row.memory / 1024) as u32,
            passes: row.passes,
            lanes: row.lanes,
            password: PASSWORD,
            salt: SALT,
            secret: &[],
            associated_data: &[],
        };
        reference::hash(&job, tag).expect("a tag of the C reference");
    })
}
