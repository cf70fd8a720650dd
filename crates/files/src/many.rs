//! Many inputs, on all threads, with the answers in the order of the questions.
//!
//! The calling thread takes inputs from the iterator, hands groups of them to the pool and passes on finished
//! ones in order. Workers never wait for each other: whoever runs out of groups helps with the tiles of somebody's large
//! file. The calling thread stops taking inputs while too many groups are unanswered, so memory stays bounded even
//! if the first of a million files is the slowest.

use crate::batch::Batch;
use crate::error::Error;
use crate::file;
use crate::function::Digest;
use crate::pool::Alarm;
use crate::work::Work;
use rayon::{ScopeFifo, ThreadPool};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// Files that go to a thread together: some 100 µs of work if they are small.
const GROUP: usize = 64;

/// Groups that may be unanswered.
const WINDOW: u64 = 64;

/// Work that the calling thread does alone before it starts threads, and how long at least: starting two and waiting for them
/// takes a third of that, and a hundred small files on one thread no more.
const ALONE_FILES: usize = 32;
const ALONE_BYTES: u64 = 256 * 1024;
const ALONE: Duration = Duration::from_millis(1);

/// Where the bytes of an [`Item`] come from.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// The file at the item's path.
    File,
    /// Standard input. Items that name it more than once read it one after another, in order.
    Stdin,
    /// Nowhere: the answer is known already. It comes out in its place among the others.
    Known(Digest),
    /// Nowhere: it is known already that there is no digest.
    Failed(Error),
}

/// One question for [`Files::hash_many`](crate::Files::hash_many).
#[derive(Debug)]
pub struct Item<T> {
    /// The file, or the name under which the answer is reported.
    pub path: PathBuf,
    /// What to hash.
    pub input: Input,
    /// Whatever the caller wants back with the answer.
    pub tag: T,
}

/// Takes the answers of [`Files::hash_many`](crate::Files::hash_many). Any `FnMut(path, tag, result)` is one.
pub trait Sink<T> {
    /// Why there may be an end before the last answer. A sink that takes all of them names a type without values.
    type Break;

    /// Takes the next answer. Breaking ends the work: no further answer comes.
    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<Self::Break>;

    /// Called when no answer is ready: a time to flush what was written.
    fn pause(&mut self) -> ControlFlow<Self::Break> {
        ControlFlow::Continue(())
    }
}

impl<T, B, F: FnMut(PathBuf, T, Result<Digest, Error>) -> ControlFlow<B>> Sink<T> for F {
    type Break = B;

    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<B> {
        self(path, tag, result)
    }
}

type Answer<T> = (PathBuf, T, Result<Digest, Error>);

/// Gives each item's answer to `sink`, in the order of the items.
pub(crate) fn hash<T: Send, S: Sink<T>>(
    work: &Work,
    mut items: Peekable<impl Iterator<Item = Item<T>>>,
    mut sink: S,
) -> ControlFlow<S::Break> {
    // Alone, and one by one as long as it may turn out that there are only a few: no answer waits for a slow file behind it.
    let (start, hashed) = (Instant::now(), work.progress.bytes());
    let mut answered = 0;
    let mut alone = true;
    while items.peek().is_some() {
        if !alone && let Some(pool) = work.pool.get() {
            return Dispatcher { work, pool, stop: AtomicBool::new(false) }.run(items, sink);
        }
        let group = items.by_ref().take(if alone { 1 } else { GROUP }).collect();
        emit_all(answer(work, group), &mut sink)?;
        sink.pause()?;
        answered += 1;
        let many = answered >= ALONE_FILES || work.progress.bytes() - hashed >= ALONE_BYTES;
        alone = alone && !(many && start.elapsed() >= ALONE);
    }
    ControlFlow::Continue(())
}

/// Answers a group on the calling thread.
fn answer<T>(work: &Work, group: Vec<Item<T>>) -> Vec<Answer<T>> {
    let mut batch = Batch::new(work, group.len());
    let ask = |Item { path, input, tag }| {
        match input {
            Input::File => batch.file(&path),
            Input::Stdin => batch.known(file::hash_stdin(work)),
            Input::Known(digest) => batch.known(Ok(digest)),
            Input::Failed(error) => batch.known(Err(error)),
        }
        (path, tag)
    };
    let asked: Vec<(PathBuf, T)> = group.into_iter().map(ask).collect();
    asked.into_iter().zip(batch.finish()).map(|((path, tag), result)| (path, tag, result)).collect()
}

