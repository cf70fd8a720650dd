//! BLAKE3 of bytes on a device, of bytes of the host, and of many messages.

use super::back_end::{BackEnd, words};
use super::cuda::Cuda;
use super::fault;
use crate::all_threads;
use crate::blake3::{Batch, Bytes, Hashing, MESSAGES, Message, context, fold, number};
use hashmill_hash::blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::blake3::{Hash, batch};
use hashmill_hash::engine::{EngineError, Stop, SubtreeEngine, Tile};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec};
use hashmill_lab::model::registry::{Offer, Registry};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

const MESSAGE: &str = "device-blake3";
const BATCH: &str = "device-blake3-batch";

/// From where a hash is waited for, to where a device is busy. A gigabyte can be asked for by name.
const SIZES: [u64; 4] = [1 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Tiles on their way at the same time, as `hashmill sum` has them.
const IN_FLIGHT: usize = 8;
const TILE: usize = 8 << 20;

/// Everybody has the threads of the host, so that their rows stand beside each other.
fn offer(classes: &[&str]) -> Offer {
    Offer::classes(classes).threads([all_threads()])
}

/// The workloads, and the processor's rows.
pub(super) fn register(registry: &mut Registry) {
    let classes = ["kernel-effective", "backend", "oneshot", "end-to-end", "sustained"];
    registry.workload(Message(MESSAGE, Hashing::Plain), &SIZES).engine("cpu", context(), offer(&classes));
    registry.workload(Batch(BATCH), &[64, 1 << 10]).engine("cpu", batched(), many());
}

/// The rows of a device.
pub(super) fn add<B: BackEnd>(registry: &mut Registry) {
    registry
        .more_engines::<Bytes>(MESSAGE)
        .engine(
            B::NAME,
            OneBuffer::<B>(PhantomData),
            offer(&["kernel-effective", "backend", "oneshot", "end-to-end", "sustained"]),
        )
        .engine(
            &format!("{}-tiles", B::NAME),
            tiles::<B>(),
            offer(&["backend"]).knob("tile", ["1MiB", "8MiB"]),
        );
    registry.more_engines::<Vec<Bytes>>(BATCH).engine(B::NAME, messages::<B>(), many());
}

/// Further ways of NVIDIA's driver to bytes of the host: by pieces that the card fetches, and where they lie, which takes making them
/// known first.
pub(super) fn add_of_cuda(registry: &mut Registry) {
    type Context = Opened<Cuda>;
    let name = |opened: &Context| words(Cuda::info(&opened.device));
    let told = |hash: &Hash| Digest::new(hash.as_bytes());
    let fetched = |opened: &mut Context, message: &Bytes| opened.blake3.hash_bytes(message).map_err(fault);
    let registered = |opened: &mut Context, message: &Bytes| {
        let Opened { device, blake3, .. } = opened;
        let hashed = device.registered(message, |known| blake3.hash_registered(known, &Stop::new()));
        hashed.map_err(fault)?.map_err(fault)
    };
    registry
        .more_engines::<Bytes>(MESSAGE)
        .engine("cuda-fetched", Routine::new(opened, name, fetched, told), offer(&["backend"]))
        .engine("cuda-registered", Routine::new(opened, name, registered, told), offer(&["backend"]));
}

fn many() -> Offer {
    offer(&["backend"]).knob("messages", ["1000", "100000"])
}

/// A message in a buffer of the device.
struct OneBuffer<B>(PhantomData<fn() -> B>);

struct Opened<B: BackEnd> {
    blake3: B::Blake3,
    device: B::Device,
    len: usize,
}

fn opened<B: BackEnd>(spec: &Spec) -> Result<Opened<B>, Fault> {
    let len = usize::try_from(spec.size).map_err(Fault::failed)?;
    let device = B::open().map_err(fault)?;
    Ok(Opened { blake3: B::blake3(&device, &Mode::Hash).map_err(fault)?, device, len })
}

impl<B: BackEnd> Engine for OneBuffer<B> {
    type Input = Bytes;
    type Context = Opened<B>;
    type Buffer = B::Buffer;
    type Output = Hash;

    fn init(&self, spec: &Spec) -> Result<Opened<B>, Fault> {
        opened(spec)
    }

    fn kernel(&self, opened: &Opened<B>) -> String {
        words(B::info(&opened.device))
    }

    fn reserve(&self, opened: &mut Opened<B>, _: &Bytes) -> Result<B::Buffer, Fault> {
        B::buffer(&opened.device, opened.len).map_err(fault)
    }

    fn stage(&self, opened: &mut Opened<B>, buffer: &mut B::Buffer, message: &Bytes) -> Result<(), Fault> {
        B::upload(&opened.device, buffer, message).map_err(fault)
    }

    /// The digest is waited for, so nothing is left to be read.
    fn run(&self, opened: &mut Opened<B>, buffer: &mut B::Buffer, _: &Bytes) -> Result<Hash, Fault> {
        B::hash(&opened.blake3, buffer, opened.len).map_err(fault)
    }

    fn digest(&self, hash: &Hash) -> Digest {
        Digest::new(hash.as_bytes())
    }
}

/// A message of the host in tiles by several threads, as files are hashed.
fn tiles<B: BackEnd>() -> impl Engine<Input = Bytes> {
    type Context<B> = (Box<dyn SubtreeEngine>, <B as BackEnd>::Device, usize);
    let init = |spec: &Spec| {
        let tile = number(spec, "tile", TILE)?;
        if spec.size <= tile as u64 {
            return Err(Fault::unavailable("what is one tile, the processor hashes"));
        }
        let device = B::open().map_err(fault)?;
        let engine = B::subtrees(&device, tile, IN_FLIGHT).map_err(fault)?;
        Ok((engine, device, (spec.threads as usize).min(IN_FLIGHT)))
    };
    let name = |(_, device, _): &Context<B>| words(B::info(device));
    let run = |(engine, _, workers): &mut Context<B>, message: &Bytes| {
        by_tiles(&**engine, message, *workers).map_err(Fault::failed)
    };
    Routine::new(init, name, run, |hash: &Hash| Digest::new(hash.as_bytes()))
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

/// Digests stay where they are until somebody reads them.
type Digests = Rc<RefCell<Vec<Hash>>>;

fn blank(spec: &Spec) -> Result<Digests, Fault> {
    Ok(Rc::new(RefCell::new(vec![Hash::from_bytes([0; 32]); number(spec, "messages", MESSAGES)?])))
}

fn told(digests: &Digests) -> Digest {
    fold(digests.borrow().iter().map(|digest| *digest.as_bytes()))
}

/// Many messages of the host on the device.
fn messages<B: BackEnd>() -> impl Engine<Input = Vec<Bytes>> {
    let init = |spec: &Spec| Ok((opened::<B>(spec)?, blank(spec)?));
    let name = |(opened, _): &(Opened<B>, Digests)| words(B::info(&opened.device));
    let run = |(opened, digests): &mut (Opened<B>, Digests), messages: &Vec<Bytes>| {
        B::many(&opened.blake3, messages, &mut digests.borrow_mut()).map_err(fault)?;
        Ok(Rc::clone(digests))
    };
    Routine::new(init, name, run, told)
}

/// Many messages on all threads of the processor.
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
    Routine::new(init, name, run, told)
}
