//! [`Hasher`]: parameters, a plan and memory, kept between hashes.

mod arenas;
mod steps;

pub use arenas::Arenas;
pub(crate) use steps::StepState;
pub use steps::{Step, Steps};

use super::error::HashError;
use super::fill::{self, Fill, Input};
use super::memory::{Arena, PagePolicy};
use super::params::Params;
use super::plan::Plan;
use crate::stop::Stop;
use crate::work_sharing::{self, Threads};

/// The time at which the memory of a hash is wiped. It holds enough to test guesses of the password with
/// little work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Wipe {
    /// After each hash, before the tag is returned.
    #[default]
    EachHash,
    /// When the memory is freed. For inputs that are not secret, such as those of a proof of work.
    OnDrop,
}

/// Hashes with fixed parameters, one after another, in memory that is kept between them.
///
/// The first hash allocates the memory and pays for its pages; later ones allocate nothing themselves. On
/// several threads, rayon allocates one small task for each helper, unless the caller is a thread of the
/// pool.
///
/// ```
/// use hashmill_hash::argon2::{Hasher, Input, Params};
///
/// let mut hasher = Hasher::new(Params::new(1024, 2, 1)?); // 1 MiB, two passes, one lane
/// let tag: [u8; 32] = hasher.hash(&Input::new(b"password", b"somesalt"))?;
/// assert_eq!(tag, hasher.hash::<32>(&Input::new(b"password", b"somesalt"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hasher {
    params: Params,
    plan: Plan,
    threads: Threads,
    wipe: Wipe,
    arena: Arena,
}

impl Hasher {
    /// A hasher for this machine. Allocates no memory yet.
    pub fn new(params: Params) -> Hasher {
        Hasher::with_plan(params, Plan::host())
    }

    /// As [`new`](Hasher::new), with another plan.
    pub fn with_plan(params: Params, plan: Plan) -> Hasher {
        let (threads, wipe) = (Threads::default(), Wipe::default());
        Hasher { params, plan, threads, wipe, arena: Arena::new(PagePolicy::default()) }
    }

    /// Sets the threads.
    pub fn threads(self, threads: Threads) -> Hasher {
        Hasher { threads, ..self }
    }

    /// Sets the time of the wipe.
    pub fn wipe(self, wipe: Wipe) -> Hasher {
        Hasher { wipe, ..self }
    }

    /// Sets the kind of pages, and frees any memory that it has.
    pub fn pages(self, policy: PagePolicy) -> Hasher {
        Hasher { arena: Arena::new(policy), ..self }
    }

    /// The parameters.
    pub fn params(&self) -> Params {
        self.params
    }

    /// Changes the parameters; the memory is reused where it suffices.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// The plan.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The time of the wipe.
    pub(in crate::argon2) fn wipes(&self) -> Wipe {
        self.wipe
    }

    /// The memory.
    pub fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    /// Takes the memory now rather than at the first hash.
    ///
    /// # Errors
    /// [`HashError::OutOfMemory`].
    pub fn reserve(&mut self) -> Result<(), HashError> {
        self.arena.reserve(self.params.blocks())
    }

    /// The tag of `input`, with the length of `tag`: 4 to 2^32 - 1 bytes. The length is part of the input.
    ///
    /// # Errors
    /// A length out of range, or [`HashError::OutOfMemory`].
    pub fn hash_into(&mut self, input: &Input<'_>, tag: &mut [u8]) -> Result<(), HashError> {
        static NEVER: Stop = Stop::new();
        self.hash_until(input, tag, &NEVER)
    }

    /// As [`hash_into`](Hasher::hash_into), but ends early when another thread sets `stop`.
    ///
    /// # Errors
    /// As `hash_into`, and [`HashError::Stopped`]; `tag` is then untouched.
    pub fn hash_until(&mut self, input: &Input<'_>, tag: &mut [u8], stop: &Stop) -> Result<(), HashError> {
        fill::check(input, tag.len())?;
        let Hasher { params, plan, .. } = *self;
        let kernel = plan.kernel();
        let (threads, width) = self.threads_and_width();
        let wipes = self.wipe == Wipe::EachHash;
        let mut matrices = [self.arena.matrix(params.shape())?];
        fill::begin(kernel, params, input, tag.len(), &mut matrices[0]);
        let finished = Fill::new(plan, params, &matrices, width, stop).wiping(wipes).run_on(threads);
        if finished {
            fill::finish(kernel, &mut matrices[0], tag);
        }
        if wipes {
            matrices[0].wipe_last_blocks();
            self.arena.set_clean();
        }
        if finished { Ok(()) } else { Err(HashError::Stopped) }
    }

    /// As [`hash_into`](Hasher::hash_into), with a length known at compile time.
    ///
    /// # Errors
    /// As `hash_into`.
    pub fn hash<const N: usize>(&mut self, input: &Input<'_>) -> Result<[u8; N], HashError> {
        let mut tag = [0; N];
        self.hash_into(input, &mut tag)?;
        Ok(tag)
    }

    /// The number of threads, and of lanes that each of them interleaves.
    pub(in crate::argon2) fn threads_and_width(&self) -> (usize, usize) {
        let most = self.threads.count(self.plan.is_parallel(self.params), work_sharing::available);
        let lanes = self.params.lanes() as usize;
        let threads = most.min(lanes);
        (threads, self.plan.width(self.params).min(lanes.div_ceil(threads)))
    }
}
