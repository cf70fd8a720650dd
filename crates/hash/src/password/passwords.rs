//! [`Passwords`]: a policy, limits and a memory pool, shared by any number of threads.

use super::error::{CreateError, VerifyError};
use super::limits::Limits;
use super::phc::Syntax;
use super::policy::{Difference, Policy};
use super::pool::{NEVER, Pool};
use super::stored::PasswordHash;
use crate::argon2::{
    Arena, HashError, Hasher, Input, Job, Params, Plan, Step, StepState, Stop, Threads, hash_batch_until,
};
use crate::work_sharing;
use core::fmt;
use core::mem;
use core::ops::ControlFlow;
use zeroize::Zeroizing;

/// Creates and verifies password hashes. Share one value between all threads: it keeps the memory of past
/// hashes for the next.
///
/// Memory is wiped after every hash. A hash of several lanes uses several threads of the current rayon pool
/// where that is faster, see [`threads`](Passwords::threads).
pub struct Passwords {
    policy: Policy,
    limits: Limits,
    syntax: Syntax,
    secret: Zeroizing<Vec<u8>>,
    plan: Plan,
    threads: Threads,
    pub(super) pool: Pool,
}

/// The longest tag that is computed without an allocation: all that the default limits allow.
const SHORT_TAG: usize = Limits::RECOMMENDED.max_tag;

/// Result of [`Passwords::verify_and_upgrade`] for a matching password.
#[derive(Debug)]
#[must_use]
pub enum Verified {
    /// The stored hash may stay.
    Current,
    /// The stored hash should be replaced, see [`Policy::wants_rehash`].
    Outdated {
        /// All differences from the policy.
        reasons: Vec<Difference>,
        /// The replacement to store. If it could not be made, the user is still authenticated: accept the
        /// login and retry next time.
        replacement: Result<PasswordHash, CreateError>,
    },
}

impl Passwords {
    /// Makes new hashes by `policy`; stored ones are decoded strictly and may cost eight times as much
    /// ([`Limits::around`]).
    pub fn new(policy: Policy) -> Passwords {
        Passwords {
            policy,
            limits: Limits::around(&policy),
            syntax: Syntax::Strict,
            secret: Zeroizing::default(),
            plan: Plan::host(),
            threads: Threads::Auto,
            pool: Pool::new(policy.params().blocks()),
        }
    }

    /// Sets other limits for stored strings. [`Limits::for_policy`] are the tightest; with
    /// [`Limits::RECOMMENDED`] an attacker who chooses strings can make each verification cost seconds and 2
    /// GiB.
    pub fn limits(self, limits: Limits) -> Passwords {
        Passwords { limits, ..self }
    }

    /// Sets the strictness of decoding stored strings.
    pub fn syntax(self, syntax: Syntax) -> Passwords {
        Passwords { syntax, ..self }
    }

    /// Sets a key that is stored apart from the hashes ("pepper") and that all of them are bound to. It is
    /// wiped on drop.
    pub fn secret(self, secret: Vec<u8>) -> Passwords {
        Passwords { secret: Zeroizing::new(secret), ..self }
    }

    /// Sets the threads.
    pub fn threads(self, threads: Threads) -> Passwords {
        Passwords { threads, ..self }
    }

    /// Sets the plan.
    pub fn plan(self, plan: Plan) -> Passwords {
        Passwords { plan, ..self }
    }

    /// Limits the memory of all threads together at any time, in KiB: further calls wait for their turn. A
    /// single hash that needs more runs alone.
    pub fn memory_budget(self, kib: u64) -> Passwords {
        Passwords { pool: self.pool.with_budget(kib), ..self }
    }

    /// The policy of new hashes.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The hash to store for a password. The salt must be fresh random bytes, as many as the policy requires.
    ///
    /// # Errors
    /// A salt that is too short or too long; refused memory.
    pub fn hash(&self, password: &[u8], salt: &[u8]) -> Result<PasswordHash, CreateError> {
        self.hash_until(password, salt, &NEVER)
    }

    /// As [`hash`](Passwords::hash), but ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// As `hash`; [`HashError::Stopped`] if it was stopped before its end.
    pub fn hash_until(&self, password: &[u8], salt: &[u8], stop: &Stop) -> Result<PasswordHash, CreateError> {
        self.hash_with(password, salt, |params, input, tag| self.compute(params, input, tag, stop))
    }

