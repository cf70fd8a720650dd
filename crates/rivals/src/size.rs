//! Lengths as row names write them: `64`, `16KiB`, `4MiB`, `1GiB`.

use std::fmt;

/// Units from the largest; a length is written with the first that divides it.
const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// A length that prints with its unit.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().find(|(_, shift)| self.0 > 0 && self.0.is_multiple_of(1 << shift));
        match unit {
            Some((name, shift)) => write!(f, "{}{name}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Reads a length back. `None` when it is no number, or more than memory can hold.
pub fn parse(word: &str) -> Option<usize> {
    let unit = UNITS.iter().find_map(|(name, shift)| Some((word.strip_suffix(name)?, *shift)));
    let (digits, shift) = unit.unwrap_or((word, 0));
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Reads a length that is not zero.
pub fn parse_positive(word: &str) -> Option<usize> {
    parse(word).filter(|&len| len > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_back() {
        for name in ["0", "1", "1023", "1KiB", "33KiB", "256MiB", "1GiB", "1025MiB"] {
            let len = parse(name).expect(name);
            assert_eq!(Size(len).to_string(), name);
        }
        assert_eq!(Size(3 << 20).to_string(), "3MiB");
        for name in ["", "KiB", "-1", "1.5KiB", "1kib", "99999999999GiB"] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse_positive("0"), None);
    }
}
