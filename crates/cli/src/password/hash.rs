//! `password hash`: the string to store for a new password.

use super::keeper::Keeper;
use super::stored::words;
use super::{By, YES, costs, input, print, print_json};
use crate::engine;
use crate::flags::HashArgs;
use crate::out::progress::hushed;
use crate::{kept, memory, out};
use anyhow::{Context, Result};
use hashmill_hash::password::{PasswordHash, Passwords};
use serde::Serialize;

/// What a hash is made of. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Made {
    hash: String,
    variant: &'static str,
    version: u32,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt_len: usize,
    tag_len: usize,
}

pub(super) fn run(low: &HashArgs) -> Result<u8> {
    let policy = costs::policy(&low.policy)?;
    memory::check(policy.params().blocks())?;
    let device = engine::computer(&low.engine)?;
    let secret = input::secret(&low.input, input::takes_stdin(&low.input))?;
    let password = input::new_password(&low.input)?;
    let mut salt = vec![0; policy.salt_len()];
    getrandom::fill(&mut salt).context("random bytes for the salt")?;
    let keeper = Keeper::new(Passwords::new(policy).plan(kept::argon2()), secret, device);
    let hash = keeper.hash(&password, &salt, low.no_progress || hushed(low.quiet))?;
    if low.json {
        print_json(&By { what: made(&hash), engines: keeper.shares() })?;
    } else {
        print(&format!("{hash}\n"))?;
    }
    if low.quiet {
        return Ok(YES);
    }
    if let Some(note) = costs::note(policy.params()) {
        out::remark(&note);
    }
    if let Some(mishap) = input::mishap(&password) {
        out::remark(&format!("take note: {mishap}"));
    }
    if let Err(error) = hash.to_string().parse::<PasswordHash>() {
        out::remark(&format!(
            "take note: verify will refuse this hash unless told otherwise: {}",
            words(&error.into())
        ));
    }
    Ok(YES)
}

fn made(hash: &PasswordHash) -> Made {
    let params = hash.params();
    Made {
        hash: hash.to_string(),
        variant: params.variant().name(),
        version: params.version().number(),
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        salt_len: hash.salt().len(),
        tag_len: hash.tag_len(),
    }
}
