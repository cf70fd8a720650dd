//! What the best device of this machine does: `cargo run --release -p hashmill-gpu --features wgpu --example card [WORDS]`.
//!
//! Digests and tags are compared with the processor's: a wrong one is a line that says so, without a number. A line for each measurement: median, [least, most], samples.
//! Words leave only the sections whose names begin with one of them; `tiny` makes everything small, for software devices.
//! What takes a minute and longer (`sustained-blake3`, `sustained-argon2`) is done only when its name is given.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool speaks on the terminal")]

use hashmill_gpu::wgpu::{Argon2, Blake3, Device, Subtrees, api, devices};
use hashmill_gpu::{Error, Kind};
use hashmill_hash::argon2::{self, HashError, Input, Job, Params, Stop};
use hashmill_hash::blake3::batch::hash_all;
use hashmill_hash::blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::blake3::{Hash, Hasher, Plan};
use hashmill_hash::engine::{Subtree, SubtreeEngine, Tile};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// After so long, what is left is not begun, unless it was asked for by name.
const WHOLE: Duration = Duration::from_secs(135);

/// After so long, hashes of Argon2 are stopped.
const LONGEST: Duration = Duration::from_secs(10);

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// Bytes that go to the device together.
const PIECE: usize = 64 * MIB;

/// Inputs that are under way together.
const IN_FLIGHT: usize = 6;

/// Memory in KiB and passes, one lane.
const COSTS: [(u32, u32); 4] = [(2 << 20, 1), (64 << 10, 3), (16 << 10, 3), (19 << 10, 2)];

type Section = fn(&Bench) -> Result<()>;

const SECTIONS: [(&str, Section); 9] = [
    ("facts", facts),
    ("digests", digests),
    ("resident", resident),
    ("argon2", tags),
    ("host", host),
    ("many", many),
    ("stop", stop),
    ("sustained-blake3", sustained_blake3),
    ("sustained-argon2", sustained_argon2),
];

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let tiny = words.iter().any(|word| word == "tiny");
    words.retain(|word| word != "tiny");
    let bench = Bench { began: Instant::now(), tiny, named: !words.is_empty() };
    let all = devices();
    say("devices", &all.len());
    for (number, info) in all.iter().enumerate() {
        say(&format!("device {number}"), &format_args!("{info:?}"));
    }
    let best = hashmill_gpu::best(&all).map(|number| &all[number]);
    match best {
        None => return ExitCode::FAILURE,
        Some(info) if info.kind == Kind::Software && !tiny => {
            say(&info.name, &"it is the processor: say `tiny`");
            return ExitCode::FAILURE;
        }
        Some(info) => say("used", &info.name),
    }
    for (name, section) in SECTIONS {
        let asked = words.iter().any(|word| name.starts_with(word.as_str()));
        if asked || (words.is_empty() && !name.starts_with("sustained")) {
            bench.row(name, || section(&bench).map(|()| "done".to_owned()));
        }
    }
    say("seconds", &format_args!("{:.1}", bench.began.elapsed().as_secs_f64()));
    ExitCode::SUCCESS
}

struct Bench {
    began: Instant,
    tiny: bool,
    /// Sections were asked for by name.
    named: bool,
}

impl Bench {
    /// A line, whatever becomes of it.
    fn row(&self, name: &str, work: impl FnOnce() -> Result<String>) {
        if !self.named && self.began.elapsed() > WHOLE {
            say(name, &"left out: no time");
            return;
        }
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(line)) => say(name, &line),
            Ok(Err(error)) => say(name, &format_args!("FAILED: {error}")),
            Err(_) => say(name, &"FAILED: a panic, see above"),
        }
    }

    /// The time of each of several runs, after one that does not count.
    fn times<T>(&self, mut run: impl FnMut() -> Result<T>) -> Result<Vec<f64>> {
        run()?;
        let (began, mut times) = (Instant::now(), Vec::new());
        let enough = Duration::from_millis(if self.tiny { 50 } else { 1500 });
        while times.len() < 3 || (began.elapsed() < enough && times.len() < 500) {
            times.push(timed(&mut run)?.1);
        }
        Ok(times)
    }

    fn bytes(&self, bytes: usize) -> usize {
        if self.tiny { bytes >> 8 } else { bytes }
    }

    fn params(&self, memory_kib: u32, passes: u32) -> Result<Params> {
        Ok(Params::new(if self.tiny { memory_kib >> 8 } else { memory_kib }, passes, 1)?)
    }

    /// The most hashes of Argon2 side by side.
    fn most(&self) -> usize {
        if self.tiny { 4 } else { usize::MAX }
    }
}

