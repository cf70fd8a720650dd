//! What one call of each row does, on both sides. The only file that calls both libraries.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use hashmill_hash::blake3::{Context, Gathered, Hash, Hasher, Plan, Threads, batch, hazmat::Mode};

use super::row::{Calls, Pool, Row};
use crate::pace::Side;

/// Where in its page an input may start.
pub const OFFSETS: usize = 4096;

const KEY: &[u8; 32] = b"whats the Elvish word for friend";
const CONTEXT: &str = "hashmill 2026-01-01 rivals side by side";
/// Long enough for idle rayon workers to stop looking for work and sleep, also in a virtual machine.
const NAP: Duration = Duration::from_micros(300);

/// Both sides of a row, and what one call of each gives for the same input.
#[derive(Debug)]
pub struct Duel<'a> {
    /// The rival's side.
    pub rival: Side<'a>,
    /// Our side.
    pub ours: Side<'a>,
    /// `[rival, ours]`: must be equal before anything is timed.
    pub outputs: [Vec<u8>; 2],
}

/// Our side's kernel choice, or `None` for the free functions as a user calls them.
pub type Forced = Option<Plan>;

/// Makes both sides of `row` over `input`, which must hold [`OFFSETS`] bytes more than the row reads.
pub fn duel<'a>(row: Row, forced: Forced, input: &'a [u8]) -> Duel<'a> {
    let len = row.input_len();
    assert!(input.len() >= len + OFFSETS, "{row} reads {len} bytes at any offset");
    match row {
        Row::Hash(_, Calls::Independent) => one_shot(input, len, official, our_hash(forced)),
        Row::Hash(_, Calls::Dependent) => {
            let mut duel = one_shot(input, len, official, our_hash(forced));
            duel.rival = dependent(input, len, official);
            duel.ours = dependent(input, len, our_hash(forced));
            duel
        }
        Row::Keyed(_) => one_shot(
            input,
            len,
            |message| *blake3::keyed_hash(KEY, message).as_bytes(),
            move |message| match forced {
                None => *hashmill_hash::blake3::keyed_hash(KEY, message).as_bytes(),
                Some(plan) => *plan.keyed_hash(KEY, message).as_bytes(),
            },
        ),
        Row::Derive(_) => one_shot(
            input,
            len,
            |message| blake3::derive_key(CONTEXT, message),
            move |message| match forced {
                None => hashmill_hash::blake3::derive_key(CONTEXT, message),
                Some(plan) => plan.derive_key(CONTEXT, message),
            },
        ),
        Row::Hasher(_) => one_shot(
            input,
            len,
            |message| *blake3::Hasher::new().update(message).finalize().as_bytes(),
            move |message| *our_hasher(forced).update(message).finalize().as_bytes(),
        ),
        Row::Stream(_, piece) => one_shot(
            input,
            len,
            move |message| official_stream(message, piece),
            move |message| {
                let mut hasher = Gathered::new(our_hasher(forced));
                for piece in message.chunks(piece) {
                    hasher.update(piece);
                }
                *hasher.finalize().as_bytes()
            },
        ),
        Row::HasherStream(_, piece) => one_shot(
            input,
            len,
            move |message| official_stream(message, piece),
            move |message| {
                let mut hasher = our_hasher(forced);
                for piece in message.chunks(piece) {
                    hasher.update(piece);
                }
                *hasher.finalize().as_bytes()
            },
        ),
        Row::Xof(out_len) => xof(input, len, out_len, forced),
        Row::Batch(count, len) => batched(input, count, len, forced),
        Row::Parallel(_, pool) => napping(
            pool,
            one_shot(input, len, official_parallel, move |message| {
                *our_hasher(forced).update_parallel(message).finalize().as_bytes()
            }),
        ),
        Row::Context(_, pool) => {
            let threads = std::thread::available_parallelism().map_or(1, Into::into);
            let context = Context::with(forced.unwrap_or_else(Plan::host), &Mode::Hash, threads);
            let context = RefCell::new(context.expect("threads for a context"));
            let ours = move |message: &[u8]| *context.borrow_mut().hash(message, Threads::Auto).as_bytes();
            napping(pool, one_shot(input, len, official_parallel, ours))
        }
        Row::Serial(_, pool) => napping(
            pool,
            one_shot(input, len, our_hash(forced), move |message| {
                *our_hasher(forced).update_parallel(message).finalize().as_bytes()
            }),
        ),
    }
}

fn official(message: &[u8]) -> [u8; 32] {
    *blake3::hash(message).as_bytes()
}

fn official_parallel(message: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update_rayon(message).finalize().as_bytes()
}

fn official_stream(message: &[u8], piece: usize) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for piece in message.chunks(piece) {
        hasher.update(piece);
    }
    *hasher.finalize().as_bytes()
}

