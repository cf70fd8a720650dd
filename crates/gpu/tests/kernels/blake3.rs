//! BLAKE3 kernels: values of subtrees and digests of messages, around the edges of blocks, chunks, thread
//! blocks and tiles.

use crate::card::Argument::{Number, Pointer, Struct};
use crate::card::{Card, Memory, ORDERS};
use hashmill_hash::blake3::hazmat::{
    ContextKey, HasherExt, Mode, hash_derive_key_context, merge_subtrees_non_root,
};
use hashmill_hash::blake3::{Hasher, Kernel, Plan};
use hashmill_testkit::paint;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEY: &[u8; 32] = b"whats the Elvish word for friend";
/// Threads of a block.
const WIDTH: usize = 128;

fn modes(context: &ContextKey) -> [(&'static str, Mode<'_>); 3] {
    [("hash", Mode::Hash), ("keyed", Mode::KeyedHash(KEY)), ("derive", Mode::DeriveKeyMaterial(context))]
}

fn hasher(mode: &Mode<'_>) -> Hasher {
    Hasher::with_mode(mode).with_plan(Plan::for_kernel(Kernel::portable()))
}

struct Numbers {
    counter: u64,
    chunks: usize,
    tail: usize,
    tile: usize,
    row: usize,
    first: usize,
}

fn params(mode: &Mode<'_>, numbers: &Numbers) -> [u32; 16] {
    let (key, flags) = match mode {
        Mode::KeyedHash(key) => (words(key), 16),
        Mode::DeriveKeyMaterial(key) => (words(key), 64),
        _ => (IV, 0),
    };
    let Numbers { counter, chunks, tail, tile, row, first } = *numbers;
    let mut params = [0; 16];
    params[..8].copy_from_slice(&key);
    params[8..10].copy_from_slice(&[counter as u32, (counter >> 32) as u32]);
    params[10..13].copy_from_slice(&[chunks as u32, tail as u32, flags]);
    params[13..].copy_from_slice(&[tile, row, first].map(|number| number as u32));
    params
}

fn words(bytes: &[u8; 32]) -> [u32; 8] {
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("four")))
}

/// The values of the tiles of an input on the card that begins with chunk `counter`.
fn tiles(card: &Card, mode: &Mode<'_>, input: Memory, len: usize, tile: usize, counter: u64) -> Vec<u8> {
    let chunks = len.div_ceil(1024);
    let (groups, tiles) = (chunks.div_ceil(WIDTH), chunks.div_ceil(tile));
    let row = (tile / WIDTH).max(1);
    let tail = len - (chunks - 1) * 1024;
    let mut numbers = Numbers { counter, chunks, tail, tile, row, first: 0 };
    let rows = card.memory(tiles * row * 32);
    let values = card.memory(tiles * 32);
    if tile >= WIDTH {
        let size = (groups as u32, WIDTH as u32, 0);
        let arguments = [Struct(&params(mode, &numbers)), Pointer(input.at), Pointer(rows.at), Number(1)];
        card.launch("blake3_leaves", size, &arguments);
    } else {
        // Thread blocks would span several tiles: each tile has a launch of its own.
        for at in 0..tiles {
            numbers.counter = counter + (at * tile) as u64;
            numbers.chunks = tile.min(chunks - at * tile);
            numbers.tail = if at + 1 == tiles { tail } else { 1024 };
            numbers.first = at;
            let here = input.at + (at * tile * 1024) as u64;
            let arguments = [Struct(&params(mode, &numbers)), Pointer(here), Pointer(rows.at), Number(1)];
            card.launch("blake3_leaves", (1, WIDTH as u32, 0), &arguments);
        }
        numbers.chunks = chunks;
    }
    let arguments = [Struct(&params(mode, &numbers)), Pointer(rows.at), Pointer(values.at), Number(1)];
    card.launch("blake3_tops", (tiles as u32, WIDTH as u32, 0), &arguments);
    card.read(values)
}

#[test]
fn tiles_become_the_values_of_their_subtrees() {
    let Some(card) = Card::new("BLAKE3 of tiles by CUDA's kernels") else { return };
    let context = hash_derive_key_context("hashmill 2026-11-26 kernels");
    let bytes = paint(520 * 1024 + 77);
    // Chunks of a tile, and bytes: whole tiles, parts of blocks, odd rows.
    let cases: [(usize, &[usize]); 5] = [
        (2, &[1025, 2048, 4095, 5 * 1024 + 1]),
        (64, &[64 * 1024, 64 * 1024 + 1, 100 * 1024 + 63]),
        (128, &[127 * 1024 + 64, 128 * 1024, 128 * 1024 + 1, 255 * 1024, 300 * 1024 + 65]),
        (256, &[129 * 1024, 256 * 1024, 256 * 1024 + 1, 511 * 1024 + 17]),
        (512, &[385 * 1024 + 1023, 512 * 1024 - 1, 512 * 1024, 520 * 1024 + 77]),
    ];
    for (order, (name, mode)) in ORDERS.into_iter().zip(modes(&context)) {
        card.order(order);
        for (tile, lens) in cases {
            for &len in lens {
                let input = card.with_at_end(&bytes[..len]);
                // A subtree of 512 chunks begins there, on both sides of the 32-bit limit.
                for counter in
                    [0, 1_u64 << 32, (1 << 32) - 512].into_iter().take(if len < 200_000 { 3 } else { 1 })
                {
                    let values = tiles(&card, &mode, input, len, tile, counter);
                    for (value, (at, piece)) in
                        values.chunks(32).zip((0..).zip(bytes[..len].chunks(tile * 1024)))
                    {
                        let mut right = hasher(&mode);
                        right.set_input_offset((counter + at * tile as u64) * 1024).update(piece);
                        let right = right.finalize_non_root();
                        assert_eq!(value, right, "{name}, tile {at} of {tile} chunks, {len} bytes, {order}");
                    }
                }
            }
        }
    }
}

