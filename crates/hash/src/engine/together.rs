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
use ledger::{Divisible, Ledger, Next, Pace};
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

/// Several engines that are one. Where one fails the others go on: see [`shares`](Together::shares).
///
/// Each brings the memory that it was made with: whoever makes several sees that there is enough for all.
pub struct Together<E: ?Sized> {
    name: String,
    members: Vec<Member<E>>,
}

struct Member<E: ?Sized> {
    name: String,
    /// Or why it is asked no more.
    engine: Result<Box<E>, EngineError>,
    pace: Pace,
    done: u64,
}

/// What one of several engines has had of the work.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Share<'a> {
    /// Its name.
    pub name: &'a str,
    /// How much it has done, of whatever came to its end.
    pub done: u64,
    /// Why it fell out, if it did. It is asked no more.
    pub failed: Option<&'a EngineError>,
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
        let member = |engine: Box<E>| Member {
            name: name(&engine).to_owned(),
            engine: Ok(engine),
            pace: Pace::default(),
            done: 0,
        };
        let members: Vec<_> = engines.into_iter().map(member).collect();
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        Ok(Together { name: names.join(" and "), members })
    }

    /// With what somebody has measured that each engine does in a second, in their order: what is not known is found out,
    /// with a batch, or with half of an equal part where that is less.
    #[must_use]
    pub fn expecting(mut self, rates: impl IntoIterator<Item = Option<f64>>) -> Self {
        for (member, rate) in self.members.iter_mut().zip(rates) {
            member.pace = rate.map_or(Pace::default(), Pace::expected);
        }
        self
    }

    /// What each engine has had of the work so far, in the order in which they were given.
    pub fn shares(&self) -> impl Iterator<Item = Share<'_>> {
        self.members.iter().map(|member| Share {
            name: &member.name,
            done: member.done,
            failed: member.engine.as_ref().err(),
        })
    }

    /// Those that have not failed.
    fn engines(&self) -> impl Iterator<Item = &E> {
        self.members.iter().filter_map(|member| member.engine.as_deref().ok())
    }

    /// Shares `all` among the engines, a thread for each. How much was done, and what is left where they were stopped.
    fn share<P: Divisible + Send>(
        &mut self,
        all: P,
        batch: impl Fn(&E) -> u64,
        stop: &Stop,
        work: impl Fn(&mut E, P) -> Done<P> + Sync,
    ) -> Result<(u64, Vec<P>), EngineError> {
        let (mut engines, mut records) = (Vec::new(), Vec::new());
        for Member { engine, pace, done, .. } in &mut self.members {
            if let Ok(engine) = engine {
                records.push((batch(engine), pace, done));
                engines.push(engine);
            }
        }
        let ledger = Ledger::new(all, records.iter().map(|(batch, pace, _)| (*batch, **pace)));
        let shared = Shared { ledger: Mutex::new(ledger), changed: Condvar::new(), stop };
        let by = |(number, engine): (usize, &mut Box<E>)| shared.by(number, |part| work(&mut **engine, part));
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
        for (((_, pace, done), learnt), (count, _)) in records.into_iter().zip(paces).zip(&ended) {
            *pace = learnt;
            *done += count;
        }
        let all = ended.iter().map(|(count, _)| count).sum();
        if let Some(error) = ended.iter().filter_map(|(_, error)| error.as_ref()).find(is_the_callers) {
            return Err(error.clone());
        }
        let asked = self.members.iter_mut().filter(|member| member.engine.is_ok());
        for (member, (_, error)) in asked.zip(ended) {
            if let Some(error) = error {
                member.engine = Err(error);
            }
        }
        match self.members.iter().filter_map(|member| member.engine.as_ref().err()).next_back() {
            Some(error) if self.engines().next().is_none() => Err(error.clone()),
            _ => Ok((all, left)),
        }
    }
}

/// Whether every engine would refuse the same.
fn is_the_callers(error: &&EngineError) -> bool {
    matches!(error, EngineError::HeaderLen { .. } | EngineError::Function { .. } | EngineError::Forked)
}

impl<E: ?Sized + Send> fmt::Debug for Together<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Together");
        let shares: Vec<_> = self.shares().collect();
        out.field("name", &self.name).field("shares", &shares).finish()
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

    /// Has an engine work for as long as there is something. How much it has done, and why it fell out, if so.
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
        self.engines().map(|engine| engine.limits()).fold(none, |all, one| NonceLimits {
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
        self.engines().map(|engine| engine.limits()).fold(none, |all, one| BatchLimits {
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
