//! Argon2's compression function in sixteen registers of four words: AVX2.
//!
//! Two neighbouring words are a unit, and a block is eight rows of eight units. Two rows and two columns meet in a tile of four
//! units, kept in two vectors:
//!
//! ```text
//!            column 2j   column 2j + 1
//! row 2i         a             b             X = a, d     Y = c, b      (Layout::Tiles)
//! row 2i + 1     c             d
//! ```
//! The columns are a above c, and b above d: each half of X and Y is one of them, the second one upside down. The rows are a beside
//! b, and c beside d: with the halves of Y exchanged, each half is one of those, the second one from its end. A mixing does not care,
//! so rows and columns are the same program, turned for the diagonals by taking neighbouring words of X and Y: one
//! instruction of one cycle, where turning four words of a row within a vector takes two and six cycles on Zen 3.
//!
//! The limit is the reorder window: a step is a chain of seven to eight cycles with six to eight instructions, so interleaving
//! four rows, and then the other four, stalls: 417 cycles, where the ports would allow 283. Therefore all eight are interleaved,
//! a step of each; values without a register are spilled to memory. Each pair starts some turns after the previous one, so that
//! not all need memory at once.

use crate::assembly::argon2::{Store, TURNS};
use crate::assembly::file;
use crate::assembly::registers::{Line, Program, Value, allocate, hand_on, store};

/// Turns between the starts of two pairs of rows.
const ROWS_APART: usize = 3;

/// Turns between the starts of two pairs of columns. With 5 a block in the caches of a core takes 3 % less, but the first word, which names the next block to be
/// fetched, is known late: with 8, after 889 of 1260 lines, 16 and 64 MiB take 6 to 9 % less.
const COLUMNS_APART: usize = 8;

/// Space for spilled values, in vectors after those of a block, which hold the sum of the inputs.
const ROOM: usize = 24;

/// `rdx` = `rdi` and `rsi` compressed, all of them blocks; `r8` points to room for a block and [`ROOM`] vectors, `rax`
/// to the bytes of two shuffles.
///
/// The first of two parts ends where the first word is known, with that in `r9`, so that the next block can be fetched
/// before the second begins.
pub(in crate::assembly) fn avx2(store: Store) -> [String; 2] {
    let mut lines = allocate(&program(store), "r8", 32, ROOM);
    let known =
        lines.iter().position(|line| line.starts_with("vmovq r9")).expect("the first word is handed on");
    let tail = lines.split_off(known + 1);
    let what = store.words();
    let head = |part| format!("One block of Argon2 from two{what}: AVX2, {part}.");
    [file(&head("until the first word is known"), &lines), file(&head("the rest"), &tail)]
}

fn program(store: Store) -> Vec<Line> {
    let mut program = Program::default();
    let (row_turns, tiles): (Vec<_>, Vec<_>) = (0..4).map(|i| rows(&mut program, i)).unzip();
    let column_turns: Vec<_> =
        (0..4).map(|j| columns(&mut program, j, [0, 1, 2, 3].map(|i| tiles[i][j]), store)).collect();
    let mut lines = in_turns(&row_turns, ROWS_APART);
    lines.extend(in_turns(&column_turns, COLUMNS_APART));
    lines
}

/// X and Y.
type Tile = [Value; 2];

/// Instructions of one step in one pair of rows or columns.
type Turn = Vec<Line>;

/// Interleaves the turns of all pairs; each pair starts `apart` turns after the previous one.
fn in_turns(pairs: &[Vec<Turn>], apart: usize) -> Vec<Line> {
    let last = pairs.iter().enumerate().map(|(number, turns)| number * apart + turns.len()).max();
    let mut lines = Vec::new();
    for turn in 0..last.unwrap_or(0) {
        for (number, turns) in pairs.iter().enumerate() {
            lines.extend(
                turn.checked_sub(number * apart)
                    .and_then(|turn| turns.get(turn))
                    .into_iter()
                    .flatten()
                    .cloned(),
            );
        }
    }
    lines
}

fn ymm(base: &str, vector: usize) -> Option<String> {
    Some(format!("ymmword ptr [{base} + {}]", 32 * vector))
}

/// The vector that is X or Y of a tile.
fn vector(i: usize, j: usize, half: usize) -> usize {
    8 * i + 4 * half + j
}

