//! What Argon2 on every device has in common: the order of its work, first blocks and tags by the processor, a search for nonces. No
//! device is touched here.

mod engines;
pub(crate) mod schedule;
#[cfg(test)]
mod tests;

use crate::Error;
pub(crate) use engines::engines;
use hashmill_hash::argon2::pow::{DIGEST_LEN, Pow};
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Params, Plan, Stop, Variant, hazmat};
use hashmill_hash::engine::{EngineError, Hit, NonceJob, Searched, Watch};
use schedule::{Pace, Strip, Strips};
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// A block, its words in the order of the standard.
pub(crate) type Words = [u64; 128];

/// The most strips that are handed over together.
pub(crate) const TOGETHER: usize = 32;

/// What two handfuls of strips take at most, on a device that is as slow as the processor.
pub(crate) const STOP_LATENCY: Duration = Duration::from_millis(100);

/// Hashes that somebody wants, of the same parameters.
pub(crate) trait Work {
    /// How many of them have not been given yet.
    fn left(&self) -> u64;

    /// First blocks of the next of them, two of each lane; of so many hashes, or of those that are left.
    fn next(&mut self, most: usize) -> Result<Zeroizing<Vec<Words>>, Error>;

    /// Last blocks, one of each lane, of those that were given first and have none yet.
    fn done(&mut self, last: &[Words]) -> Result<(), Error>;
}

/// A device with memory for hashes of the same parameters.
pub(crate) trait Device {
    /// How many hashes it takes together.
    fn width(&self) -> usize;

    /// Computes all that is wanted. Its memory is wiped afterwards, whatever happens.
    fn run(&mut self, work: &mut dyn Work, stop: &Stop) -> Result<(), Error>;
}

/// Memory that is there for all blocks of all lanes, and filled strip by strip.
pub(crate) trait Rooms {
    /// Strips that were handed over.
    type Way;

    /// How many hashes there is room for.
    fn width(&self) -> usize;

    /// Writes first blocks, of each lane two.
    fn begin(&mut self, first: &[Words]) -> Result<(), Error>;

    /// Hands over strips, the first of which has the number `step`, for so many lanes of all hashes.
    fn fill(&mut self, streams: u32, strips: &[Strip], step: u32, turn: usize) -> Result<Self::Way, Error>;

    /// Waits for strips. They have been computed, all of them and those before: `steps` in all. Where they can be given up, they are
    /// when `stop` is set.
    fn filled(&mut self, way: &Self::Way, steps: u32, turn: usize, stop: &Stop) -> Result<(), Error>;

    /// The last blocks of so many lanes of all hashes.
    fn last_blocks(&mut self, streams: u32) -> Result<Zeroizing<Vec<Words>>, Error>;

    /// Wipes what so many lanes have left, after all that was handed over before.
    fn wipe(&mut self, streams: u32) -> Result<(), Error>;
}

/// Such memory, and how fast it is filled.
pub(crate) struct Fixed<R> {
    pub(crate) params: Params,
    pub(crate) rooms: R,
    pace: Pace,
}

impl<R: Rooms> Fixed<R> {
    /// Strips that are handed over together take so long, about.
    pub(crate) fn new(params: Params, rooms: R, strip: Duration) -> Fixed<R> {
        Fixed { params, rooms, pace: Pace::new(strip) }
    }

    /// Fills the memory. Two handfuls of strips are on their way at a time, so that the device need not wait for the host.
    pub(crate) fn fill(&mut self, streams: u32, stop: &Stop) -> Result<(), Error> {
        let Fixed { params, rooms, pace } = self;
        let mut strips = Strips::new(*params);
        let mut before: Option<Handful<R::Way>> = None;
        let (mut step, mut began) = (0, Instant::now());
        let mut heard = |rooms: &mut R, before: &Handful<R::Way>, pace: &mut Pace| {
            rooms.filled(&before.way, before.steps, before.turn, stop)?;
            pace.took(before.blocks, began.elapsed());
            began = Instant::now();
            Ok::<_, Error>(())
        };
        for turn in [0, 1].into_iter().cycle() {
            if stop.is_set() {
                before.map_or(Ok(()), |before| heard(rooms, &before, pace))?;
                return Err(HashError::Stopped.into());
            }
            let (handful, blocks) = together(&mut strips, pace.blocks());
            if handful.is_empty() {
                break;
            }
            let way = rooms.fill(streams, &handful, step, turn)?;
            step += handful.len() as u32;
            if let Some(before) = before.replace(Handful { way, steps: step, turn, blocks }) {
                heard(rooms, &before, pace)?;
            }
        }
        before.map_or(Ok(()), |before| heard(rooms, &before, pace))
    }
}