#[test]
fn messages_of_a_chunk_become_digests_and_chunks_of_longer_ones_values() {
    let Some(card) = Card::new("BLAKE3 of many messages by CUDA's kernels") else { return };
    let context = hash_derive_key_context("hashmill 2026-11-26 kernels");
    let bytes = paint(200_000);
    let lens: Vec<usize> = (0..=130)
        .chain([191, 192, 193, 255, 256, 257, 959, 960, 961, 1007, 1009, 1023, 1024, 1008])
        .collect();
    // Each begins at a multiple of 16 and is followed by other bytes, except the last, which ends within a
    // block at the end of the memory.
    let mut jobs = Vec::new();
    let mut at = 0;
    for (number, len) in (0..).zip(&lens) {
        let (chunk, end) = if number % 3 == 2 { (number, CHUNK_END) } else { (0, CHUNK_END | ROOT) };
        jobs.extend([(at / 16) as u32, *len as u32, chunk, end]);
        at += len.next_multiple_of(16);
    }
    let (input, table) = (card.with_at_end(&bytes[..at]), card.with_words(&jobs));
    for (order, (name, mode)) in ORDERS.into_iter().zip(modes(&context)) {
        card.order(order);
        let values = card.memory(lens.len() * 32);
        let numbers = Numbers { counter: 0, chunks: lens.len(), tail: 0, tile: 0, row: 0, first: 0 };
        let (params, grid) = (params(&mode, &numbers), lens.len().div_ceil(WIDTH) as u32);
        let arguments =
            [Struct(&params), Pointer(input.at), Pointer(table.at), Pointer(values.at), Number(1)];
        card.launch("blake3_messages", (grid, WIDTH as u32, 0), &arguments);
        for (value, job) in card.read(values).chunks(32).zip(jobs.chunks(4)) {
            let [start, len, chunk, end] = *job else { unreachable!("four numbers") };
            let message = &bytes[start as usize * 16..][..len as usize];
            let mut right = hasher(&mode);
            let right = if end & ROOT == 0 {
                right.set_input_offset(u64::from(chunk) * 1024).update(message).finalize_non_root()
            } else {
                *right.update(message).finalize().as_bytes()
            };
            assert_eq!(value, right, "{name}, {len} bytes, {order}");
        }
    }
}

#[test]
fn rows_of_any_length_become_one_value_each() {
    let Some(card) = Card::new("long rows of BLAKE3 by CUDA's kernels") else { return };
    const ROW: usize = 512;
    let bytes = paint(3 * ROW * 32);
    // Each value covers 128 chunks, the last one of a row fewer.
    for (order, (name, mode)) in ORDERS.into_iter().zip(modes(&hash_derive_key_context("rows"))) {
        card.order(order);
        for len in [1, 2, 3, 127, 128, 129, 255, 256, 257, 300, 511, 512] {
            let (rows, values) = (card.with(&bytes), card.memory(3 * 32));
            // Two whole rows precede it.
            let chunks = (2 * ROW + len) * WIDTH - 5;
            let numbers = Numbers { counter: 0, chunks, tail: 0, tile: ROW * WIDTH, row: ROW, first: 0 };
            let params = params(&mode, &numbers);
            let arguments = [Struct(&params), Pointer(rows.at), Pointer(values.at), Number(1)];
            card.launch("blake3_tops", (3, WIDTH as u32, 0), &arguments);
            let lens = [ROW, ROW, len];
            for (at, (value, row)) in card.read(values).chunks(32).zip(bytes.chunks(ROW * 32)).enumerate() {
                let mut row: Vec<[u8; 32]> = row.as_chunks().0[..lens[at]].to_vec();
                while row.len() > 1 {
                    let pair = |pair: &[[u8; 32]]| match pair {
                        [left, right] => merge_subtrees_non_root(left, right, mode),
                        _ => pair[0],
                    };
                    row = row.chunks(2).map(pair).collect();
                }
                assert_eq!(value, row[0], "{name}, row {at} of {len}, {order}");
            }
        }
    }
}
