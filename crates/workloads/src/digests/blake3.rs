//! BLAKE3 workloads: one message in each mode, streams, batches, extended output, and all threads.

use crate::digests::call_patterns::{Chain, IdlePoolEngine};
use crate::input::Bytes;
use crate::{all_threads, input, lower_bounds, thread_counts};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{
    self, BufferedHasher, Context, Hash, Hasher, Kernel, Plan, Role, Threads, batch,
};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::{Size, Units};
use std::cell::RefCell;
use std::rc::Rc;

/// Sizes at the edges of the tree, and common sizes.
const SIZES: [u64; 14] = [
    1,
    64,
    256,
    1 << 10,
    3 << 10,
    4 << 10,
    8 << 10,
    15 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    16 << 20,
    256 << 20,
];

/// Lengths of extended output: a few blocks, a group of lanes and less, several groups, and long.
const XOF_SIZES: [u64; 15] = [
    64,
    128,
    131,
    256,
    512,
    700,
    1 << 10,
    1536,
    2 << 10,
    3 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    64 << 10,
    1 << 20,
];

/// Workload of one message.
pub const MESSAGE: &str = "blake3";
/// Workload of one message under [`KEY`].
pub const MESSAGE_KEYED: &str = "blake3-keyed";
/// Workload of one message as key material in [`CONTEXT`].
pub const MESSAGE_DERIVE: &str = "blake3-derive";
/// Workload of many messages; its engines give the [`fold`] of their digests.
pub const BATCH: &str = "blake3-batch";
/// Workload of extended output; its engines give the digest of what they made.
pub const XOF: &str = "blake3-xof";

/// The key of keyed hashes.
pub const KEY: &[u8; 32] = b"whats the Elvish word for friend";
/// The context of derived keys.
pub const CONTEXT: &str = "hashmill 2026-11-21 lab";
/// Default length of the pieces of a stream.
pub const PIECE: usize = 1000;
/// Suggested lengths of pieces.
const PIECES: [&str; 4] = ["64", "1000", "4KiB", "64KiB"];
/// Default number of messages in a batch.
pub(crate) const MESSAGES: usize = 64;
/// Length of the message with extended output.
const XOF_MESSAGE: u64 = 64;

pub(crate) fn register(registry: &mut Registry) {
    let kernels = || Kernel::all().map(Kernel::name);
    // Reading a long output takes as long as another hash, so no class of these times it.
    let kernel = || EngineOffer::classes(&["kernel"]).kernels(kernels());
    let one = || EngineOffer::classes(&["kernel", "oneshot"]).kernels(kernels());
    let all = || kernel().threads([all_threads()]);
    registry
        .workload(Message(MESSAGE, Hashing::Plain), &SIZES)
        .engine("hash", whole(Hashing::Plain), one())
        .engine("hasher", hasher(), EngineOffer::classes(&["oneshot"]).kernels(kernels()))
        .engine(
            "stream",
            stream(),
            EngineOffer::classes(&["oneshot"]).kernels(kernels()).knob("piece", PIECES),
        )
        .engine(
            "context",
            context(),
            EngineOffer::classes(&["kernel", "backend", "end-to-end", "sustained"])
                .kernels(kernels())
                .threads(thread_counts()),
        )
        .engine("first", whole(Hashing::Plain), EngineOffer::classes(&["cold"]))
        .engine("chain", chained(), kernel())
        .engine(
            "pieces",
            pieces(),
            EngineOffer::classes(&["oneshot"]).kernels(kernels()).knob("piece", PIECES),
        )
        .engine("parallel", threaded(), all())
        .engine("parallel-rested", IdlePoolEngine(threaded()), all())
        .engine("serial", alone(), all())
        .engine("serial-rested", IdlePoolEngine(alone()), all())
        .engine("context-rested", IdlePoolEngine(context()), all());
    for (name, mode) in [(MESSAGE_KEYED, Hashing::Keyed), (MESSAGE_DERIVE, Hashing::Derive)] {
        let sizes = [64, 1 << 10, 64 << 10];
        registry.workload(Message(name, mode), &sizes).engine("hash", whole(mode), one());
    }
    registry.workload(Batch(BATCH), &[64, 256, 1 << 10, 4 << 10]).engine(
        "batch",
        batched(),
        kernel().knob("messages", ["16", "64", "256"]),
    );
    registry.workload(Xof, &XOF_SIZES).engine("reader", reader(), kernel());
    let edges = (0..=33).flat_map(|chunks| [0, 1, 512, 1023].map(|tail| chunks * 1024 + tail));
    let edges: Vec<String> = edges.map(|size| format!("{MESSAGE}/hash/kernel/{size}/t1")).collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    registry.suite("blake3-edges", "k·1024 + {0, 1, 512, 1023} bytes for k from 0 to 33", &edges);
}

