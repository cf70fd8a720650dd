//! Several engines on one piece of work: cards, and the processor beside them.
//!
//! Each takes a part, comes back for another when it is done, and is given as much as it does in a while: how fast each is, is learnt.
//! Towards the end parts become smaller, so that all end at about the same time, and an engine that would be the last for long takes
//! nothing more. What an engine had taken that failed is given to the others.

mod ledger;
#[cfg(test)]
mod tests;

use super::batches::{BatchEngine, BatchLimits};
use super::nonces::{Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch};
use super::{EngineError, Stop};
use crate::argon2::Job;
use core::fmt;
use core::ops::Range;
use core::time::Duration;
use ledger::{Divisible, Ledger, Next};
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

/// Several engines that are one. Where one fails the others go on: see [`failed`](Together::failed).
///
/// Each brings the memory that it was made with: whoever makes several sees that there is enough for all.
pub struct Together<E: ?Sized> {
    name: String,
    members: Vec<Member<E>>,
    failed: Vec<(String, EngineError)>,
}

struct Member<E: ?Sized> {
    name: String,
    engine: Box<E>,
}

impl Together<dyn NonceEngine> {
    /// These, which search by the same function.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none.
    pub fn searching(engines: Vec<Box<dyn NonceEngine>>) -> Result<Self, EngineError> {
        Together::of(engines, |engine| engine.name())
    }
}

impl Together<dyn BatchEngine> {
    /// These, which hash with the same parameters.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] for none.
    pub fn hashing(engines: Vec<Box<dyn BatchEngine>>) -> Result<Self, EngineError> {
        Together::of(engines, |engine| engine.name())
    }
}

impl<E: ?Sized + Send> Together<E> {
    fn of(engines: Vec<Box<E>>, name: impl Fn(&E) -> &str) -> Result<Self, EngineError> {
        if engines.is_empty() {
            return Err(EngineError::InFlight { given: 0, most: u16::MAX.into() });
        }
        let member = |engine: Box<E>| Member { name: name(&engine).to_owned(), engine };
        let members: Vec<_> = engines.into_iter().map(member).collect();
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        Ok(Together { name: names.join(" and "), members, failed: Vec::new() })
    }

    /// Engines that fell out, by their names, and why. They are asked no more.
    pub fn failed(&self) -> &[(String, EngineError)] {
        &self.failed
    }

    /// Shares `all` among the engines, a thread for each. How much was done, and what is left where they were stopped.
    fn share<P: Divisible + Send>(
        &mut self,
        all: P,
        batch: impl Fn(&E) -> u64,
        stop: &Stop,
        work: impl Fn(&mut E, P) -> Done<P> + Sync,
    ) -> Result<(u64, Vec<P>), EngineError> {
        let ledger = Ledger::new(all, self.members.iter().map(|member| batch(&member.engine)));
        let shared = Shared { ledger: Mutex::new(ledger), changed: Condvar::new(), stop };
        let by = |(number, member): (usize, &mut Member<E>)| {
            shared.by(number, |part| work(&mut member.engine, part))
        };
        let ended: Vec<_> = thread::scope(|scope| {
            let mut members = self.members.iter_mut().enumerate();
            let own = members.next();
            let start = |(number, member)| {
                let by = &by;
                let started = thread::Builder::new().spawn_scoped(scope, move || by((number, member)));
                started.inspect_err(|_| shared.ledger().leave(number))
            };
            let others: Vec<_> = members.map(start).collect();
            let own = own.map(&by);
            let others = others.into_iter().map(|thread| match thread.map(ScopedJoinHandle::join) {
                Ok(Ok(ended)) => ended,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => Err(EngineError::System { reason: error.to_string() }),
            });
            own.into_iter().chain(others).collect()
        });
        if let Some(error) = ended.iter().filter_map(|ended| ended.as_ref().err()).find(is_the_callers) {
            return Err(error.clone());
        }
        let done = ended.iter().flatten().sum();
        let mut members = Vec::new();
        for (member, ended) in self.members.drain(..).zip(ended) {
            match ended {
                Ok(_) => members.push(member),
                Err(error) => self.failed.push((member.name, error)),
            }
        }
        self.members = members;
        match self.failed.last() {
            Some((_, error)) if self.members.is_empty() => Err(error.clone()),
            _ => Ok((done, shared.ledger.into_inner().unwrap_or_else(PoisonError::into_inner).left())),
        }
    }
}

