//! The proof of work as a workload: nonces, tried on threads that stay, with memory that is kept.
//!
//! One iteration is a search from nonce 0 on, and ends when its last hash does: every sample is the exact time of whole
//! hashes, and no window cuts one.

use crate::argon2::{failed, number, plan, room};
use crate::{thread_counts, work};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread, ThreadPool};
use hashmill_hash::argon2::{HashError, Kernel, PagePolicy, Params, Plan};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, Watch};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::{bind, free_kib, places, processors};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Byte `i` is `31 * i + 7`, as in the published digests.
pub(crate) fn header() -> [u8; 92] {
    std::array::from_fn(|i| (31 * i + 7) as u8)
}

/// The digests of nonces 0 to 3 under that header with 2 GiB, one pass and one lane: what several miners and
/// RustCrypto's crate compute.
const BLOCKNET: [&str; 4] = [
    "f0a24a78aad19aa74b6831d9ac1aa85237bdd2eddb6de1d1aa124d0846bbe1c0",
    "167685a6f599a7bc916fa3a42ad8068547c22b0bf7d604212f4b47a9e435677f",
    "17803213591f9ac4ccc854b3c2f49ac96fde3ce714ad2a63401b082f87058641",
    "4c38a8f1ae73d1958d42591a7ebe824d94d05e7323eae660b76de2e3a9796b91",
];

/// Hashes of less memory are tried in larger numbers, so that waking the threads costs nothing beside them.
const LEAST_KIB: u64 = 64 << 10;

