//! Directories that could not be entered: what is below them is not gone.

use std::collections::HashSet;

/// Names of what could not be read, each perhaps a directory.
#[derive(Clone, Debug, Default)]
pub struct Shut(HashSet<Vec<u8>>);

impl Shut {
    /// Adds a name, which is tidy.
    pub fn add(&mut self, name: &[u8]) {
        self.0.insert(name.to_vec());
    }

    /// Whether a file is below one of them, as far as its name tells.
    pub fn holds(&self, name: &[u8]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // Whatever does not begin elsewhere is below the current directory.
        let here = name.first() != Some(&b'/') && !name.starts_with(b"../");
        (here && self.0.contains(&b""[..])) || ends.any(|end| self.0.contains(&name[..end.max(1)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_is_held() {
        let mut shut = Shut::default();
        assert!(!shut.holds(b"a/b"));
        shut.add(b"d/c");
        let held = |shut: &Shut, name: &str| shut.holds(name.as_bytes());
        assert!(held(&shut, "d/c/x") && held(&shut, "d/c/x/y"));
        assert!(!held(&shut, "d/c") && !held(&shut, "d/cx") && !held(&shut, "c/x") && !held(&shut, "/d/c/x"));
        shut.add(b"");
        assert!(held(&shut, "c") && !held(&shut, "/c") && !held(&shut, "../c"));
        shut.add(b"/");
        assert!(held(&shut, "/c"));
    }
}
