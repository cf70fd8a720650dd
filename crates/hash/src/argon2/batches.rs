//! [`Batches`]: the processor's engine for lists of inputs.

use super::{HashError, Hasher, Job, PagePolicy, Params, Plan, Threads};
use crate::engine::{BatchEngine, BatchLimits, EngineError, Stop};
use core::iter;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Each thread looks for a request to stop every thousand blocks, which take about a millisecond where memory is far.
const STOP_LATENCY: Duration = Duration::from_millis(10);

/// Hashes lists of inputs, each on a thread and in memory of its own. Memory is taken when this is made, and wiped after each hash.
#[derive(Debug)]
pub struct Batches {
    name: String,
    /// One for each thread.
    hashers: Vec<Hasher>,
}

impl Batches {
    /// With so many threads, one at least.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none; [`EngineError::OutOfMemory`].
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
        let of_one = self.hashers[0].params().blocks() * 1024;
        BatchLimits::new(self.hashers.len(), self.hashers.len() as u64 * of_one, STOP_LATENCY)
    }

    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        let count = jobs.len();
        let rest = Mutex::new(jobs.iter_mut().enumerate());
        let broken = Stop::new();
        // The first job that has no tag, and why.
        let work = |hasher: &mut Hasher| -> Result<(), (usize, HashError)> {
            while !broken.is_set() {
                let next = rest.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, job)) = next else { break };
                hasher.hash_until(&job.input, job.tag, stop).map_err(|error| {
                    broken.set();
                    (number, error)
                })?;
            }
            Ok(())
        };
        let ended: Vec<_> = thread::scope(|scope| {
            let mut hashers = self.hashers.iter_mut();
            let own = hashers.next();
            // Where the system gives no more threads, there are fewer.
            let helper = |hasher| thread::Builder::new().spawn_scoped(scope, || work(hasher)).ok();
            let helpers: Vec<_> = hashers.take(count.saturating_sub(1)).map_while(helper).collect();
            let own = own.map(work);
            let helped = helpers.into_iter().map(|helper| match helper.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            own.into_iter().chain(helped).collect()
        });
        // Jobs are handed out in their order: those before the first that has no tag have theirs.
        let untagged = ended.into_iter().filter_map(Result::err).min_by_key(|(number, _)| *number);
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

    fn made(threads: usize) -> Result<Batches, EngineError> {
        Batches::new(Params::new(64, 2, 2).unwrap(), Plan::host(), PagePolicy::default(), threads)
    }

    #[test]
    fn every_input_has_the_tag_that_it_has_alone() {
        let mut hasher = Hasher::new(Params::new(64, 2, 2).unwrap());
        for threads in [1, 3] {
            let mut engine = made(threads).unwrap();
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
    fn a_stop_and_a_job_that_cannot_be_leave_tags_whole() {
        let mut engine = made(2).unwrap();
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
        let none = made(0).map(|_| ());
        assert_eq!(none, Err(EngineError::InFlight { given: 0, most: 65_535 }));
    }
}
