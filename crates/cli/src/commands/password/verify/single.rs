//! Verification of one password against one hash.

use super::super::costs::StoredLimits;
use super::super::input::{self, stored_hash};
use super::super::report::{EngineUsage, print_json};
use super::super::service::PasswordService;
use super::answer::Answer;
use crate::flags::{UsageError, VerifyArgs};
use crate::output::progress::hushed;
use crate::output::{self, print};
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Result, bail};
use hashmill_engines::{EngineShare, TagEngine};
use hashmill_hash::password::Passwords;
use hashmill_machine::free_kib;

pub(super) fn run(
    flags: &VerifyArgs,
    limits: StoredLimits,
    engine: Option<Box<dyn TagEngine>>,
) -> Result<u8> {
    // Clap does not require --file for --passwords once --hash is given.
    if flags.passwords.is_some() {
        bail!(UsageError("--passwords goes with --file; for one hash, give the password itself".to_owned()));
    }
    let hash = stored_hash::typed(&flags.stored, Some(&flags.input))?;
    // A hash that cannot be verified is reported before the user is asked for a password.
    let (mut mishap, mut engines) = (None, Vec::new());
    let answer = match stored_hash::decode(&hash, &limits) {
        Err(message) => Answer::unknown(message),
        Ok(hash) => {
            if let Some(message) = memory::refusal(hash.memory_kib(), free_kib()) {
                bail!(message);
            }
            let (secret, password) = input::secret_and_password(&flags.input)?;
            mishap = input::mishap(&password);
            let StoredLimits { limits, syntax } = limits;
            let passwords = Passwords::default().plan(tune_file::argon2()).limits(limits).syntax(syntax);
            let service = PasswordService::new(passwords, secret, engine);
            let verdict = service.verify(&password, &hash, flags.no_progress || hushed(flags.quiet));
            engines = service.shares();
            Answer::from(verdict)
        }
    };
    print_answer(flags, &answer, mishap, engines)?;
    Ok(answer.exit_code())
}

fn print_answer(
    flags: &VerifyArgs,
    answer: &Answer,
    mishap: Option<&str>,
    engines: Vec<EngineShare>,
) -> Result<()> {
    if flags.json {
        print_json(&EngineUsage { result: answer, engines })?;
    } else if let Some(matches) = answer.matches
        && !flags.quiet
    {
        print(if matches { "match\n" } else { "no match\n" })?;
    }
    match (answer, mishap) {
        (Answer { error: Some(error), .. }, _) if !flags.json => output::print_error(error),
        (Answer { matches: Some(false), .. }, Some(mishap)) if !flags.quiet => {
            output::print_note(&format!("note: {mishap}"));
        }
        _ => {}
    }
    Ok(())
}
