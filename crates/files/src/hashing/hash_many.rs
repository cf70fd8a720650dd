//! Hashing of many inputs on all threads, with results in the order of the inputs.
//!
//! The calling thread takes inputs from the iterator, passes groups of them to the pool, and delivers
//! finished ones in order. Workers never wait for each other: a worker without a group helps with the tiles
//! of another worker's large file. The calling thread stops taking inputs while too many groups are
//! unfinished, so memory stays bounded even if the first of a million files is the slowest.

use crate::context::HashContext;
use crate::context::pool::PanicFlag;
use crate::error::Error;
use crate::function::Digest;
use crate::hashing::batch::Batch;
use crate::hashing::file;
use rayon::{ScopeFifo, ThreadPool};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// Files per group: some 100 µs of work if they are small.
const GROUP: usize = 64;

/// The maximum number of unfinished groups.
const WINDOW: u64 = 64;

/// Work that the calling thread does alone before it starts threads, and its minimum time: starting two
/// threads and waiting for them takes a third of that, and a hundred small files on one thread take no more.
const ALONE_FILES: usize = 32;
const ALONE_BYTES: u64 = 256 * 1024;
const ALONE: Duration = Duration::from_millis(1);

/// Source of the bytes of a [`HashJob`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// The file at the item's path.
    File,
    /// Standard input. Several jobs with it read it one after another, in order.
    Stdin,
    /// None: the digest is known already. It is delivered in order.
    Known(Digest),
    /// None: the input has failed already.
    Failed(Error),
}

/// One input of [`Files::hash_many`](crate::Files::hash_many).
#[derive(Debug)]
pub struct HashJob<T> {
    /// The file, or the name under which the result is reported.
    pub path: PathBuf,
    /// The source of the bytes.
    pub input: Input,
    /// A value of the caller that is returned with the result.
    pub tag: T,
}

/// Receiver of the results of [`Files::hash_many`](crate::Files::hash_many). Any `FnMut(path, tag, result)`
/// is one.
pub trait ResultSink<T> {
    /// The reason to stop before the last result. A sink that never stops uses a type without values.
    type Break;

    /// Receives the next result. Breaking ends the work: no further result follows.
    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<Self::Break>;

    /// Called when no result is ready: a time to flush output.
    fn pause(&mut self) -> ControlFlow<Self::Break> {
        ControlFlow::Continue(())
    }
}

impl<T, B, F: FnMut(PathBuf, T, Result<Digest, Error>) -> ControlFlow<B>> ResultSink<T> for F {
    type Break = B;

    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<B> {
        self(path, tag, result)
    }
}

type Answer<T> = (PathBuf, T, Result<Digest, Error>);

/// Passes each job's result to `sink`, in the order of the jobs.
pub(crate) fn hash<T: Send, S: ResultSink<T>>(
    context: &HashContext,
    mut items: Peekable<impl Iterator<Item = HashJob<T>>>,
    mut sink: S,
) -> ControlFlow<S::Break> {
    // Alone and one by one while there may be only a few jobs: no result waits for a slow file behind it.
    let (start, hashed) = (Instant::now(), context.progress.bytes());
    let mut answered = 0;
    let mut alone = true;
    while items.peek().is_some() {
        if !alone && let Some(pool) = context.pool.get() {
            return Dispatcher { context, pool, stop: AtomicBool::new(false) }.run(items, sink);
        }
        let group = items.by_ref().take(if alone { 1 } else { GROUP }).collect();
        emit_all(answer(context, group), &mut sink)?;
        sink.pause()?;
        answered += 1;
        let many = answered >= ALONE_FILES || context.progress.bytes() - hashed >= ALONE_BYTES;
        alone = alone && !(many && start.elapsed() >= ALONE);
    }
    ControlFlow::Continue(())
}

/// Hashes a group on the calling thread.
fn answer<T>(context: &HashContext, group: Vec<HashJob<T>>) -> Vec<Answer<T>> {
    let mut batch = Batch::new(context, group.len());
    let ask = |HashJob { path, input, tag }| {
        match input {
            Input::File => batch.file(&path),
            Input::Stdin => batch.known(file::hash_stdin(context)),
            Input::Known(digest) => batch.known(Ok(digest)),
            Input::Failed(error) => batch.known(Err(error)),
        }
        (path, tag)
    };
    let jobs: Vec<(PathBuf, T)> = group.into_iter().map(ask).collect();
    jobs.into_iter().zip(batch.finish()).map(|((path, tag), result)| (path, tag, result)).collect()
}

/// One call of `hash_many` on several threads.
struct Dispatcher<'a> {
    context: &'a HashContext,
    pool: &'a ThreadPool,
    /// Has the sink stopped, or a thread panicked?
    stop: AtomicBool,
}

