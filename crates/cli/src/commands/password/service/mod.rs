//! Password hashing and verification on the CPU or an engine in its place, with a progress bar.

mod batch_verifier;
mod progress;
mod refusal;

pub(super) use batch_verifier::{BatchVerifier, EntryState};
pub(super) use progress::with_progress;
pub(super) use refusal::Refusal;

use super::input::Secret;
use anyhow::Result;
use hashmill_engines::{EnginePasswords, EngineShare, TagEngine};
use hashmill_hash::argon2::Stop;
use hashmill_hash::password::foreign::StoredHash;
use hashmill_hash::password::{NewPassword, PasswordHash, Passwords, Policy};
use progress::HashBar;

/// Hashes per batch for an engine: more than any computes side by side.
const ENGINE_BATCH_LEN: usize = 4096;

/// A signal ends the program; nothing else stops a hash.
static NEVER: Stop = Stop::new();

/// Hashes and verifies passwords.
pub(super) struct PasswordService(EnginePasswords);

impl PasswordService {
    /// A service for hashes bound to this secret. Without an engine the CPU computes everything.
    pub(super) fn new(
        passwords: Passwords,
        secret: Secret,
        engine: Option<Box<dyn TagEngine>>,
    ) -> PasswordService {
        PasswordService(EnginePasswords::new(passwords, secret, engine))
    }

    /// Bounds the memory that the CPU uses.
    pub(super) fn memory_budget(self, kib: u64) -> PasswordService {
        PasswordService(self.0.memory_budget(kib))
    }

    pub(super) fn policy(&self) -> &Policy {
        self.0.on_cpu().policy()
    }

    pub(super) fn wants_upgrade(&self, stored: &StoredHash) -> bool {
        self.0.on_cpu().wants_upgrade(stored)
    }

    /// Entries per batch: enough to keep all threads busy, few enough for regular output.
    pub(super) fn batch_len(&self) -> usize {
        if self.0.has_engine() { ENGINE_BATCH_LEN } else { 8 * hashmill_machine::threads() }
    }

    /// What each engine of a group has computed so far.
    pub(super) fn shares(&self) -> Vec<EngineShare> {
        self.0.shares()
    }

    /// The string to store for a password. Shows a progress bar unless `hidden`.
    pub(super) fn hash(&self, password: &[u8], salt: &[u8], hidden: bool) -> Result<PasswordHash> {
        let mut bar = HashBar::new(hidden);
        Ok(self.0.hash(password, salt, &mut |progress| bar.show(progress), &NEVER)?)
    }

    /// The strings to store for a batch of passwords.
    pub(super) fn hash_many(&self, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>> {
        Ok(self.0.hash_many(new, &NEVER)?)
    }

    /// Verifies a password against a stored hash. Shows a progress bar unless `hidden`.
    pub(super) fn verify(&self, password: &[u8], stored: &StoredHash, hidden: bool) -> Result<(), Refusal> {
        let Some(hash) = stored.argon2() else {
            return Ok(self.0.on_cpu().verify_stored(password, stored)?);
        };
        let mut bar = HashBar::new(hidden);
        Ok(self.0.verify(password, hash, &mut |progress| bar.show(progress), &NEVER)?)
    }

    /// Verifies a batch of logins. Returns one result per login, in order.
    pub(super) fn verify_many(&self, logins: &[(&[u8], &StoredHash)]) -> Vec<Result<(), Refusal>> {
        let mut results: Vec<Option<Result<(), Refusal>>> = vec![None; logins.len()];
        let argon2_logins = logins
            .iter()
            .enumerate()
            .filter_map(|(index, (password, stored))| Some((index, (*password, stored.argon2()?))));
        let (indices, argon2_logins): (Vec<usize>, Vec<_>) = argon2_logins.unzip();
        let verdicts = self.0.verify_many_on_engine(&argon2_logins, &NEVER);
        for (index, verdict) in indices.into_iter().zip(verdicts) {
            results[index] = verdict.map(|verdict| verdict.map_err(Refusal::from));
        }
        let is_open = |(_, (result, _)): &(usize, (&Option<_>, _))| result.is_none();
        let open = results.iter().zip(logins).enumerate().filter(is_open);
        let (indices, open): (Vec<usize>, Vec<_>) = open.map(|(index, (_, login))| (index, *login)).unzip();
        for (index, result) in indices.into_iter().zip(self.0.on_cpu().verify_stored_many(&open)) {
            results[index] = Some(result.map_err(Refusal::from));
        }
        results.into_iter().map(|result| result.expect("the CPU verifies all that no engine did")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_engines::{Budget, EngineSet};
    use hashmill_hash::argon2::Params;
    use hashmill_hash::password::{Limits, Syntax};
    use std::sync::Arc;

    const SALT: &[u8] = b"sixteen bytes ok";

    fn service(engine: Option<Box<dyn TagEngine>>) -> PasswordService {
        let policy = Policy::new(Params::new(16, 1, 1).expect("good costs"));
        let secret = Secret::copied(b"pepper").expect("memory");
        PasswordService::new(Passwords::new(policy).limits(Limits::NONE), secret, engine)
    }

    fn stored(text: &str) -> StoredHash {
        StoredHash::decode(text, Syntax::Strict, &Limits::NONE).expect("a hash")
    }

    #[test]
    fn engine_and_cpu_give_equal_results_for_all_kinds_of_hashes() {
        let cpu = service(None);
        let engines = EngineSet::open("cpu", Budget::of_free_memory()).expect("the CPU");
        let engine = service(Some(engines.batches(Arc::new(|_: &_| {}))));
        let new = [b"a", b"b", b"c"].map(|password| NewPassword { password, salt: SALT });
        let hashes = cpu.hash_many(&new).expect("hashes");
        assert_eq!(engine.hash_many(&new).expect("hashes"), hashes);
        assert_eq!(engine.hash(b"a", SALT, true).expect("a hash"), hashes[0]);
        let own: Vec<_> = hashes.iter().map(|hash| stored(&hash.to_string())).collect();
        let foreign = stored("$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue");
        let logins: Vec<(&[u8], &StoredHash)> =
            vec![(b"a", &own[0]), (b"no", &foreign), (b"no", &own[1]), (b"c", &own[2])];
        let right = cpu.verify_many(&logins);
        assert_eq!(right.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(engine.verify_many(&logins), right);
        for (login, right) in logins.iter().zip(right) {
            assert_eq!(engine.verify(login.0, login.1, true), right);
        }
        assert!(engine.shares().iter().map(|share| share.hashes).sum::<u64>() > 0, "the engine computed");
    }
}
