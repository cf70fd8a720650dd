//! What is printed: the tables, the choices, and the rows as the source has them.

use super::decide::{Choice, TIE, Why};
use super::survey::{Group, Survey};
use super::{Decision, Line};
use crate::kept::Streams;
use hashmill_hash::blake3::{Plan, Role};
use hashmill_hash::isa::Cpu;
use std::fmt::Write as _;

/// Everything that was measured.
pub(super) fn tables(survey: &Survey) -> String {
    let mut text = "Times of what is built in, and how many times faster the others are: above 1 they are. ± is chance.\n".to_owned();
    let mut head = String::new();
    for (at, group) in survey.groups().enumerate() {
        let is_blake3 = at < survey.blake3.len() + usize::from(survey.threads.is_ok());
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
    if let Err(why) = &survey.threads {
        let _ = writeln!(text, "threads: not measured: {why}");
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
                false => format!("{:.3} ±{:.1}%", ratio.middle, 100.0 * ratio.spread()),
            };
            let _ = write!(text, "{cell:>14}");
        }
        text.push('\n');
    }
    text
}

/// What was chosen, and why.
pub(super) fn choices(lines: &[Line]) -> String {
    let mut text = "\nChosen\n".to_owned();
    for Line { what, chosen, why, .. } in lines {
        let _ = writeln!(text, "  {what:<29} {chosen}: {why}");
    }
    text
}

/// Why an option was chosen.
pub(super) fn why(choice: &Choice, options: &[String], built_in: &str) -> String {
    let names = |those: &[usize]| {
        those.iter().filter_map(|option| options.get(*option)).cloned().collect::<Vec<_>>().join(", ")
    };
    match &choice.why {
        Why::Fastest => "built in, and the fastest".to_owned(),
        Why::Tie(ties) => format!("built in, and within {} % of {}", 100.0 * TIE, names(ties)),
        Why::Unclear(others) => format!("built in; whether {} is faster cannot be told", names(others)),
        Why::Faster(gain) => {
            format!("{:.3} ±{:.1}% times as fast as {built_in}", gain.middle, 100.0 * gain.spread())
        }
    }
}

/// A table of streams in words.
pub(super) fn streams(table: &[Streams]) -> String {
    let entry = |entry: &Streams| match entry.up_to_kib {
        u32::MAX if table.len() == 1 => entry.streams.to_string(),
        u32::MAX => format!("{} above", entry.streams),
        kib => format!("{} up to {}", entry.streams, size(u64::from(kib) << 10)),
    };
    table.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// The rows as the two files `plan.rs` would have them.
pub(super) fn source(decision: &Decision, cpu: &Cpu, date: &str) -> String {
    let (blake3, argon2, kind) = (&decision.blake3, &decision.argon2, Plan::host().kind());
    let basis = format!("measured on {} (family {}, model {}), {date}", cpu.brand(), cpu.family, cpu.model);
    let widths: Vec<(u32, usize)> =
        argon2.lanes.iter().map(|entry| (entry.up_to_kib, entry.streams)).collect();
    let from = match blake3.parallel_from {
        u64::MAX => "usize::MAX".to_owned(),
        bytes => bytes.to_string(),
    };
    format!(
        "\nRow {{\n    kind: {kind:?},\n    basis: {basis:?},\n    measured: true,\n    block: &{},\n    chunk: &{},\n    xof: &{},\n    \
         parallel_from: {from},\n    ..Row::forced(&{})\n}}\n\nArgon2: table {}, widths: &{widths:?}, side by side {}\n",
        constant(&blake3.block),
        constant(&blake3.chunk),
        constant(&blake3.xof),
        constant(&blake3.many),
        argon2.kernel,
        streams(&argon2.hashes),
    )
}

/// Pairs of sizes of which the smaller takes longer: passes may be badly chosen, by costs of the kernel in use that do not hold
/// here.
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

/// The static that holds a kernel's table, as `plan.rs` names it.
fn constant(kernel: &str) -> String {
    match kernel {
        "portable" => "portable::TABLE".to_owned(),
        "neon" => "aarch64::NEON".to_owned(),
        x86 => x86.to_uppercase().replace('-', "_"),
    }
}

/// A number of bytes as people have it.
pub(super) fn size(len: u64) -> String {
    match len {
        0..1024 => format!("{len} B"),
        _ if len.is_multiple_of(1 << 20) => format!("{} MiB", len >> 20),
        _ if len >= 1 << 20 => format!("{:.1} MiB", len as f64 / f64::from(1 << 20)),
        _ => format!("{} KiB", (len as f64 / 102.4).round() / 10.0),
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
    fn why_names_what_else_there_is() {
        let options = ["one", "two", "three"].map(str::to_owned);
        let why = |why| super::why(&Choice { option: 1, why }, &options, "two");
        assert_eq!(why(Why::Fastest), "built in, and the fastest");
        assert_eq!(why(Why::Tie(vec![0, 2])), "built in, and within 1 % of one, three");
        assert_eq!(why(Why::Unclear(vec![2])), "built in; whether three is faster cannot be told");
        let gain = Ratio { middle: 1.25, low: 1.2, high: 1.3 };
        assert_eq!(why(Why::Faster(gain)), "1.250 ±4.0% times as fast as two");
    }

    #[test]
    fn a_row_shows_the_time_of_what_is_built_in() {
        let ratio = |middle| Ratio { middle, low: middle, high: middle };
        let row =
            Timing { size: 65, in_use: 1, times: vec![20.0, 12_345.0], ratios: vec![ratio(0.5), ratio(1.0)] };
        let group =
            Group { what: "one chunk", options: vec!["a".to_owned(), "b".to_owned()], rows: vec![row] };
        assert_eq!(rows(&group), "one chunk\n  65 B                  12.3 µs   0.500 ±0.0%      built in\n");
    }

    #[test]
    fn less_work_that_takes_longer_is_found() {
        let row = |size: u64, time: f64| Timing { size, in_use: 0, times: vec![time], ratios: Vec::new() };
        let rows = vec![row(2048, 10.0), row(3072, 20.0), row(4096, 15.0), row(5120, 14.9)];
        let group = Group { what: Role::Many.name(), options: Vec::new(), rows };
        assert_eq!(inversions(&group), "3 KiB takes longer than 4 KiB: see the costs of the passes\n");
    }

    #[test]
    fn tables_and_sizes_are_readable() {
        let entry = |up_to_kib, streams| Streams { up_to_kib, streams };
        assert_eq!(streams(&[entry(4096, 2), entry(u32::MAX, 1)]), "2 up to 4 MiB, 1 above");
        assert_eq!(streams(&[entry(u32::MAX, 2)]), "2");
        let sizes = [0, 1000, 1023, 1024, 1025, 31 * 1024, 1 << 20, 15_435 << 10].map(size);
        assert_eq!(sizes, ["0 B", "1000 B", "1023 B", "1 KiB", "1 KiB", "31 KiB", "1 MiB", "15.1 MiB"]);
        assert_eq!(["avx512-ymm", "sse41", "neon"].map(constant), ["AVX512_YMM", "SSE41", "aarch64::NEON"]);
    }
}
