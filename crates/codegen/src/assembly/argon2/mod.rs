//! Argon2's compression function: one block from two, in the whole registers of AVX-512.
//!
//! The limit is not the number of instructions but their schedule: compilers lengthen the distance between the steps of one chain or
//! turn one shuffle into two. The order is the result of a search by measurement, see
//! [`crate::assembly::argon2::order`]. Measured on Zen 4, nanoseconds per block: 75 against 81 in turns (and about 93 as compiled).

mod order;
pub(super) mod tiles;

use crate::assembly::argon2::order::ORDER;
use crate::assembly::file;

/// Rotate counts of the four steps of a mixing, to the right.
pub(super) const TURNS: [usize; 4] = [32, 24, 16, 63];

/// Destination of a body's result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// Writes it.
    Plain,
    /// Adds what was there and writes it.
    Adding,
    /// Writes it over the block before, and to its place past the caches.
    Carrying,
}

impl Store {
    /// Description for the head of a file.
    pub(super) fn words(self) -> &'static str {
        match self {
            Store::Plain => "",
            Store::Adding => ", plus what was there",
            Store::Carrying => ", written twice",
        }
    }
}

/// AVX-512: `rdx` = `rdi` and `rsi` compressed, all of them blocks; `rax` points to three index vectors.
///
/// Vector `4 * r + k` stays in register `4 * r + k` from the first instruction to the last. The first of two parts ends
/// where the first word is known, with that in `r8`, so that the next block can be fetched before the second begins.
pub(super) fn avx512(store: Store) -> [String; 2] {
    let instructions = instructions(store);
    let mut lines: Vec<String> =
        ORDER.into_iter().flat_map(|number| instructions[usize::from(number)].clone()).collect();
    let known = lines.iter().position(|line| line == FIRST_WORD).expect("it is among the instructions");
    let tail = lines.split_off(known + 1);
    let what = store.words();
    let head = |part| format!("One block of Argon2 from two{what}: AVX-512, {part}.");
    [file(&head("until the first word is known"), &lines), file(&head("the rest"), &tail)]
}

/// Copies the first word to a general register.
const FIRST_WORD: &str = "vmovq r8, xmm0";

/// The instructions of the body, each with those of other stores that go with it: pair of rows after pair of rows, then
/// columns, then the ends: a correct, slow order.
pub(super) fn instructions(store: Store) -> Vec<Vec<String>> {
    let mut lines: Vec<String> =
        (0..3).map(|i| format!("vmovdqa64 zmm{}, zmmword ptr [rax + {}]", 29 + i, 64 * i)).collect();
    for i in 0..16 {
        lines.push(format!("vmovdqa64 zmm{i}, {}", zmm("rdi", i)));
        lines.push(format!("vpxorq zmm{i}, zmm{i}, {}", zmm("rsi", i)));
    }
    for r in 0..4 {
        lines.extend(quad([4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3], 16 + r, true));
    }
    for k in 0..4 {
        lines.extend(quad([k, 4 + k, 8 + k, 12 + k], 16 + k, false));
    }
    let mut instructions: Vec<Vec<String>> = lines.into_iter().map(|line| vec![line]).collect();
    for k in 0..4 {
        for r in 0..4 {
            instructions.extend(end_of(4 * r + k, 16 + k, store));
        }
    }
    instructions
}

fn zmm(base: &str, i: usize) -> String {
    format!("zmmword ptr [{base} + {}]", 64 * i)
}

/// Two rows or two columns. `t` is a register for products.
fn quad([a, b, c, d]: [usize; 4], t: usize, rows: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for half in 0..2 {
        for (step, bits) in TURNS.into_iter().enumerate() {
            let [x, y, z] = if step % 2 == 0 { [a, b, d] } else { [c, d, b] };
            lines.extend([
                format!("vpmuludq zmm{t}, zmm{x}, zmm{y}"),
                format!("vpaddq zmm{x}, zmm{x}, zmm{y}"),
                format!("vpsllq zmm{t}, zmm{t}, 1"),
                format!("vpaddq zmm{x}, zmm{x}, zmm{t}"),
                format!("vpxorq zmm{z}, zmm{z}, zmm{x}"),
                // A rotate by half a word is a shuffle, which does not wait for the multiplier.
                match bits {
                    32 => format!("vpshufd zmm{z}, zmm{z}, 177"),
                    _ => format!("vprorq zmm{z}, zmm{z}, {bits}"),
                },
            ]);
            // B is computed last, so it is the row that is never turned.
            match step {
                2 => lines.push(turn(a, if half == 0 { Turn::On } else { Turn::Back }, rows)),
                3 => {
                    lines.push(turn(d, Turn::Across, rows));
                    lines.push(turn(c, if half == 0 { Turn::Back } else { Turn::On }, rows));
                }
                _ => {}
            }
        }
    }
    lines
}

/// Rotation of the words of a vector.
#[derive(Clone, Copy)]
enum Turn {
    /// One place on, the last to the first place.
    On,
    /// One place back.
    Back,
    /// Two places on.
    Across,
}

impl Turn {
    /// For four words in a row.
    fn in_row(self) -> usize {
        match self {
            Turn::On => 0b10_01_00_11,
            Turn::Back => 0b00_11_10_01,
            Turn::Across => 0b01_00_11_10,
        }
    }
}

fn turn(v: usize, turn: Turn, rows: bool) -> String {
    match turn {
        _ if rows => format!("vpermq zmm{v}, zmm{v}, {}", turn.in_row()),
        Turn::On => format!("vpermq zmm{v}, zmm29, zmm{v}"),
        Turn::Back => format!("vpermq zmm{v}, zmm30, zmm{v}"),
        Turn::Across => format!("vpermq zmm{v}, zmm31, zmm{v}"),
    }
}

/// Adds the inputs to vector `v` and stores it. Loading them again costs less than keeping their sum.
fn end_of(v: usize, t: usize, store: Store) -> Vec<Vec<String>> {
    let mut sum = vec![format!("vpternlogq zmm{v}, zmm{t}, {}, 0x96", zmm("rsi", v))];
    if store == Store::Adding {
        sum.push(format!("vpxorq zmm{v}, zmm{v}, {}", zmm("rdx", v)));
    }
    let stores = match store {
        Store::Carrying => vec![
            format!("vmovdqa64 {}, zmm{v}", zmm("rdi", v)),
            format!("vmovntdq {}, zmm{v}", zmm("rdx", v)),
        ],
        _ => vec![format!("vmovdqa64 {}, zmm{v}", zmm("rdx", v))],
    };
    let mut end = vec![vec![format!("vmovdqa64 zmm{t}, {}", zmm("rdi", v))], sum];
    if v == 0 {
        end.push(vec![FIRST_WORD.to_owned()]);
    }
    end.push(stores);
    end
}