impl<R: Rooms> Device for Fixed<R> {
    fn width(&self) -> usize {
        self.rooms.width()
    }

    fn run(&mut self, work: &mut dyn Work, stop: &Stop) -> Result<(), Error> {
        while work.left() > 0 {
            let first = work.next(self.width())?;
            work.done(&self.last_blocks(&first, stop)?)?;
        }
        Ok(())
    }
}

impl<R: Rooms> Fixed<R> {
    /// What becomes of these first blocks, of each lane two: its last one.
    pub(crate) fn last_blocks(
        &mut self,
        first: &[Words],
        stop: &Stop,
    ) -> Result<Zeroizing<Vec<Words>>, Error> {
        let streams = (first.len() / 2) as u32;
        let filled = self.rooms.begin(first).and_then(|()| self.fill(streams, stop));
        let last = filled.and_then(|()| self.rooms.last_blocks(streams));
        let wiped = self.rooms.wipe(streams);
        after(last, wiped)
    }
}

/// What came of work whose memory was wiped afterwards. Being stopped is no mistake, and hides none.
pub(crate) fn after<T>(done: Result<T, Error>, wiped: Result<(), Error>) -> Result<T, Error> {
    match (done, wiped) {
        (Ok(_) | Err(Error::Hash(HashError::Stopped)), Err(refused)) => Err(refused),
        (done, _) => done,
    }
}

/// Strips that were handed over.
struct Handful<W> {
    way: W,
    /// How many strips there are up to its end.
    steps: u32,
    turn: usize,
    /// Blocks of each lane.
    blocks: u32,
}

/// The next strips, of so many blocks of each lane at most; fewer where there would be too many strips, or two tables.
pub(crate) fn together(strips: &mut Strips, blocks: u32) -> (Vec<Strip>, u32) {
    let (mut handful, mut left) = (Vec::new(), blocks);
    while left > 0
        && handful.len() < TOGETHER
        && (handful.is_empty() || !strips.is_at_chapter())
        && let Some(strip) = strips.next(left)
    {
        left -= strip.len();
        handful.push(strip);
    }
    (handful, blocks - left)
}

/// The tags of all jobs, or of some where it is stopped: how many have theirs, from the first on.
pub(crate) fn hash(
    device: &mut impl Device,
    plan: Plan,
    params: Params,
    jobs: &mut [Job<'_>],
    stop: &Stop,
) -> Result<usize, Error> {
    let mut jobs = Jobs { plan, params, jobs, given: 0, done: 0, stop };
    match device.run(&mut jobs, stop) {
        Ok(()) | Err(Error::Hash(HashError::Stopped)) => Ok(jobs.done),
        Err(error) => Err(error),
    }
}

/// Tags that somebody wants.
struct Jobs<'a, 'b> {
    plan: Plan,
    params: Params,
    jobs: &'a mut [Job<'b>],
    given: usize,
    done: usize,
    stop: &'a Stop,
}

impl Work for Jobs<'_, '_> {
    fn left(&self) -> u64 {
        (self.jobs.len() - self.given) as u64
    }

    fn next(&mut self, most: usize) -> Result<Zeroizing<Vec<Words>>, Error> {
        let some = &self.jobs[self.given..];
        let some = &some[..some.len().min(most)];
        self.given += some.len();
        let (plan, params) = (self.plan, self.params);
        first_blocks(params, some.len(), self.stop, |number, blocks| {
            let Job { input, tag } = &some[number];
            let mut blocks = blocks.iter_mut();
            hazmat::first_blocks(plan, params, input, tag.len(), |_, _, words| {
                *blocks.next().expect("two of each lane") = *words;
            })
        })
    }