/// The threads at work on one call of `hash_many`.
struct Dispatcher<'a> {
    work: &'a Work,
    pool: &'a ThreadPool,
    /// Nobody wants further answers, or somebody panicked.
    stop: AtomicBool,
}

impl Dispatcher<'_> {
    fn run<T: Send, S: Sink<T>>(
        &self,
        items: Peekable<impl Iterator<Item = Item<T>>>,
        mut sink: S,
    ) -> ControlFlow<S::Break> {
        let (sender, receiver) = mpsc::channel();
        let flow = self.pool.in_place_scope_fifo(|scope| {
            // Before the scope waits for what is under way: a panic of the caller's iterator or sink ends that, too.
            let _alarm = Alarm(&self.stop);
            let flow = self.dispatch(scope, items, &sender, &receiver, &mut sink);
            self.stop.store(!matches!(flow, Some(ControlFlow::Continue(()))), Ordering::Relaxed);
            flow
        });
        flow.expect("the scope hands on the panic of a thread")
    }

    /// Gives nothing when a thread has panicked.
    fn dispatch<'scope, T: Send + 'scope, S: Sink<T>>(
        &'scope self,
        scope: &ScopeFifo<'scope>,
        mut items: Peekable<impl Iterator<Item = Item<T>>>,
        sender: &Sender<(u64, Vec<Answer<T>>)>,
        receiver: &Receiver<(u64, Vec<Answer<T>>)>,
        sink: &mut S,
    ) -> Option<ControlFlow<S::Break>> {
        // Groups 0..emitted are answered and emitted, emitted..sent are not; `early` holds those that are answered
        // before their turn.
        let mut sent = 0;
        let mut emitted = 0;
        let mut early = BTreeMap::new();
        loop {
            let more = items.peek().is_some();
            if more && sent - emitted < WINDOW {
                let group = take_group(&mut items);
                if matches!(group[0].input, Input::Stdin) {
                    early.insert(sent, answer(self.work, group));
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

    fn answer<T>(&self, number: u64, group: Vec<Item<T>>, sender: &Sender<(u64, Vec<Answer<T>>)>) {
        let mut due = Due { number, answers: Vec::new(), sender };
        // Raised before the answers are sent, so that whoever gets none knows why.
        let _alarm = Alarm(&self.stop);
        if !self.stop.load(Ordering::Relaxed) {
            due.answers = answer(self.work, group);
        }
    }
}

/// Answers that somebody waits for: sent when dropped, if need be without answers. So a panic does not leave the calling
/// thread waiting for ever; the scope hands it on as soon as what is under way has ended.
struct Due<'a, T> {
    number: u64,
    answers: Vec<Answer<T>>,
    sender: &'a Sender<(u64, Vec<Answer<T>>)>,
}

impl<T> Drop for Due<'_, T> {
    fn drop(&mut self) {
        // The receiver is gone only when nobody wants answers any more.
        let _ = self.sender.send((self.number, std::mem::take(&mut self.answers)));
    }
}

fn emit_all<T, S: Sink<T>>(answers: Vec<Answer<T>>, sink: &mut S) -> ControlFlow<S::Break> {
    answers.into_iter().try_for_each(|(path, tag, result)| sink.answer(path, tag, result))
}

/// The next items for one thread. Standard input goes alone: the calling thread reads it, so that several mentions
/// of it are served in order.
fn take_group<T>(items: &mut Peekable<impl Iterator<Item = Item<T>>>) -> Vec<Item<T>> {
    let mut group = Vec::with_capacity(GROUP);
    while group.len() < GROUP {
        let is_stdin = |item: &Item<T>| matches!(item.input, Input::Stdin);
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
    use crate::function::Function;
    use crate::pool::Buffers;
    use crate::work::Options;
    use std::num::NonZero;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// What no input should ever do. If it happens all the same, it must be seen.
    #[test]
    fn a_panic_on_another_thread_comes_out_and_nobody_waits() {
        let options = Options { threads: NonZero::new(2), ..Options::default() };
        let mut work = Work::new(Function::blake3(), options);
        // Too small for any file: whoever puts one there panics.
        work.arenas = Buffers::new(1);
        let items = (0..10).map(|tag| Item { path: "Cargo.toml".into(), input: Input::File, tag });
        let pool = work.pool.get().expect("two threads");
        let dispatcher = Dispatcher { work: &work, pool, stop: AtomicBool::new(false) };
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
