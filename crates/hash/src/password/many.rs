//! Many passwords at once: a login storm, a migration, an audit.
//!
//! Hashes of one lane go side by side on each core where that hides some of the memory's latency; others share the cores
//! one by one. Hashes of the same cost go together, costly ones first, so that no core waits long at the end.

use super::error::{CreateError, VerifyError};
use super::passwords::{NEVER, Passwords, check_salt};
use super::stored::PasswordHash;
use crate::argon2::{HashError, Input, Job, MAX_BATCH, Params, Stop, batch_width, hash_batch_until};
use crate::work_sharing;
use core::cmp::Reverse;
use core::fmt;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// A password and the string that is stored for it.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// What the guest gave.
    pub password: &'a [u8],
    /// A PHC string.
    pub stored: &'a str,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// A password to make a hash for, and fresh random bytes.
#[derive(Clone, Copy)]
pub struct NewPassword<'a> {
    /// The password.
    pub password: &'a [u8],
    /// Its salt.
    pub salt: &'a [u8],
}

impl fmt::Debug for NewPassword<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPassword").finish_non_exhaustive()
    }
}

/// The memory of hashes that go side by side.
fn unit_kib(unit: &[&mut Work<'_>]) -> u64 {
    unit.iter().map(|work| work.params.blocks()).sum()
}

/// A password, and what it is compared with, if that could be read and is allowed.
type Asked<'a> = (&'a [u8], Result<&'a PasswordHash, VerifyError>);

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

    /// Equal costs together, costly ones first.
    fn order(&self) -> impl Ord + use<> {
        let params = self.params;
        let kind = (params.memory_kib(), params.passes(), params.lanes(), params.variant().name());
        (Reverse(params.work()), kind, params.version())
    }
}

impl Passwords {
    /// [`verify`](Passwords::verify) for each login, in their order, on all threads of the current rayon pool. All of
    /// them together take no more memory than the limits allow one of them, or than new hashes need on every thread,
    /// whichever is more.
    ///
    /// ```
    /// use hashmill_hash::password::{Login, Passwords, Preset};
    ///
    /// let passwords = Passwords::new(Preset::by_name("owasp-7m").unwrap().policy());
    /// let stored = passwords.hash(b"sesame", &[7; 16])?.to_string();
    /// let login = |password| Login { password, stored: &stored };
    /// let verdicts = passwords.verify_many(&[login(b"sesame"), login(b"please")]);
    /// assert!(verdicts[0].is_ok() && verdicts[1].is_err());
    /// # Ok::<(), hashmill_hash::password::CreateError>(())
    /// ```
    pub fn verify_many(&self, logins: &[Login<'_>]) -> Vec<Result<(), VerifyError>> {
        self.verify_many_until(logins, &NEVER)
    }

    /// [`verify_many`](Passwords::verify_many) that ends early when asked to, from another thread: what is not known by then is
    /// [`HashError::Stopped`]. Memory is wiped all the same.
    pub fn verify_many_until(&self, logins: &[Login<'_>], stop: &Stop) -> Vec<Result<(), VerifyError>> {
        let decoded: Vec<_> = logins.iter().map(|login| self.decode(login.stored)).collect();
        let decoded = || decoded.iter().map(|stored| stored.as_ref().map_err(|error| *error));
        self.verdicts(logins.iter().map(|login| login.password).zip(decoded()), stop)
    }

    /// The same for hashes that have been read, perhaps within other limits.
    #[cfg(feature = "foreign")]
    pub(super) fn verify_decoded_many(
        &self,
        logins: &[(&[u8], &PasswordHash)],
    ) -> Vec<Result<(), VerifyError>> {
        let allowed = |stored: &PasswordHash| self.stored_limits().check(stored.params());
        let logins = logins.iter().map(|(password, stored)| {
            (*password, allowed(stored).map(|()| *stored).map_err(VerifyError::OverLimit))
        });
        self.verdicts(logins, &NEVER)
    }

    /// Computes whatever could be read and is allowed, and compares.
    fn verdicts<'a>(
        &'a self,
        logins: impl Iterator<Item = Asked<'a>>,
        stop: &Stop,
    ) -> Vec<Result<(), VerifyError>> {
        let logins: Vec<_> = logins.collect();
        let work = logins.iter().map(|(password, stored)| {
            let stored = stored.ok()?;
            let input = self.input(password, stored.salt(), stored.associated_data());
            Some(Work::new(stored.params(), input, stored.tag_len()))
        });
        let done = self.compute_many(work.collect(), stop);
        let verdict = |((_, stored), work): (Asked<'_>, Option<Work<'_>>)| {
            let stored = stored?;
            let work = work.expect("whatever was decoded was computed");
            work.result?;
            if stored.matches(&work.tag) { Ok(()) } else { Err(VerifyError::Mismatch) }
        };
        logins.into_iter().zip(done).map(verdict).collect()
    }

    /// [`hash`](Passwords::hash) for each password, in their order, on all threads of the current rayon pool.
    pub fn hash_many(&self, passwords: &[NewPassword<'_>]) -> Vec<Result<PasswordHash, CreateError>> {
        self.hash_many_until(passwords, &NEVER)
    }

    /// [`hash_many`](Passwords::hash_many) that ends early when asked to, as
    /// [`verify_many_until`](Passwords::verify_many_until) does.
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

    /// Computes everything that there is, wherever it stands.
    fn compute_many<'a>(&self, mut work: Vec<Option<Work<'a>>>, stop: &Stop) -> Vec<Option<Work<'a>>> {
        let mut order: Vec<&mut Work<'a>> = work.iter_mut().flatten().collect();
        order.sort_by_key(|work| work.order());
        let units = self.units(order);
        let threads = self.most_threads();
        let has_lanes = units.iter().any(|unit| unit[0].params.lanes() > 1);
        if threads == 1 || (units.len() < threads && has_lanes) {
            units.into_iter().for_each(|unit| self.unit(unit, threads, stop));
            return work;
        }
        let largest = units.iter().map(|unit| unit_kib(unit)).max().unwrap_or(0);
        let count = units.len();
        let workers = threads.min(count).min(self.room_for(largest)).max(1);
        let units = Mutex::new(units.into_iter());
        let next = || units.lock().unwrap_or_else(PoisonError::into_inner).next();
        work_sharing::run(1, count, workers - 1, &|_, _| {
            if let Some(unit) = next() {
                self.unit(unit, 1, stop);
            }
        });
        work
    }

