//! Argon2's compression function: one block from two.
//!
//! What limits it is not the number of instructions but how evenly they arrive: compilers lengthen the distance between
//! the steps of one chain or turn one shuffle into two. With AVX2 four chains go in step, a few instructions of each in
//! turn. With AVX-512 the order is what a search on the machine itself left, see [`super::argon2_order`]. Measured on Zen 4,
//! nanoseconds per block: AVX-512 75 against 81 in turns (and about 93 as compiled), AVX2 113 against 153.

use super::argon2_order::ORDER;
use super::file;

/// How many instructions of a chain follow one another.
const TURN: usize = 4;

/// Bits by which the four steps of a mixing turn their word to the right.
const TURNS: [usize; 4] = [32, 24, 16, 63];

/// Takes `TURN` lines of each list in turns.
fn merge(lists: &[Vec<String>]) -> Vec<String> {
    let mut lines = Vec::new();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    for start in (0..longest).step_by(TURN) {
        for list in lists {
            lines.extend(list.iter().skip(start).take(TURN).cloned());
        }
    }
    lines
}

/// What a body does with its result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// Writes it.
    Plain,
    /// Adds what was there and writes it.
    Adding,
    /// Writes it over the block before, and to its place past the caches.
    Carrying,
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
    let what = match store {
        Store::Plain => "",
        Store::Adding => ", plus what was there",
        Store::Carrying => ", written twice",
    };
    let head = |part| format!("One block of Argon2 from two{what}: AVX-512, {part}.");
    [file(&head("until the first word is known"), &lines), file(&head("the rest"), &tail)]
}

/// Hands the first word on.
const FIRST_WORD: &str = "vmovq r8, xmm0";

/// The instructions of the body, each with those of other stores that go with it: pair of rows after pair of rows, then
/// columns, then the ends, everything in an order that is right and slow.
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
                // By half a word is a shuffle, which does not wait for the multiplier.
                match bits {
                    32 => format!("vpshufd zmm{z}, zmm{z}, 177"),
                    _ => format!("vprorq zmm{z}, zmm{z}, {bits}"),
                },
            ]);
            // B is last to be ready and is the one that is never turned.
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

/// Where the words of a vector go.
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

/// Adds the inputs to vector `v` and writes it. Reading them again costs less than keeping their sum anywhere.
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

/// AVX2: the same with `r8` pointing to room for a block and `rax` to the bytes of two shuffles.
///
/// Four rows, or two pairs of columns, are twice as many vectors as there are registers to spare: B and D stay in
/// registers 0 to 7, A and C in memory, from where every step takes its operand.
pub(super) fn avx2(adds: bool) -> String {
    let mut lines = Vec::new();
    for group in 0..2 {
        let rows: Vec<_> = (0..4).map(|chain| row(chain, 4 * group + chain)).collect();
        lines.extend(merge(&rows));
    }
    for group in 0..2 {
        lines.extend(column_pairs([2 * group, 2 * group + 1], adds));
    }
    let plus = if adds { ", plus what was there" } else { "" };
    file(&format!("One block of Argon2 from two{plus}: AVX2."), &lines)
}

fn ymm(base: &str, i: usize) -> String {
    format!("ymmword ptr [{base} + {}]", 32 * i)
}

/// One step of a chain: `x`, a vector in memory, plus `y` and twice their product, is left in register `8 + chain`; `z`
/// is added and turned.
fn step(chain: usize, x: usize, [y, z]: [usize; 2], bits: usize) -> Vec<String> {
    let (s, t) = (8 + chain, 12 + chain);
    let mut lines = vec![
        format!("vpmuludq ymm{t}, ymm{y}, {}", ymm("r8", x)),
        format!("vpaddq ymm{s}, ymm{y}, {}", ymm("r8", x)),
        format!("vpaddq ymm{t}, ymm{t}, ymm{t}"),
        format!("vpaddq ymm{s}, ymm{s}, ymm{t}"),
        format!("vpxor ymm{z}, ymm{z}, ymm{s}"),
    ];
    match bits {
        32 => lines.push(format!("vpshufd ymm{z}, ymm{z}, 177")),
        24 => lines.push(format!("vpshufb ymm{z}, ymm{z}, {}", ymm("rax", 0))),
        16 => lines.push(format!("vpshufb ymm{z}, ymm{z}, {}", ymm("rax", 1))),
        _ => lines.extend([
            format!("vpaddq ymm{t}, ymm{z}, ymm{z}"),
            format!("vpsrlq ymm{z}, ymm{z}, {bits}"),
            format!("vpor ymm{z}, ymm{z}, ymm{t}"),
        ]),
    }
    lines
}