    fn done(&mut self, last: &[Words]) -> Result<(), Error> {
        let sums = sums(self.params, last);
        let some = &mut self.jobs[self.done..][..sums.len()];
        self.done += sums.len();
        by_threads(some, AT_A_TIME, |number, job| {
            hazmat::tag(&sums[number], job.tag);
            Ok(())
        })
    }
}

/// Of each hash, the sum of the last blocks of its lanes.
pub(crate) fn sums(params: Params, last: &[Words]) -> Zeroizing<Vec<Words>> {
    let lanes = params.lanes() as usize;
    let mut sums = Zeroizing::new(vec![[0; 128]; last.len() / lanes]);
    for (sum, blocks) in sums.iter_mut().zip(last.chunks(lanes)) {
        for block in blocks {
            sum.iter_mut().zip(block).for_each(|(sum, word)| *sum ^= word);
        }
    }
    sums
}

/// Tries all nonces. The processor computes each hit again before it is told: a bit that flips in a device is found here, and nowhere
/// else.
pub(crate) fn search(
    device: &mut impl Device,
    (name, plan, pow): (&str, Plan, Pow),
    job: &NonceJob<'_>,
    nonces: Range<u64>,
    watch: &Watch,
    hit: &(dyn Fn(Hit) + Sync),
) -> Result<Searched, EngineError> {
    pow.check(job.header)?;
    let processor = Hasher::new(pow.params());
    let (given, start) = (nonces.start, nonces.start);
    let mut tries =
        Tries { name, plan, pow, job, given, tried: start, end: nonces.end, watch, hit, processor };
    match device.run(&mut tries, watch.stop()) {
        Ok(()) | Err(Error::Hash(HashError::Stopped)) => Ok(Searched::new(tries.tried - start, tries.tried)),
        Err(error) => Err(error.into()),
    }
}

/// Nonces that somebody wants to be tried.
struct Tries<'a> {
    name: &'a str,
    plan: Plan,
    pow: Pow,
    job: &'a NonceJob<'a>,
    given: u64,
    tried: u64,
    end: u64,
    watch: &'a Watch,
    hit: &'a (dyn Fn(Hit) + Sync),
    processor: Hasher,
}

impl Work for Tries<'_> {
    fn left(&self) -> u64 {
        // A range that ends before it begins has none.
        self.end.saturating_sub(self.given)
    }

    fn next(&mut self, most: usize) -> Result<Zeroizing<Vec<Words>>, Error> {
        let (plan, pow, header) = (self.plan, self.pow, self.job.header);
        let (params, from) = (pow.params(), self.given);
        self.given = from.saturating_add(most as u64).min(self.end);
        first_blocks(params, (self.given - from) as usize, self.watch.stop(), |number, blocks| {
            let mut blocks = blocks.iter_mut();
            pow.input(header, from + number as u64, |input| {
                hazmat::first_blocks(plan, params, input, DIGEST_LEN, |_, _, words| {
                    *blocks.next().expect("two of each lane") = *words;
                })
            })
        })
    }

    fn done(&mut self, last: &[Words]) -> Result<(), Error> {
        let sums = sums(self.pow.params(), last);
        let from = self.tried;
        self.tried += sums.len() as u64;
        self.watch.count(sums.len() as u64);
        for (nonce, sum) in (from..self.tried).zip(&*sums) {
            let (mut digest, mut right) = ([0; DIGEST_LEN], [0; DIGEST_LEN]);
            hazmat::tag(sum, &mut digest);
            if self.pow.is_hit(&digest, &self.job.target) {
                let again = |input: &Input<'_>| self.processor.hash_into(input, &mut right);
                self.pow.input(self.job.header, nonce, again)?;
                if right != digest {
                    return Err(Error::SelfTest { device: self.name.to_owned() });
                }
                (self.hit)(Hit::new(nonce, digest));
            }
        }
        Ok(())
    }
}

/// So much of each variant, several passes and lanes, references of more than an address block.
pub(crate) const OF_ALL: [(Variant, [u32; 3]); 3] =
    [(Variant::Id, [600, 1, 1]), (Variant::I, [100, 3, 3]), (Variant::D, [64, 2, 2])];