fn say(name: &str, value: &dyn std::fmt::Display) {
    println!("{name}: {value}");
    io::stdout().flush().expect("somebody reads");
}

fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let began = Instant::now();
    let made = run()?;
    Ok((made, began.elapsed().as_secs_f64()))
}

/// What becomes of times, in this unit: median, least, most.
fn spread(times: &[f64], unit: &str, value: impl Fn(f64) -> f64) -> String {
    let mut values: Vec<f64> = times.iter().map(|&time| value(time)).collect();
    values.sort_by(f64::total_cmp);
    let (least, median, most) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    format!("{median:.3} {unit} [{least:.3}, {most:.3}], {} samples", values.len())
}

/// Bytes a second, and how long one time is.
fn speed(times: &[f64], bytes: usize) -> String {
    let speed = spread(times, "GB/s", |time| bytes as f64 / time / 1e9);
    format!("{speed}; {}", spread(times, "ms", |time| time * 1e3))
}

fn size(bytes: usize) -> String {
    match bytes {
        GIB.. if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        MIB.. if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        1024.. if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes without a pattern, always the same, and some more behind them.
fn painted(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = (0..len / 8 + 4).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.collect()
}

fn buffer(device: &Device, len: usize) -> api::Buffer {
    let usage = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC | api::BufferUsages::COPY_DST;
    let size = len.next_multiple_of(16).max(16) as u64;
    device.raw().0.create_buffer(&api::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// Waits for all that was handed over, so that what nobody needs is given back.
fn settle(device: &Device) -> Result<()> {
    device.raw().0.poll(api::PollType::wait_indefinitely())?;
    Ok(())
}

/// Fills so many bytes of a buffer with these, again and again if they are fewer.
fn upload(device: &Device, buffer: &api::Buffer, bytes: &[u8], len: usize) -> Result<()> {
    let (mut at, queue) = (0, device.raw().1);
    while at < len {
        let from = at % (bytes.len() / PIECE * PIECE).max(1);
        let piece = (len - at).min(PIECE).min(bytes.len() - from).next_multiple_of(4);
        queue.write_buffer(buffer, at as u64, &bytes[from..from + piece]);
        queue.submit([]);
        at += piece;
    }
    settle(device)
}

fn facts(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let (raw, adapter) = (device.raw().0, device.raw().0.adapter_info());
    say("fact features", &format_args!("{:?}", raw.features()));
    say("fact subgroup", &format_args!("{} to {}", adapter.subgroup_min_size, adapter.subgroup_max_size));
    say("fact words of Argon2", &if raw.features().contains(api::Features::SHADER_INT64) { 64 } else { 32 });
    let subgroups = adapter.subgroup_min_size >= 4 && raw.features().contains(api::Features::SUBGROUP);
    say("fact quads of Argon2", &if subgroups { "by subgroups" } else { "by shared memory" });
    say("fact limits", &format_args!("{:?}", raw.limits()));
    say("fact host", &format_args!("{} threads, BLAKE3 {:?}", threads(), Plan::host()));
    bench.row("fact BLAKE3 compiled and tested", || {
        let (_, time) = timed(|| Ok(Blake3::new(&device, &Mode::Hash)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    bench.row("fact Argon2 compiled and tested", || {
        let params = Params::new(64, 1, 1)?;
        let (_, time) = timed(|| Ok(Argon2::new(&device, params, 1)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    Ok(())
}

fn digests(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let bytes = painted(bench.bytes(GIB));
    for len in [0, 1, 1024, bench.bytes(MIB) + 1, bench.bytes(PIECE) + 17, bench.bytes(GIB)] {
        bench.row(&format!("digest of {}", size(len)), || {
            let buffer = buffer(&device, len);
            upload(&device, &buffer, &bytes, len)?;
            let right = Hasher::new().update_rayon(&bytes[..len]).finalize();
            same(&blake3.hash_buffer(&buffer, 0, len as u64)?, &right)
        });
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(given: &T, right: &T) -> Result<String> {
    if given == right {
        return Ok("as the processor's".to_owned());
    }
    Err(format!("WRONG: {given:?}, the processor says {right:?}").into())
}

/// Hashes a buffer so many times, several of them under way.
fn in_flight(blake3: &Blake3, buffer: &api::Buffer, len: usize, count: usize) -> Result<()> {
    let mut pending = VecDeque::new();
    for number in 0..count + IN_FLIGHT {
        if number < count {
            pending.push_back(blake3.start(buffer, 0, len as u64)?);
        }
        if number >= IN_FLIGHT - 1
            && let Some(first) = pending.pop_front()
        {
            first.finish()?;
        }
    }
    Ok(())
}

/// Bytes that lie on the device.
fn resident(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let bytes = painted(bench.bytes(4 * PIECE));
    let most = device.info().buffer.min(4 << 30) as usize / PIECE * PIECE;
    for len in [MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB, most].map(|len| bench.bytes(len)) {
        let name = format!("resident {}", size(len));
        bench.row(&name, || {
            let buffer = buffer(&device, len);
            upload(&device, &buffer, &bytes, len)?;
            let one = bench.times(|| Ok(blake3.hash_buffer(&buffer, 0, len as u64)?))?;
            say(&format!("{name}, one at a time"), &speed(&one, len));
            let count = 4 * IN_FLIGHT;
            let mut several = bench.times(|| in_flight(&blake3, &buffer, len, count))?;
            several.iter_mut().for_each(|time| *time /= count as f64);
            say(&format!("{name}, {IN_FLIGHT} in flight"), &speed(&several, len));
            Ok("done".to_owned())
        });
        settle(&device)?;
    }
    Ok(())
}

/// Bytes in the memory of the host.
fn host(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let bytes = painted(bench.bytes(GIB));
    for len in [PIECE, GIB].map(|len| bench.bytes(len)) {
        let (name, bytes) = (format!("host {}", size(len)), &bytes[..len]);
        let right = Hasher::new().update_rayon(bytes).finalize();
        let buffer = buffer(&device, len);
        let each = |what: &str, run: &mut dyn FnMut() -> Result<Hash>| {
            bench.row(&format!("{name}, {what}"), || {
                same(&run()?, &right)?;
                Ok(speed(&bench.times(&mut *run)?, len))
            });
        };
        bench.row(&format!("{name}, copied alone"), || {
            Ok(speed(&bench.times(|| upload(&device, &buffer, bytes, len))?, len))
        });
        each("copied, then hashed", &mut || {
            upload(&device, &buffer, bytes, len)?;
            Ok(blake3.hash_buffer(&buffer, 0, len as u64)?)
        });
        for (tile, tiles, workers) in [(8 * MIB, 8, 1), (8 * MIB, 8, 8), (MIB, 8, 8)] {
            let tile = bench.bytes(tile);
            bench.row(&format!("{name}, {tiles} tiles of {} by {workers} threads", size(tile)), || {
                let engine = Subtrees::new(&device, &Mode::Hash, tile, tiles)?;
                let run = || by_tiles(&engine, bytes, workers);
                same(&run()?, &right)?;
                Ok(speed(&bench.times(run)?, len))
            });
        }
        each("the processor, one thread", &mut || Ok(hashmill_hash::blake3::hash(bytes)));
        each("the processor, all threads", &mut || Ok(Hasher::new().update_rayon(bytes).finalize()));
    }
    Ok(())
}

/// As files are hashed.
fn by_tiles(engine: &Subtrees, bytes: &[u8], workers: usize) -> Result<Hash> {
    let (tile, never, next) = (engine.limits().tile, Stop::new(), AtomicUsize::new(0));
    let values = Mutex::new(BTreeMap::new());
    let note = |subtree: Subtree| {
        values.lock().unwrap_or_else(PoisonError::into_inner).insert(subtree.tile.offset, subtree.value);
    };
    let work = || -> Result<()> {
        loop {
            let Some(mut staging) = engine.stage()? else {
                engine.take(&never)?.map(note);
                continue;
            };
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = bytes.chunks(tile).nth(index) else { return Ok(()) };
            staging[..piece.len()].copy_from_slice(piece);
            engine.submit(staging, Tile::new(0, (index * tile) as u64, piece.len()), &never)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    while let Some(subtree) = engine.take(&never)? {
        note(subtree);
    }
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

fn many(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let count = if bench.tiny { 1000 } else { 100_000 };
    let bytes = painted(count * 1024);
    for len in [64, 1024] {
        let messages: Vec<&[u8]> = bytes.chunks_exact(len).take(count).collect();
        let mut right = vec![Hash::from_bytes([0; 32]); count];
        hash_all(&Mode::Hash, &messages, &mut right);
        let each = |what: &str, run: &dyn Fn(&mut [Hash]) -> Result<()>| {
            bench.row(&format!("many {count} of {}, {what}", size(len)), || {
                let mut out = vec![Hash::from_bytes([0; 32]); count];
                run(&mut out)?;
                if out != right {
                    return Err("WRONG digests".into());
                }
                let times = bench.times(|| run(&mut out))?;
                let rate = spread(&times, "million/s", |time| count as f64 / time / 1e6);
                Ok(format!("{rate}; {}", speed(&times, count * len)))
            });
        };
        each("the device", &|out| Ok(blake3.hash_many(&messages, out)?));
        each("the processor, one thread", &|out| {
            hash_all(&Mode::Hash, &messages, out);
            Ok(())
        });
        each("the processor, all threads", &|out| {
            let share = count.div_ceil(threads());
            thread::scope(|scope| {
                for (messages, out) in messages.chunks(share).zip(out.chunks_mut(share)) {
                    scope.spawn(|| hash_all(&Mode::Hash, messages, out));
                }
            });
            Ok(())
        });
    }
    Ok(())
}

fn function(params: Params) -> String {
    let memory = size(params.memory_kib() as usize * 1024);
    format!("argon2 {memory} t{} p{}", params.passes(), params.lanes())
}

/// The tags of the passwords with the numbers from 0 on; or that it was stopped after so long, and when it was asked to.
fn batch(
    argon2: &mut Argon2,
    count: usize,
    longest: Duration,
) -> (std::result::Result<Vec<[u8; 32]>, Error>, Option<Instant>) {
    let (stop, (done, over)) = (&Stop::new(), mpsc::channel::<()>());
    let passwords: Vec<_> = (0..count).map(usize::to_le_bytes).collect();
    let mut tags = vec![[0; 32]; count];
    let mut jobs: Vec<_> =
        passwords.iter().zip(&mut tags).map(|(password, tag)| Job { input: salted(password), tag }).collect();
    let (hashed, asked) = thread::scope(|scope| {
        let clock = scope.spawn(move || {
            let late = over.recv_timeout(longest) == Err(mpsc::RecvTimeoutError::Timeout);
            late.then(|| {
                stop.set();
                Instant::now()
            })
        });
        let hashed = argon2.hash_until(&mut jobs, stop);
        drop(done);
        (hashed, clock.join().expect("no panic"))
    });
    (hashed.map(|()| tags), asked)
}

fn salted(password: &[u8]) -> Input<'_> {
    Input::new(password, b"sixteen bytes ok")
}

fn tags(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    for (memory_kib, passes) in COSTS {
        let params = bench.params(memory_kib, passes)?;
        let name = function(params);
        bench.row(&name, || {
            let mut argon2 = Argon2::new(&device, params, bench.most())?;
            let (width, mut processor) = (argon2.width(), argon2::Hasher::new(params));
            say(&format!("{name}, width"), &format_args!("{width}, {} MiB", argon2.memory() >> 20));
            let mut right = |number: usize| processor.hash(&salted(&number.to_le_bytes()));
            let zeroth: [u8; 32] = right(0)?;
            let (last, time) = timed(|| Ok(right(width - 1)?))?;
            say(&format!("{name}, the processor, one thread"), &format_args!("{:.3} hashes/s", 1.0 / time));
            for count in [1, 16, 128].into_iter().filter(|&count| count < width).chain([width]) {
                bench.row(&format!("{name}, {count} side by side"), || {
                    let (began, mut times) = (Instant::now(), Vec::new());
                    while times.len() < 5 && (times.is_empty() || began.elapsed().as_secs_f64() < 1.5) {
                        let (tags, time) = timed(|| Ok(batch(&mut argon2, count, LONGEST).0?))?;
                        times.push(time);
                        same(&tags[0], &zeroth)?;
                        if count == width {
                            same(&tags[width - 1], &last)?;
                        }
                    }
                    let rate = spread(&times, "hashes/s", |time| count as f64 / time);
                    Ok(format!("{rate}; {}", spread(&times, "ms", |time| time * 1e3)))
                });
            }
            Ok("done".to_owned())
        });
        settle(&device)?;
    }
    Ok(())
}

/// How long hashes go on after they were asked to stop.
fn stop(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let params = bench.params(64 << 10, 100_000)?;
    for most in [1, bench.most()] {
        let mut argon2 = Argon2::new(&device, params, most)?;
        let width = argon2.width();
        bench.row(&format!("stop of {width} of {}", function(params)), || {
            let mut times = Vec::new();
            for _ in 0..20 {
                let (hashed, asked) = batch(&mut argon2, width, Duration::from_millis(250));
                let time = asked.map(|asked| asked.elapsed().as_secs_f64());
                match hashed {
                    Err(Error::Hash(HashError::Stopped)) => times.extend(time),
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Err("it was done before".into()),
                }
            }
            Ok(spread(&times, "ms", |time| time * 1e3))
        });
        drop(argon2);
        settle(&device)?;
    }
    Ok(())
}

/// What is done in each quarter of a minute: `run` says how much it has done.
fn quarters(bench: &Bench, name: &str, unit: &str, mut run: impl FnMut() -> Result<f64>) -> Result<()> {
    let quarter = Duration::from_millis(if bench.tiny { 250 } else { 15_000 });
    for number in 1..=4 {
        let (began, mut done) = (Instant::now(), 0.0);
        while began.elapsed() < quarter {
            done += run()?;
        }
        let rate = done / began.elapsed().as_secs_f64();
        say(&format!("{name}, quarter {number}"), &format_args!("{rate:.3} {unit}"));
    }
    Ok(())
}

fn sustained_blake3(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let len = bench.bytes(GIB);
    let buffer = buffer(&device, len);
    upload(&device, &buffer, &painted(bench.bytes(PIECE)), len)?;
    quarters(bench, &format!("sustained BLAKE3 of {}", size(len)), "GB/s", || {
        let count = 10 * IN_FLIGHT;
        in_flight(&blake3, &buffer, len, count)?;
        Ok((count * len) as f64 / 1e9)
    })
}

fn sustained_argon2(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let params = bench.params(64 << 10, 3)?;
    let mut argon2 = Argon2::new(&device, params, bench.most())?;
    let width = argon2.width();
    quarters(bench, &format!("sustained {}, {width} side by side", function(params)), "hashes/s", || {
        Ok(batch(&mut argon2, width, LONGEST).0?.len() as f64)
    })
}