/// A row from the inputs to memory.
fn row(chain: usize, row: usize) -> Vec<String> {
    let (s, t, b, d) = (8 + chain, 12 + chain, 2 * chain, 2 * chain + 1);
    let place = |k: usize| 4 * row + k;
    let mut lines = Vec::new();
    for (k, register) in [s, b, t, d].into_iter().enumerate() {
        lines.push(format!("vmovdqa ymm{register}, {}", ymm("rdi", place(k))));
        lines.push(format!("vpxor ymm{register}, ymm{register}, {}", ymm("rsi", place(k))));
        if k % 2 == 0 {
            lines.push(format!("vmovdqa {}, ymm{register}", ymm("r8", place(k))));
        }
    }
    for turns in [[Turn::On, Turn::Back], [Turn::Back, Turn::On]] {
        for (number, bits) in TURNS.into_iter().enumerate() {
            let (x, registers) = if number % 2 == 0 { (place(0), [b, d]) } else { (place(2), [d, b]) };
            lines.extend(step(chain, x, registers, bits));
            if number >= 2 {
                lines.push(format!("vpermq ymm{s}, ymm{s}, {}", turns[number - 2].in_row()));
            }
            lines.push(format!("vmovdqa {}, ymm{s}", ymm("r8", x)));
        }
        lines.push(format!("vpermq ymm{d}, ymm{d}, {}", Turn::Across.in_row()));
    }
    for (k, register) in [(1, b), (3, d)] {
        lines.push(format!("vmovdqa {}, ymm{register}", ymm("r8", place(k))));
    }
    lines
}

/// Two pairs of columns, of which one half each is a chain, from memory to the end.
fn column_pairs(pairs: [usize; 2], adds: bool) -> Vec<String> {
    let chains = [(pairs[0], 0), (pairs[0], 1), (pairs[1], 0), (pairs[1], 1)];
    let place = |row: usize, chain: usize| 4 * (row + chains[chain].1) + chains[chain].0;
    let b = [0, 2, 4, 6];
    let mut d = [1, 3, 5, 7];
    let mut lines = Vec::new();
    for chain in 0..4 {
        lines.push(format!("vmovdqa ymm{}, {}", b[chain], ymm("r8", place(2, chain))));
        lines.push(format!("vmovdqa ymm{}, {}", d[chain], ymm("r8", place(6, chain))));
    }
    for turns in [[Turn::On, Turn::Back], [Turn::Back, Turn::On]] {
        for (number, bits) in TURNS.into_iter().enumerate() {
            let first = if number % 2 == 0 { 0 } else { 4 };
            let steps = [0, 1, 2, 3].map(|chain| {
                let registers = if number % 2 == 0 { [b[chain], d[chain]] } else { [d[chain], b[chain]] };
                step(chain, place(first, chain), registers, bits)
            });
            lines.extend(merge(&steps));
            for chain in [0, 2] {
                let places = [place(first, chain), place(first, chain + 1)];
                lines.extend(halves(chain, places, (number >= 2).then(|| turns[number - 2])));
            }
        }
        // Two further on is the other vector.
        d = [d[1], d[0], d[3], d[2]];
    }
    for chain in 0..4 {
        let spare = 8 + chain;
        for (row, register) in [(0, spare), (2, b[chain]), (4, spare), (6, d[chain])] {
            let place = place(row, chain);
            if register == spare {
                lines.push(format!("vmovdqa ymm{spare}, {}", ymm("r8", place)));
            }
            for base in ["rdi", "rsi", "rdx"].into_iter().take(if adds { 3 } else { 2 }) {
                lines.push(format!("vpxor ymm{register}, ymm{register}, {}", ymm(base, place)));
            }
            lines.push(format!("vmovdqa {}, ymm{register}", ymm("rdx", place)));
        }
    }
    lines
}

/// Writes what two steps left, turned by taking the other half of each: of the next vector, or of the one before.
fn halves(chain: usize, places: [usize; 2], turn: Option<Turn>) -> Vec<String> {
    let (s, t) = (8 + chain, 12 + chain);
    let Some(turn) = turn else {
        return vec![
            format!("vmovdqa {}, ymm{s}", ymm("r8", places[0])),
            format!("vmovdqa {}, ymm{}", ymm("r8", places[1]), s + 1),
        ];
    };
    let [x, y] = if matches!(turn, Turn::On) { [s + 1, s] } else { [s, s + 1] };
    vec![
        format!("vshufpd ymm{t}, ymm{x}, ymm{y}, 5"),
        format!("vshufpd ymm{}, ymm{y}, ymm{x}, 5", t + 1),
        format!("vmovdqa {}, ymm{t}", ymm("r8", places[0])),
        format!("vmovdqa {}, ymm{}", ymm("r8", places[1]), t + 1),
    ]
}
