//! [`Argon2`]: hashes side by side on a device.

mod kernels;
mod nonces;
mod room;
mod schedule;
#[cfg(test)]
mod tests;

pub(super) use kernels::{FEATURES, Kernels, Means};
pub use nonces::Nonces;

use super::Device;
use super::scratch::Way;
use crate::{Error, Info, Kind};
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Params, Plan, Stop, Variant, hazmat};
use kernels::BUFFERS;
use room::{Rooms, TOGETHER, place, shares};
use schedule::{BLOCK, Pace, Strip, Strips, segment, side_by_side, worthwhile};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fmt, thread};
use zeroize::Zeroizing;

/// Argon2 with the same parameters, several hashes side by side, in memory of a device that is kept. The processor has the first
/// blocks and the tag; all between is the device's.
///
/// Memory is wiped after each batch. Copies of first and last blocks that a driver makes on their way are out of reach.
pub struct Argon2 {
    device: Device,
    kernels: Kernels,
    params: Params,
    /// How the processor makes first blocks.
    plan: Plan,
    rooms: Rooms,
    pace: Pace,
}

impl Argon2 {
    /// For at most so many hashes side by side, one at least: as many as the device has memory for, and not so many that more are
    /// slower, see [`width`](Argon2::width). It is asked for known tags.
    ///
    /// # Errors
    /// [`Error::Unfit`] where a hash is more than kernels of this device see, [`Error::OutOfMemory`] where there is no memory for
    /// one; [`Error::SelfTest`]; what the driver says.
    pub fn new(device: &Device, params: Params, most: usize) -> Result<Argon2, Error> {
        if device.raw().0.limits().max_storage_buffers_per_shader_stage < BUFFERS {
            let lacks = format!("{BUFFERS} buffers for a kernel");
            return Err(Error::Unfit { device: device.info().name.clone(), lacks });
        }
        Argon2::with_kernels(device, device.argon2()?, params, most)
    }

    fn with_kernels(
        device: &Device,
        kernels: &Kernels,
        params: Params,
        most: usize,
    ) -> Result<Argon2, Error> {
        self_test(device, kernels)?;
        Argon2::untested(device, kernels, params, most)
    }