    /// How many pieces of work of this size may run at once. Strings from elsewhere may ask for much: all of them
    /// together get what the costliest one may have alone, or what new hashes need on every thread.
    pub(super) fn room_for(&self, kib: u64) -> usize {
        let usual = 2 * self.most_threads() as u64 * self.policy().params().blocks();
        let most = usual.max(self.stored_limits().memory_kib.into());
        let room = usize::try_from(most / kib.max(1)).unwrap_or(usize::MAX);
        self.pool.room_for(kib).min(room).max(1)
    }

    /// Neighbours of equal cost, as many as one thread does side by side.
    fn units<'w, 'a>(&self, order: Vec<&'w mut Work<'a>>) -> Vec<Vec<&'w mut Work<'a>>> {
        let mut units: Vec<Vec<&mut Work<'a>>> = Vec::new();
        for work in order {
            let room = self.room_for(work.params.blocks()).min(MAX_BATCH);
            let width = batch_width(self.kernel_plan(), work.params).min(room);
            match units.last_mut() {
                Some(unit) if unit.len() < width && unit[0].params == work.params => unit.push(work),
                _ => units.push(vec![work]),
            }
        }
        units
    }

    fn unit(&self, mut unit: Vec<&mut Work<'_>>, threads: usize, stop: &Stop) {
        let params = unit[0].params;
        let together = self.together(params, threads, &mut unit, stop);
        if together.is_err() && unit.len() > 1 {
            // One of them cannot be, or there is not memory for all: each for itself.
            for work in unit {
                work.result = self.together(params, threads, &mut [&mut *work], stop);
            }
        } else if let [work] = &mut unit[..] {
            work.result = together;
        }
    }

    fn together(
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
    fn strings_from_elsewhere_share_what_one_of_them_may_have() {
        let policy = Policy::new(Params::new(64, 1, 1).unwrap());
        let limits = Limits { memory_kib: 1000, ..Limits::RECOMMENDED };
        let passwords = Passwords::new(policy).limits(limits).threads(Threads::Serial);
        assert_eq!([1000, 500, 499, 64].map(|kib| passwords.room_for(kib)), [1, 2, 2, 15]);
        assert_eq!(passwords.room_for(5000), 1, "one at a time at least");
        let limits = Limits { memory_kib: 64, ..limits };
        assert_eq!(passwords.limits(limits).room_for(64), 2, "new hashes need that much");
    }

    /// Hashes that would take weeks end, whether a thread has begun them or not, and leave nothing.
    #[test]
    fn what_is_stopped_ends_and_wipes() {
        for (passes, lanes, budget) in [(u32::MAX, 1, 1 << 20), (u32::MAX, 1, 64), (u32::MAX, 2, 1 << 20)] {
            let policy = Policy::new(Params::new(64, passes, lanes).unwrap());
            let passwords = Passwords::new(policy).limits(Limits::NONE).memory_budget(budget);
            let stored = PasswordHash::new(policy.params(), vec![1; 16], vec![2; 32]).to_string();
            let logins = [Login { password: b"x", stored: &stored }; 9];
            let new = [NewPassword { password: b"x", salt: &[3; 16] }; 9];
            let stop = Stop::new();
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
