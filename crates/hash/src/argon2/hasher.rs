//! [`Hasher`]: parameters, a plan and memory, kept between hashes.

use super::Input;
use super::error::HashError;
use super::fill::Fill;
use super::init_final;
use super::memory::Arena;
use super::pages::PagePolicy;
use super::params::Params;
use super::plan::Plan;
use super::steps::{Course, Steps};
use crate::stop::Stop;
use crate::work_sharing::{self, Threads};

/// When the memory of a hash is wiped. It holds enough to test guesses of the password with little work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Wipe {
    /// After each hash, before the tag is returned.
    #[default]
    EachHash,
    /// When the memory is given back. For inputs that are no secret, such as those of a proof of work.
    OnDrop,
}

/// Hashes with the same parameters, one after another, in memory that is kept.
///
/// The first hash makes the memory and pays for its pages; every later one allocates nothing on its own. On several
/// threads, rayon allocates one small task for each helper, unless the caller is a thread of the pool.
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
    /// A hasher for this machine. Takes no memory yet.
    pub fn new(params: Params) -> Hasher {
        Hasher::with_plan(params, Plan::host())
    }

    /// [`new`](Hasher::new) with another plan.
    pub fn with_plan(params: Params, plan: Plan) -> Hasher {
        let (threads, wipe) = (Threads::default(), Wipe::default());
        Hasher { params, plan, threads, wipe, arena: Arena::new(PagePolicy::default()) }
    }

    /// The same on other threads.
    pub fn threads(self, threads: Threads) -> Hasher {
        Hasher { threads, ..self }
    }

    /// The same with memory wiped at other times.
    pub fn wipe(self, wipe: Wipe) -> Hasher {
        Hasher { wipe, ..self }
    }

    /// The same with pages of another kind. Gives up memory that it has.
    pub fn pages(self, policy: PagePolicy) -> Hasher {
        Hasher { arena: Arena::new(policy), ..self }
    }

    /// What it computes.
    pub fn params(&self) -> Params {
        self.params
    }

    /// Computes something else from now on, in the same memory where it suffices.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// How it computes.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// When it wipes.
    pub(super) fn wipes(&self) -> Wipe {
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

    /// The tag of `input`, as long as `tag`: 4 to 2^32 - 1 bytes. Its length is part of what is hashed.
    ///
    /// # Errors
    /// A length out of range, or [`HashError::OutOfMemory`].
    pub fn hash_into(&mut self, input: &Input<'_>, tag: &mut [u8]) -> Result<(), HashError> {
        static NEVER: Stop = Stop::new();
        self.hash_until(input, tag, &NEVER)
    }

    /// [`hash_into`](Hasher::hash_into) that ends early when asked to, from another thread.
    ///
    /// # Errors
    /// As `hash_into`, and [`HashError::Stopped`]; `tag` is then untouched.
    pub fn hash_until(&mut self, input: &Input<'_>, tag: &mut [u8], stop: &Stop) -> Result<(), HashError> {
        init_final::check(input, tag.len())?;
        let Hasher { params, plan, .. } = *self;
        let kernel = plan.kernel();
        let (threads, width) = self.team();
        let wipes = self.wipe == Wipe::EachHash;
        let mut matrices = [self.arena.matrix(params.shape())?];
        init_final::begin(kernel, params, input, tag.len(), &mut matrices[0]);
        let finished = Fill::new(plan, params, &matrices, width, stop).wiping(wipes).run_on(threads);
        if finished {
            init_final::finish(kernel, &mut matrices[0], tag);
        }
        if wipes {
            matrices[0].wipe_last_blocks();
            self.arena.set_clean();
        }
        if finished { Ok(()) } else { Err(HashError::Stopped) }
    }

    /// A hash of `tag_len` bytes that goes on when it is told to, see [`Steps`]. Takes the memory, computes nothing that
    /// takes time.
    ///
    /// # Errors
    /// As `hash_into`.
    pub fn steps(self, input: &Input<'_>, tag_len: usize) -> Result<Steps, HashError> {
        Ok(Steps(Course::begin(self, input, tag_len)?))
    }

    /// [`hash_into`](Hasher::hash_into) of a length known when compiling.
    ///
    /// # Errors
    /// As `hash_into`.
    pub fn hash<const N: usize>(&mut self, input: &Input<'_>) -> Result<[u8; N], HashError> {
        let mut tag = [0; N];
        self.hash_into(input, &mut tag)?;
        Ok(tag)
    }

    /// How many threads work, and how many lanes each of them interleaves.
    pub(super) fn team(&self) -> (usize, usize) {
        let most = self.threads.count(self.plan.is_parallel(self.params), work_sharing::available);
        let lanes = self.params.lanes() as usize;
        let threads = most.min(lanes);
        (threads, self.plan.width(self.params).min(lanes.div_ceil(threads)))
    }
}
