//! Combination of several engines on one list of hashes: devices, and the processor beside them.
//!
//! Each engine takes a part, and returns for another when it is done. The size of a part is what the engine
//! computes in a certain time; the speed of each is measured. Towards the end parts become smaller, so that
//! all engines end at about the same time, and an engine that would keep the others waiting for long gets
//! nothing more. The last part of an engine that fails goes to the others.

mod ledger;
#[cfg(test)]
mod tests;

use super::batches::{BatchEngine, BatchLimits};
use super::{EngineError, Stop};
use crate::argon2::Job;
use core::fmt;
use core::time::Duration;
use ledger::{Assignment, Divisible, Ledger, Throughput};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

/// Several engines as one. If one fails the others continue: see [`shares`](EngineGroup::shares).
///
/// Each has its own memory: the caller ensures that there is enough for all.
pub struct EngineGroup {
    name: String,
    members: Vec<Member>,
}

struct Member {
    name: String,
    /// The engine, or the error after which it gets no more work.
    engine: Result<Box<dyn BatchEngine>, EngineError>,
    throughput: Throughput,
    done: u64,
}

/// Share of the work of one of several engines.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineShare<'a> {
    /// Its name.
    pub name: &'a str,
    /// The amount of work that it has finished.
    pub done: u64,
    /// The error, if it failed. It gets no more work then.
    pub failed: Option<&'a EngineError>,
}

impl EngineGroup {
    /// Combines engines that hash with the same parameters.
    ///
    /// # Errors
    /// [`EngineError::InFlight`] if there are none.
    pub fn hashing(engines: Vec<Box<dyn BatchEngine>>) -> Result<Self, EngineError> {
        if engines.is_empty() {
            return Err(EngineError::InFlight { given: 0, most: u16::MAX.into() });
        }
        let member = |engine: Box<dyn BatchEngine>| Member {
            name: engine.name().to_owned(),
            engine: Ok(engine),
            throughput: Throughput::default(),
            done: 0,
        };
        let members: Vec<_> = engines.into_iter().map(member).collect();
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        Ok(EngineGroup { name: names.join(" and "), members })
    }

    /// Sets the measured rates of the engines, per second and in their order. An unknown rate is measured
    /// with a batch, or with half of an equal part if that is less.
    #[must_use]
    pub fn expecting(mut self, rates: impl IntoIterator<Item = Option<f64>>) -> Self {
        for (member, rate) in self.members.iter_mut().zip(rates) {
            member.throughput = rate.map_or(Throughput::default(), Throughput::expected);
        }
        self
    }

    /// The share of each engine so far, in their original order.
    pub fn shares(&self) -> impl Iterator<Item = EngineShare<'_>> {
        self.members.iter().map(|member| EngineShare {
            name: &member.name,
            done: member.done,
            failed: member.engine.as_ref().err(),
        })
    }

    /// The engines that have not failed.
    fn engines(&self) -> impl Iterator<Item = &dyn BatchEngine> {
        self.members.iter().filter_map(|member| member.engine.as_deref().ok())
    }

    /// Shares `all` among the engines, with a thread for each. Returns what is left after a stop.
    fn share<P: Divisible + Send>(
        &mut self,
        all: P,
        stop: &Stop,
        work: impl Fn(&mut dyn BatchEngine, P) -> Done<P> + Sync,
    ) -> Result<Vec<P>, EngineError> {
        let (mut engines, mut records) = (Vec::new(), Vec::new());
        for Member { engine, throughput, done, .. } in &mut self.members {
            if let Ok(engine) = engine {
                records.push((engine.limits().width as u64, throughput, done));
                engines.push(engine);
            }
        }
        let ledger = Ledger::new(all, records.iter().map(|(batch, throughput, _)| (*batch, **throughput)));
        let shared = Shared { ledger: Mutex::new(ledger), changed: Condvar::new(), stop };
        let by = |(number, engine): (usize, &mut Box<dyn BatchEngine>)| {
            shared.by(number, |part| work(&mut **engine, part))
        };
        let ended: Vec<_> = thread::scope(|scope| {
            let mut engines = engines.into_iter().enumerate();
            let own = engines.next();
            let start = |(number, engine)| {
                let by = &by;
                let started = thread::Builder::new().spawn_scoped(scope, move || by((number, engine)));
                started.inspect_err(|_| shared.ledger().leave(number))
            };
            let others: Vec<_> = engines.map(start).collect();
            let own = own.map(&by);
            let others = others.into_iter().map(|thread| match thread.map(ScopedJoinHandle::join) {
                Ok(Ok(ended)) => ended,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => (0, Some(EngineError::System { reason: error.to_string() })),
            });
            own.into_iter().chain(others).collect()
        });
        let (left, paces) = shared.ledger.into_inner().unwrap_or_else(PoisonError::into_inner).end();
        for (((_, throughput, done), learnt), (count, _)) in records.into_iter().zip(paces).zip(&ended) {
            *throughput = learnt;
            *done += count;
        }
        if let Some(error) = ended.iter().filter_map(|(_, error)| error.as_ref()).find(is_the_callers) {
            return Err(error.clone());
        }
        let usable_members = self.members.iter_mut().filter(|member| member.engine.is_ok());
        for (member, (_, error)) in usable_members.zip(ended) {
            if let Some(error) = error {
                member.engine = Err(error);
            }
        }
        match self.members.iter().filter_map(|member| member.engine.as_ref().err()).next_back() {
            Some(error) if self.engines().next().is_none() => Err(error.clone()),
            _ => Ok(left),
        }
    }
}

