//! BLAKE3 on a device: of device memory, of host memory, and of batches.

use super::{case_error, description, open};
use crate::all_threads;
use crate::digests::blake3::{Batch, Hashing, MESSAGES, Message, context, fold, number};
use crate::input::Bytes;
use hashmill_gpu::{BackEnd, Blake3, Buffer};
use hashmill_hash::blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::blake3::{Hash, batch};
use hashmill_hash::engine::{EngineError, Stop, SubtreeEngine, Tile};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

const MESSAGE: &str = "device-blake3";
const BATCH: &str = "device-blake3-batch";

/// Sizes from latency-bound to saturating. 1 GiB is available by name only.
const SIZES: [u64; 4] = [1 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Tiles in flight, as in `hashmill sum`.
const IN_FLIGHT: usize = 8;
const TILE: usize = 8 << 20;

/// All engines offer the host's thread counts, so their rows are compared.
fn offer(classes: &[&str]) -> EngineOffer {
    EngineOffer::classes(classes).threads([all_threads()])
}

/// The workloads and the CPU's rows.
pub(super) fn register(registry: &mut Registry) {
    let classes = ["kernel-effective", "backend", "oneshot", "end-to-end", "sustained"];
    registry.workload(Message(MESSAGE, Hashing::Plain), &SIZES).engine("cpu", context(), offer(&classes));
    registry.workload(Batch(BATCH), &[64, 1 << 10]).engine("cpu", batched(), many());
}

/// The rows of a device.
pub(super) fn add(registry: &mut Registry, back_end: BackEnd) {
    let resident = offer(&["kernel-effective", "backend", "oneshot", "end-to-end", "sustained"]);
    let name = back_end.name();
    registry.more_engines::<Bytes>(MESSAGE).engine(name, OneBuffer(back_end), resident).engine(
        &format!("{name}-tiles"),
        tiles(back_end),
        offer(&["backend"]).knob("tile", ["1MiB", "8MiB"]),
    );
    registry.more_engines::<Vec<Bytes>>(BATCH).engine(name, messages(back_end), many());
    if back_end == BackEnd::Cuda {
        add_transfers(registry, back_end);
    }
}

/// Rows of CUDA for host memory: fetched in pieces by the device, and read in place after registering the memory.
fn add_transfers(registry: &mut Registry, back_end: BackEnd) {
    let init = move |spec: &Spec| opened(back_end, spec);
    let name = |opened: &Opened| description(opened.blake3.device());
    let fetched =
        |opened: &mut Opened, message: &Bytes| opened.blake3.hash_bytes(message).map_err(case_error);
    let registered = |Opened { blake3, .. }: &mut Opened, message: &Bytes| {
        let hashed = blake3.device().registered(message, |known| blake3.hash_registered(known, &Stop::new()));
        hashed.and_then(|hashed| hashed).map_err(case_error)
    };
    registry
        .more_engines::<Bytes>(MESSAGE)
        .engine("cuda-fetched", Routine::new(init, name, fetched, digest), offer(&["backend"]))
        .engine("cuda-registered", Routine::new(init, name, registered, digest), offer(&["backend"]));
}

fn digest(hash: &Hash) -> Digest {
    Digest::new(hash.as_bytes())
}

fn many() -> EngineOffer {
    offer(&["backend"]).knob("messages", ["1000", "100000"])
}

/// A message in a buffer of the device.
struct OneBuffer(BackEnd);

struct Opened {
    blake3: Blake3,
    len: u64,
}

fn opened(back_end: BackEnd, spec: &Spec) -> Result<Opened, CaseError> {
    let blake3 = open(back_end).and_then(|device| device.blake3(&Mode::Hash)).map_err(case_error)?;
    Ok(Opened { blake3, len: spec.size })
}

impl Engine for OneBuffer {
    type Input = Bytes;
    type Context = Opened;
    type Buffer = Buffer;
    type Output = Hash;

    fn init(&self, spec: &Spec) -> Result<Opened, CaseError> {
        opened(self.0, spec)
    }

    fn kernel(&self, opened: &Opened) -> String {
        description(opened.blake3.device())
    }

    fn reserve(&self, opened: &mut Opened, _: &Bytes) -> Result<Buffer, CaseError> {
        opened.blake3.device().buffer(opened.len).map_err(case_error)
    }

    fn stage(&self, _: &mut Opened, buffer: &mut Buffer, message: &Bytes) -> Result<(), CaseError> {
        buffer.write(0, message).map_err(case_error)
    }

    /// The digest was waited for, so no further read is needed.
    fn run(&self, opened: &mut Opened, buffer: &mut Buffer, _: &Bytes) -> Result<Hash, CaseError> {
        opened.blake3.hash_buffer(buffer, 0, opened.len).map_err(case_error)
    }

    fn digest(&self, hash: &Hash) -> Digest {
        digest(hash)
    }
}

/// A message in host memory, in tiles from several threads, as files are hashed.
fn tiles(back_end: BackEnd) -> impl Engine<Input = Bytes> {
    type Context = (Arc<dyn SubtreeEngine>, String, usize);
    let init = move |spec: &Spec| {
        let tile = number(spec, "tile", TILE)?;
        if spec.size <= tile as u64 {
            return Err(CaseError::unavailable("the processor hashes an input of one tile"));
        }
        let device = open(back_end).map_err(case_error)?;
        let engine = device.subtrees(&Mode::Hash, tile, IN_FLIGHT).map_err(case_error)?;
        Ok((engine, description(&device), (spec.threads as usize).min(IN_FLIGHT)))
    };
    let name = |(_, name, _): &Context| name.clone();
    let run = |(engine, _, workers): &mut Context, message: &Bytes| {
        by_tiles(&**engine, message, *workers).map_err(CaseError::failed)
    };
    Routine::new(init, name, run, digest)
}

fn by_tiles(engine: &dyn SubtreeEngine, bytes: &[u8], workers: usize) -> Result<Hash, EngineError> {
    let (tile, next) = (engine.limits().tile, AtomicUsize::new(0));
    let values = Mutex::new(BTreeMap::new());
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(piece) = bytes.chunks(tile).nth(index) else { return Ok(()) };
        let offset = (index * tile) as u64;
        let subtree = engine.compute(Tile::new(0, offset, piece.len()), piece)?;
        values.lock().unwrap_or_else(PoisonError::into_inner).insert(offset, subtree.value);
    };
    let done: Vec<Result<(), EngineError>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    done.into_iter().collect::<Result<(), _>>()?;
    let mut row: Vec<_> = values.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect();
    while row.len() > 2 {
        let parent = |pair: &[[u8; 32]]| match pair {
            [left, right] => merge_subtrees_non_root(left, right, Mode::Hash),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    Ok(merge_subtrees_root(&row[0], &row[1], Mode::Hash))
}

/// Digests are not copied; the check reads them.
type Digests = Rc<RefCell<Vec<Hash>>>;

fn blank(spec: &Spec) -> Result<Digests, CaseError> {
    Ok(Rc::new(RefCell::new(vec![Hash::from_bytes([0; 32]); number(spec, "messages", MESSAGES)?])))
}

fn digest_of_all(digests: &Digests) -> Digest {
    fold(digests.borrow().iter().map(|digest| *digest.as_bytes()))
}

/// A batch of messages in host memory.
fn messages(back_end: BackEnd) -> impl Engine<Input = Vec<Bytes>> {
    let init = move |spec: &Spec| Ok((opened(back_end, spec)?, blank(spec)?));
    let name = |(opened, _): &(Opened, Digests)| description(opened.blake3.device());
    let run = |(opened, digests): &mut (Opened, Digests), messages: &Vec<Bytes>| {
        opened.blake3.hash_many(messages, &mut digests.borrow_mut()).map_err(case_error)?;
        Ok(Rc::clone(digests))
    };
    Routine::new(init, name, run, digest_of_all)
}

/// A batch of messages on all CPU threads.
fn batched() -> impl Engine<Input = Vec<Bytes>> {
    let init = |spec: &Spec| Ok((spec.threads as usize, blank(spec)?));
    let name = |_: &(usize, Digests)| "all threads".to_owned();
    let run = |(threads, digests): &mut (usize, Digests), messages: &Vec<Bytes>| {
        let share = messages.len().div_ceil(*threads).max(1);
        let mut out = digests.borrow_mut();
        thread::scope(|scope| {
            for (messages, out) in messages.chunks(share).zip(out.chunks_mut(share)) {
                scope.spawn(|| batch::hash_all(&Mode::Hash, messages, out));
            }
        });
        Ok(Rc::clone(digests))
    };
    Routine::new(init, name, run, digest_of_all)
}