/// One of the three modes.
#[derive(Clone, Copy)]
pub(crate) enum Hashing {
    Plain,
    Keyed,
    Derive,
}

impl Hashing {
    fn with(self, plan: Plan, message: &[u8]) -> [u8; 32] {
        match self {
            Hashing::Plain => *plan.hash(message).as_bytes(),
            Hashing::Keyed => *plan.keyed_hash(KEY, message).as_bytes(),
            Hashing::Derive => plan.derive_key(CONTEXT, message),
        }
    }

    fn as_users_call_it(self, message: &[u8]) -> [u8; 32] {
        match self {
            Hashing::Plain => *blake3::hash(message).as_bytes(),
            Hashing::Keyed => *blake3::keyed_hash(KEY, message).as_bytes(),
            Hashing::Derive => blake3::derive_key(CONTEXT, message),
        }
    }
}

/// The portable kernel. It has its own known answers, and no engine chooses it on a machine with vector units.
fn reference_plan() -> Plan {
    Plan::for_kernel(Kernel::portable())
}

/// The plan that the case forces, if any.
fn forced(spec: &Spec) -> Result<Option<Plan>, CaseError> {
    let Some(name) = &spec.kernel else { return Ok(None) };
    match Kernel::by_name(name) {
        Some(kernel) => Ok(Some(Plan::for_kernel(kernel))),
        None => Err(CaseError::unavailable(format!("this processor cannot run the kernel {name}"))),
    }
}

/// State of an engine between calls.
struct Lane {
    forced: Option<Plan>,
    /// Message length in bytes, which decides the kernel.
    size: usize,
}

impl Lane {
    fn new(spec: &Spec) -> Result<Lane, CaseError> {
        if spec.threads != 1 {
            return Err(CaseError::unavailable("this engine has one thread; `context` has more"));
        }
        Ok(Lane { forced: forced(spec)?, size: usize::try_from(spec.size).map_err(CaseError::failed)? })
    }

    /// The lane of an engine that always uses all threads.
    fn whole_machine(spec: &Spec) -> Result<Lane, CaseError> {
        if spec.threads != all_threads() {
            return Err(CaseError::unavailable(
                "this engine takes all threads of the machine, or none to help",
            ));
        }
        Lane::new(&Spec { threads: 1, ..spec.clone() })
    }

    fn plan(&self) -> Plan {
        self.forced.unwrap_or_else(Plan::host)
    }

    fn hasher(&self) -> Hasher {
        match self.forced {
            Some(plan) => Hasher::new().with_plan(plan),
            None => Hasher::new(),
        }
    }

    fn kernel(&self) -> String {
        kernel_for(self.plan(), self.size)
    }
}

fn kernel_for(plan: Plan, size: usize) -> String {
    let choice = plan.explain(size);
    format!("{}x{}", choice.kernel.name(), choice.lanes)
}

fn digest(bytes: &[u8; 32]) -> Digest {
    Digest::new(bytes)
}

