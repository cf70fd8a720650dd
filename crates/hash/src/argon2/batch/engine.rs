//! [`Batches`]: the processor's engine for lists of inputs.

use super::Job;
use crate::argon2::{HashError, Hasher, PagePolicy, Params, Plan, Threads};
use crate::engine::{BatchEngine, BatchLimits, EngineError, Stop};
use core::iter;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Each thread checks for a stop every thousand blocks, which take about a millisecond where memory is far
/// from the caches.
const STOP_LATENCY: Duration = Duration::from_millis(10);

/// Hashes lists of inputs, each on one thread and in that thread's memory. Memory is taken on construction
/// and wiped after each hash.
#[derive(Debug)]
pub struct Batches {
    name: String,
    /// One per thread.
    hashers: Vec<Hasher>,
}

impl Batches {
    /// An engine with `threads` threads.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for zero; [`EngineError::OutOfMemory`].
    pub fn new(
        params: Params,
        plan: Plan,
        policy: PagePolicy,
        threads: usize,
    ) -> Result<Batches, EngineError> {
        let most = u16::MAX.into();
        if !(1..=most).contains(&threads) {
            return Err(EngineError::InFlight { given: threads, most });
        }
        let hasher = || Hasher::with_plan(params, plan).threads(Threads::Serial).pages(policy);
        let mut hashers: Vec<_> = iter::repeat_with(hasher).take(threads).collect();
        hashers.iter_mut().try_for_each(Hasher::reserve)?;
        Ok(Batches { name: format!("{} on {threads} threads", plan.kernel().name()), hashers })
    }
}

impl BatchEngine for Batches {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> BatchLimits {
        let bytes_per_hash = self.hashers[0].params().blocks() * 1024;
        BatchLimits::new(self.hashers.len(), self.hashers.len() as u64 * bytes_per_hash, STOP_LATENCY)
    }

    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        let count = jobs.len();
        let rest = Mutex::new(jobs.iter_mut().enumerate());
        let failed = Stop::new();
        // The number and the error of the first job without a tag.
        let work = |hasher: &mut Hasher| -> Result<(), (usize, HashError)> {
            while !failed.is_set() {
                let next = rest.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, job)) = next else { break };
                hasher.hash_until(&job.input, job.tag, stop).map_err(|error| {
                    failed.set();
                    (number, error)
                })?;
            }
            Ok(())
        };
        let results: Vec<_> = thread::scope(|scope| {
            let mut hashers = self.hashers.iter_mut();
            let own = hashers.next();
            // Continues with fewer threads if the system grants no more.
            let helper = |hasher| thread::Builder::new().spawn_scoped(scope, || work(hasher)).ok();
            let helpers: Vec<_> = hashers.take(count.saturating_sub(1)).map_while(helper).collect();
            let own = own.map(work);
            let helped = helpers.into_iter().map(|helper| match helper.join() {
                Ok(results) => results,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            own.into_iter().chain(helped).collect()
        });
        // Jobs are handed out in order, so all before the first without a tag have theirs.
        let untagged = results.into_iter().filter_map(Result::err).min_by_key(|(number, _)| *number);
        match untagged {
            None => Ok(count),
            Some((number, HashError::Stopped)) => Ok(number),
            Some((_, error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::*;

    fn batches(threads: usize) -> Result<Batches, EngineError> {
        Batches::new(Params::new(64, 2, 2).unwrap(), Plan::host(), PagePolicy::default(), threads)
    }

    #[test]
    fn batched_tags_equal_single_tags() {
        let mut hasher = Hasher::new(Params::new(64, 2, 2).unwrap());
        for threads in [1, 3] {
            let mut engine = batches(threads).unwrap();
            assert_eq!(engine.limits(), BatchLimits::new(threads, threads as u64 * 65_536, STOP_LATENCY));
            for count in [0, 1, 2, 50] {
                let salts: Vec<_> = (0..count).map(|i: u64| i.to_le_bytes()).collect();
                let mut tags = vec![[0; 16]; salts.len()];
                let input = |salt| Input::new(b"password", salt);
                let mut jobs: Vec<_> =
                    salts.iter().zip(&mut tags).map(|(salt, tag)| Job { input: input(salt), tag }).collect();
                assert_eq!(engine.hash(&mut jobs, &Stop::new()), Ok(salts.len()));
                for (salt, tag) in salts.iter().zip(&tags) {
                    assert_eq!(hasher.hash::<16>(&input(salt)).unwrap(), *tag);
                }
            }
        }
    }

    #[test]
    fn stop_and_invalid_job_leave_tags_unchanged() {
        let mut engine = batches(2).unwrap();
        let (stop, mut tags) = (Stop::new(), vec![[0; 16]; 9]);
        stop.set();
        let jobs = |tags: &mut Vec<[u8; 16]>, short: usize| -> Result<usize, EngineError> {
            let mut jobs: Vec<_> = tags
                .iter_mut()
                .enumerate()
                .map(|(number, tag)| {
                    let tag = if number == short { &mut tag[..3] } else { &mut tag[..] };
                    Job { input: Input::default(), tag }
                })
                .collect();
            engine.hash(&mut jobs, &stop)
        };
        let mut jobs = jobs;
        assert_eq!((jobs(&mut tags, 9), tags[0]), (Ok(0), [0; 16]));
        stop.clear();
        assert!(matches!(jobs(&mut tags, 4), Err(EngineError::Function { .. })));
        assert_eq!(tags[4], [0; 16]);
        let none = batches(0).map(|_| ());
        assert_eq!(none, Err(EngineError::InFlight { given: 0, most: 65_535 }));
    }
}
