//! Rows of one back end, whatever it is: the module above says what its names mean.

use super::{
    Argon2, Blake3, Buffer, Device, Nonces, Subtrees, buffer, by_itself, facts, fetched, rounds, settle,
    upload,
};
use crate::{
    Bench, COSTS, GIB, IN_FLIGHT, LONGEST, MIB, PIECE, Result, Section, by_tiles, function, painted,
    quarters, salted, same, size, speed, spread, threads, timed,
};
use hashmill_gpu::Error;
use hashmill_hash::argon2::pow::{Order, Pow, Recipe};
use hashmill_hash::argon2::{self, HashError, Job, Stop};
use hashmill_hash::blake3::batch::hash_all;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, Hasher};
use hashmill_hash::engine::{NonceEngine, NonceJob, Watch};
use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const SECTIONS: [(&str, Section); 10] = [
    ("facts", facts),
    ("digests", digests),
    ("resident", resident),
    ("argon2", tags),
    ("host", host),
    ("many", many),
    ("stop", stop),
    ("sustained-blake3", sustained_blake3),
    ("sustained-argon2", sustained_argon2),
    ("sustained-nonces", sustained_nonces),
];

fn digests(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let bytes = painted(bench.bytes(GIB));
    for len in [0, 1, 1024, bench.bytes(MIB) + 1, bench.bytes(PIECE) + 17, bench.bytes(GIB)] {
        bench.row(&format!("digest of {}", size(len)), || {
            let buffer = buffer(&device, len)?;
            upload(&device, &buffer, &bytes, len)?;
            let right = Hasher::new().update_rayon(&bytes[..len]).finalize();
            same(&blake3.hash_buffer(&buffer, 0, len as u64)?, &right)
        });
    }
    Ok(())
}

/// Hashes a buffer so many times, several of them under way.
fn in_flight(blake3: &Blake3, buffer: &Buffer, len: usize, count: usize) -> Result<()> {
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
            let buffer = buffer(&device, len)?;
            upload(&device, &buffer, &bytes, len)?;
            let one = bench.times(|| Ok(blake3.hash_buffer(&buffer, 0, len as u64)?))?;
            bench.say(&format!("{name}, one at a time"), &speed(&one, len));
            let count = 4 * IN_FLIGHT;
            let mut several = bench.times(|| in_flight(&blake3, &buffer, len, count))?;
            several.iter_mut().for_each(|time| *time /= count as f64);
            bench.say(&format!("{name}, {IN_FLIGHT} in flight"), &speed(&several, len));
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
        let buffer = buffer(&device, len)?;
        let each = |what: &str, run: &mut dyn FnMut() -> Result<Hash>| {
            bench.row(&format!("{name}, {what}"), || {
                same(&run()?, &right)?;
                Ok(speed(&bench.times(&mut *run)?, len))
            });
        };
        bench.row(&format!("{name}, copied alone"), || {
            Ok(speed(&bench.times(|| upload(&device, &buffer, bytes, len))?, len))
        });
        if let Some(digest) = by_itself(&blake3, bytes) {
            digest?;
            each("by pieces that the device fetches", &mut || by_itself(&blake3, bytes).expect("as before"));
        }
        if let Some(line) = fetched(bench, &device, &blake3, bytes, &right) {
            bench.row(&format!("{name}, fetched where they lie"), || line);
        }
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

fn tags(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    for (memory_kib, passes) in COSTS {
        let params = bench.params(memory_kib, passes)?;
        let name = function(params);
        bench.row(&name, || {
            let mut argon2 = Argon2::new(&device, params, bench.most())?;
            let (width, mut processor) = (argon2.width(), argon2::Hasher::new(params));
            bench.say(&format!("{name}, width"), &format_args!("{width}, {} MiB", argon2.memory() >> 20));
            let mut right = |number: usize| processor.hash(&salted(&number.to_le_bytes()));
            let zeroth: [u8; 32] = right(0)?;
            let (last, time) = timed(|| Ok(right(width - 1)?))?;
            bench.say(
                &format!("{name}, the processor, one thread"),
                &format_args!("{:.3} hashes/s", 1.0 / time),
            );
            let most = width * rounds(&argon2);
            let measure = |argon2: &mut Argon2, count: usize| {
                let (began, mut times) = (Instant::now(), Vec::new());
                while times.len() < 5 && (times.is_empty() || began.elapsed().as_secs_f64() < 1.5) {
                    let (tags, time) = timed(|| Ok(batch(argon2, count, LONGEST).0?))?;
                    times.push(time);
                    same(&tags[0], &zeroth)?;
                    if count == most {
                        same(&tags[width - 1], &last)?;
                    }
                }
                let rate = spread(&times, "hashes/s", |time| count as f64 / time);
                Ok(format!("{rate}; {}", spread(&times, "ms", |time| time * 1e3)))
            };
            for count in [1, 16, 64].into_iter().filter(|&count| count < width).chain([most]) {
                bench.row(&format!("{name}, {count} of at most {width} side by side"), || {
                    measure(&mut argon2, count)
                });
            }
            let mut tuning = argon2.tuning();
            if tuning.grow {
                drop(argon2);
                tuning.grow = false;
                let mut argon2 = Argon2::tuned(&device, params, tuning)?;
                let wholes = argon2.width();
                bench.row(&format!("{name}, {wholes} that have all their memory"), || {
                    measure(&mut argon2, wholes)
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

fn sustained_blake3(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let blake3 = Blake3::new(&device, &Mode::Hash)?;
    let len = bench.bytes(GIB);
    let buffer = buffer(&device, len)?;
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

/// A search that finds nothing, of the function that takes most memory: where lanes grow, that is all that they can do.
fn sustained_nonces(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let params = bench.params(COSTS[0].0, COSTS[0].1)?;
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let mut engine = Nonces::new(&device, pow, bench.most())?;
    let (job, watch) = (NonceJob::new(b"a header", [0; 32]), &Watch::new());
    let name = format!("sustained search, {}, {} side by side", function(params), engine.limits().in_flight);
    thread::scope(|scope| {
        let search = scope.spawn(|| engine.search(&job, 0..u64::MAX, watch, &|_| ()));
        let mut before = 0;
        let measured = quarters(bench, &name, "hashes/s", || {
            thread::sleep(Duration::from_millis(100));
            let (now, ended) = (watch.hashes(), search.is_finished());
            let done = (now - std::mem::replace(&mut before, now)) as f64;
            if ended { Err("the search has ended".into()) } else { Ok(done) }
        });
        watch.stop().set();
        search.join().expect("no panic")?;
        measured
    })
}