pub(crate) fn register(registry: &mut Registry) {
    // 2 GiB can be asked for by name, or by the suite: it is too much to be among what `*` means.
    let sizes = [1 << 20, 64 << 20];
    registry.workload(Nonces, &sizes).engine(
        "workers",
        Search::default(),
        Offer::classes(&["kernel", "kernel-effective", "backend", "end-to-end", "sustained"])
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

/// Bytes of memory that were free when this was first asked: what is in flight decides what an iteration does, and must not
/// depend on what it has taken itself. None where nobody tells, so that nothing is in flight beside the first hash but what a
/// case asks for.
fn free_at_start() -> u64 {
    static FREE: OnceLock<u64> = OnceLock::new();
    *FREE.get_or_init(|| free_kib().map_or(0, |kib| kib.saturating_mul(1024)))
}

/// What a case asks for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Setting {
    pow: Pow,
    pages: PagePolicy,
    threads: usize,
    in_flight: usize,
    /// Whether each thread stays on a processor of its own, the best ones first.
    bound: bool,
}

impl Setting {
    pub(crate) fn of(spec: &Spec, plan: Plan) -> Result<Setting, Fault> {
        if !spec.size.is_multiple_of(1024) {
            return Err(Fault::failed("the memory must be a whole number of KiB"));
        }
        let kib = u32::try_from(spec.size / 1024).map_err(Fault::failed)?;
        let params = Params::new(kib, number(spec, "passes", 1)?, 1).map_err(Fault::failed)?;
        let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
        let best = SingleThread::best_in_flight(pow, plan, free_at_start() / u64::from(spec.threads)) as u32;
        let asked = spec.knobs.get("pages").map_or("transparent", String::as_str);
        let pages = PAGES.iter().find(|(name, _)| *name == asked).map(|(_, policy)| *policy);
        let pages = pages.ok_or_else(|| {
            Fault::failed(format!("`pages={asked}`: choose transparent, plain, reserved or largest"))
        })?;
        let in_flight = number(spec, "in-flight", best)? as usize;
        let bound = match spec.knobs.get("cores").map_or("any", String::as_str) {
            "any" => false,
            "best" => true,
            other => return Err(Fault::failed(format!("`cores={other}`: choose any or best"))),
        };
        Ok(Setting { pow, pages, threads: spec.threads as usize, in_flight, bound })
    }

    /// Nonces of one iteration: as many as are in flight, and again until it takes a while.
    fn nonces(&self) -> u64 {
        let at_once = (self.threads * self.in_flight) as u64;
        at_once * LEAST_KIB.div_ceil(self.pow.params().work())
    }

    /// The work, which every hash in flight has memory of its own for.
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
    /// The digests of the first four nonces.
    type Input = Vec<[u8; 32]>;

    fn name(&self) -> &str {
        "pow"
    }

    fn units(&self, spec: &Spec) -> Units {
        let nonces =
            plan(spec).and_then(|plan| Setting::of(spec, plan)).map_or(1, |setting| setting.nonces());
        Units::Hashes(nonces)
    }

    fn work(&self, spec: &Spec) -> Option<Work> {
        let setting = Setting::of(spec, plan(spec).ok()?).ok()?;
        let params = setting.pow.params();
        Some(work::argon2_batch(setting.nonces(), params.blocks(), params.passes().into()))
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Vec<[u8; 32]>, Fault> {
        right(spec, 4)
    }

    fn reference(&self, _: &Spec, digests: &Vec<[u8; 32]>) -> Result<Digest, Fault> {
        Ok(Digest::new(&digests[0]))
    }
}

/// The right digests of the first nonces, four at most, from the processor or known.
pub(crate) fn right(spec: &Spec, count: usize) -> Result<Vec<[u8; 32]>, Fault> {
    let params = Setting::of(spec, Plan::host())?.pow.params();
    if (params.memory_kib(), params.passes()) == (2 << 20, 1) {
        return BLOCKNET.iter().take(count).map(|digits| digest(digits)).collect();
    }
    room(params.blocks())?;
    let mut engine = single(Plan::of(Kernel::portable()), params)?;
    search(&mut engine, count as u64)
}

fn digest(digits: &str) -> Result<[u8; 32], Fault> {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(Fault::failed)?;
        *byte = u8::from_str_radix(pair, 16).map_err(Fault::failed)?;
    }
    Ok(bytes)
}

fn single(plan: Plan, params: Params) -> Result<SingleThread, Fault> {
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    SingleThread::new(pow, plan, PagePolicy::Transparent, 1).map_err(refused)
}

pub(crate) fn refused(error: EngineError) -> Fault {
    match error {
        EngineError::OutOfMemory { bytes } => failed(HashError::OutOfMemory { bytes }),
        error => Fault::failed(error),
    }
}

/// The digests of nonces below `count`, in their order.
pub(crate) fn search(engine: &mut dyn NonceEngine, count: u64) -> Result<Vec<[u8; 32]>, Fault> {
    let header = header();
    let job = NonceJob::new(&header, [0xff; 32]);
    let found = Mutex::new(vec![None; count as usize]);
    let note = |hit: Hit| {
        if let Ok(mut found) = found.lock() {
            found[hit.nonce as usize] = Some(hit.digest);
        }
    };
    engine.search(&job, 0..count, &Watch::new(), &note).map_err(refused)?;
    let found: Option<Vec<_>> = found.into_inner().map_err(Fault::failed)?.into_iter().collect();
    found.ok_or_else(|| Fault::failed("a nonce was left out"))
}

/// Threads that stay. All cases of a session share them, as each would take gigabytes of its own: whoever needs more
/// of them starts them anew, and everybody else uses as many as the case says.
#[derive(Default)]
struct Search {
    shared: RefCell<Option<Pool>>,
}

struct Pool {
    workers: ThreadPool,
    made_for: Setting,
    plan: Plan,
}

/// Threads of a case's own where starting them is timed, otherwise a claim on the shared ones.
struct Seat {
    setting: Setting,
    plan: Plan,
    own: Option<ThreadPool>,
}

pub(crate) fn start(setting: &Setting, plan: Plan) -> Result<ThreadPool, Fault> {
    room(setting.memory_kib())?;
    let Setting { pow, pages, threads, in_flight, bound } = *setting;
    let order = if bound { places(&processors(), threads) } else { Vec::new() };
    if bound && order.len() < threads {
        return Err(Fault::unavailable(format!(
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
        return Err(Fault::unavailable("the system does not let threads be kept on processors"));
    }
    workers.prefault();
    Ok(workers)
}

impl Search {
    /// The shared threads, enough of them for this case.
    fn with_shared<R>(
        &self,
        seat: &Seat,
        work: impl FnOnce(&mut ThreadPool) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let Setting { pow, pages, threads, in_flight, bound } = seat.setting;
        let mut shared = self.shared.borrow_mut();
        let fits = shared.as_ref().is_some_and(|pool| {
            let most = &pool.made_for;
            pool.plan.kernel() == seat.plan.kernel()
                && (most.pow, most.pages, most.bound) == (pow, pages, bound)
                && most.threads >= threads
                && most.in_flight >= in_flight
        });
        if !fits {
            // Room for whoever came before as well, if that is the same work; and nobody's memory twice.
            let before =
                shared.take().map(|pool| pool.made_for).filter(|most| most.pow == pow && most.pages == pages);
            let more = |ask: usize, had: fn(&Setting) -> usize| {
                before.as_ref().map_or(ask, |most| ask.max(had(most)))
            };
            let both = Setting {
                threads: more(threads, |most| most.threads),
                in_flight: more(in_flight, |most| most.in_flight),
                ..seat.setting
            };
            let made_for = if room(both.memory_kib()).is_ok() { both } else { seat.setting };
            *shared = Some(Pool { workers: start(&made_for, seat.plan)?, made_for, plan: seat.plan });
        }
        let pool = shared.as_mut().ok_or_else(|| Fault::failed("no threads"))?;
        pool.workers.limit(threads, in_flight).map_err(refused)?;
        work(&mut pool.workers)
    }
}

impl Engine for Search {
    type Input = Vec<[u8; 32]>;
    type Context = Seat;
    type Buffer = ();
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<Seat, Fault> {
        let plan = plan(spec)?;
        let setting = Setting::of(spec, plan)?;
        let mut seat = Seat { setting, plan, own: None };
        if spec.class.to_string() == "end-to-end" {
            seat.own = Some(start(&setting, plan)?);
        } else {
            self.with_shared(&seat, |_| Ok(()))?;
        }
        Ok(seat)
    }

    fn kernel(&self, seat: &Seat) -> String {
        seat.plan.kernel().name().to_owned()
    }

    fn reserve(&self, _: &mut Seat, _: &Vec<[u8; 32]>) -> Result<(), Fault> {
        Ok(())
    }

    fn run(&self, seat: &mut Seat, (): &mut (), known: &Vec<[u8; 32]>) -> Result<[u8; 32], Fault> {
        let count = seat.setting.nonces();
        let digests = match &mut seat.own {
            Some(workers) => search(workers, count)?,
            None => self.with_shared(seat, |workers| search(workers, count))?,
        };
        match digests.iter().zip(known).position(|(digest, known)| digest != known) {
            Some(nonce) => Err(Fault::failed(format!("the digest of nonce {nonce} is wrong"))),
            None => Ok(digests[0]),
        }
    }

    fn digest(&self, digest: &[u8; 32]) -> Digest {
        Digest::new(digest)
    }
}
