//! Text of sizes, choices and their reasons.

use super::decide::{Choice, ChoiceReason, FasterAtSize, TIE};
use hashmill_engines::Streams;

/// The reason for a choice.
pub(super) fn reason_text(choice: &Choice, options: &[String], built_in: &str) -> String {
    let names = |options_listed: &[usize]| {
        options_listed
            .iter()
            .filter_map(|option| options.get(*option))
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    };
    match &choice.reason {
        ChoiceReason::Fastest => "built in, and the fastest".to_owned(),
        ChoiceReason::FasterAtSizes(sizes) => {
            let faster = sizes.iter().map(|FasterAtSize { size: len, option, gain }| {
                let name = options.get(*option).map_or("another", String::as_str);
                format!("{name} {gain} at {}", size(*len))
            });
            let faster: Vec<String> = faster.collect();
            format!("built in, and the fastest over all sizes; faster at some: {}", faster.join(", "))
        }
        ChoiceReason::Tie(ties) => format!("built in, and within {} % of {}", 100.0 * TIE, names(ties)),
        ChoiceReason::Inconclusive(others) => {
            format!("built in; the comparison with {} is inconclusive", names(others))
        }
        ChoiceReason::Faster(gain) => format!("{gain} times as fast as {built_in}"),
    }
}

/// A table of streams as text.
pub(super) fn streams(table: &[Streams]) -> String {
    let entry = |entry: &Streams| match entry.up_to_kib {
        u32::MAX if table.len() == 1 => entry.streams.to_string(),
        u32::MAX => format!("{} above", entry.streams),
        kib => format!("{} up to {}", entry.streams, size(u64::from(kib) << 10)),
    };
    table.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// The message for comparisons that are too noisy to be saved.
pub(super) fn too_noisy(noise: f64) -> String {
    let percent = 100.0 * noise;
    format!(
        "comparisons are uncertain by {percent:.0} %: no conclusion, and nothing was saved; run it again when the machine is \
         idle, or with more --time"
    )
}

/// A number of bytes with a unit.
pub(super) fn size(len: u64) -> String {
    match len {
        0..1024 => format!("{len} B"),
        _ if len.is_multiple_of(1 << 20) => format!("{} MiB", len >> 20),
        _ if len >= 1 << 20 => format!("{:.1} MiB", len as f64 / f64::from(1 << 20)),
        _ => format!("{} KiB", (len as f64 / 102.4).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide::Ratio;
    use super::*;

    #[test]
    fn reasons_name_the_alternatives() {
        let options = ["one", "two", "three"].map(str::to_owned);
        let text = |reason| reason_text(&Choice { option: 1, reason }, &options, "two");
        assert_eq!(text(ChoiceReason::Fastest), "built in, and the fastest");
        assert_eq!(text(ChoiceReason::Tie(vec![0, 2])), "built in, and within 1 % of one, three");
        assert_eq!(
            text(ChoiceReason::Inconclusive(vec![2])),
            "built in; the comparison with three is inconclusive"
        );
        let gain = Ratio { middle: 1.25, low: 1.2, high: 1.3 };
        let faster = FasterAtSize { size: 1 << 20, option: 0, gain };
        assert_eq!(
            text(ChoiceReason::FasterAtSizes(vec![faster])),
            "built in, and the fastest over all sizes; faster at some: one 1.250 ±4.0% at 1 MiB"
        );
        assert_eq!(text(ChoiceReason::Faster(gain)), "1.250 ±4.0% times as fast as two");
        let disturbed = Ratio { high: 60.0, ..gain };
        assert_eq!(text(ChoiceReason::Faster(disturbed)), "1.250 noisy times as fast as two");
    }

    #[test]
    fn formats_tables_and_sizes() {
        let entry = |up_to_kib, streams| Streams { up_to_kib, streams };
        assert_eq!(streams(&[entry(4096, 2), entry(u32::MAX, 1)]), "2 up to 4 MiB, 1 above");
        assert_eq!(streams(&[entry(u32::MAX, 2)]), "2");
        let sizes = [0, 1000, 1023, 1024, 1025, 31 * 1024, 1 << 20, 15_435 << 10].map(size);
        assert_eq!(sizes, ["0 B", "1000 B", "1023 B", "1 KiB", "1 KiB", "31 KiB", "1 MiB", "15.1 MiB"]);
    }
}
