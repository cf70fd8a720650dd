//! Progress line for a terminal of any width.

use super::estimate::ProgressSnapshot;
use indicatif::{BinaryBytes, HumanCount};
use std::path::Path;
use std::time::Duration;

/// Minimum and maximum width of the bar.
const BAR_WIDTH: std::ops::RangeInclusive<usize> = 6..=24;
/// Minimum columns for a name.
const MIN_NAME_WIDTH: usize = 10;
/// Maximum columns for a name.
const MAX_NAME_WIDTH: usize = 60;

/// The line, in at most `columns` columns.
pub(super) fn text(snapshot: &ProgressSnapshot<'_>, columns: usize) -> String {
    let count = match snapshot.total {
        _ if snapshot.unit == "parts" => None,
        Some(total) => Some(format!("{}/{} {}", HumanCount(snapshot.done), HumanCount(total), snapshot.unit)),
        None => Some(format!("{} {}", HumanCount(snapshot.done), snapshot.unit)),
    };
    let bytes = snapshot.bytes.map(|bytes| match snapshot.total_bytes {
        Some(total) => format!("{}/{}", BinaryBytes(bytes), BinaryBytes(total)),
        None => BinaryBytes(bytes).to_string(),
    });
    let rate = match (snapshot.rate, snapshot.bytes) {
        (Some(rate), Some(_)) => Some(format!("{}/s", BinaryBytes(rate as u64))),
        (Some(rate), None) if snapshot.unit != "parts" => Some(format!("{rate:.1}/s")),
        _ => None,
    };
    let share = share(snapshot);
    // In order of importance: parts are dropped from the end until the line fits.
    let mut parts = vec![
        Some(snapshot.phase.to_owned()),
        share.map(|share| format!("{:3.0} %", share * 100.0)),
        bytes,
        snapshot.left.map(|left| format!("{} left", clock(left))),
        rate,
        count,
    ];
    let width = |parts: &[Option<String>]| -> usize {
        parts.iter().flatten().map(|part| part.chars().count() + 2).sum()
    };
    // Space reserved for the bar and the name.
    let reservations = [(share.is_some(), *BAR_WIDTH.start()), (snapshot.file.is_some(), MIN_NAME_WIDTH)];
    let reserved: usize = reservations.iter().filter(|(is, _)| *is).map(|(_, width)| width + 2).sum();
    while width(&parts).saturating_add(reserved) > columns.saturating_add(2) && parts.len() > 2 {
        parts.pop();
    }
    while width(&parts) > columns.saturating_add(2) && parts.len() > 1 {
        parts.pop();
    }
    let used: usize = width(&parts);
    let mut shown_parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut room = columns.saturating_sub(used);
    if let Some(share) = share
        && room >= *BAR_WIDTH.start()
    {
        let name = if snapshot.file.is_some() { (room / 2).max(MIN_NAME_WIDTH) } else { 0 };
        let width = room.saturating_sub(name).clamp(*BAR_WIDTH.start(), *BAR_WIDTH.end());
        shown_parts.insert(1, bar(share, width));
        room = room.saturating_sub(width + 2);
    }
    if let Some(file) = &snapshot.file
        && room >= MIN_NAME_WIDTH
    {
        shown_parts.push(shortened(&visible(file), room.min(MAX_NAME_WIDTH)));
    }
    let line = shown_parts.join("  ");
    // A single part may be wider than a very narrow terminal.
    line.chars().take(columns).collect()
}

/// The fraction that is done, from 0 to 1.
fn share(snapshot: &ProgressSnapshot<'_>) -> Option<f64> {
    let (done, total) = match (snapshot.bytes, snapshot.total_bytes) {
        (Some(bytes), Some(total)) if total > 0 => (bytes, total),
        (Some(_), _) => return None,
        (None, _) => (snapshot.done, snapshot.total?),
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

/// A name with terminal control characters escaped.
fn visible(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    let is_control = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name = file.to_string_lossy();
    let shown =
        name.chars().map(|c| if is_control(c) { c.escape_default().to_string() } else { c.to_string() });
    shown.collect()
}

/// Columns of a character. Where terminals differ, the larger width.
fn columns(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

/// The name with its middle left out if it is too long: its start and end tell most.
fn shortened(name: &str, room: usize) -> String {
    let wide = |text: &str| text.chars().map(columns).sum::<usize>();
    if wide(name) <= room {
        return name.to_owned();
    }
    let available = room.saturating_sub(1);
    let within = |max_columns: usize, chars: &mut dyn Iterator<Item = char>| {
        let mut used = 0;
        let fits = chars.take_while(|c| {
            used += columns(*c);
            used <= max_columns
        });
        fits.collect::<Vec<char>>()
    };
    let begin = within(available / 3, &mut name.chars());
    let mut end = within(available - available / 3, &mut name.chars().rev());
    end.reverse();
    begin.into_iter().chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn snapshot() -> ProgressSnapshot<'static> {
        ProgressSnapshot {
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
    fn lines_fit_the_terminal() {
        let wide = |line: &str| {
            line.chars().map(|c| if c == '…' || c == '█' || c == '░' { 1 } else { columns(c) }).sum::<usize>()
        };
        let mut others = vec![
            snapshot(),
            ProgressSnapshot { file: None, ..snapshot() },
            ProgressSnapshot { left: None, rate: None, ..snapshot() },
        ];
        others.push(ProgressSnapshot { total_bytes: None, total: None, left: None, ..snapshot() });
        others.push(ProgressSnapshot {
            bytes: None,
            total_bytes: None,
            unit: "passwords",
            file: None,
            ..snapshot()
        });
        others.push(ProgressSnapshot {
            file: Some(PathBuf::from("\u{30d5}\u{30a1}\u{30a4}\u{30eb}".repeat(20))),
            ..snapshot()
        });
        for snapshot in &others {
            for width in 0..200 {
                let line = text(snapshot, width);
                assert!(wide(&line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(
            text(&snapshot(), 120),
            "hashing  █████░░░░░░░░░░░░░░░░░░   25 %  3.00 GiB/12.00 GiB  0:06 left  1.50 GiB/s  3/1,200 files  a/long…ith/a/file.iso"
        );
        assert_eq!(text(&snapshot(), 20), "hashing   25 %");
        assert_eq!(
            text(&ProgressSnapshot { unit: "parts", bytes: None, ..snapshot() }, 24),
            "hashing  ░░░░░░    0 %"
        );
    }

    #[test]
    fn names_are_escaped_and_shortened() {
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
    fn formats_times() {
        for (seconds, shown) in [(0, "0:00"), (75, "1:15"), (3661, "1:01:01"), (360_000, "100:00:00")] {
            assert_eq!(clock(Duration::from_secs(seconds)), shown);
        }
    }
}
