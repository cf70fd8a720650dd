//! Verdict: a file as it is, compared with the digest and the time that were stored of it.
//!
//! `--update`, `--audit` and `--xattr` differ in where the stored side lies: in a list, or in the attributes of the file. What
//! the comparison means is decided here, once.

use crate::time::Time;

/// What happened to a file since its digest was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The contents are the same, and so is the time, if one was stored.
    Same,
    /// Nothing was stored.
    New,
    /// Nothing was stored under this name; the contents are those of a stored file that is no longer there.
    Moved,
    /// The contents are the same, the time is another.
    Touched,
    /// The contents and the time are others: a program wrote the file.
    Outdated,
    /// The contents are others, and the times are not both known: this may be work or rot.
    Changed,
    /// The contents are others, and the time is the one that was stored: no program wrote the file, or one hid that.
    Corrupt,
    /// The file is no longer there.
    Gone,
    /// The file is there and cannot be read.
    Unread,
}

/// What was stored of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored<'a> {
    /// Its digest.
    pub digest: &'a [u8],
    /// When it had last been changed, if that was stored.
    pub modified: Option<Time>,
}

impl Verdict {
    /// Compares what was stored with a file that was read: its digest by the same function, and the time that it had before
    /// and after it was read, if that is known and was the same.
    ///
    /// The size is not compared: another size is another digest.
    pub fn of(stored: Option<Stored<'_>>, digest: &[u8], modified: Option<Time>) -> Verdict {
        let Some(stored) = stored else { return Verdict::New };
        let same_time = stored.modified.zip(modified).map(|(then, now)| then == now);
        match (stored.digest == digest, same_time) {
            (true, Some(false)) => Verdict::Touched,
            (true, _) => Verdict::Same,
            (false, Some(true)) => Verdict::Corrupt,
            (false, Some(false)) => Verdict::Outdated,
            (false, None) => Verdict::Changed,
        }
    }

    /// The word for it in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::New => "new",
            Verdict::Moved => "moved",
            Verdict::Touched => "touched",
            Verdict::Outdated => "outdated",
            Verdict::Changed => "changed",
            Verdict::Corrupt => "corrupt",
            Verdict::Gone => "gone",
            Verdict::Unread => "unread",
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
            (Some(7), 1, Some(7), Verdict::Same),
            (Some(7), 1, Some(8), Verdict::Touched),
            (Some(7), 2, Some(8), Verdict::Outdated),
            (Some(7), 2, Some(7), Verdict::Corrupt),
            // Without both times nothing is claimed about who changed it.
            (None, 1, Some(7), Verdict::Same),
            (Some(7), 1, None, Verdict::Same),
            (None, 2, Some(7), Verdict::Changed),
            (Some(7), 2, None, Verdict::Changed),
        ] {
            let stored = Stored { digest: &[1; 32], modified: time(then) };
            assert_eq!(Verdict::of(Some(stored), &[digest; 32], time(now)), expected);
        }
        assert_eq!(Verdict::of(None, &[1; 32], time(Some(7))), Verdict::New);
    }
}
