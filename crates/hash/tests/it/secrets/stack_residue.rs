//! Absence of the key from the stack after `BufferedHasher`, keyed batches, and calls inside `forgetting`:
//! copies that calls made there are wiped.
//!
//! Tests are compiled without optimisation, so the calls below pass references and move nothing: copies that
//! a caller makes are the caller's responsibility.

use crate::plans::plans;
use hashmill_hash::blake3::hazmat::{Mode, State, forgetting};
use hashmill_hash::blake3::{BufferedHasher, Hash, Hasher, Plan, batch};
use hashmill_testkit::stack_residue::{READABLE, left_by};
use hashmill_testkit::{paint, skip};
use std::hint::black_box;
use std::sync::Mutex;

static KEY: [u8; 32] = *b"\x91whats the Elv\xe9sh word for fr\xcfen";

/// Occurrences in `left` of eight consecutive bytes of the key, or of one of its words in four adjacent
/// lanes.
fn traces(left: &[u8]) -> usize {
    let (words, _) = KEY.as_chunks::<4>();
    let pairs: Vec<Vec<u8>> = words.windows(2).map(<[[u8; 4]]>::concat).collect();
    let lanes: Vec<Vec<u8>> = words.iter().map(|word| word.repeat(4)).collect();
    let shapes: Vec<_> = pairs.iter().chain(&lanes).collect();
    // The first byte excludes most offsets quickly.
    let mut first_bytes = [false; 256];
    words.iter().for_each(|word| first_bytes[usize::from(word[0])] = true);
    let is_trace = |offset: &usize| {
        first_bytes[usize::from(left[*offset])]
            && shapes.iter().any(|shape| left[*offset..].starts_with(shape))
    };
    (0..left.len()).step_by(4).filter(is_trace).count()
}

/// Reports a leak if `call` leaves part of the key.
fn check(leaks: &mut Vec<String>, name: &str, call: &(dyn Fn() + Sync)) {
    // A first call, so that lazy set-up is not measured.
    call();
    let count = traces(&left_by(call));
    leaks.extend((count > 0).then(|| format!("{name}: {count}")));
}

fn buffered(leaks: &mut Vec<String>, plan: Plan, len: usize) {
    let input = paint(len);
    let start = || BufferedHasher::new(Hasher::with_mode(&Mode::KeyedHash(&KEY)).with_plan(plan));
    let hasher = Mutex::new(Box::new(start()));
    check(leaks, &format!("{plan:?}, buffered {len} bytes"), &|| {
        let mut buffered = hasher.lock().expect("no panic");
        for piece in input.chunks(999) {
            buffered.update(piece);
        }
        black_box(buffered.finalize());
        buffered.reset();
    });
    let several = Mutex::new([(); 2].map(|()| Some(Box::new(start()))).into_iter().collect::<Vec<_>>());
    check(leaks, &format!("{plan:?}, dropped after {len} bytes"), &|| {
        let last = several.lock().expect("no panic").pop();
        // The memory is behind a pointer, and dropped there.
        if let Some(mut buffered) = last.expect("one for each call") {
            buffered.update(&input);
        }
    });
}

fn batches(leaks: &mut Vec<String>, plan: Plan, len: usize) {
    let input = paint(len);
    for (name, step) in [("even", 0), ("ragged", 37)] {
        let messages: Vec<&[u8]> = (0..21).map(|at| &input[..len - (at * step).min(len)]).collect();
        let out = Mutex::new(vec![Hash::from_bytes([0; 32]); messages.len()]);
        check(leaks, &format!("{plan:?}, {name} batch of {len} bytes"), &|| {
            let mut out = out.lock().expect("no panic");
            batch::hash_all_with(plan, &Mode::KeyedHash(black_box(&KEY)), &messages, &mut out);
        });
    }
}

fn states(leaks: &mut Vec<String>, len: usize) {
    let input = paint(len);
    let state = Mutex::new(Box::new(State::new(&Mode::KeyedHash(&KEY))));
    check(leaks, &format!("a state, {len} bytes"), &|| {
        let mut state = state.lock().expect("no panic");
        let mut out = [0; 100];
        forgetting(|| {
            state.update(&input);
            state.finalize_seek(7, &mut out);
            state.reset();
        });
        black_box(out);
    });
}

#[test]
fn keys_are_wiped_from_the_stack() {
    if !READABLE {
        return skip("keys on dead stacks", "no stack of a thread can be read here");
    }
    // Frames of the address sanitizer have red zones, which no instrumented code may read.
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        return skip("keys on dead stacks", "the address sanitizer forbids to read its red zones");
    }
    assert!(traces(&[&[0; 8][..], &KEY].concat()) > 3, "traces of a key are found");
    let mut leaks = Vec::new();
    for plan in plans() {
        for len in [0, 1, 64, 100, 1024, 1025, 2048, 5000, 16 << 10, (16 << 10) + 1, 70_000] {
            buffered(&mut leaks, plan, len);
            batches(&mut leaks, plan, len);
        }
    }
    for len in [0, 1, 64, 1024, 1025, 5000, 70_000] {
        states(&mut leaks, len);
    }
    assert!(leaks.is_empty(), "{} leaks\n{}", leaks.len(), leaks.join("\n"));
}
