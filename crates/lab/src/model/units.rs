//! Units of work, and text forms of sizes, times and rates.

use std::fmt;

/// Work of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Bytes processed.
    Bytes(u64),
    /// Hashes computed.
    Hashes(u64),
    /// Operations done.
    Operations(u64),
}

impl Units {
    /// Number of units.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            Units::Bytes(n) | Units::Hashes(n) | Units::Operations(n) => n,
        }
    }

    /// Rate at `ns` nanoseconds per iteration, with its unit.
    #[must_use]
    pub fn rate(self, ns: f64) -> String {
        let (step, names) = self.rate_names();
        scaled(self.count() as f64 * 1e9 / ns, step, names)
    }

    /// For a chart axis whose largest rate is `most` units per nanosecond: the rate that equals one unit, and its
    /// name.
    pub(crate) fn rate_step(self, most: f64) -> (f64, &'static str) {
        let (factor, names) = self.rate_names();
        let mut step = 1e-9;
        let mut name = names[0];
        for next in &names[1..] {
            if most < step * factor {
                break;
            }
            (step, name) = (step * factor, next);
        }
        (step, name)
    }

    /// Factor between neighbouring units, and their names.
    fn rate_names(self) -> (f64, &'static [&'static str]) {
        match self {
            Units::Bytes(_) => (1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"]),
            Units::Hashes(_) => (1000.0, &["H/s", "kH/s", "MH/s", "GH/s"]),
            Units::Operations(_) => (1000.0, &["op/s", "kop/s", "Mop/s", "Gop/s"]),
        }
    }
}

const TIME_UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];

/// Time with three or four significant digits: `181.2 ns`, `1.210 µs`, `11.90 ms`.
#[must_use]
pub fn duration(ns: f64) -> String {
    scaled(ns, 1000.0, &TIME_UNITS)
}

/// Largest unit not longer than `ns`, in nanoseconds, and its name.
pub(crate) fn duration_unit(ns: f64) -> (f64, &'static str) {
    let (mut unit, mut name) = (1.0, TIME_UNITS[0]);
    for next in &TIME_UNITS[1..] {
        if ns < unit * 1000.0 {
            break;
        }
        (unit, name) = (unit * 1000.0, next);
    }
    (unit, name)
}

/// Bytes: exact below 10,000, otherwise with three or four significant digits.
#[must_use]
pub fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        _ => scaled(count as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
    }
}

/// Relative difference in percent with its sign: `-3.97 %`.
#[must_use]
pub fn percent(ratio: f64) -> String {
    let value = (ratio - 1.0) * 100.0;
    // Two decimals may round a small negative number to -0.00.
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    format!("{value:+.2} %")
}

fn scaled(value: f64, step: f64, names: &[&str]) -> String {
    let mut value = value;
    let mut name = names[0];
    for next in &names[1..] {
        // 999.95 and more would print as 1000.0, which is 1 of the next unit.
        if value < step * 0.99995 {
            break;
        }
        value /= step;
        name = next;
    }
    let decimals = if value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        1
    };
    format!("{value:.decimals$} {name}")
}

/// Size as written in a key: exact, in the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

const SIZE_UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, unit) in SIZE_UNITS {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{}{name}", self.0 / unit);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl std::str::FromStr for Size {
    type Err = SizeError;

    /// Accepts `4096`, `4KiB`, `4k`, `4K`; all units are binary.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let error = || SizeError(text.to_owned());
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| error())?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1_u64 << 40,
            _ => return Err(error()),
        };
        number.checked_mul(factor).map(Size).ok_or_else(error)
    }
}

/// Error in the text of a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a size; write a whole number with an optional k, m, g or t (binary), such as 64m or 4KiB"
)]
pub struct SizeError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print_exactly() {
        for (text, bytes, printed) in [
            ("256", 256, "256"),
            ("4096", 4096, "4KiB"),
            ("16m", 16 << 20, "16MiB"),
            ("1025KiB", 1025 << 10, "1025KiB"),
            ("2G", 2 << 30, "2GiB"),
            ("0", 0, "0"),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)));
            assert_eq!(Size(bytes).to_string(), printed);
            assert_eq!(printed.parse(), Ok(Size(bytes)));
        }
        for bad in ["", "m", "-1", "1.5k", "12q", "99999999999999999999", "99999999t"] {
            assert_eq!(bad.parse::<Size>(), Err(SizeError(bad.to_owned())));
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(duration(181.234), "181.2 ns");
        assert_eq!(duration(1210.4), "1.210 µs");
        assert_eq!(duration(999_960.0), "1.000 ms");
        assert_eq!(bytes(9_999), "9999 B");
        assert_eq!(bytes(2_127_000), "2.028 MiB");
        assert_eq!(Units::Bytes(1 << 30).rate(1e9), "1.000 GiB/s");
        assert_eq!(Units::Hashes(2).rate(1e9), "2.000 H/s");
        assert_eq!(Units::Bytes(1).rate_step(5.0), (1024.0_f64.powi(3) * 1e-9, "GiB/s"));
        assert_eq!(Units::Hashes(1).rate_step(5e-9), (1e-9, "H/s"));
        assert_eq!(percent(0.9603), "-3.97 %");
        assert_eq!(percent(0.99999), "+0.00 %");
    }
}
