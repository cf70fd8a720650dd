//! Many passwords at once, as in a login storm, a migration or an audit.
//!
//! One-lane hashes are computed side by side on each core where that hides memory latency; others use all
//! cores one by one. Hashes of equal cost are grouped, the most expensive first, so that no core waits long
//! at the end.

use super::error::{CreateError, VerifyError};
use super::passwords::{Passwords, check_salt};
use super::pool::NEVER;
use super::stored::PasswordHash;
use crate::argon2::{HashError, Input, Job, MAX_BATCH, Params, Stop, batch_width, hash_batch_until};
use crate::work_sharing;
use core::cmp::Reverse;
use core::fmt;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// A password and the stored string to verify it against.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The password to verify.
    pub password: &'a [u8],
    /// A PHC string.
    pub stored: &'a str,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// A password to be hashed, and its salt.
#[derive(Clone, Copy)]
pub struct NewPassword<'a> {
    /// The password.
    pub password: &'a [u8],
    /// The salt: fresh random bytes.
    pub salt: &'a [u8],
}

impl fmt::Debug for NewPassword<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPassword").finish_non_exhaustive()
    }
}

/// The memory of hashes that one thread interleaves.
fn unit_kib(unit: &[&mut Work<'_>]) -> u64 {
    unit.iter().map(|work| work.params.blocks()).sum()
}

/// A password, and the hash to compare it with, if that was decoded and is within the limits.
type DecodedLogin<'a> = (&'a [u8], Result<&'a PasswordHash, VerifyError>);

/// One hash to compute.
struct Work<'a> {
    params: Params,
    input: Input<'a>,
    tag: Zeroizing<Vec<u8>>,
    result: Result<(), HashError>,
}

