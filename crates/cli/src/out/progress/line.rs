//! The line that shows how far the work is, for a terminal of any width.

use super::facts::Facts;
use indicatif::{BinaryBytes, HumanCount};
use std::path::Path;
use std::time::Duration;

/// How wide the bar itself is, at least and at most.
const BAR: std::ops::RangeInclusive<usize> = 6..=24;
/// Fewer columns are no room for a name.
const NAME: usize = 10;
/// A name gets no more, however wide a terminal is.
const LONGEST: usize = 60;

/// The line, in no more than so many columns.
pub(super) fn text(facts: &Facts<'_>, columns: usize) -> String {
    let count = match facts.total {
        _ if facts.unit == "parts" => None,
        Some(total) => Some(format!("{}/{} {}", HumanCount(facts.done), HumanCount(total), facts.unit)),
        None => Some(format!("{} {}", HumanCount(facts.done), facts.unit)),
    };
    let bytes = facts.bytes.map(|bytes| match facts.total_bytes {
        Some(total) => format!("{}/{}", BinaryBytes(bytes), BinaryBytes(total)),
        None => BinaryBytes(bytes).to_string(),
    });
    let rate = match (facts.rate, facts.bytes) {
        (Some(rate), Some(_)) => Some(format!("{}/s", BinaryBytes(rate as u64))),
        (Some(rate), None) if facts.unit != "parts" => Some(format!("{rate:.1}/s")),
        _ => None,
    };
    let share = share(facts);
    // What goes first where there is no room for all of it comes last here.
    let mut parts = vec![
        Some(facts.phase.to_owned()),
        share.map(|share| format!("{:3.0} %", share * 100.0)),
        bytes,
        facts.left.map(|left| format!("{} left", clock(left))),
        rate,
        count,
    ];
    let width = |parts: &[Option<String>]| -> usize {
        parts.iter().flatten().map(|part| part.chars().count() + 2).sum()
    };
    // The bar and the name have a claim to some room before the rest.
    let claims = [(share.is_some(), *BAR.start()), (facts.file.is_some(), NAME)];
    let claimed: usize = claims.iter().filter(|(is, _)| *is).map(|(_, width)| width + 2).sum();
    while width(&parts).saturating_add(claimed) > columns.saturating_add(2) && parts.len() > 2 {
        parts.pop();
    }
    while width(&parts) > columns.saturating_add(2) && parts.len() > 1 {
        parts.pop();
    }
    let used: usize = width(&parts);
    let mut words: Vec<String> = parts.into_iter().flatten().collect();
    let mut room = columns.saturating_sub(used);
    if let Some(share) = share
        && room >= *BAR.start()
    {
        let name = if facts.file.is_some() { (room / 2).max(NAME) } else { 0 };
        let width = room.saturating_sub(name).clamp(*BAR.start(), *BAR.end());
        words.insert(1, bar(share, width));
        room = room.saturating_sub(width + 2);
    }
    if let Some(file) = &facts.file
        && room >= NAME
    {
        words.push(shortened(&visible(file), room.min(LONGEST)));
    }
    let line = words.join("  ");
    // One word alone may be wider than a very narrow terminal.
    line.chars().take(columns).collect()
}

/// How much of it is done, from 0 to 1.
fn share(facts: &Facts<'_>) -> Option<f64> {
    let (done, total) = match (facts.bytes, facts.total_bytes) {
        (Some(bytes), Some(total)) if total > 0 => (bytes, total),
        (Some(_), _) => return None,
        (None, _) => (facts.done, facts.total?),
    };
    (total > 0).then(|| (done as f64 / total as f64).clamp(0.0, 1.0))
}

fn bar(share: f64, width: usize) -> String {
    let full = (share * width as f64) as usize;
    "█".repeat(full) + &"░".repeat(width - full)
}

/// `0:07`, `12:34`, `3:25:45`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A name without what a terminal would obey, or show elsewhere than where it stands.
fn visible(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name = file.to_string_lossy();
    let shown = name.chars().map(|c| if obeyed(c) { c.escape_default().to_string() } else { c.to_string() });
    shown.collect()
}

/// How many columns a character takes. Where terminals are not of one mind, the wider.
fn columns(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

/// The name with its middle left out if it is too long: where it begins and how it ends tell most.
fn shortened(name: &str, room: usize) -> String {
    let wide = |text: &str| text.chars().map(columns).sum::<usize>();
    if wide(name) <= room {
        return name.to_owned();
    }
    let rest = room.saturating_sub(1);
    let within = |most: usize, chars: &mut dyn Iterator<Item = char>| {
        let mut used = 0;
        let fits = chars.take_while(|c| {
            used += columns(*c);
            used <= most
        });
        fits.collect::<Vec<char>>()
    };
    let begin = within(rest / 3, &mut name.chars());
    let mut end = within(rest - rest / 3, &mut name.chars().rev());
    end.reverse();
    begin.into_iter().chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn facts() -> Facts<'static> {
        Facts {
            phase: "hashing",
            file: Some(PathBuf::from("a/long/way/to/some/directory/with/a/file.iso")),
            done: 3,
            total: Some(1200),
            unit: "files",
            bytes: Some(3 << 30),
            total_bytes: Some(12 << 30),
            rate: Some(1.5 * f64::from(1 << 30)),
            left: Some(Duration::from_secs(6)),
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let wide = |line: &str| {
            line.chars().map(|c| if c == '…' || c == '█' || c == '░' { 1 } else { columns(c) }).sum::<usize>()
        };
        let mut others =
            vec![facts(), Facts { file: None, ..facts() }, Facts { left: None, rate: None, ..facts() }];
        others.push(Facts { total_bytes: None, total: None, left: None, ..facts() });
        others.push(Facts { bytes: None, total_bytes: None, unit: "passwords", file: None, ..facts() });
        others.push(Facts {
            file: Some(PathBuf::from("\u{30d5}\u{30a1}\u{30a4}\u{30eb}".repeat(20))),
            ..facts()
        });
        for facts in &others {
            for width in 0..200 {
                let line = text(facts, width);
                assert!(wide(&line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(
            text(&facts(), 120),
            "hashing  █████░░░░░░░░░░░░░░░░░░   25 %  3.00 GiB/12.00 GiB  0:06 left  1.50 GiB/s  3/1,200 files  a/long…ith/a/file.iso"
        );
        assert_eq!(text(&facts(), 20), "hashing   25 %");
        assert_eq!(text(&Facts { unit: "parts", bytes: None, ..facts() }, 24), "hashing  ░░░░░░    0 %");
    }

    #[test]
    fn names_do_nothing_to_a_terminal() {
        for (name, shown) in [
            ("plain", "plain"),
            ("-", "standard input"),
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb", "a\\nb"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("é", "é"),
        ] {
            assert_eq!(visible(Path::new(name)), shown);
        }
        assert_eq!(shortened("abcdefghijklmnop", 10), "abc…klmnop");
        assert_eq!(shortened("short", 10), "short");
    }

    #[test]
    fn clocks() {
        for (seconds, shown) in [(0, "0:00"), (75, "1:15"), (3661, "1:01:01"), (360_000, "100:00:00")] {
            assert_eq!(clock(Duration::from_secs(seconds)), shown);
        }
    }
}