/// One message of the case's size.
pub(crate) struct Message(pub(crate) &'static str, pub(crate) Hashing);

impl Workload for Message {
    type Input = Bytes;

    fn name(&self) -> &str {
        self.0
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        Some(lower_bounds::blake3(spec.size))
    }

    /// One message for all calls of a session, as the content does not affect the time: 64 in turn took 1.000 to 1.001 of the time of
    /// one, from 1 byte to 1 KiB (Zen 3).
    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Bytes, CaseError> {
        input::bytes(spec.size, seed)
    }

    fn reference(&self, _: &Spec, message: &Bytes) -> Result<Digest, CaseError> {
        Ok(digest(&self.1.with(reference_plan(), message)))
    }
}

/// One call of the function.
fn whole(mode: Hashing) -> impl Engine<Input = Bytes> {
    let run = move |lane: &mut Lane, message: &Bytes| {
        Ok(match lane.forced {
            None => mode.as_users_call_it(message),
            Some(plan) => mode.with(plan, message),
        })
    };
    Routine::new(Lane::new, Lane::kernel, run, digest)
}

/// A new hasher for each message.
fn hasher() -> impl Engine<Input = Bytes> {
    let run = |lane: &mut Lane, message: &Bytes| Ok(*lane.hasher().update(message).finalize().as_bytes());
    Routine::new(Lane::new, Lane::kernel, run, digest)
}

/// One call after another, each message depending on the digest before it.
fn chained() -> impl Engine<Input = Bytes> {
    let hash = |lane: &mut Lane, message: &[u8]| match lane.forced {
        None => Hashing::Plain.as_users_call_it(message),
        Some(plan) => Hashing::Plain.with(plan, message),
    };
    Chain::new(Lane::new, Lane::kernel, hash)
}

/// One message in pieces, each hashed as it arrives.
fn pieces() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| Ok((Lane::new(spec)?, number(spec, "piece", PIECE)?));
    let run = |(lane, piece): &mut (Lane, usize), message: &Bytes| {
        let mut hasher = lane.hasher();
        for piece in message.chunks(*piece) {
            hasher.update(piece);
        }
        Ok(*hasher.finalize().as_bytes())
    };
    Routine::new(init, |(lane, _): &(Lane, usize)| lane.kernel(), run, digest)
}

/// A hasher with all threads.
fn threaded() -> impl Engine<Input = Bytes> {
    let run =
        |lane: &mut Lane, message: &Bytes| Ok(*lane.hasher().update_parallel(message).finalize().as_bytes());
    Routine::new(Lane::whole_machine, Lane::kernel, run, digest)
}

/// One thread, to compare with all threads.
fn alone() -> impl Engine<Input = Bytes> {
    let run = |lane: &mut Lane, message: &Bytes| {
        Ok(match lane.forced {
            None => Hashing::Plain.as_users_call_it(message),
            Some(plan) => Hashing::Plain.with(plan, message),
        })
    };
    Routine::new(Lane::whole_machine, Lane::kernel, run, digest)
}

/// One message in buffered pieces.
fn stream() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| Ok((Lane::new(spec)?, number(spec, "piece", PIECE)?));
    let run = |(lane, piece): &mut (Lane, usize), message: &Bytes| {
        let mut hasher = BufferedHasher::new(lane.hasher());
        for piece in message.chunks(*piece) {
            hasher.update(piece);
        }
        Ok(*hasher.finalize().as_bytes())
    };
    Routine::new(init, |(lane, _): &(Lane, usize)| lane.kernel(), run, digest)
}

/// A context with its own threads.
pub(crate) fn context() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| {
        let plan = forced(spec)?.unwrap_or_else(Plan::host);
        let context = Context::with(plan, &Mode::Hash, spec.threads as usize).map_err(CaseError::failed)?;
        Ok((context, usize::try_from(spec.size).map_err(CaseError::failed)?))
    };
    let run = |(context, _): &mut (Context, usize), message: &Bytes| {
        Ok(*context.hash(message, Threads::Auto).as_bytes())
    };
    let name = |(context, size): &(Context, usize)| kernel_for(context.plan(), *size);
    Routine::new(init, name, run, digest)
}

/// A knob that is a positive number or a size.
///
/// # Errors
/// If it is neither.
pub fn number(spec: &Spec, knob: &str, default: usize) -> Result<usize, CaseError> {
    let Some(text) = spec.knobs.get(knob) else { return Ok(default) };
    let size: Size = text.parse().map_err(|error| CaseError::failed(format!("`{knob}`: {error}")))?;
    match usize::try_from(size.0) {
        Ok(0) => Err(CaseError::failed(format!("`{knob}` must be at least 1"))),
        Ok(number) => Ok(number),
        Err(error) => Err(CaseError::failed(format!("`{knob}`: {error}"))),
    }
}

