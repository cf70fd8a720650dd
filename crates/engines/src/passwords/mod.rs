//! Passwords hashed and verified on the CPU or on an engine in its place, whose results are checked.
//!
//! The CPU computes what the engine does not accept, and takes over when an automatically chosen engine fails or any engine computes a
//! wrong result.

mod failure;
mod progress;
mod result_checks;
#[cfg(test)]
mod test_engines;
#[cfg(test)]
mod tests;

pub use failure::PasswordFailure;
pub use progress::{HashProgress, OnProgress};

use crate::failure::EngineFailure;
use crate::tags::{EngineShare, TagEngine};
use hashmill_hash::argon2::{Params, Stop};
use hashmill_hash::password::{
    CreateError, Limits, Login, NewPassword, PasswordHash, Passwords, VerifyError,
};
use hashmill_machine::SecretBytes;
use progress::watched;
use result_checks::{Argon2Login, CheckedEngine, verify_on_cpu};
use std::fmt;

/// Hashes and verifies passwords. Threads may share it.
pub struct EnginePasswords {
    passwords: Passwords,
    /// The secret that all hashes are bound to. `passwords` has a copy.
    secret: SecretBytes,
    engine: Option<Box<dyn TagEngine>>,
    /// KiB of free host memory, if the system reports it.
    free_kib: fn() -> Option<u64>,
}

impl EnginePasswords {
    /// Passwords whose hashes are bound to `secret`. Without an engine the CPU computes everything.
    pub fn new(
        passwords: Passwords,
        secret: SecretBytes,
        engine: Option<Box<dyn TagEngine>>,
    ) -> EnginePasswords {
        let passwords = passwords.secret(secret.to_vec());
        EnginePasswords { passwords, secret, engine, free_kib: hashmill_machine::free_kib }
    }

    /// Bounds the memory of all calls on the CPU together, in KiB. The memory of an engine is in the [`Budget`](crate::Budget) that it
    /// was opened with.
    #[must_use]
    pub fn memory_budget(self, kib: u64) -> EnginePasswords {
        EnginePasswords { passwords: self.passwords.memory_budget(kib), ..self }
    }

    /// The passwords on the CPU, with policy and limits.
    pub fn on_cpu(&self) -> &Passwords {
        &self.passwords
    }

    /// Whether there is an engine in place of the CPU.
    pub fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// What each engine of a group has computed so far.
    pub fn shares(&self) -> Vec<EngineShare> {
        self.engine.as_ref().map_or(Vec::new(), |engine| engine.shares())
    }

    /// A new hash of a password.
    ///
    /// # Errors
    /// Errors of the engine or of the hash; a stop.
    pub fn hash(
        &self,
        password: &[u8],
        salt: &[u8],
        watch: OnProgress<'_>,
        stop: &Stop,
    ) -> Result<PasswordHash, PasswordFailure> {
        let params = self.passwords.policy().params();
        if let Some(engine) = self.engine_for(params, 1, stop) {
            check_salt(salt)?;
            match engine.hash(password, salt, watch) {
                Err(failure) if takes_over(&engine, &failure) => {}
                result => return result,
            }
        }
        watched(params, watch, stop, |on_step| self.passwords.hash_watched(password, salt, on_step))
            .map_err(PasswordFailure::Create)
    }

