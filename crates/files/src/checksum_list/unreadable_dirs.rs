//! Directories that could not be read: files below them do not count as missing.

use std::collections::HashSet;

/// Names of unreadable entries, each possibly a directory.
#[derive(Clone, Debug, Default)]
pub struct UnreadableDirs(HashSet<Vec<u8>>);

impl UnreadableDirs {
    /// Adds a normalized name.
    pub fn add(&mut self, name: &[u8]) {
        self.0.insert(name.to_vec());
    }

    /// Is a file below one of them, judging by its name?
    pub fn holds(&self, name: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // Every relative name that does not leave it is below the current directory.
        let here = name.first() != Some(&b'/') && !name.starts_with(b"../");
        (here && self.0.contains(&b""[..])) || ends.any(|end| self.0.contains(&name[..end.max(1)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_names_below_unreadable_directories() {
        let mut shut = UnreadableDirs::default();
        assert!(!shut.holds(b"a/b"));
        shut.add(b"d/c");
        let contains = |shut: &UnreadableDirs, name: &str| shut.holds(name.as_bytes());
        assert!(contains(&shut, "d/c/x") && contains(&shut, "d/c/x/y"));
        assert!(
            !contains(&shut, "d/c")
                && !contains(&shut, "d/cx")
                && !contains(&shut, "c/x")
                && !contains(&shut, "/d/c/x")
        );
        shut.add(b"");
        assert!(contains(&shut, "c") && !contains(&shut, "/c") && !contains(&shut, "../c"));
        shut.add(b"/");
        assert!(contains(&shut, "/c"));
    }
}
