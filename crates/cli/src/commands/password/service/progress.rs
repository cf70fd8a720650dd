//! Progress bar for a single hash, which may take many seconds.

use crate::output::progress::Bar;
use hashmill_engines::HashProgress;
use hashmill_hash::argon2::{Params, Step};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps per pass; the bar moves after each.
const STEPS_PER_PASS: u64 = 4;

/// Callback that receives each finished step of a hash.
type OnStep<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;

/// Progress bar of one hash at a time.
pub(super) struct HashBar {
    hidden: bool,
    done: Arc<AtomicU64>,
    bar: Option<Bar>,
}

impl HashBar {
    /// A bar that is not shown if `hidden`.
    pub(super) fn new(hidden: bool) -> HashBar {
        HashBar { hidden, done: Arc::default(), bar: None }
    }

    /// Shows the progress of the CPU.
    pub(super) fn show(&mut self, progress: HashProgress) {
        match progress {
            HashProgress::Started { params } if !self.hidden => {
                self.done.store(0, Ordering::Relaxed);
                let total = STEPS_PER_PASS * u64::from(params.passes());
                self.bar = Bar::parts("hashing", &self.done, total);
            }
            HashProgress::Step(step) => self.done.store(step.done, Ordering::Relaxed),
            HashProgress::Finished => {
                if let Some(bar) = self.bar.take() {
                    bar.finish();
                }
            }
            _ => {}
        }
    }
}

/// Runs `work` with a progress bar for a hash with these parameters.
pub(in super::super) fn with_progress<R>(params: Params, work: impl FnOnce(OnStep<'_>) -> R) -> R {
    let mut bar = HashBar::new(false);
    bar.show(HashProgress::Started { params });
    let result = work(&mut |step| {
        bar.show(HashProgress::Step(step));
        ControlFlow::Continue(())
    });
    bar.show(HashProgress::Finished);
    result
}