impl<'a> Work<'a> {
    fn new(params: Params, input: Input<'a>, tag_len: usize) -> Work<'a> {
        Work { params, input, tag: Zeroizing::new(vec![0; tag_len]), result: Ok(()) }
    }

    /// Sort key: equal costs together, the most expensive first.
    fn order(&self) -> impl Ord + use<> {
        let params = self.params;
        let kind = (params.memory_kib(), params.passes(), params.lanes(), params.variant().name());
        (Reverse(params.work()), kind, params.version())
    }
}

impl Passwords {
    /// As [`verify`](Passwords::verify), for each login in order, on all threads of the current rayon pool.
    /// All of them together use at most the memory that the limits allow for one of them, or that new hashes
    /// need on every thread, whichever is more.
    ///
    /// ```
    /// use hashmill_hash::password::{Login, Passwords, Preset};
    ///
    /// let passwords = Passwords::new(Preset::by_name("owasp-7m").unwrap().policy());
    /// let stored = passwords.hash(b"sesame", &[7; 16])?.to_string();
    /// let login = |password| Login { password, stored: &stored };
    /// let results = passwords.verify_many(&[login(b"sesame"), login(b"please")]);
    /// assert!(results[0].is_ok() && results[1].is_err());
    /// # Ok::<(), hashmill_hash::password::CreateError>(())
    /// ```
    pub fn verify_many(&self, logins: &[Login<'_>]) -> Vec<Result<(), VerifyError>> {
        self.verify_many_until(logins, &NEVER)
    }

    /// As [`verify_many`](Passwords::verify_many), but ends early when another thread sets `stop`: results
    /// not known by then are [`HashError::Stopped`]. Memory is wiped in any case.
    pub fn verify_many_until(&self, logins: &[Login<'_>], stop: &Stop) -> Vec<Result<(), VerifyError>> {
        let decoded: Vec<_> = logins.iter().map(|login| self.decode(login.stored)).collect();
        let decoded = || decoded.iter().map(|stored| stored.as_ref().map_err(|error| *error));
        self.verify_all(logins.iter().map(|login| login.password).zip(decoded()), stop)
    }

    /// As [`verify_many`](Passwords::verify_many), for hashes that were decoded before, perhaps within other
    /// limits.
    #[cfg(feature = "foreign")]
    pub(super) fn verify_decoded_many(
        &self,
        logins: &[(&[u8], &PasswordHash)],
    ) -> Vec<Result<(), VerifyError>> {
        let allowed = |stored: &PasswordHash| self.stored_limits().check(stored.params());
        let logins = logins.iter().map(|(password, stored)| {
            (*password, allowed(stored).map(|()| *stored).map_err(VerifyError::OverLimit))
        });
        self.verify_all(logins, &NEVER)
    }

    /// Computes all hashes that were decoded and are within the limits, and compares the tags.
    fn verify_all<'a>(
        &'a self,
        logins: impl Iterator<Item = DecodedLogin<'a>>,
        stop: &Stop,
    ) -> Vec<Result<(), VerifyError>> {
        let logins: Vec<_> = logins.collect();
        let work = logins.iter().map(|(password, stored)| {
            let stored = stored.ok()?;
            let input = self.input(password, stored.salt(), stored.associated_data());
            Some(Work::new(stored.params(), input, stored.tag_len()))
        });
        let done = self.compute_many(work.collect(), stop);
        let compare = |((_, stored), work): (DecodedLogin<'_>, Option<Work<'_>>)| {
            let stored = stored?;
            let work = work.expect("every decoded hash was computed");
            work.result?;
            if stored.matches(&work.tag) { Ok(()) } else { Err(VerifyError::Mismatch) }
        };
        logins.into_iter().zip(done).map(compare).collect()
    }

    /// As [`hash`](Passwords::hash), for each password in order, on all threads of the current rayon pool.
    pub fn hash_many(&self, passwords: &[NewPassword<'_>]) -> Vec<Result<PasswordHash, CreateError>> {
        self.hash_many_until(passwords, &NEVER)
    }

    /// As [`hash_many`](Passwords::hash_many), but ends early like
    /// [`verify_many_until`](Passwords::verify_many_until).
    pub fn hash_many_until(
        &self,
        passwords: &[NewPassword<'_>],
        stop: &Stop,
    ) -> Vec<Result<PasswordHash, CreateError>> {
        let (params, tag_len) = (self.policy().params(), self.policy().tag_len());
        let work = passwords.iter().map(|new| {
            check_salt(new.salt).ok()?;
            Some(Work::new(params, self.input(new.password, new.salt, &[]), tag_len))
        });
        let done = self.compute_many(work.collect(), stop);
        let outcome = |(new, work): (&NewPassword<'_>, Option<Work<'_>>)| {
            let Some(mut work) = work else { return Err(CreateError::SaltLen { given: new.salt.len() }) };
            work.result?;
            Ok(PasswordHash::new(params, new.salt.to_vec(), std::mem::take(&mut work.tag)))
        };
        passwords.iter().zip(done).map(outcome).collect()
    }

    /// Computes all present items, in place.
    fn compute_many<'a>(&self, mut work: Vec<Option<Work<'a>>>, stop: &Stop) -> Vec<Option<Work<'a>>> {
        let mut order: Vec<&mut Work<'a>> = work.iter_mut().flatten().collect();
        order.sort_by_key(|work| work.order());
        let units = self.units(order);
        let threads = self.most_threads();
        let has_lanes = units.iter().any(|unit| unit[0].params.lanes() > 1);
        if threads == 1 || (units.len() < threads && has_lanes) {
            units.into_iter().for_each(|unit| self.compute_unit(unit, threads, stop));
            return work;
        }
        let largest = units.iter().map(|unit| unit_kib(unit)).max().unwrap_or(0);
        let count = units.len();
        let workers = threads.min(count).min(self.max_concurrent(largest)).max(1);
        let units = Mutex::new(units.into_iter());
        let next = || units.lock().unwrap_or_else(PoisonError::into_inner).next();
        work_sharing::run(1, count, workers - 1, &|_, _| {
            if let Some(unit) = next() {
                self.compute_unit(unit, 1, stop);
            }
        });
        work
    }

    /// The number of hashes of this size that may run at once. Stored strings may be expensive: all of them
    /// together get the memory that the most expensive one may use alone, or that new hashes need on every
    /// thread.
    pub(super) fn max_concurrent(&self, kib: u64) -> usize {
        let new_hashes_kib = 2 * self.most_threads() as u64 * self.policy().params().blocks();
        let most_kib = new_hashes_kib.max(self.stored_limits().memory_kib.into());
        let fitting = usize::try_from(most_kib / kib.max(1)).unwrap_or(usize::MAX);
        self.pool.max_concurrent(kib).min(fitting).max(1)
    }

    /// Groups neighbours of equal cost, as many as one thread computes side by side.
    fn units<'w, 'a>(&self, order: Vec<&'w mut Work<'a>>) -> Vec<Vec<&'w mut Work<'a>>> {
        let mut units: Vec<Vec<&mut Work<'a>>> = Vec::new();
        for work in order {
            let most = self.max_concurrent(work.params.blocks()).min(MAX_BATCH);
            let width = batch_width(self.kernel_plan(), work.params).min(most);
            match units.last_mut() {
                Some(unit) if unit.len() < width && unit[0].params == work.params => unit.push(work),
                _ => units.push(vec![work]),
            }
        }
        units
    }

    fn compute_unit(&self, mut unit: Vec<&mut Work<'_>>, threads: usize, stop: &Stop) {
        let params = unit[0].params;
        let result = self.compute_interleaved(params, threads, &mut unit, stop);
        if result.is_err() && unit.len() > 1 {
            // One of them has invalid lengths, or memory does not suffice for all: compute each alone.
            for work in unit {
                work.result = self.compute_interleaved(params, threads, &mut [&mut *work], stop);
            }
        } else if let [work] = &mut unit[..] {
            work.result = result;
        }
    }

    fn compute_interleaved(
        &self,
        params: Params,
        threads: usize,
        unit: &mut [&mut Work<'_>],
        stop: &Stop,
    ) -> Result<(), HashError> {
        let mut lease = self.pool.lease(params.blocks(), unit.len(), stop)?;
        let mut jobs: Vec<Job<'_>> =
            unit.iter_mut().map(|work| Job { input: work.input, tag: &mut work.tag }).collect();
        hash_batch_until(self.kernel_plan(), params, threads, lease.arenas(), &mut jobs, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::Threads;
    use crate::password::{Limits, Policy};

    #[test]
    fn stored_strings_share_the_memory_limit_of_one() {
        let policy = Policy::new(Params::new(64, 1, 1).unwrap());
        let limits = Limits { memory_kib: 1000, ..Limits::RECOMMENDED };
        let passwords = Passwords::new(policy).limits(limits).threads(Threads::Serial);
        assert_eq!([1000, 500, 499, 64].map(|kib| passwords.max_concurrent(kib)), [1, 2, 2, 15]);
        assert_eq!(passwords.max_concurrent(5000), 1, "at least one at a time");
        let limits = Limits { memory_kib: 64, ..limits };
        assert_eq!(passwords.limits(limits).max_concurrent(64), 2, "new hashes need that much");
    }

    /// Hashes that would take weeks are stopped, whether a thread has begun them or not, and memory is wiped.
    #[test]
    fn stopped_batches_end_and_wipe_their_memory() {
        for (passes, lanes, budget) in [(u32::MAX, 1, 1 << 20), (u32::MAX, 1, 64), (u32::MAX, 2, 1 << 20)] {
            let policy = Policy::new(Params::new(64, passes, lanes).unwrap());
            let passwords = Passwords::new(policy).limits(Limits::NONE).memory_budget(budget);
            let stored = PasswordHash::new(policy.params(), vec![1; 16], vec![2; 32]).to_string();
            let logins = [Login { password: b"x", stored: &stored }; 9];
            let new = [NewPassword { password: b"x", salt: &[3; 16] }; 9];
            let stop = Stop::new();
            let _limit =
                hashmill_testkit::wait::limit("the beginning and the end of hashes that are stopped");
            std::thread::scope(|scope| {
                let hashed = scope.spawn(|| passwords.hash_many_until(&new, &stop));
                let verified = scope.spawn(|| passwords.verify_many_until(&logins, &stop));
                while passwords.pool.used_kib() == 0 {
                    std::thread::yield_now();
                }
                stop.set();
                let stopped = |error: &CreateError| matches!(error, CreateError::Hash(HashError::Stopped));
                assert!(hashed.join().unwrap().iter().all(|hash| hash.as_ref().is_err_and(stopped)));
                let stopped = Err(VerifyError::Hash(HashError::Stopped));
                assert!(verified.join().unwrap().iter().all(|verdict| *verdict == stopped));
            });
            let (idle, empty) = passwords.pool.idle();
            assert_eq!(empty, idle as u64 * policy.params().blocks(), "{lanes} lanes in {budget} KiB");
        }
    }
}
