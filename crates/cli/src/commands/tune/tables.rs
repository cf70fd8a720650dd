//! Printed tables of measurements and choices, and rows for the source code.

use super::decide::TIE;
use super::kernel_choices::{ChoiceLine, KernelChoices};
use super::measurements::{Group, Measurements};
use super::text::{size, streams};
use hashmill_hash::blake3::{Plan, Role};
use hashmill_hash::isa::Cpu;
use std::fmt::Write as _;

/// All measurements.
pub(super) fn tables(measurements: &Measurements) -> String {
    let mut text = "Times of the built-in option, and the speed of the others relative to it: above 1 is faster. ± is the uncertainty.\n".to_owned();
    let mut head = String::new();
    for (at, group) in measurements.groups().enumerate() {
        let is_blake3 = at < measurements.blake3.len() + usize::from(measurements.threads.is_ok());
        let function = if is_blake3 { "BLAKE3" } else { "Argon2" };
        let mut line = format!("\n{function:<20}{:>11}", "built in");
        group.options.iter().for_each(|option| line += &format!("{option:>14}"));
        if line != head {
            text += &line;
            text.push('\n');
            head = line;
        }
        text += &rows(group);
    }
    if let Err(reason) = &measurements.threads {
        let _ = writeln!(text, "threads: not measured: {reason}");
    }
    text
}

fn rows(group: &Group) -> String {
    let mut text = format!("{}\n", group.what);
    for row in &group.rows {
        let _ = write!(text, "  {:<18}{:>11}", size(row.size), time(row.times[row.in_use]));
        for (option, ratio) in row.ratios.iter().enumerate() {
            let cell = match option == row.in_use {
                true => "built in".to_owned(),
                false => ratio.to_string(),
            };
            let _ = write!(text, "{cell:>14}");
        }
        text.push('\n');
    }
    text
}

/// The choices and their reasons.
pub(super) fn choices(lines: &[ChoiceLine]) -> String {
    let mut text = "\nChosen\n".to_owned();
    for ChoiceLine { what, chosen, why, .. } in lines {
        let _ = writeln!(text, "  {what:<29} {chosen}: {why}");
    }
    text
}

/// Rows for the two files `plan.rs` of the source.
pub(super) fn source_rows(choices: &KernelChoices, cpu: &Cpu, date: &str) -> String {
    let (blake3, argon2, kind) = (&choices.blake3, &choices.argon2, Plan::host().kind());
    let basis = format!("measured on {} (family {}, model {}), {date}", cpu.brand(), cpu.family, cpu.model);
    let widths: Vec<(u32, usize)> =
        argon2.lanes.iter().map(|entry| (entry.up_to_kib, entry.streams)).collect();
    let from = match blake3.parallel_from {
        u64::MAX => "usize::MAX".to_owned(),
        bytes => bytes.to_string(),
    };
    // A row of its own, whose passes are those of the kernel.
    let long = match blake3.long.as_ref().filter(|long| **long != blake3.many) {
        None => "None".to_owned(),
        Some(kernel) => format!("Some(&Row::forced(&{}))", constant(kernel)),
    };
    format!(
        "\nRow {{\n    kind: {kind:?},\n    basis: {basis:?},\n    measured: true,\n    block: &{},\n    chunk: &{},\n    xof: &{},\n    \
         long: {long},\n    parallel_from: {from},\n    ..Row::forced(&{})\n}}\n\nArgon2: table {}, widths: &{widths:?}, side by side {}\n",
        constant(&blake3.block),
        constant(&blake3.chunk),
        constant(&blake3.xof),
        constant(&blake3.many),
        argon2.kernel,
        streams(&argon2.hashes),
    )
}

/// Pairs of sizes where the smaller takes longer: the cost model of the kernel in use is wrong on this CPU.
pub(super) fn inversions(group: &Group) -> String {
    let mut text = String::new();
    for pair in group.rows.windows(2) {
        let [less, more] = [&pair[0], &pair[1]].map(|row| row.times[row.in_use]);
        if group.what == Role::Many.name() && less > more * (1.0 + TIE) {
            let (less, more) = (size(pair[0].size), size(pair[1].size));
            let _ = writeln!(text, "{less} takes longer than {more}: see the costs of the passes");
        }
    }
    text
}

/// The name of a kernel's table in `plan.rs`.
fn constant(kernel: &str) -> String {
    match kernel {
        "portable" => "portable::TABLE".to_owned(),
        other => other.to_uppercase().replace('-', "_"),
    }
}

fn time(ns: f64) -> String {
    match ns {
        ..1e4 => format!("{ns:.1} ns"),
        ..1e7 => format!("{:.1} µs", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide::{Ratio, Timing};
    use super::*;

    #[test]
    fn rows_show_the_built_in_time() {
        let ratio = |middle| Ratio { middle, low: middle, high: middle };
        let row =
            Timing { size: 65, in_use: 1, times: vec![20.0, 12_345.0], ratios: vec![ratio(0.5), ratio(1.0)] };
        let group =
            Group { what: "one chunk", options: vec!["a".to_owned(), "b".to_owned()], rows: vec![row] };
        assert_eq!(rows(&group), "one chunk\n  65 B                  12.3 µs   0.500 ±0.0%      built in\n");
    }

    #[test]
    fn finds_inversions() {
        let row = |size: u64, time: f64| Timing { size, in_use: 0, times: vec![time], ratios: Vec::new() };
        let rows = vec![row(2048, 10.0), row(3072, 20.0), row(4096, 15.0), row(5120, 14.9)];
        let group = Group { what: Role::Many.name(), options: Vec::new(), rows };
        assert_eq!(inversions(&group), "3 KiB takes longer than 4 KiB: see the costs of the passes\n");
    }

    #[test]
    fn names_kernel_tables() {
        let tables = ["AVX512_YMM", "SSE41", "NEON", "NEON_TWIN"];
        assert_eq!(["avx512-ymm", "sse41", "neon", "neon-twin"].map(constant), tables);
    }
}
