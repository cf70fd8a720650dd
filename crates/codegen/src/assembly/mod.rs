//! Generates the assembly of the x86-64 BLAKE3 and Argon2 kernels.
//!
//! The kernels are long but regular: seven rounds of the same eight mixings, over registers with fixed roles. Generated text
//! keeps the order of instructions, which compilers change, and needs one description of the algorithm for SSE4.1, AVX2
//! and AVX-512. `cargo xtask codegen` writes the files, a test compares them with the committed ones, and `asm!` includes them: no C
//! compiler, no symbols.
#![allow(clippy::needless_range_loop, reason = "an index is also the number of a row, a word or a register")]
#![allow(clippy::too_many_arguments, clippy::type_complexity, reason = "a line has many operands")]
#![allow(
    clippy::wrong_self_convention,
    reason = "`from` and `to` name the source and the destination of an operand"
)]

mod argon2;
#[cfg(test)]
mod checks;
mod column;
mod isa;
mod registers;
mod row;
mod scalar_kernel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use argon2::Store;

/// The generated files: path from the repository root, contents.
fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new("crates/hash/src/blake3/kernel/x86_64/generated");
    let mut files = Vec::new();
    let mut add = |name: &str, body: String| files.push((folder.join(name), body));
    add("lanes/columns/sse41_lanes4.s", column::advance(&isa::SSE41));
    add("lanes/columns/avx2_lanes8.s", column::advance(&isa::AVX2));
    add("lanes/columns/avx512_lanes8.s", column::advance(&isa::AVX512_LANES8));
    add("lanes/columns/avx512_lanes16.s", column::advance(&isa::AVX512_LANES16));
    add("lanes/columns/avx512_lanes2x8.s", column::advance(&isa::AVX512_LANES2X8));
    add("lanes/columns/avx512_lanes2x16.s", column::advance(&isa::AVX512_LANES2X16));
    add("xof/many/sse41_xof4.s", column::xof(&isa::SSE41));
    add("xof/many/avx2_xof8.s", column::xof(&isa::AVX2));
    add("xof/many/avx512_xof16.s", column::xof(&isa::AVX512_LANES16));
    add("xof/many/avx512_xof2x8.s", column::xof(&isa::AVX512_LANES2X8));
    add("xof/many/avx512_xof8_direct.s", column::xof_direct(&isa::AVX512_LANES8));
    add("xof/many/avx512_xof2x8_direct.s", column::xof_direct(&isa::AVX512_LANES2X8));
    add("xof/many/avx512_xof16_direct.s", column::xof_direct(&isa::AVX512_LANES16));
    add("xof/many/avx512_xof2x16_direct.s", column::xof_direct(&isa::AVX512_LANES2X16));
    for (name, isa) in &row::RUNS {
        add(&format!("run/{name}.s"), row::run(isa));
    }
    add("run/avx512_run_general.s", scalar_kernel::run());
    add("xof/few/avx512_xof1_general.s", scalar_kernel::xof());
    let pair = isa::Isa { letter: 'y', lanes: 8, ..isa::AVX512_ROW };
    add("lanes/rows/avx512_lanes2.s", row::lanes(&[pair]));
    add("lanes/rows/avx512_lanes2_fused.s", row::lanes(&[isa::Isa { rotate: isa::Rotate::Fused, ..pair }]));
    add("lanes/rows/avx512_lanes4.s", row::lanes(&[isa::Isa { letter: 'z', lanes: 16, ..isa::AVX512_ROW }]));
    add("lanes/rows/avx512_lanes2x2.s", row::lanes(&[pair, isa::Isa { first: 16, ..pair }]));
    add("lanes/rows/avx2_lanes2.s", row::lanes(&[isa::AVX2]));
    add("lanes/rows/avx2_lanes4.s", row::four(&isa::AVX2));
    add("xof/few/avx2_xof1.s", row::xof(&[isa::Isa { letter: 'x', lanes: 4, ..isa::AVX2 }]));
    add("xof/few/avx2_xof2.s", row::xof(&[isa::AVX2]));
    add("xof/few/avx512_xof1.s", row::xof(&[isa::AVX512_ROW]));
    add(
        "xof/few/avx512_xof1_fused.s",
        row::xof(&[isa::Isa { rotate: isa::Rotate::Fused, ..isa::AVX512_ROW }]),
    );
    add("xof/few/avx512_xof2.s", row::xof(&[pair]));
    add("xof/few/avx512_xof2_fused.s", row::xof(&[isa::Isa { rotate: isa::Rotate::Fused, ..pair }]));
    add("xof/few/avx512_xof2x2.s", row::xof(&[pair, isa::Isa { first: 16, ..pair }]));
    add("xof/few/avx512_xof4.s", row::xof(&[isa::Isa { letter: 'z', lanes: 16, ..isa::AVX512_ROW }]));
    let folder = Path::new("crates/hash/src/argon2/kernel/x86_64/generated");
    for (name, store) in [("", Store::Plain), ("_add", Store::Adding), ("_carry", Store::Carrying)] {
        for (isa, parts) in [("avx2", argon2::tiles::avx2(store)), ("avx512", argon2::avx512(store))] {
            for (part, text) in ["head", "tail"].into_iter().zip(parts) {
                files.push((folder.join(format!("{isa}{name}_{part}.s")), text));
            }
        }
    }
    files
}

/// Writes the generated files into the repository.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for (path, text) in files() {
        let path = root.join(path);
        fs::write(&path, text).with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// Message words of each round, in order: columns first, then diagonals, x before y.
pub(super) fn schedule() -> [[usize; 16]; 7] {
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut rounds = [[0; 16]; 7];
    rounds[0] = std::array::from_fn(|i| i);
    for round in 1..7 {
        rounds[round] = PERMUTATION.map(|from| rounds[round - 1][from]);
    }
    rounds
}

/// Interleaves `side` evenly with `main`, both in order: work for ports that `main` leaves idle.
pub(super) fn weave(main: Vec<String>, side: Vec<String>) -> Vec<String> {
    let (long, short) = (main.len(), side.len());
    let mut side = side.into_iter();
    let mut woven = Vec::with_capacity(long + short);
    for (i, line) in main.into_iter().enumerate() {
        woven.push(line);
        let due = (i + 1) * short / long - i * short / long;
        woven.extend(side.by_ref().take(due));
    }
    woven.extend(side);
    woven
}

/// The text of a file: a comment that describes it, then its lines.
pub(super) fn file(head: &str, lines: &[String]) -> String {
    let mut text = String::from("# Generated by `cargo xtask codegen`; edit crates/codegen instead.\n");
    for line in head.lines() {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    for line in lines {
        if !line.ends_with(':') {
            text.push_str("    ");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn committed_files_are_what_the_generator_writes() {
        let root = crate::root();
        for (path, text) in super::files() {
            let committed = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
            assert!(committed == text, "{} is stale: run `cargo xtask codegen`", path.display());
        }
    }

    #[test]
    fn weaving_keeps_both_orders() {
        let main: Vec<String> = (0..10).map(|i| format!("m{i}")).collect();
        let side: Vec<String> = (0..4).map(|i| format!("s{i}")).collect();
        let woven = super::weave(main.clone(), side.clone());
        assert_eq!(woven.iter().filter(|l| l.starts_with('m')).cloned().collect::<Vec<_>>(), main);
        assert_eq!(woven.iter().filter(|l| l.starts_with('s')).cloned().collect::<Vec<_>>(), side);
        assert_ne!(woven.last().unwrap(), "s2");
    }
}
