//! A bar for a single hash, which may take many seconds.

use crate::out::progress::Bar;
use hashmill_hash::argon2::{Params, Step};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pieces of a pass, after each of which the bar moves.
const PIECES: u64 = 4;

/// What a hash tells.
pub(super) type Tell<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;

/// Runs `work` beside a bar that moves as it tells how far a hash of this cost is; without one if it is `hidden`.
pub(super) fn watched<R>(params: Params, hidden: bool, work: impl FnOnce(Tell<'_>) -> R) -> R {
    let done = Arc::new(AtomicU64::new(0));
    let total = PIECES * u64::from(params.passes());
    let bar = if hidden { None } else { Bar::parts("hashing", &done, total) };
    let result = work(&mut |step| {
        done.store(step.done, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    result
}
