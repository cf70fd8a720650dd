//! Progress of one hash, which may take many seconds.

use hashmill_hash::argon2::{Params, Step, Stop};
use std::ops::ControlFlow;

/// Progress of one hash on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HashProgress {
    /// The CPU begins a hash with these parameters.
    Started {
        /// The parameters.
        params: Params,
    },
    /// A step is done.
    Step(Step),
    /// The hash is done, or was stopped.
    Finished,
}

/// Receiver of progress.
pub type OnProgress<'a> = &'a mut dyn FnMut(HashProgress);

/// Runs work on the CPU that reports its steps.
pub(super) fn watched<T>(
    params: Params,
    watch: OnProgress<'_>,
    stop: &Stop,
    work: impl FnOnce(&mut dyn FnMut(Step) -> ControlFlow<()>) -> T,
) -> T {
    watch(HashProgress::Started { params });
    let result = work(&mut |step| {
        watch(HashProgress::Step(step));
        if stop.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    watch(HashProgress::Finished);
    result
}

/// Receives progress of work that is too short for a progress bar.
pub(super) fn unwatched(_: HashProgress) {}
