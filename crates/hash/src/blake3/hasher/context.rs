//! [`Context`]: a plan, a workspace and threads, kept between calls.

use crate::blake3::kernel::Cv;
use crate::blake3::lanes::{self, Key};
use crate::blake3::mode::{ContextKey, Mode};
use crate::blake3::tree;
use crate::blake3::tree::parallel::{self, Slots};
use crate::blake3::{BLOCK_LEN, CHUNK_LEN, Hash, KEY_LEN, Plan, ROOT};
use crate::process::PerProcess;
use crate::work_sharing::Threads;
use std::fmt;
use zeroize::Zeroize;

/// A hasher of whole inputs for programs that hash many: mode, kernels, workspace and threads are set up
/// once.
///
/// The threads belong to the context and sleep between calls. The calling thread always works too, so a
/// context of `n` threads starts `n - 1`. A forked child starts its own threads on its first call that needs
/// them; if the system grants none, that call and all later ones use only the calling thread.
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

    /// A context with this plan, this mode and `threads` threads (at least one: the caller's).
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn with(plan: Plan, mode: &Mode<'_>, threads: usize) -> Result<Context, rayon::ThreadPoolBuildError> {
        let threads = threads.max(1);
        let pool = PerProcess::new(start(threads)?);
        Ok(Context { plan, key: mode.key(), pool, threads, slots: Slots::new() })
    }

    /// Changes the mode to [`keyed_hash`](crate::blake3::keyed_hash) under this key.
    pub fn set_key(&mut self, key: &[u8; KEY_LEN]) -> &mut Context {
        self.key = Mode::KeyedHash(key).key();
        self
    }

    /// Changes the mode to [`derive_key`](crate::blake3::derive_key) in this context.
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

    /// Frees the workspace. The next large call allocates it anew.
    pub fn release_workspace(&mut self) {
        self.slots = Slots::new();
    }

    /// The plan.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The most threads that a call can use.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

/// Starts the threads besides the caller's, if any.
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