/// A pair of rows, from the inputs to tiles for the columns.
fn rows(program: &mut Program, i: usize) -> (Vec<Turn>, [Tile; 4]) {
    let mut turns = vec![Turn::new(), Turn::new()];
    let tiles = [0, 1, 2, 3].map(|j| {
        let lines = &mut turns[j / 2];
        let [x, y] = [0, 1].map(|half| {
            let vector = vector(i, j, half);
            let prev = program.compute(lines, "vmovdqa", &[], ymm("rdi", vector), None);
            let sum = program.compute(lines, "vpxor", &[prev], ymm("rsi", vector), None);
            store(lines, "vmovdqa", sum, ymm("r8", vector).expect("an address"));
            sum
        });
        [x, exchanged(program, lines, y)]
    });
    let tiles = permute(program, &mut turns, tiles);
    let mut ends = [Turn::new(), Turn::new()];
    let mut j = 0;
    let tiles = tiles.map(|[x, y]| {
        let y = exchanged(program, &mut ends[j / 2], y);
        j += 1;
        [x, y]
    });
    turns.extend(ends);
    (turns, tiles)
}

/// A pair of columns, from tiles to the end.
fn columns(program: &mut Program, j: usize, tiles: [Tile; 4], to: Store) -> Vec<Turn> {
    let mut turns = Vec::new();
    let tiles = permute(program, &mut turns, tiles);
    for (i, tile) in tiles.into_iter().enumerate() {
        let mut lines = Turn::new();
        for (half, value) in tile.into_iter().enumerate() {
            let vector = vector(i, j, half);
            let address = |base| ymm(base, vector).expect("an address");
            let mut sum = program.compute(&mut lines, "vpxor", &[value], ymm("r8", vector), None);
            if to == Store::Adding {
                sum = program.compute(&mut lines, "vpxor", &[sum], ymm("rdx", vector), None);
            }
            if vector == 0 {
                hand_on(&mut lines, sum, "r9");
            }
            if to == Store::Carrying {
                store(&mut lines, "vmovdqa", sum, address("rdi"));
                store(&mut lines, "vmovntdq", sum, address("rdx"));
            } else {
                store(&mut lines, "vmovdqa", sum, address("rdx"));
            }
        }
        turns.push(lines);
    }
    turns
}

/// The halves of a vector exchanged.
fn exchanged(program: &mut Program, lines: &mut Vec<Line>, value: Value) -> Value {
    program.compute(lines, "vperm2i128", &[value, value], None, Some(1))
}

/// Mixes columns and diagonals of A, B, C and D, each of them two vectors.
fn permute(
    program: &mut Program,
    turns: &mut Vec<Turn>,
    [mut a, mut b, mut c, mut d]: [Tile; 4],
) -> [Tile; 4] {
    for diagonal in [false, true] {
        for (step, bits) in TURNS.into_iter().enumerate() {
            for half in 0..2 {
                let mut lines = Turn::new();
                if step % 2 == 0 {
                    [a[half], d[half]] = mix(program, &mut lines, [a[half], b[half], d[half]], bits);
                } else {
                    [c[half], b[half]] = mix(program, &mut lines, [c[half], d[half], b[half]], bits);
                }
                // B is computed last, so it is the row that is never turned.
                if half == 1 && step == 2 {
                    a = turned(program, &mut lines, a, !diagonal);
                }
                if half == 1 && step == 3 {
                    c = turned(program, &mut lines, c, diagonal);
                    // Two further on is the other vector.
                    d.reverse();
                }
                turns.push(lines);
            }
        }
    }
    [a, b, c, d]
}

/// One step: X plus Y and twice their product; Z with that added, turned.
fn mix(program: &mut Program, lines: &mut Vec<Line>, [x, y, z]: [Value; 3], bits: usize) -> [Value; 2] {
    let mut compute =
        |name, from: &[Value], memory, number| program.compute(lines, name, from, memory, number);
    let product = compute("vpmuludq", &[x, y], None, None);
    let sum = compute("vpaddq", &[x, y], None, None);
    let product = compute("vpaddq", &[product, product], None, None);
    let x = compute("vpaddq", &[sum, product], None, None);
    let z = compute("vpxor", &[z, x], None, None);
    let z = match bits {
        32 => compute("vpshufd", &[z], None, Some(177)),
        24 => compute("vpshufb", &[z], ymm("rax", 0), None),
        16 => compute("vpshufb", &[z], ymm("rax", 1), None),
        _ => {
            let twice = compute("vpaddq", &[z, z], None, None);
            let top = compute("vpsrlq", &[z], None, Some(63));
            compute("vpor", &[twice, top], None, None)
        }
    };
    [x, z]
}

/// Words moved on by one position, or back.
fn turned(program: &mut Program, lines: &mut Vec<Line>, [x, y]: Tile, on: bool) -> Tile {
    let [x, y] = if on { [y, x] } else { [x, y] };
    [[x, y], [y, x]].map(|from| program.compute(lines, "vshufpd", &from, None, Some(5)))
}