fn our_hash(forced: Forced) -> impl Fn(&[u8]) -> [u8; 32] + Copy {
    move |message| match forced {
        None => *hashmill_hash::blake3::hash(message).as_bytes(),
        Some(plan) => *plan.hash(message).as_bytes(),
    }
}

fn our_hasher(forced: Forced) -> Hasher {
    match forced {
        None => Hasher::new(),
        Some(plan) => Hasher::new().with_plan(plan),
    }
}

/// A row whose call reads one message and gives one digest.
fn one_shot<'a>(
    input: &'a [u8],
    len: usize,
    rival: impl Fn(&[u8]) -> [u8; 32] + 'a,
    ours: impl Fn(&[u8]) -> [u8; 32] + 'a,
) -> Duel<'a> {
    let outputs = [rival(&input[..len]).to_vec(), ours(&input[..len]).to_vec()];
    Duel { outputs, rival: independent(input, len, rival), ours: independent(input, len, ours) }
}

fn independent<'a>(input: &'a [u8], len: usize, hash: impl Fn(&[u8]) -> [u8; 32] + 'a) -> Side<'a> {
    Side::new(move |calls, offset| {
        let message = &input[offset..offset + len];
        for _ in 0..calls {
            black_box(hash(black_box(message)));
        }
    })
}

/// Feeds each digest into the next message: all of it where it fits, else its first byte.
fn dependent<'a>(input: &'a [u8], len: usize, hash: impl Fn(&[u8]) -> [u8; 32] + 'a) -> Side<'a> {
    let mut own = input[..len + OFFSETS].to_vec();
    Side::new(move |calls, offset| {
        let message = &mut own[offset..offset + len];
        for _ in 0..calls {
            let digest = hash(black_box(message));
            match message.first_chunk_mut() {
                Some(head) => *head = digest,
                None => message[0] = digest[0],
            }
        }
        black_box(&own);
    })
}

fn xof<'a>(input: &'a [u8], len: usize, out_len: usize, forced: Forced) -> Duel<'a> {
    let (rival_output, rival) = filling(input, len, out_len, |message, out| {
        blake3::Hasher::new().update(message).finalize_xof().fill(out);
    });
    let (our_output, ours) = filling(input, len, out_len, move |message, out| {
        our_hasher(forced).update(message).finalize_xof().fill(out);
    });
    Duel { outputs: [rival_output, our_output], rival, ours }
}

/// A side whose call fills a buffer, and what it fills it with.
fn filling<'a>(
    input: &'a [u8],
    len: usize,
    out_len: usize,
    fill: impl Fn(&[u8], &mut [u8]) + 'a,
) -> (Vec<u8>, Side<'a>) {
    let mut out = vec![0; out_len];
    fill(&input[..len], &mut out);
    let output = out.clone();
    let side = Side::new(move |calls, offset| {
        for _ in 0..calls {
            fill(black_box(&input[offset..offset + len]), black_box(&mut out));
        }
    });
    (output, side)
}

fn batched<'a>(input: &'a [u8], count: usize, len: usize, forced: Forced) -> Duel<'a> {
    let messages =
        move |offset: usize| -> Vec<&'a [u8]> { input[offset..offset + count * len].chunks(len).collect() };
    let plan = forced.unwrap_or_else(Plan::host);
    let hash_all = move |messages: &[&[u8]], out: &mut [Hash]| {
        batch::hash_all_with(plan, &Mode::Hash, messages, out);
    };
    let blank = vec![Hash::from_bytes([0; 32]); count];
    let mut digests = blank.clone();
    hash_all(&messages(0), &mut digests);
    let outputs = [
        messages(0).iter().flat_map(|message| official(message)).collect(),
        digests.iter().flat_map(|digest| *digest.as_bytes()).collect(),
    ];
    let rival = Side::new(move |calls, offset| {
        let messages = messages(offset);
        let mut out = vec![[0; 32]; count];
        for _ in 0..calls {
            for (digest, message) in out.iter_mut().zip(black_box(&messages)) {
                *digest = official(message);
            }
            black_box(&mut out);
        }
    });
    let mut out = blank;
    let ours = Side::new(move |calls, offset| {
        let messages = messages(offset);
        for _ in 0..calls {
            hash_all(black_box(&messages), &mut out);
            black_box(&mut out);
        }
    });
    Duel { outputs, rival, ours }
}

/// Lets the worker threads fall asleep before each call, while this thread stays awake and its clock stays up.
fn napping(pool: Pool, duel: Duel<'_>) -> Duel<'_> {
    let nap = || {
        let start = Instant::now();
        while start.elapsed() < NAP {
            std::hint::spin_loop();
        }
    };
    match pool {
        Pool::Hot => duel,
        Pool::Cold => Duel { rival: duel.rival.prepared(nap), ours: duel.ours.prepared(nap), ..duel },
    }
}