    fn untested(device: &Device, kernels: &Kernels, params: Params, most: usize) -> Result<Argon2, Error> {
        let (info, raw) = (device.info(), device.raw());
        let binds = side_by_side(params, info.binding.min(info.buffer));
        if binds == 0 {
            let slice = u64::from(segment(params)) * u64::from(params.lanes()) * BLOCK;
            let lacks = format!("kernels that see {slice} bytes at a time, a quarter of a hash");
            return Err(Error::Unfit { device: info.name.clone(), lacks });
        }
        let most = worthwhile(params).min(most as u64);
        let shares = shares(params, binds, usable(info), most);
        Ok(Argon2 {
            device: device.clone(),
            kernels: kernels.clone(),
            params,
            plan: Plan::host(),
            rooms: Rooms::new(raw, kernels, params, &shares)?,
            pace: Pace::new(),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it computes.
    pub fn params(&self) -> Params {
        self.params
    }

    /// How many hashes go side by side.
    pub fn width(&self) -> usize {
        self.rooms.hashes().map(|hashes| hashes as usize).sum()
    }

    /// Bytes on the device.
    pub fn memory(&self) -> u64 {
        self.rooms.hashes().map(|hashes| room::bytes(self.params, hashes)).sum()
    }

    /// The tags of all jobs, [`width`](Argon2::width) of them at a time.
    ///
    /// # Errors
    /// [`Error::Hash`] for the first job with a length out of range; what happens to the device. Jobs have all of a tag or nothing
    /// of it.
    pub fn hash(&mut self, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        static NEVER: Stop = Stop::new();
        self.hash_until(jobs, &NEVER)
    }

    /// [`hash`](Argon2::hash) that ends early when asked to, from another thread: within some milliseconds.
    ///
    /// # Errors
    /// As there, and [`HashError::Stopped`](hashmill_hash::argon2::HashError::Stopped) as [`Error::Hash`].
    pub fn hash_until(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), Error> {
        let width = self.width();
        jobs.chunks_mut(width).try_for_each(|jobs| self.side_by_side(jobs, stop))
    }

    fn side_by_side(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), Error> {
        let (plan, params) = (self.plan, self.params);
        let first = first_blocks(params, jobs.len(), stop, |number, blocks| {
            let Job { input, tag } = &jobs[number];
            let mut blocks = blocks.iter_mut();
            hazmat::first_blocks(plan, params, input, tag.len(), |_, _, words| {
                *blocks.next().expect("two of each lane") = *words;
            })
        })?;
        let sums = self.sums(&first, stop)?;
        by_threads(jobs, |number, job| {
            hazmat::tag(&sums[number], job.tag);
            Ok(())
        })
    }

    /// What becomes of these first blocks: of each hash, the sum of the last blocks of its lanes.
    fn sums(&mut self, first: &[[u64; 128]], stop: &Stop) -> Result<Zeroizing<Vec<[u64; 128]>>, Error> {
        let (streams, lanes) = (first.len() / 2, self.params.lanes() as usize);
        let filled = self.rooms.begin(first).and_then(|()| self.fill(streams as u32, stop));
        let last = filled.and_then(|()| self.rooms.last_blocks(streams as u32));
        let wiped = self.rooms.wipe(streams as u32);
        let last = last?;
        wiped?;
        let mut sums = Zeroizing::new(vec![[0; 128]; streams / lanes]);
        let last = last.iter().flat_map(|room| room.chunks(lanes * BLOCK as usize));
        for (sum, blocks) in sums.iter_mut().zip(last) {
            for block in blocks.chunks(BLOCK as usize) {
                let words = block.as_chunks().0;
                sum.iter_mut()
                    .enumerate()
                    .for_each(|(word, sum)| *sum ^= u64::from_le_bytes(words[place(word)]));
            }
        }
        Ok(sums)
    }

    /// Fills the memory. Two handfuls of strips are on their way at a time, so that the device need not wait for the host.
    fn fill(&mut self, streams: u32, stop: &Stop) -> Result<(), Error> {
        let Argon2 { kernels, params, rooms, pace, .. } = self;
        let mut strips = Strips::new(*params);
        let mut before: Option<Handful> = None;
        let (mut step, mut began) = (0, Instant::now());
        let mut heard = |before: Handful, pace: &mut Pace| {
            rooms.filled(&before.way, before.steps, before.turn)?;
            pace.took(before.blocks, began.elapsed());
            began = Instant::now();
            Ok::<_, Error>(())
        };
        for turn in [0, 1].into_iter().cycle() {
            if stop.is_set() {
                before.map_or(Ok(()), |before| heard(before, pace))?;
                return Err(HashError::Stopped.into());
            }
            let (handful, blocks) = together(&mut strips, pace.blocks());
            if handful.is_empty() {
                break;
            }
            let way = rooms.fill(kernels, streams, &handful, step, turn)?;
            step += handful.len() as u32;
            if let Some(before) = before.replace(Handful { way, steps: step, turn, blocks }) {
                heard(before, pace)?;
            }
        }
        before.map_or(Ok(()), |before| heard(before, pace))
    }
}

/// First blocks of so many hashes, those of a hash made by `make` from its number.
fn first_blocks(
    params: Params,
    hashes: usize,
    stop: &Stop,
    make: impl Fn(usize, &mut [[u64; 128]]) -> Result<(), HashError> + Sync,
) -> Result<Zeroizing<Vec<[u64; 128]>>, Error> {
    let of_hash = 2 * params.lanes() as usize;
    let mut first = Zeroizing::new(vec![[0; 128]; of_hash * hashes]);
    by_threads(&mut first.chunks_exact_mut(of_hash).collect::<Vec<_>>(), |number, blocks| {
        if stop.is_set() {
            return Err(HashError::Stopped.into());
        }
        Ok(make(number, blocks)?)
    })?;
    Ok(first)
}

/// How many a thread takes at a time: they take a millisecond.
const AT_A_TIME: usize = 64;

/// Does this with each of them and its number, in as many threads as the processor has, or as the system gives: a device that takes
/// thousands of hashes together waits for one thread as long as that for it.
///
/// # Errors
/// That of the first of them that has one.
fn by_threads<T: Send>(
    all: &mut [T],
    each: impl Fn(usize, &mut T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let helpers = all.len().div_ceil(AT_A_TIME).min(threads).saturating_sub(1);
    let parts = Mutex::new(all.chunks_mut(AT_A_TIME).zip((0..).step_by(AT_A_TIME)));
    // Parts are handed out in their order, so that whoever has the first error has begun when another has one.
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((some, first)) = part else { return Ok(()) };
            let mut numbered = some.iter_mut().zip(first..);
            numbered.try_for_each(|(one, number)| each(number, one)).map_err(|error| (first, error))?;
        }
    };
    let done = thread::scope(|scope| {
        let helper = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (0..helpers).map_while(helper).collect();
        let mut done = vec![work()];
        done.extend(helpers.into_iter().map(|helper| match helper.join() {
            Ok(helped) => helped,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        done
    });
    let first = done.into_iter().filter_map(Result::err).min_by_key(|(first, _)| *first);
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// How much of a device's memory hashes may have: not all, since others use it too, and half where it is the host's.
fn usable(info: &Info) -> Option<u64> {
    let reserve = |memory| match info.kind {
        Kind::Integrated | Kind::Software => memory / 2,
        _ => memory / 20,
    };
    info.memory.map(|memory| memory - reserve(memory))
}

/// Strips that were handed over.
struct Handful {
    way: Way,
    /// How many strips there are up to its end.
    steps: u32,
    turn: usize,
    /// Blocks of each lane.
    blocks: u32,
}

/// The next strips, of so many blocks of each lane at most; fewer where there would be too many strips.
fn together(strips: &mut Strips, blocks: u32) -> (Vec<Strip>, u32) {
    let (mut handful, mut left) = (Vec::new(), blocks);
    while left > 0
        && handful.len() < TOGETHER
        && let Some(strip) = strips.next(left)
    {
        left -= strip.len();
        handful.push(strip);
    }
    (handful, blocks - left)
}

/// Tags beside the processor's: each variant, several passes and lanes, references of more than an address block.
fn self_test(device: &Device, kernels: &Kernels) -> Result<(), Error> {
    for (variant, (memory, passes, lanes)) in
        [(Variant::Id, (600, 1, 1)), (Variant::I, (100, 3, 3)), (Variant::D, (64, 2, 2))]
    {
        let params = Params::new(memory, passes, lanes).map_err(HashError::from)?;
        let params = params.with_variant(variant);
        let inputs = [b"one", b"two"].map(|password| Input::new(password, b"a salt of hashmill"));
        let (mut given, mut right) = ([[0; 32]; 2], [[0; 32]; 2]);
        for (input, tag) in inputs.iter().zip(&mut right) {
            *tag = Hasher::new(params).hash(input)?;
        }
        let mut jobs: Vec<_> =
            inputs.into_iter().zip(&mut given).map(|(input, tag)| Job { input, tag }).collect();
        Argon2::untested(device, kernels, params, jobs.len())?.hash(&mut jobs)?;
        if given != right {
            return Err(Error::SelfTest { device: device.info().name.clone() });
        }
    }
    Ok(())
}

impl fmt::Debug for Argon2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Argon2");
        out.field("device", &self.device).field("params", &self.params).field("width", &self.width());
        out.finish_non_exhaustive()
    }
}
