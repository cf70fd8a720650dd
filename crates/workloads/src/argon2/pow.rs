//! Proof-of-work workload: a nonce search on persistent threads with reused memory.
//!
//! One iteration is a search from nonce 0 that ends with its last hash, so each sample is the exact time of complete hashes.

use crate::argon2::{failed, number, plan, room};
use crate::{lower_bounds, thread_counts};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread, ThreadPool};
use hashmill_hash::argon2::{HashError, Kernel, PagePolicy, Params, Plan};
use hashmill_hash::engine::{self, EngineError, Hit, NonceEngine, NonceJob, SearchMonitor};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::{bind, free_kib, place_threads, processors};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Byte `i` is `31 * i + 7`, as in the published digests.
pub(crate) fn header() -> [u8; 92] {
    std::array::from_fn(|i| (31 * i + 7) as u8)
}

/// Digests of nonces 0 to 3 with this header, 2 GiB, one pass and one lane, equal in several miners and RustCrypto's crate.
const BLOCKNET: [&str; 4] = [
    "f0a24a78aad19aa74b6831d9ac1aa85237bdd2eddb6de1d1aa124d0846bbe1c0",
    "167685a6f599a7bc916fa3a42ad8068547c22b0bf7d604212f4b47a9e435677f",
    "17803213591f9ac4ccc854b3c2f49ac96fde3ce714ad2a63401b082f87058641",
    "4c38a8f1ae73d1958d42591a7ebe824d94d05e7323eae660b76de2e3a9796b91",
];

/// Below this memory an iteration tries more nonces, so that waking the threads does not matter.
const LEAST_KIB: u64 = 64 << 10;

pub(crate) fn register(registry: &mut Registry) {
    // 2 GiB is available by name and in the suite only: too much for `*`.
    let sizes = [1 << 20, 64 << 20];
    registry.workload(Nonces, &sizes).engine(
        "workers",
        Search::default(),
        EngineOffer::classes(&["kernel", "kernel-effective", "backend", "end-to-end", "sustained"])
            .kernels(Kernel::all().map(Kernel::name))
            .threads(thread_counts())
            .knob("in-flight", ["1", "2", "3", "4"])
            .knob("passes", ["1", "4"])
            .knob("pages", PAGES.map(|(name, _)| name))
            .knob("cores", ["any", "best"]),
    );
    let blocknet =
        |class: &str, threads: u32, rest: &str| format!("pow/workers/{class}/2GiB/t{threads}{rest}");
    let mut patterns: Vec<String> = ["kernel", "kernel-effective", "backend", "end-to-end"]
        .map(|class| blocknet(class, 1, "/in-flight=1"))
        .into();
    for threads in thread_counts() {
        patterns.extend(["1", "2", "3"].map(|n| blocknet("backend", threads, &format!("/in-flight={n}"))));
    }
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    registry.suite(
        "pow",
        "the proof of work of 2 GiB: each timing class, then threads and hashes in flight",
        &patterns,
    );
}

const PAGES: [(&str, PagePolicy); 4] = [
    ("transparent", PagePolicy::Transparent),
    ("plain", PagePolicy::Plain),
    ("reserved", PagePolicy::Reserved),
    ("largest", PagePolicy::Largest),
];

/// Free memory in bytes at the first call. It limits the hashes in flight, which must not depend on the memory that earlier cases
/// took. 0 on systems that do not report it: then only the hashes that a case asks for are in flight.
fn free_at_start() -> u64 {
    static FREE: OnceLock<u64> = OnceLock::new();
    *FREE.get_or_init(|| free_kib().map_or(0, |kib| kib.saturating_mul(1024)))
}

/// Settings of a case.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Setting {
    pow: Pow,
    pages: PagePolicy,
    threads: usize,
    in_flight: usize,
    /// Whether each thread is bound to its own processor, the best ones first.
    bound: bool,
}