/// Many messages of the case's size.
pub(crate) struct Batch(pub(crate) &'static str);

impl Workload for Batch {
    type Input = Vec<Bytes>;

    fn name(&self) -> &str {
        self.0
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size * number(spec, "messages", MESSAGES).unwrap_or(1) as u64)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        Some(lower_bounds::blake3_batch(number(spec, "messages", MESSAGES).ok()? as u64, spec.size))
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<Bytes>, CaseError> {
        let count = number(spec, "messages", MESSAGES)?;
        let (size, count) = (usize::try_from(spec.size).map_err(CaseError::failed)?, count as u64);
        if size == 0 {
            return Err(CaseError::failed("a batch needs messages of at least one byte"));
        }
        let total =
            spec.size.checked_mul(count).ok_or_else(|| CaseError::failed("a batch of too many bytes"))?;
        Ok(input::bytes(total, seed)?.chunks(size).collect())
    }

    fn reference(&self, _: &Spec, messages: &Vec<Bytes>) -> Result<Digest, CaseError> {
        Ok(fold(messages.iter().map(|message| *reference_plan().hash(message).as_bytes())))
    }
}

/// BLAKE3 of the concatenated digests.
pub fn fold(digests: impl IntoIterator<Item = [u8; 32]>) -> Digest {
    let mut hasher = Hasher::new().with_plan(reference_plan());
    for digest in digests {
        hasher.update(&digest);
    }
    digest(hasher.finalize().as_bytes())
}

/// All messages of a batch in parallel lanes. The digests are not copied; the check reads them.
fn batched() -> impl Engine<Input = Vec<Bytes>> {
    type Digests = Rc<RefCell<Vec<Hash>>>;
    let init = |spec: &Spec| {
        let blank = vec![Hash::from_bytes([0; 32]); number(spec, "messages", MESSAGES)?];
        Ok((Lane::new(spec)?, Rc::new(RefCell::new(blank))))
    };
    let run = |(lane, digests): &mut (Lane, Digests), messages: &Vec<Bytes>| {
        batch::hash_all_with(lane.plan(), &Mode::Hash, messages, &mut digests.borrow_mut());
        Ok(Rc::clone(digests))
    };
    // One message per lane, so the plan's widest kernel runs.
    let name = |(lane, _): &(Lane, Digests)| kernel_for(lane.plan(), 1 << 20);
    Routine::new(init, name, run, |digests: &Digests| {
        fold(digests.borrow().iter().map(|digest| *digest.as_bytes()))
    })
}

/// Extended output of the case's size, from a short message.
struct Xof;

impl Workload for Xof {
    type Input = Bytes;

    fn name(&self) -> &str {
        XOF
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        Some(lower_bounds::blake3_xof(spec.size))
    }

    fn prepare(&self, _: &Spec, seed: u64) -> Result<Bytes, CaseError> {
        input::bytes(XOF_MESSAGE, seed)
    }

    fn reference(&self, spec: &Spec, message: &Bytes) -> Result<Digest, CaseError> {
        let mut reader = Hasher::new().with_plan(reference_plan()).update(message).finalize_xof();
        let mut output = Hasher::new().with_plan(reference_plan());
        let mut block = [0; 64];
        let mut left = spec.size;
        // Block by block, unlike every engine.
        while left > 0 {
            let now = left.min(64) as usize;
            reader.fill(&mut block[..now]);
            output.update(&block[..now]);
            left -= now as u64;
        }
        Ok(digest(output.finalize().as_bytes()))
    }
}

/// One call for the whole output.
fn reader() -> impl Engine<Input = Bytes> {
    type Output = Rc<RefCell<Vec<u8>>>;
    let init = |spec: &Spec| {
        let lane = Lane::new(spec)?;
        let output = vec![0; lane.size];
        Ok((lane, Rc::new(RefCell::new(output))))
    };
    let run = |(lane, output): &mut (Lane, Output), message: &Bytes| {
        lane.hasher().update(message).finalize_xof().fill(&mut output.borrow_mut());
        Ok(Rc::clone(output))
    };
    let name = |(lane, _): &(Lane, Output)| lane.plan().kernel(Role::Xof).name().to_owned();
    Routine::new(init, name, run, |output: &Output| {
        digest(reference_plan().hash(&output.borrow()).as_bytes())
    })
}
