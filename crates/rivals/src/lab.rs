//! `cargo rivals lab`: the lab with the engines of competitors beside ours, so that a duel, a gate or a claim can name
//! them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::rc::Rc;

use hashmill_lab::cmd::{self, Mount};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec};
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_workloads::{
    BATCH, Bytes, CONTEXT, KEY, MESSAGE, MESSAGE_DERIVE, MESSAGE_KEYED, XOF, fold, thread_counts,
};

/// What the user types before the lab's commands; gates name it as their program.
const NAME: &str = "cargo rivals lab";

/// The rival's name in cases: the official crate `blake3`.
const OFFICIAL: &str = "official";

/// Runs one command of the lab and gives its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let registry = registry();
    let mount = Mount { name: NAME, arguments: &["lab"], registry: &registry, maker: None };
    // The codes of the lab go from 0 to 4.
    cmd::main(&mount, args).code() as u8
}

fn registry() -> Registry {
    let mut registry = hashmill_workloads::registry();
    let single = || Offer::classes(&["kernel", "oneshot"]);
    registry
        .more_engines::<Bytes>(MESSAGE)
        .engine(OFFICIAL, message(|input| *blake3::hash(input).as_bytes()), single())
        .engine(
            "official-hasher",
            message(|input| *blake3::Hasher::new().update(input).finalize().as_bytes()),
            Offer::classes(&["oneshot"]),
        )
        .engine(
            "official-stream",
            stream(),
            Offer::classes(&["oneshot"]).knob("piece", ["64", "1000", "16KiB"]),
        )
        .engine("official-rayon", rayon(), Offer::classes(&["kernel", "backend"]).threads(thread_counts()));
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
    let kernel = || Offer::classes(&["kernel"]);
    registry.more_engines::<Vec<Bytes>>(BATCH).engine(
        "official-loop",
        batch(),
        kernel().knob("messages", ["64"]),
    );
    registry.more_engines::<Bytes>(XOF).engine("official-reader", reader(), kernel());
    registry
}

/// The official crate chooses its kernel itself and does not say which.
fn kernel<C>(_: &C) -> String {
    "official".to_owned()
}

fn digest(bytes: &[u8; 32]) -> Digest {
    Digest::new(bytes)
}

fn serial(spec: &Spec) -> Result<(), Fault> {
    match (spec.threads, &spec.kernel) {
        (1, None) => Ok(()),
        (1, Some(_)) => Err(Fault::unavailable("the official crate lets nobody choose its kernel")),
        _ => Err(Fault::unavailable("this engine has one thread")),
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
        for piece in input.chunks(*piece) {
            hasher.update(piece);
        }
        Ok(*hasher.finalize().as_bytes())
    };
    Routine::new(init, kernel, run, digest)
}

fn rayon() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| match rayon::ThreadPoolBuilder::new().num_threads(spec.threads as usize).build()
    {
        Ok(pool) => Ok(pool),
        Err(error) => Err(Fault::failed(error)),
    };
    let run = |pool: &mut rayon::ThreadPool, input: &Bytes| {
        Ok(*pool.install(|| blake3::Hasher::new().update_rayon(input).finalize()).as_bytes())
    };
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
        Ok(Rc::new(RefCell::new(vec![0; usize::try_from(spec.size).map_err(Fault::failed)?])))
    };
    let run = |output: &mut Output, message: &Bytes| {
        blake3::Hasher::new().update(message).finalize_xof().fill(&mut output.borrow_mut());
        Ok(Rc::clone(output))
    };
    Routine::new(init, kernel, run, |output: &Output| digest(blake3::hash(&output.borrow()).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rival_has_cases_of_ours_to_meet() {
        let registry = registry();
        for (ours, rival) in [
            ("blake3/hash/oneshot/64/t1", "official"),
            ("blake3/hash/kernel/64/t1", "official"),
            ("blake3/hasher/oneshot/64/t1", "official-hasher"),
            ("blake3/stream/oneshot/1MiB/t1/piece=64", "official-stream"),
            ("blake3/context/backend/1MiB/t1", "official-rayon"),
            ("blake3-keyed/hash/oneshot/64/t1", "official"),
            ("blake3-derive/hash/oneshot/64/t1", "official"),
            ("blake3-batch/batch/kernel/64/t1", "official-loop"),
            ("blake3-xof/reader/kernel/64/t1", "official-reader"),
        ] {
            let mut segments: Vec<&str> = ours.split('/').collect();
            segments[1] = rival;
            let pair = registry.select(&[ours, &segments.join("/")]).expect("both are known");
            assert_eq!(pair.len(), 2, "{ours} and {rival}");
        }
    }
}