impl Setting {
    pub(crate) fn from_spec(spec: &Spec, plan: Plan) -> Result<Setting, CaseError> {
        if !spec.size.is_multiple_of(1024) {
            return Err(CaseError::failed("the memory must be a whole number of KiB"));
        }
        let kib = u32::try_from(spec.size / 1024).map_err(CaseError::failed)?;
        let params = Params::new(kib, number(spec, "passes", 1)?, 1).map_err(CaseError::failed)?;
        let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
        let best = SingleThread::best_in_flight(pow, plan, free_at_start() / u64::from(spec.threads)) as u32;
        let requested = spec.knobs.get("pages").map_or("transparent", String::as_str);
        let pages = PAGES.iter().find(|(name, _)| *name == requested).map(|(_, policy)| *policy);
        let pages = pages.ok_or_else(|| {
            CaseError::failed(format!("`pages={requested}`: choose transparent, plain, reserved or largest"))
        })?;
        let in_flight = number(spec, "in-flight", best)? as usize;
        let bound = match spec.knobs.get("cores").map_or("any", String::as_str) {
            "any" => false,
            "best" => true,
            other => return Err(CaseError::failed(format!("`cores={other}`: choose any or best"))),
        };
        Ok(Setting { pow, pages, threads: spec.threads as usize, in_flight, bound })
    }

    /// Nonces of one iteration: a multiple of the hashes in flight, large enough to time.
    fn nonces(&self) -> u64 {
        let at_once = (self.threads * self.in_flight) as u64;
        at_once * LEAST_KIB.div_ceil(self.pow.params().work())
    }

    /// The proof of work; every hash in flight has its own memory.
    pub(crate) fn pow(&self) -> Pow {
        self.pow
    }

    fn memory_kib(&self) -> u64 {
        (self.threads * self.in_flight) as u64 * self.pow.params().blocks()
    }
}

/// The first nonces of a header. The size of a case is the memory of one hash.
struct Nonces;

impl Workload for Nonces {
    /// Digests of the first four nonces.
    type Input = Vec<[u8; 32]>;

    fn name(&self) -> &str {
        "pow"
    }

    fn units(&self, spec: &Spec) -> Units {
        let nonces =
            plan(spec).and_then(|plan| Setting::from_spec(spec, plan)).map_or(1, |setting| setting.nonces());
        Units::Hashes(nonces)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let setting = Setting::from_spec(spec, plan(spec).ok()?).ok()?;
        let params = setting.pow.params();
        Some(lower_bounds::argon2_batch(setting.nonces(), params.blocks(), params.passes().into()))
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Vec<[u8; 32]>, CaseError> {
        right(spec, 4)
    }

    fn reference(&self, _: &Spec, digests: &Vec<[u8; 32]>) -> Result<Digest, CaseError> {
        Ok(Digest::new(&digests[0]))
    }
}

/// Correct digests of the first nonces, at most four, computed on the CPU or published.
pub(crate) fn right(spec: &Spec, count: usize) -> Result<Vec<[u8; 32]>, CaseError> {
    let params = Setting::from_spec(spec, Plan::host())?.pow.params();
    if (params.memory_kib(), params.passes()) == (2 << 20, 1) {
        return BLOCKNET.iter().take(count).map(|digits| digest(digits)).collect();
    }
    room(params.blocks())?;
    let mut engine = single(Plan::for_kernel(Kernel::portable()), params)?;
    search(&mut engine, count as u64)
}

fn digest(digits: &str) -> Result<[u8; 32], CaseError> {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(CaseError::failed)?;
        *byte = u8::from_str_radix(pair, 16).map_err(CaseError::failed)?;
    }
    Ok(bytes)
}

fn single(plan: Plan, params: Params) -> Result<SingleThread, CaseError> {
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    SingleThread::new(pow, plan, PagePolicy::Transparent, 1).map_err(refused)
}

pub(crate) fn refused(error: EngineError) -> CaseError {
    match error {
        EngineError::OutOfMemory { bytes } => failed(HashError::OutOfMemory { bytes }),
        error => CaseError::failed(error),
    }
}

/// Digests of the nonces below `count`, in order.
pub(crate) fn search(engine: &mut dyn NonceEngine, count: u64) -> Result<Vec<[u8; 32]>, CaseError> {
    let header = header();
    let job = NonceJob::new(&header, [0xff; 32]);
    let found = Mutex::new(vec![None; count as usize]);
    let note = |hit: Hit| {
        if let Ok(mut found) = found.lock() {
            found[hit.nonce as usize] = Some(hit.digest);
        }
    };
    engine::search(engine, &job, 0..count, &SearchMonitor::new(), &note).map_err(refused)?;
    let found: Option<Vec<_>> = found.into_inner().map_err(CaseError::failed)?.into_iter().collect();
    found.ok_or_else(|| CaseError::failed("a nonce was left out"))
}

/// Persistent threads. All cases of a session share them, as each pool takes gigabytes. A case that needs more threads restarts
/// the pool; the others use a part of it.
#[derive(Default)]
struct Search {
    shared: RefCell<Option<Pool>>,
}