    /// As [`hash`](Passwords::hash), but reports progress after each quarter of a pass, for interactive use.
    /// `watch` may cancel the hash, but is not called while the hash waits for memory.
    ///
    /// # Errors
    /// As `hash`; [`HashError::Stopped`] if cancelled.
    pub fn hash_watched(
        &self,
        password: &[u8],
        salt: &[u8],
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<PasswordHash, CreateError> {
        self.hash_with(password, salt, |params, input, tag| self.compute_watched(params, input, tag, watch))
    }

    fn hash_with(
        &self,
        password: &[u8],
        salt: &[u8],
        compute: impl FnOnce(Params, &Input<'_>, &mut [u8]) -> Result<(), HashError>,
    ) -> Result<PasswordHash, CreateError> {
        check_salt(salt)?;
        let params = self.policy.params();
        let mut tag = Zeroizing::new(vec![0; self.policy.tag_len()]);
        compute(params, &self.input(password, salt, &[]), &mut tag)?;
        Ok(PasswordHash::new(params, salt.to_vec(), mem::take(&mut tag)))
    }

    /// Verifies a password against a stored PHC string.
    ///
    /// # Errors
    /// [`VerifyError::Mismatch`] for another password, without further details. After any other error nothing
    /// is known about the password.
    pub fn verify(&self, password: &[u8], stored: impl AsRef<[u8]>) -> Result<(), VerifyError> {
        self.verify_decoded(password, &self.decode(stored)?)
    }

    /// As [`verify`](Passwords::verify), for a string that was decoded before, perhaps within other limits.
    /// Allocates nothing once its memory exists.
    ///
    /// # Errors
    /// As `verify`, but [`VerifyError::OverLimit`] for costs over the limits.
    pub fn verify_decoded(&self, password: &[u8], stored: &PasswordHash) -> Result<(), VerifyError> {
        self.verify_decoded_until(password, stored, &NEVER)
    }

    /// As [`verify_decoded`](Passwords::verify_decoded), but ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// As `verify`; [`HashError::Stopped`] if it was stopped before its end.
    pub fn verify_decoded_until(
        &self,
        password: &[u8],
        stored: &PasswordHash,
        stop: &Stop,
    ) -> Result<(), VerifyError> {
        self.verify_with(password, stored, |params, input, tag| self.compute(params, input, tag, stop))
    }

    /// As [`verify_decoded`](Passwords::verify_decoded), but reports progress after each quarter of a pass,
    /// for interactive use. `watch` may cancel it.
    ///
    /// # Errors
    /// As `verify`; [`HashError::Stopped`] if cancelled.
    pub fn verify_decoded_watched(
        &self,
        password: &[u8],
        stored: &PasswordHash,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<(), VerifyError> {
        self.verify_with(password, stored, |params, input, tag| {
            self.compute_watched(params, input, tag, watch)
        })
    }

    fn verify_with(
        &self,
        password: &[u8],
        stored: &PasswordHash,
        compute: impl FnOnce(Params, &Input<'_>, &mut [u8]) -> Result<(), HashError>,
    ) -> Result<(), VerifyError> {
        self.limits.check(stored.params()).map_err(VerifyError::OverLimit)?;
        self.compare(password, stored, compute)
    }

    fn compare(
        &self,
        password: &[u8],
        stored: &PasswordHash,
        compute: impl FnOnce(Params, &Input<'_>, &mut [u8]) -> Result<(), HashError>,
    ) -> Result<(), VerifyError> {
        let (mut short, mut long) = (Zeroizing::new([0; SHORT_TAG]), Zeroizing::new(Vec::new()));
        let tag = match short.get_mut(..stored.tag_len()) {
            Some(tag) => tag,
            None => {
                long.resize(stored.tag_len(), 0);
                &mut long[..]
            }
        };
        let input = self.input(password, stored.salt(), stored.associated_data());
        compute(stored.params(), &input, tag)?;
        if stored.matches(tag) { Ok(()) } else { Err(VerifyError::Mismatch) }
    }

    /// As [`verify`](Passwords::verify), and after a match also makes a new hash if the [policy
    /// wants](Policy::wants_rehash) to replace the stored one. The salt is used only then; it must be fresh
    /// in any case.
    ///
    /// # Errors
    /// As `verify`.
    pub fn verify_and_upgrade(
        &self,
        password: &[u8],
        stored: impl AsRef<[u8]>,
        new_salt: &[u8],
    ) -> Result<Verified, VerifyError> {
        let stored = self.decode(stored)?;
        self.verify_decoded(password, &stored)?;
        if !self.policy.wants_rehash(&stored) {
            return Ok(Verified::Current);
        }
        let reasons = self.policy.differences(&stored).collect();
        Ok(Verified::Outdated { reasons, replacement: self.hash(password, new_salt) })
    }

    /// Verification for an unknown user name: takes as long as [`verify`](Passwords::verify) of a hash by the
    /// policy, so that timing does not reveal which names exist.
    ///
    /// # Errors
    /// Always: [`VerifyError::Mismatch`], unless memory is refused.
    pub fn verify_dummy(&self, password: &[u8]) -> Result<(), VerifyError> {
        self.verify_dummy_until(password, &NEVER)
    }

    /// As [`verify_dummy`](Passwords::verify_dummy), but ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// As `verify_dummy`; [`HashError::Stopped`] if it was stopped before its end.
    pub fn verify_dummy_until(&self, password: &[u8], stop: &Stop) -> Result<(), VerifyError> {
        let zeroes = |len| vec![0; len];
        let (salt, tag) = (zeroes(self.policy.salt_len()), zeroes(self.policy.tag_len()));
        // Independent of the limits: an unknown user costs as much as one with a new hash.
        let dummy = PasswordHash::new(self.policy.params(), salt, tag);
        self.compare(password, &dummy, |params, input, tag| self.compute(params, input, tag, stop))?;
        Err(VerifyError::Mismatch)
    }

    /// Decodes a stored PHC string with the syntax and within the limits of this value.
    ///
    /// # Errors
    /// [`VerifyError::Phc`]: not such a string, or one over the limits.
    pub fn decode(&self, stored: impl AsRef<[u8]>) -> Result<PasswordHash, VerifyError> {
        Ok(PasswordHash::decode(stored, self.syntax, &self.limits)?)
    }

    pub(super) fn input<'a>(
        &'a self,
        password: &'a [u8],
        salt: &'a [u8],
        associated_data: &'a [u8],
    ) -> Input<'a> {
        Input::new(password, salt).with_secret(&self.secret).with_associated_data(associated_data)
    }

    /// The limits of stored strings, for callers that compute tags elsewhere.
    pub fn stored_limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn kernel_plan(&self) -> Plan {
        self.plan
    }

    /// The most threads for one hash.
    pub(super) fn most_threads(&self) -> usize {
        // While a thread of the pool waits for its helpers it may begin another hash, and that one would wait
        // for memory that only this thread can free.
        let waits = self.pool.is_bounded() && rayon::current_thread_index().is_some();
        let threads = if waits { Threads::Serial } else { self.threads };
        threads.count(true, work_sharing::available)
    }

    pub(super) fn compute(
        &self,
        params: Params,
        input: &Input<'_>,
        tag: &mut [u8],
        stop: &Stop,
    ) -> Result<(), HashError> {
        let mut lease = self.pool.lease(params.blocks(), 1, stop)?;
        let jobs = &mut [Job { input: *input, tag }];
        hash_batch_until(self.plan, params, self.most_threads(), lease.arenas(), jobs, stop)
    }

    fn compute_watched(
        &self,
        params: Params,
        input: &Input<'_>,
        tag: &mut [u8],
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<(), HashError> {
        let mut lease = self.pool.lease(params.blocks(), 1, &NEVER)?;
        let threads = if self.most_threads() == 1 { Threads::Serial } else { self.threads };
        let hasher = Hasher::with_plan(params, self.plan).threads(threads);
        let mut leased = LeasedHasher::new(hasher, &mut lease.arenas()[0]);
        let mut steps = StepState::begin(&mut leased.hasher, input, tag.len())?;
        while let Some(step) = steps.step()? {
            if watch(step).is_break() {
                return Err(HashError::Stopped);
            }
        }
        steps.finish(tag)
    }
}

/// A hasher in leased memory, which is returned to the lease however the hash ends.
struct LeasedHasher<'a> {
    hasher: Hasher,
    lease: &'a mut Arena,
}

impl<'a> LeasedHasher<'a> {
    fn new(mut hasher: Hasher, lease: &'a mut Arena) -> LeasedHasher<'a> {
        mem::swap(hasher.arena(), lease);
        LeasedHasher { hasher, lease }
    }
}

impl Drop for LeasedHasher<'_> {
    fn drop(&mut self) {
        mem::swap(self.hasher.arena(), self.lease);
    }
}

impl Default for Passwords {
    /// The default policy.
    fn default() -> Passwords {
        Passwords::new(Policy::default())
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords")
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .field("syntax", &self.syntax)
            .finish_non_exhaustive()
    }
}

pub(super) fn check_salt(salt: &[u8]) -> Result<(), CreateError> {
    let fits = Limits::RECOMMENDED.check_salt(salt.len()).is_ok();
    if fits { Ok(()) } else { Err(CreateError::SaltLen { given: salt.len() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::password::{Login, NewPassword};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// However a hash ends, its memory is back in the pool, and zero.
    #[test]
    fn memory_is_returned_on_every_path() {
        type End = fn() -> ControlFlow<()>;
        let policy = Policy::new(Params::new(64, 2, 1).unwrap());
        let stored = Passwords::new(policy).hash(b"right", b"sixteen bytes ok").unwrap();
        let short = PasswordHash::new(policy.params(), vec![0; 16], vec![0; 3]);
        let at_three = |step: Step, end: End| match step.done {
            3 => end(),
            _ => ControlFlow::Continue(()),
        };
        let ends: [(&PasswordHash, End); 4] = [
            (&stored, || ControlFlow::Continue(())),
            (&stored, || ControlFlow::Break(())),
            (&stored, || resume_unwind(Box::new("the caller's own"))),
            (&short, || ControlFlow::Continue(())),
        ];
        for (index, (stored_last, end)) in ends.into_iter().enumerate() {
            let passwords = Passwords::new(policy).memory_budget(64);
            assert_eq!(passwords.verify_decoded(b"right", &stored), Ok(()));
            let mut watch = |step| at_three(step, end);
            let check = || passwords.verify_decoded_watched(b"right", stored_last, &mut watch);
            let ended = catch_unwind(AssertUnwindSafe(check));
            assert_eq!(matches!(ended, Ok(Ok(()))), index == 0);
            assert_eq!(passwords.pool.idle(), (1, 64), "one arena, all of it empty: {index}");
        }
    }

    /// Every call that can be stopped can also be stopped while it waits for another hash's memory.
    #[test]
    fn wait_for_memory_can_be_stopped() {
        type Call<'a> = &'a (dyn Fn(&Stop) -> Vec<HashError> + Sync);
        let policy = Policy::new(Params::new(64, 1, 1).unwrap());
        let passwords = Passwords::new(policy).memory_budget(64);
        let stored = PasswordHash::new(policy.params(), vec![1; 16], vec![2; 32]);
        let text = stored.to_string();
        let salt = &[3; 16];
        let calls: [Call<'_>; 5] = [
            &|stop| vec![stopped_create(passwords.hash_until(b"x", salt, stop))],
            &|stop| vec![stopped_verify(passwords.verify_decoded_until(b"x", &stored, stop))],
            &|stop| vec![stopped_verify(passwords.verify_dummy_until(b"x", stop))],
            &|stop| {
                let all = passwords.hash_many_until(&[NewPassword { password: b"x", salt }; 3], stop);
                all.into_iter().map(stopped_create).collect()
            },
            &|stop| {
                let all = passwords.verify_many_until(&[Login { password: b"x", stored: &text }; 3], stop);
                all.into_iter().map(stopped_verify).collect()
            },
        ];
        let whole_pool = passwords.pool.lease(64, 1, &NEVER).unwrap();
        for call in calls {
            let before = passwords.pool.calls();
            let stop = Stop::new();
            let _limit = hashmill_testkit::wait::limit("a call that waits for memory, and its end");
            let ended = std::thread::scope(|scope| {
                let running = scope.spawn(|| call(&stop));
                while passwords.pool.calls() == before {
                    std::thread::yield_now();
                }
                stop.set();
                running.join().unwrap()
            });
            assert!(ended.iter().all(|error| *error == HashError::Stopped), "{ended:?}");
        }
        drop(whole_pool);
        assert!(passwords.hash(b"x", salt).is_ok());
    }

    fn stopped_create(result: Result<PasswordHash, CreateError>) -> HashError {
        match result {
            Err(CreateError::Hash(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    fn stopped_verify(result: Result<(), VerifyError>) -> HashError {
        match result {
            Err(VerifyError::Hash(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}