/// Whether every engine would refuse the same.
fn is_the_callers(error: &&EngineError) -> bool {
    matches!(error, EngineError::HeaderLen { .. } | EngineError::Function { .. } | EngineError::Forked)
}

impl<E: ?Sized> fmt::Debug for Together<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Together");
        out.field("name", &self.name).field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// What came of a part: how much of it was done, and what is left of it, if it was stopped; or why nothing more comes, and the part.
type Done<P> = Result<(u64, Option<P>), (EngineError, P)>;

/// Work that several threads share.
struct Shared<'a, P> {
    ledger: Mutex<Ledger<P>>,
    changed: Condvar,
    stop: &'a Stop,
}

impl<P: Divisible> Shared<'_, P> {
    fn ledger(&self) -> MutexGuard<'_, Ledger<P>> {
        lock(&self.ledger)
    }

    /// The next part for an engine, when there is one.
    fn next(&self, engine: usize) -> Option<P> {
        let mut ledger = self.ledger();
        while !self.stop.is_set() {
            match ledger.take(engine) {
                Next::Do(part) => return Some(part),
                Next::End => break,
                // Who sets `stop` tells nobody.
                Next::Wait => {
                    let waited = self.changed.wait_timeout(ledger, Duration::from_millis(5));
                    ledger = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        None
    }

    /// Has an engine work for as long as there is something. How much it has done.
    fn by(&self, engine: usize, mut work: impl FnMut(P) -> Done<P>) -> Result<u64, EngineError> {
        let _ends = EndsAll(self);
        let mut all = 0;
        while let Some(part) = self.next(engine) {
            let began = Instant::now();
            let done = work(part);
            let mut ledger = self.ledger();
            match done {
                Ok((count, rest)) => {
                    all += count;
                    ledger.done(engine, count, began.elapsed(), rest);
                }
                Err((error, part)) => {
                    ledger.failed(engine, part);
                    return Err(error);
                }
            }
            drop(ledger);
            self.changed.notify_all();
        }
        Ok(all)
    }
}

/// A thread that ends has changed something; one that panics leaves nobody at work in vain.
struct EndsAll<'a, 'b, P>(&'a Shared<'b, P>);

impl<P> Drop for EndsAll<'_, '_, P> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.set();
        }
        self.0.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an engine is told that says it is done, and is not.
fn early() -> EngineError {
    EngineError::System { reason: "an engine ended before its work was done".to_owned() }
}

/// Nonces that nobody has tried to the end, and those of them that were told by an engine that failed later.
#[derive(PartialEq, Eq, Debug)]
struct Nonces {
    range: Range<u64>,
    told: BTreeSet<u64>,
}

impl Divisible for Nonces {
    fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    fn split(mut self, len: u64) -> (Nonces, Nonces) {
        let middle = self.range.start + len;
        let rest = Nonces { range: middle..self.range.end, told: self.told.split_off(&middle) };
        (Nonces { range: self.range.start..middle, told: self.told }, rest)
    }
}

impl NonceEngine for Together<dyn NonceEngine> {
    fn name(&self) -> &str {
        &self.name
    }

    /// Those of all that have not failed.
    fn limits(&self) -> NonceLimits {
        let none = NonceLimits::new(0, 0, Duration::ZERO);
        self.members.iter().map(|member| member.engine.limits()).fold(none, |all, one| NonceLimits {
            in_flight: all.in_flight + one.in_flight,
            memory: all.memory + one.memory,
            batch: all.batch + one.batch,
            stop_latency: all.stop_latency.max(one.stop_latency),
        })
    }

    /// See [`NonceEngine::search`]. Where an engine fails, others try its last part again, and tell what it has not told; what was
    /// counted of that part counts twice in `watch`. A panic of `hit` sets the stop of `watch`.
    ///
    /// # Errors
    /// As there, and that of the last engine where all have failed.
    fn search(
        &mut self,
        job: &NonceJob<'_>,
        nonces: Range<u64>,
        watch: &Watch,
        hit: &(dyn Fn(Hit) + Sync),
    ) -> Result<Searched, EngineError> {
        let end = nonces.end.max(nonces.start);
        let all = Nonces { range: nonces, told: BTreeSet::new() };
        let (hashes, left) = self.share(
            all,
            |engine| engine.limits().batch,
            watch.stop(),
            |engine, part| {
                let Nonces { range, told } = part;
                let told = Mutex::new(told);
                let once = |found: Hit| {
                    if lock(&told).insert(found.nonce) {
                        hit(found);
                    }
                };
                let searched = engine.search(job, range.clone(), watch, &once).and_then(|searched| {
                    let within = (range.start..=range.end).contains(&searched.next);
                    let honest = searched.next == range.end || (within && watch.stop().is_set());
                    if honest { Ok(searched) } else { Err(early()) }
                });
                let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
                match searched {
                    Ok(Searched { hashes, next }) => {
                        let rest = Nonces { range: next..range.end, told: told.split_off(&next) };
                        Ok((hashes, Some(rest)))
                    }
                    Err(error) => Err((error, Nonces { range, told })),
                }
            },
        )?;
        Ok(Searched::new(hashes, left.iter().map(|part| part.range.start).min().unwrap_or(end)))
    }
}

/// Jobs that have no tags yet, and the number of the first.
struct Jobs<'a, 'b> {
    first: usize,
    jobs: &'a mut [Job<'b>],
}

