//! The official BLAKE3 crate as engines of the lab.

use std::cell::RefCell;
use std::rc::Rc;

use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_workloads::{
    BATCH, Bytes, CONTEXT, Chain, IdlePoolEngine, KEY, MESSAGE, MESSAGE_DERIVE, MESSAGE_KEYED, XOF,
    all_threads, fold, thread_counts,
};

/// The rival's name in cases.
pub(super) const OFFICIAL: &str = "official";

/// Kernel limit of the official crate in this build: the crate chooses its kernel itself, and only features limit it.
const KERNEL_LIMIT: Option<&str> = match () {
    () if cfg!(feature = "official-sse41") => Some("sse41"),
    () if cfg!(feature = "official-avx2") => Some("avx2"),
    () => None,
};

pub(super) fn register(registry: &mut Registry) {
    let single = || EngineOffer::classes(&["kernel", "oneshot"]).kernels(["avx2", "sse41"]);
    let all = || EngineOffer::classes(&["kernel"]).threads([all_threads()]);
    registry
        .more_engines::<Bytes>(MESSAGE)
        .engine(OFFICIAL, message(hash), single())
        .engine(
            "official-hasher",
            message(|input| *blake3::Hasher::new().update(input).finalize().as_bytes()),
            EngineOffer::classes(&["oneshot"]),
        )
        .engine(
            "official-stream",
            stream(),
            EngineOffer::classes(&["oneshot"]).knob("piece", ["64", "1000", "16KiB"]),
        )
        .engine(
            "official-rayon",
            rayon(),
            EngineOffer::classes(&["kernel", "backend"]).threads(thread_counts()),
        )
        .engine(
            "official-chain",
            Chain::new(serial, kernel, |(): &mut (), message| hash(message)),
            EngineOffer::classes(&["kernel"]),
        )
        .engine("official-parallel", global_pool(), all())
        .engine("official-parallel-rested", IdlePoolEngine(global_pool()), all());
    registry.more_engines::<Bytes>(MESSAGE_KEYED).engine(
        OFFICIAL,
        message(|input| *blake3::keyed_hash(KEY, input).as_bytes()),
        single(),
    );
    registry.more_engines::<Bytes>(MESSAGE_DERIVE).engine(
        OFFICIAL,
        message(|input| blake3::derive_key(CONTEXT, input)),
        single(),
    );
    let kernel = || EngineOffer::classes(&["kernel"]);
    registry.more_engines::<Vec<Bytes>>(BATCH).engine(
        "official-loop",
        batch(),
        kernel().knob("messages", ["64"]),
    );
    registry.more_engines::<Bytes>(XOF).engine("official-reader", reader(), kernel());
}

fn kernel<C>(_: &C) -> String {
    KERNEL_LIMIT.unwrap_or("own choice").to_owned()
}

fn hash(message: &[u8]) -> [u8; 32] {
    *blake3::hash(message).as_bytes()
}

fn digest(bytes: &[u8; 32]) -> Digest {
    Digest::new(bytes)
}

fn serial(spec: &Spec) -> Result<(), CaseError> {
    if spec.threads != 1 {
        return Err(CaseError::unavailable("this engine has one thread"));
    }
    own_kernel(spec)
}

/// A kernel may be named if it is the only one of this build.
fn own_kernel(spec: &Spec) -> Result<(), CaseError> {
    match spec.kernel.as_deref() {
        None => Ok(()),
        kernel if kernel == KERNEL_LIMIT => Ok(()),
        Some(kernel) => Err(CaseError::unavailable(format!(
            "the official crate chooses its kernel itself; a build with the feature official-{kernel} has no other kernel"
        ))),
    }
}

fn message(hash: impl Fn(&[u8]) -> [u8; 32] + 'static) -> impl Engine<Input = Bytes> {
    Routine::new(serial, kernel, move |(): &mut (), input: &Bytes| Ok(hash(input)), digest)
}

fn stream() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| {
        serial(spec)?;
        hashmill_workloads::number(spec, "piece", hashmill_workloads::PIECE)
    };
    let run = |piece: &mut usize, input: &Bytes| {
        let mut hasher = blake3::Hasher::new();
        for part in input.chunks(*piece) {
            hasher.update(part);
        }
        Ok(*hasher.finalize().as_bytes())
    };
    Routine::new(init, kernel, run, digest)
}

fn rayon() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| match rayon::ThreadPoolBuilder::new().num_threads(spec.threads as usize).build()
    {
        Ok(pool) => Ok(pool),
        Err(error) => Err(CaseError::failed(error)),
    };
    let run = |pool: &mut rayon::ThreadPool, input: &Bytes| {
        Ok(*pool.install(|| blake3::Hasher::new().update_rayon(input).finalize()).as_bytes())
    };
    Routine::new(init, kernel, run, digest)
}

/// All threads of rayon's global pool.
fn global_pool() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| match spec.threads == all_threads() {
        true => own_kernel(spec),
        false => Err(CaseError::unavailable("this engine uses all threads of the machine")),
    };
    let run =
        |(): &mut (), input: &Bytes| Ok(*blake3::Hasher::new().update_rayon(input).finalize().as_bytes());
    Routine::new(init, kernel, run, digest)
}

fn batch() -> impl Engine<Input = Vec<Bytes>> {
    type Digests = Rc<RefCell<Vec<[u8; 32]>>>;
    let init = |spec: &Spec| serial(spec).map(|()| Digests::default());
    let run = |digests: &mut Digests, messages: &Vec<Bytes>| {
        let mut out = digests.borrow_mut();
        out.clear();
        out.extend(messages.iter().map(|message| *blake3::hash(message).as_bytes()));
        drop(out);
        Ok(Rc::clone(digests))
    };
    Routine::new(init, kernel, run, |digests: &Digests| fold(digests.borrow().iter().copied()))
}

fn reader() -> impl Engine<Input = Bytes> {
    type Output = Rc<RefCell<Vec<u8>>>;
    let init = |spec: &Spec| {
        serial(spec)?;
        Ok(Rc::new(RefCell::new(vec![0; usize::try_from(spec.size).map_err(CaseError::failed)?])))
    };
    let run = |output: &mut Output, message: &Bytes| {
        blake3::Hasher::new().update(message).finalize_xof().fill(&mut output.borrow_mut());
        Ok(Rc::clone(output))
    };
    Routine::new(init, kernel, run, |output: &Output| digest(blake3::hash(&output.borrow()).as_bytes()))
}