/// Would every engine return the same error?
fn is_the_callers(error: &&EngineError) -> bool {
    matches!(error, EngineError::Function { .. } | EngineError::Forked)
}

impl fmt::Debug for EngineGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("EngineGroup");
        let shares: Vec<_> = self.shares().collect();
        out.field("name", &self.name).field("shares", &shares).finish()
    }
}

/// Result of a part: the finished amount, and the rest after a stop; or the error that ends the engine, and
/// the part.
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

    /// The next part for an engine; waits for one if others may return some.
    fn next(&self, engine: usize) -> Option<P> {
        let mut ledger = self.ledger();
        while !self.stop.is_set() {
            match ledger.take(engine) {
                Assignment::Do(part) => return Some(part),
                Assignment::End => break,
                // A set `stop` sends no signal, so wait with a timeout.
                Assignment::Wait => {
                    let waited = self.changed.wait_timeout(ledger, Duration::from_millis(5));
                    ledger = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        None
    }

    /// Runs an engine while there is work. Returns the finished amount, and its error if it failed.
    fn by(&self, engine: usize, mut work: impl FnMut(P) -> Done<P>) -> (u64, Option<EngineError>) {
        let _ends = EndsAll(self);
        let mut all = 0;
        while let Some(part) = self.next(engine) {
            let began = Instant::now();
            let done = work(part);
            let took = began.elapsed();
            let mut ledger = self.ledger();
            match done {
                Ok((count, rest)) => {
                    all += count;
                    ledger.done(engine, count, took, rest);
                }
                Err((error, part)) => {
                    ledger.failed(engine, part);
                    return (all, Some(error));
                }
            }
            drop(ledger);
            self.changed.notify_all();
        }
        (all, None)
    }
}

/// Notifies the other threads when a thread ends; after a panic it also stops them.
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

impl BatchEngine for EngineGroup {
    fn name(&self) -> &str {
        &self.name
    }

    /// The sum of the limits of all engines that have not failed.
    fn limits(&self) -> BatchLimits {
        let none = BatchLimits::new(0, 0, Duration::ZERO);
        self.engines().map(|engine| engine.limits()).fold(none, |all, one| BatchLimits {
            width: all.width + one.width,
            memory: all.memory + one.memory,
            stop_latency: all.stop_latency.max(one.stop_latency),
        })
    }

    /// See [`BatchEngine::hash`]. If an engine fails, others hash its last part.
    ///
    /// # Errors
    /// As for `hash`; if all engines have failed, the error of the last.
    fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
        let (count, all) = (jobs.len(), Jobs { first: 0, jobs });
        let left = self.share(all, stop, |engine, part| {
            let Jobs { first, jobs } = part;
            let count = match engine.hash(jobs, stop) {
                Ok(count) if count == jobs.len() || (count < jobs.len() && stop.is_set()) => count,
                Ok(_) => return Err((EngineError::ended_early(), Jobs { first, jobs })),
                Err(error) => return Err((error, Jobs { first, jobs })),
            };
            Ok((count as u64, Some(Jobs { first: first + count, jobs: &mut jobs[count..] })))
        })?;
        Ok(left.iter().map(|part| part.first).min().unwrap_or(count))
    }
}