impl Divisible for Jobs<'_, '_> {
    fn len(&self) -> u64 {
        self.jobs.len() as u64
    }

    fn split(self, len: u64) -> (Self, Self) {
        let (jobs, rest) = self.jobs.split_at_mut(len as usize);
        (Jobs { first: self.first, jobs }, Jobs { first: self.first + len as usize, jobs: rest })
    }
}

impl BatchEngine for Together<dyn BatchEngine> {
    fn name(&self) -> &str {
        &self.name
    }

    /// Those of all that have not failed.
    fn limits(&self) -> BatchLimits {
        let none = BatchLimits::new(0, 0, Duration::ZERO);
        self.members.iter().map(|member| member.engine.limits()).fold(none, |all, one| BatchLimits {
            width: all.width + one.width,
            memory: all.memory + one.memory,
            stop_latency: all.stop_latency.max(one.stop_latency),
        })
    }

    /// See [`BatchEngine::hash`]. Where an engine fails, others hash what it had taken last.
    ///
    /// # Errors
    /// As there, and that of the last engine where all have failed.
    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        let (count, all) = (jobs.len(), Jobs { first: 0, jobs });
        let (_, left) = self.share(
            all,
            |engine| engine.limits().width as u64,
            stop,
            |engine, part| {
                let Jobs { first, jobs } = part;
                let count = match engine.hash(jobs, stop) {
                    Ok(count) if count == jobs.len() || (count < jobs.len() && stop.is_set()) => count,
                    Ok(_) => return Err((early(), Jobs { first, jobs })),
                    Err(error) => return Err((error, Jobs { first, jobs })),
                };
                Ok((count as u64, Some(Jobs { first: first + count, jobs: &mut jobs[count..] })))
            },
        )?;
        Ok(left.iter().map(|part| part.first).min().unwrap_or(count))
    }
}