struct Pool {
    workers: ThreadPool,
    setting: Setting,
    plan: Plan,
}

/// Own threads if starting them is timed, otherwise a use of the shared ones.
struct PoolHandle {
    setting: Setting,
    plan: Plan,
    own: Option<ThreadPool>,
}

pub(crate) fn start(setting: &Setting, plan: Plan) -> Result<ThreadPool, CaseError> {
    room(setting.memory_kib())?;
    let Setting { pow, pages, threads, in_flight, bound } = *setting;
    let order = if bound { place_threads(&processors(), threads) } else { Vec::new() };
    if bound && order.len() < threads {
        return Err(CaseError::unavailable(format!(
            "{threads} threads on processors of their own: {} may be used",
            order.len()
        )));
    }
    let refusals = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refusals);
    let begin = move |thread: usize| {
        if order.get(thread).is_some_and(|id| !bind(*id)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut workers = ThreadPool::new(pow, plan, pages, threads, in_flight, begin).map_err(refused)?;
    if refusals.load(Ordering::Relaxed) > 0 {
        return Err(CaseError::unavailable("the system does not let threads be kept on processors"));
    }
    workers.prefault();
    Ok(workers)
}

impl Search {
    /// Runs with the shared threads; starts more if this case needs them.
    fn with_shared<R>(
        &self,
        handle: &PoolHandle,
        work: impl FnOnce(&mut ThreadPool) -> Result<R, CaseError>,
    ) -> Result<R, CaseError> {
        let Setting { pow, pages, threads, in_flight, bound } = handle.setting;
        let mut shared = self.shared.borrow_mut();
        let fits = shared.as_ref().is_some_and(|pool| {
            let most = &pool.setting;
            pool.plan.kernel() == handle.plan.kernel()
                && (most.pow, most.pages, most.bound) == (pow, pages, bound)
                && most.threads >= threads
                && most.in_flight >= in_flight
        });
        if !fits {
            // With the same work, keep enough threads for the earlier cases. Free the old memory before allocating new memory.
            let before =
                shared.take().map(|pool| pool.setting).filter(|most| most.pow == pow && most.pages == pages);
            let more = |ask: usize, had: fn(&Setting) -> usize| {
                before.as_ref().map_or(ask, |most| ask.max(had(most)))
            };
            let both = Setting {
                threads: more(threads, |most| most.threads),
                in_flight: more(in_flight, |most| most.in_flight),
                ..handle.setting
            };
            let setting = if room(both.memory_kib()).is_ok() { both } else { handle.setting };
            *shared = Some(Pool { workers: start(&setting, handle.plan)?, setting, plan: handle.plan });
        }
        let pool = shared.as_mut().ok_or_else(|| CaseError::failed("no threads"))?;
        pool.workers.limit(threads, in_flight).map_err(refused)?;
        work(&mut pool.workers)
    }
}

impl Engine for Search {
    type Input = Vec<[u8; 32]>;
    type Context = PoolHandle;
    type Buffer = ();
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<PoolHandle, CaseError> {
        let plan = plan(spec)?;
        let setting = Setting::from_spec(spec, plan)?;
        let mut handle = PoolHandle { setting, plan, own: None };
        if spec.class.to_string() == "end-to-end" {
            handle.own = Some(start(&setting, plan)?);
        } else {
            self.with_shared(&handle, |_| Ok(()))?;
        }
        Ok(handle)
    }

    fn kernel(&self, handle: &PoolHandle) -> String {
        handle.plan.kernel().name().to_owned()
    }

    fn reserve(&self, _: &mut PoolHandle, _: &Vec<[u8; 32]>) -> Result<(), CaseError> {
        Ok(())
    }

    fn run(
        &self,
        handle: &mut PoolHandle,
        (): &mut (),
        known: &Vec<[u8; 32]>,
    ) -> Result<[u8; 32], CaseError> {
        let count = handle.setting.nonces();
        let digests = match &mut handle.own {
            Some(workers) => search(workers, count)?,
            None => self.with_shared(handle, |workers| search(workers, count))?,
        };
        match digests.iter().zip(known).position(|(digest, known)| digest != known) {
            Some(nonce) => Err(CaseError::failed(format!("the digest of nonce {nonce} is wrong"))),
            None => Ok(digests[0]),
        }
    }

    fn digest(&self, digest: &[u8; 32]) -> Digest {
        Digest::new(digest)
    }
}
