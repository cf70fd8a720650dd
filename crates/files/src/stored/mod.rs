//! Verdict on a file, compared with its stored digest and modification time.
//!
//! `--update`, `--audit` and `--xattr` differ only in where the digest is stored: in a checksum list, or in
//! attributes of the file. The comparison is defined here, once.

pub mod digest_xattr;
mod time;

pub use time::Time;

/// Change of a file since its digest was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DigestVerdict {
    /// Same contents and, if stored, the same mtime.
    Same,
    /// No digest was stored.
    New,
    /// No digest was stored under this name, but under that of a missing file.
    Moved,
    /// Same contents, another mtime.
    Touched,
    /// Other contents and another mtime: a program wrote the file.
    Outdated,
    /// Other contents, and the two mtimes are not both known: an edit or corruption.
    Changed,
    /// Other contents but the same mtime: corruption, unless a program restored the mtime.
    Corrupt,
    /// The file is missing.
    Gone,
    /// The file exists and cannot be read.
    Unread,
}

/// Stored digest and mtime of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpectedDigest<'a> {
    /// The digest.
    pub digest: &'a [u8],
    /// The mtime, if stored.
    pub modified: Option<Time>,
}

impl DigestVerdict {
    /// Compares the stored values with a file that was read: its digest by the same function, and its mtime
    /// before and after reading, if known and equal.
    ///
    /// The size is not compared: a file of another size has another digest.
    pub fn compare(
        stored: Option<ExpectedDigest<'_>>,
        digest: &[u8],
        modified: Option<Time>,
    ) -> DigestVerdict {
        let Some(stored) = stored else { return DigestVerdict::New };
        let same_time = stored.modified.zip(modified).map(|(then, now)| then == now);
        match (stored.digest == digest, same_time) {
            (true, Some(false)) => DigestVerdict::Touched,
            (true, _) => DigestVerdict::Same,
            (false, Some(true)) => DigestVerdict::Corrupt,
            (false, Some(false)) => DigestVerdict::Outdated,
            (false, None) => DigestVerdict::Changed,
        }
    }

    /// The word for it in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            DigestVerdict::Same => "same",
            DigestVerdict::New => "new",
            DigestVerdict::Moved => "moved",
            DigestVerdict::Touched => "touched",
            DigestVerdict::Outdated => "outdated",
            DigestVerdict::Changed => "changed",
            DigestVerdict::Corrupt => "corrupt",
            DigestVerdict::Gone => "gone",
            DigestVerdict::Unread => "unread",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_time_tells_work_from_rot() {
        let time = |nanos: Option<i64>| nanos.map(Time::from_nanos);
        for (then, digest, now, expected) in [
            (Some(7), 1, Some(7), DigestVerdict::Same),
            (Some(7), 1, Some(8), DigestVerdict::Touched),
            (Some(7), 2, Some(8), DigestVerdict::Outdated),
            (Some(7), 2, Some(7), DigestVerdict::Corrupt),
            // Without both times the cause of a change is unknown.
            (None, 1, Some(7), DigestVerdict::Same),
            (Some(7), 1, None, DigestVerdict::Same),
            (None, 2, Some(7), DigestVerdict::Changed),
            (Some(7), 2, None, DigestVerdict::Changed),
        ] {
            let stored = ExpectedDigest { digest: &[1; 32], modified: time(then) };
            assert_eq!(DigestVerdict::compare(Some(stored), &[digest; 32], time(now)), expected);
        }
        assert_eq!(DigestVerdict::compare(None, &[1; 32], time(Some(7))), DigestVerdict::New);
    }
}