impl Dispatcher<'_> {
    fn run<T: Send, S: ResultSink<T>>(
        &self,
        items: Peekable<impl Iterator<Item = HashJob<T>>>,
        mut sink: S,
    ) -> ControlFlow<S::Break> {
        let (sender, receiver) = mpsc::channel();
        let flow = self.pool.in_place_scope_fifo(|scope| {
            // Set before the scope waits for running groups: a panic of the caller's iterator or sink stops
            // them, too.
            let _alarm = PanicFlag(&self.stop);
            let flow = self.dispatch(scope, items, &sender, &receiver, &mut sink);
            self.stop.store(!matches!(flow, Some(ControlFlow::Continue(()))), Ordering::Relaxed);
            flow
        });
        flow.expect("the scope hands on the panic of a thread")
    }

    /// `None` after a panic of a thread.
    fn dispatch<'scope, T: Send + 'scope, S: ResultSink<T>>(
        &'scope self,
        scope: &ScopeFifo<'scope>,
        mut items: Peekable<impl Iterator<Item = HashJob<T>>>,
        sender: &Sender<(u64, Vec<Answer<T>>)>,
        receiver: &Receiver<(u64, Vec<Answer<T>>)>,
        sink: &mut S,
    ) -> Option<ControlFlow<S::Break>> {
        // Groups 0..emitted are delivered, emitted..sent are not; `early` holds groups that finished before
        // their turn.
        let mut sent = 0;
        let mut emitted = 0;
        let mut early = BTreeMap::new();
        loop {
            let more = items.peek().is_some();
            if more && sent - emitted < WINDOW {
                let group = take_group(&mut items);
                if matches!(group[0].input, Input::Stdin) {
                    early.insert(sent, answer(self.context, group));
                } else {
                    let sender = sender.clone();
                    scope.spawn_fifo(move |_| self.answer(sent, group, &sender));
                }
                sent += 1;
            } else if sent == emitted && !more {
                return Some(ControlFlow::Continue(()));
            } else if !early.contains_key(&emitted) {
                if let stopped @ ControlFlow::Break(_) = sink.pause() {
                    return Some(stopped);
                }
                early.extend(receiver.recv());
            }
            early.extend(receiver.try_iter());
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            while let Some(answers) = early.remove(&emitted) {
                emitted += 1;
                if let stopped @ ControlFlow::Break(_) = emit_all(answers, sink) {
                    return Some(stopped);
                }
            }
        }
    }

    fn answer<T>(&self, number: u64, group: Vec<HashJob<T>>, sender: &Sender<(u64, Vec<Answer<T>>)>) {
        let mut due = PendingResult { number, answers: Vec::new(), sender };
        // Set before the results are sent, so that the receiver of none knows the reason.
        let _alarm = PanicFlag(&self.stop);
        if !self.stop.load(Ordering::Relaxed) {
            due.answers = answer(self.context, group);
        }
    }
}

/// Results that the calling thread waits for: sent on drop, if need be empty. So a panic does not leave the
/// calling thread waiting for ever; the scope propagates it once running groups have ended.
struct PendingResult<'a, T> {
    number: u64,
    answers: Vec<Answer<T>>,
    sender: &'a Sender<(u64, Vec<Answer<T>>)>,
}

impl<T> Drop for PendingResult<'_, T> {
    fn drop(&mut self) {
        // The receiver is dropped only after the last result was taken.
        let _ = self.sender.send((self.number, std::mem::take(&mut self.answers)));
    }
}

fn emit_all<T, S: ResultSink<T>>(answers: Vec<Answer<T>>, sink: &mut S) -> ControlFlow<S::Break> {
    answers.into_iter().try_for_each(|(path, tag, result)| sink.answer(path, tag, result))
}

/// The next group. Standard input is a group of its own: the calling thread reads it, so that several jobs
/// with it are served in order.
fn take_group<T>(items: &mut Peekable<impl Iterator<Item = HashJob<T>>>) -> Vec<HashJob<T>> {
    let mut group = Vec::with_capacity(GROUP);
    while group.len() < GROUP {
        let is_stdin = |item: &HashJob<T>| matches!(item.input, Input::Stdin);
        if group.is_empty() {
            group.extend(items.next());
        } else if is_stdin(&group[0]) {
            break;
        } else {
            match items.next_if(|item| !is_stdin(item)) {
                Some(item) => group.push(item),
                None => break,
            }
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::context::pool::Buffers;
    use crate::function::Function;
    use std::num::NonZero;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// No input should cause a panic. If one does, the panic must be visible.
    #[test]
    fn worker_panic_is_propagated() {
        let options = Options { threads: NonZero::new(2), ..Options::default() };
        let mut context = HashContext::new(Function::blake3(), options);
        // Too small for any file: adding one panics.
        context.arenas = Buffers::new(1);
        let items = (0..10).map(|tag| HashJob { path: "Cargo.toml".into(), input: Input::File, tag });
        let pool = context.pool.get().expect("two threads");
        let dispatcher = Dispatcher { context: &context, pool, stop: AtomicBool::new(false) };
        let mut answers = 0;
        let run = || {
            dispatcher.run(items.peekable(), |_, _, _: Result<Digest, Error>| {
                answers += 1;
                ControlFlow::<()>::Continue(())
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(answers, 0);
    }
}
