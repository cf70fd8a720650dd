//! [`Context`]: a plan, a workspace and threads of its own, kept between calls.

use super::hazmat::{ContextKey, Mode};
use super::kernel::Cv;
use super::lanes::{self, Key};
use super::parallel::Slots;
use super::{BLOCK_LEN, CHUNK_LEN, Hash, KEY_LEN, Plan, ROOT, parallel, tree};
use crate::process::PerProcess;
use crate::work_sharing::Threads;
use std::fmt;
use zeroize::Zeroize;

/// A hasher of whole inputs for a program that hashes many: mode, kernels, workspace and threads are set up once.
///
/// The threads belong to the context and sleep between calls. The calling thread always works too, so a context of
/// `n` threads starts `n - 1`. A forked child starts its own with its first call that needs them; if the system gives none,
/// that call and all later ones work on the calling thread alone.
///
/// ```
/// use hashmill_hash::blake3::Threads;
/// use hashmill_hash::blake3::{Context, hash};
///
/// let mut context = Context::new()?;
/// let input = vec![7; 1 << 20];
/// assert_eq!(context.hash(&input, Threads::Auto), hash(&input));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Context {
    plan: Plan,
    key: Key,
    pool: PerProcess<Option<rayon::ThreadPool>>,
    threads: usize,
    slots: Slots,
}

impl Context {
    /// A context with as many threads as the machine offers this process.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn new() -> Result<Context, rayon::ThreadPoolBuildError> {
        Context::with(Plan::host(), &Mode::Hash, std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// A context with these kernels, this mode and `threads` threads (at least one: the caller's).
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn with(plan: Plan, mode: &Mode<'_>, threads: usize) -> Result<Context, rayon::ThreadPoolBuildError> {
        let threads = threads.max(1);
        let pool = PerProcess::new(start(threads)?);
        Ok(Context { plan, key: mode.key(), pool, threads, slots: Slots::new() })
    }

    /// Changes the mode to [`keyed_hash`](super::keyed_hash) under this key.
    pub fn set_key(&mut self, key: &[u8; KEY_LEN]) -> &mut Context {
        self.key = Mode::KeyedHash(key).key();
        self
    }

    /// Changes the mode to [`derive_key`](super::derive_key) in this context.
    pub fn set_derive_key(&mut self, context_key: &ContextKey) -> &mut Context {
        self.key = Mode::DeriveKeyMaterial(context_key).key();
        self
    }

    /// The digest of `input`.
    pub fn hash(&mut self, input: &[u8], threads: Threads) -> Hash {
        let pays = input.len() >= self.plan.parallel_from();
        let helpers = threads.count(pays, || self.threads) - 1;
        let pool = if helpers > 0 && input.len() > CHUNK_LEN {
            self.pool.get_or(|| start(self.threads).unwrap_or(None)).as_ref()
        } else {
            None
        };
        let words = match pool {
            Some(pool) => {
                let children: [Cv; 2] =
                    parallel::children_by(self.plan, &self.key, input, 0, helpers, &mut self.slots, |task| {
                        pool.spawn(task);
                    });
                lanes::parent(self.plan.one(BLOCK_LEN), &self.key, &children, ROOT)
            }
            None => tree::hash_all(self.plan, &self.key, input),
        };
        Hash::from_words(&words)
    }

    /// Gives the memory of the workspace back. The next large call takes it anew.
    pub fn release_workspace(&mut self) {
        self.slots = Slots::new();
    }

    /// The kernels in use.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The most threads that a call can use.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

/// The threads that are not the caller's, if there are to be any.
fn start(threads: usize) -> Result<Option<rayon::ThreadPool>, rayon::ThreadPoolBuildError> {
    match threads {
        1 => Ok(None),
        _ => rayon::ThreadPoolBuilder::new().num_threads(threads - 1).build().map(Some),
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("plan", &self.plan)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.key.words.zeroize();
    }
}