    /// New hashes of a batch of passwords.
    ///
    /// # Errors
    /// As for [`hash`](EnginePasswords::hash).
    pub fn hash_many(
        &self,
        new: &[NewPassword<'_>],
        stop: &Stop,
    ) -> Result<Vec<PasswordHash>, PasswordFailure> {
        if let Some(engine) = self.engine_for(self.passwords.policy().params(), new.len(), stop) {
            new.iter().try_for_each(|new| check_salt(new.salt))?;
            match engine.hash_many(new) {
                Err(failure) if takes_over(&engine, &failure) => {}
                result => return result,
            }
        }
        let hashes: Result<_, CreateError> = self.passwords.hash_many_until(new, stop).into_iter().collect();
        hashes.map_err(PasswordFailure::Create)
    }

    /// Verifies a password against a stored hash.
    ///
    /// # Errors
    /// A wrong password; costs over the limits; errors of the engine or of the hash; a stop.
    pub fn verify(
        &self,
        password: &[u8],
        hash: &PasswordHash,
        watch: OnProgress<'_>,
        stop: &Stop,
    ) -> Result<(), PasswordFailure> {
        self.check_limits(hash)?;
        if let Some(engine) = self.engine_for(hash.params(), 1, stop) {
            match engine.verify(password, hash, watch) {
                Err(failure) if takes_over(&engine, &failure) => {}
                result => return result,
            }
        }
        let on_cpu = match self.checked_engine(stop) {
            Some(engine) => engine.verify_on_cpu(password, hash, watch),
            None => verify_on_cpu(&self.passwords, (password, hash), watch, stop),
        };
        on_cpu.map_err(PasswordFailure::Verify)
    }

    /// Verifies those logins that the engine accepts. Returns one result per login, in order; `None` for those that the CPU is to
    /// verify, with [`on_cpu`](EnginePasswords::on_cpu). After a wrong result that is the whole group of logins with these
    /// parameters. A hash over the limits is an error, as on the CPU.
    pub fn verify_many_on_engine(
        &self,
        logins: &[(&[u8], &PasswordHash)],
        stop: &Stop,
    ) -> Vec<Option<Result<(), PasswordFailure>>> {
        let mut results: Vec<Option<Result<(), PasswordFailure>>> = vec![None; logins.len()];
        let mut within_limits = Vec::with_capacity(logins.len());
        for (index, (password, hash)) in logins.iter().enumerate() {
            match self.check_limits(hash) {
                Ok(()) => within_limits.push(Argon2Login { index, password, hash }),
                Err(failure) => results[index] = Some(Err(failure)),
            }
        }
        for group in group_by_params(within_limits) {
            let Some(engine) = self.engine_for(group[0].hash.params(), group.len(), stop) else { continue };
            let verdicts = engine.verify_group(&group);
            // The engine is told once of the failure that several logins share.
            let failure = verdicts.iter().find_map(engine_failure);
            let cpu_takes_over = failure.is_some_and(|failure| engine.engine.falls_back_to_cpu(failure));
            for (login, verdict) in group.into_iter().zip(verdicts) {
                if !(cpu_takes_over && engine_failure(&verdict).is_some()) {
                    results[login.index] = Some(verdict);
                }
            }
        }
        results
    }

    /// Verifies logins against encoded hashes, on the engine where it accepts them, else on all threads of the CPU. Returns one
    /// result per login, in order. Both decode hashes by the syntax and limits of [`on_cpu`](EnginePasswords::on_cpu).
    pub fn verify_many(&self, logins: &[Login<'_>], stop: &Stop) -> Vec<Result<(), PasswordFailure>> {
        let mut results: Vec<Option<Result<(), PasswordFailure>>> = vec![None; logins.len()];
        if self.has_engine() {
            let mut decoded = Vec::with_capacity(logins.len());
            for (index, login) in logins.iter().enumerate() {
                match self.passwords.decode(login.stored) {
                    Ok(hash) => decoded.push((index, hash)),
                    Err(error) => results[index] = Some(Err(PasswordFailure::Verify(error))),
                }
            }
            let accepted: Vec<_> =
                decoded.iter().map(|(index, hash)| (logins[*index].password, hash)).collect();
            let verdicts = self.verify_many_on_engine(&accepted, stop);
            decoded.iter().zip(verdicts).for_each(|((index, _), verdict)| results[*index] = verdict);
        }
        let open: Vec<usize> = (0..logins.len()).filter(|index| results[*index].is_none()).collect();
        let rest: Vec<_> = open.iter().map(|index| logins[*index]).collect();
        for (index, result) in open.into_iter().zip(self.passwords.verify_many_until(&rest, stop)) {
            results[index] = Some(result.map_err(PasswordFailure::Verify));
        }
        results.into_iter().map(|result| result.expect("the CPU verifies all that no engine did")).collect()
    }

    /// Checks the costs of a stored hash before an engine gets it.
    fn check_limits(&self, hash: &PasswordHash) -> Result<(), PasswordFailure> {
        let over_limit = |over| PasswordFailure::Verify(VerifyError::OverLimit(over));
        self.passwords.stored_limits().check(hash.params()).map_err(over_limit)
    }

    /// The engine that computes a batch of this size, if it is not the CPU.
    fn engine_for<'a>(&'a self, params: Params, count: usize, stop: &'a Stop) -> Option<CheckedEngine<'a>> {
        self.checked_engine(stop).filter(|engine| engine.engine.accepts_batch(params, count))
    }

    fn checked_engine<'a>(&'a self, stop: &'a Stop) -> Option<CheckedEngine<'a>> {
        let engine = self.engine.as_deref()?;
        let (passwords, free_kib) = (&self.passwords, self.free_kib);
        Some(CheckedEngine { engine, passwords, secret: &self.secret, free_kib, stop })
    }
}

/// Checks the length of a new salt, as the CPU does.
fn check_salt(salt: &[u8]) -> Result<(), PasswordFailure> {
    let Limits { min_salt, max_salt, .. } = Limits::RECOMMENDED;
    if (min_salt..=max_salt).contains(&salt.len()) {
        return Ok(());
    }
    Err(PasswordFailure::Create(CreateError::SaltLen { given: salt.len() }))
}

/// Whether the CPU takes over after a failure of the engine: see [`TagEngine::falls_back_to_cpu`]. A wrong password is no failure.
fn takes_over(engine: &CheckedEngine<'_>, failure: &PasswordFailure) -> bool {
    failure.of_engine().is_some_and(|failure| engine.engine.falls_back_to_cpu(failure))
}

fn engine_failure(verdict: &Result<(), PasswordFailure>) -> Option<&EngineFailure> {
    verdict.as_ref().err()?.of_engine()
}

/// Groups by parameters; keeps the order inside each group.
fn group_by_params(all: Vec<Argon2Login<'_>>) -> Vec<Vec<Argon2Login<'_>>> {
    let mut groups: Vec<Vec<Argon2Login<'_>>> = Vec::new();
    for login in all {
        match groups.iter_mut().find(|group| group[0].hash.params() == login.hash.params()) {
            Some(group) => group.push(login),
            None => groups.push(vec![login]),
        }
    }
    groups
}

impl fmt::Debug for EnginePasswords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the secret nor anything made from it.
        let mut output = f.debug_struct("EnginePasswords");
        output
            .field("policy", self.passwords.policy())
            .field("has_engine", &self.has_engine())
            .finish_non_exhaustive()
    }
}
