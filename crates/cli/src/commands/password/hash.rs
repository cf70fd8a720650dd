//! `password hash`: the string to store for a new password.

use super::costs;
use super::input::{self, stored_hash};
use super::report::{EngineUsage, YES, print_json};
use super::service::PasswordService;
use crate::engines;
use crate::flags::HashArgs;
use crate::output::progress::hushed;
use crate::output::{self, print};
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Context, Result};
use hashmill_hash::password::{PasswordHash, Passwords};
use serde::Serialize;

/// A hash and its parameters. The field names are those of the JSON.
#[derive(Serialize)]
struct HashReport {
    hash: String,
    variant: &'static str,
    version: u32,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt_len: usize,
    tag_len: usize,
}

pub(super) fn run(flags: &HashArgs) -> Result<u8> {
    let policy = costs::policy(&flags.policy)?;
    memory::check(policy.params().blocks())?;
    let engine = engines::tag_engine(&flags.engine)?;
    let secret = input::secret(&flags.input, input::takes_stdin(&flags.input))?;
    let password = input::new_password(&flags.input)?;
    let mut salt = vec![0; policy.salt_len()];
    getrandom::fill(&mut salt).context("random bytes for the salt")?;
    let service = PasswordService::new(Passwords::new(policy).plan(tune_file::argon2()), secret, engine);
    let hash = service.hash(&password, &salt, flags.no_progress || hushed(flags.quiet))?;
    if flags.json {
        print_json(&EngineUsage { result: hash_report(&hash), engines: service.shares() })?;
    } else {
        print(&format!("{hash}\n"))?;
    }
    if flags.quiet {
        return Ok(YES);
    }
    if let Some(note) = costs::weakness_note(policy.params()) {
        output::print_note(&note);
    }
    if let Some(mishap) = input::mishap(&password) {
        output::print_note(&format!("note: {mishap}"));
    }
    if let Err(error) = hash.to_string().parse::<PasswordHash>() {
        output::print_note(&format!(
            "note: verify refuses this hash with its default limits: {}",
            stored_hash::error_message(&error.into())
        ));
    }
    Ok(YES)
}

fn hash_report(hash: &PasswordHash) -> HashReport {
    let params = hash.params();
    HashReport {
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