/// Asks for tags, two of each of these parameters (memory, passes, lanes), and compares them with the processor's.
pub(crate) fn self_test(
    name: &str,
    of: &[(Variant, [u32; 3])],
    mut hash: impl FnMut(Params, &mut [Job<'_>]) -> Result<(), Error>,
) -> Result<(), Error> {
    for &(variant, [memory, passes, lanes]) in of {
        let params = Params::new(memory, passes, lanes).map_err(HashError::from)?;
        let params = params.with_variant(variant);
        let inputs = [b"one", b"two"].map(|password| Input::new(password, b"a salt of hashmill"));
        let (mut given, mut right) = ([[0; 32]; 2], [[0; 32]; 2]);
        for (input, tag) in inputs.iter().zip(&mut right) {
            *tag = Hasher::new(params).hash(input)?;
        }
        let mut jobs: Vec<_> =
            inputs.into_iter().zip(&mut given).map(|(input, tag)| Job { input, tag }).collect();
        hash(params, &mut jobs)?;
        if given != right {
            return Err(Error::SelfTest { device: name.to_owned() });
        }
    }
    Ok(())
}

/// First blocks of so many hashes, those of a hash made by `make` from its number.
pub(crate) fn first_blocks(
    params: Params,
    hashes: usize,
    stop: &Stop,
    make: impl Fn(usize, &mut [[u64; 128]]) -> Result<(), HashError> + Sync,
) -> Result<Zeroizing<Vec<[u64; 128]>>, Error> {
    let of_hash = 2 * params.lanes() as usize;
    let mut first = Zeroizing::new(vec![[0; 128]; of_hash * hashes]);
    by_threads(&mut first.chunks_exact_mut(of_hash).collect::<Vec<_>>(), AT_A_TIME, |number, blocks| {
        if stop.is_set() {
            return Err(HashError::Stopped.into());
        }
        Ok(make(number, blocks)?)
    })?;
    Ok(first)
}

/// How many a thread takes at a time: they take a millisecond.
pub(crate) const AT_A_TIME: usize = 64;

/// Does this with each of them and its number, so many at a time in a thread, in as many threads as the processor has, or as the system gives: a device that takes
/// thousands of hashes together waits for one thread as long as that for it.
///
/// # Errors
/// That of the first of them that has one.
pub(crate) fn by_threads<T: Send>(
    all: &mut [T],
    at_a_time: usize,
    each: impl Fn(usize, &mut T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let helpers = all.len().div_ceil(at_a_time).min(threads).saturating_sub(1);
    let parts = Mutex::new(all.chunks_mut(at_a_time).zip((0..).step_by(at_a_time)));
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

/// As many rooms as there is memory for: when it is refused, those that were made before; of the first one, half as much each time.
pub(crate) fn backing_off<T>(
    hashes: &[u32],
    mut make: impl FnMut(u32) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut rooms = Vec::new();
    for &hashes in hashes {
        let mut hashes = hashes;
        loop {
            match make(hashes) {
                Ok(room) => rooms.push(room),
                Err(Error::OutOfMemory { .. }) if !rooms.is_empty() => return Ok(rooms),
                Err(Error::OutOfMemory { .. }) if hashes > 1 => {
                    hashes /= 2;
                    continue;
                }
                Err(error) => return Err(error),
            }
            break;
        }
    }
    Ok(rooms)
}

/// Where a word of a block lies in a device's memory: as the threads of kernels hold them, two by two.
#[cfg(any(feature = "wgpu", test))]
pub(crate) const fn place(word: usize) -> usize {
    const THREADS_PER_ROW: usize = 4;
    let (row, column) = (word / 16, word % 16);
    let (thread, quarter) = (row * THREADS_PER_ROW + column % 4, column / 4);
    (quarter / 2 * 32 + thread) * 2 + quarter % 2
}

/// A block, as it lies in a device's memory, in the order of the standard.
#[cfg(any(feature = "wgpu", test))]
pub(crate) fn in_order(block: &[u8]) -> Words {
    let words = block.as_chunks::<8>().0;
    std::array::from_fn(|word| u64::from_le_bytes(words[place(word)]))
}
