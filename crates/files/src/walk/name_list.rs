//! Reader of a file of names.

use crate::os;
use std::io::{self, BufRead, ErrorKind};
use std::path::PathBuf;

/// The prefix that is examined for the separator. Names have at most a few KiB.
const LOOK: usize = 64 * 1024;

/// Names separated by NUL if the first 64 KiB contain one, otherwise by LF. Empty names are skipped.
#[derive(Debug)]
pub struct NameList<R> {
    reader: R,
    /// The prefix that was read to determine the separator.
    ahead: io::Cursor<Vec<u8>>,
    end: u8,
    failed: bool,
}

impl<R: BufRead> NameList<R> {
    /// A reader; determines the separator.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn new(mut reader: R) -> io::Result<NameList<R>> {
        let mut ahead = Vec::new();
        while ahead.len() < LOOK && !ahead.contains(&0) {
            let bytes = match reader.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            ahead.extend(bytes);
            let len = bytes.len();
            reader.consume(len);
        }
        let end = if ahead.contains(&0) { 0 } else { b'\n' };
        Ok(NameList { reader, ahead: io::Cursor::new(ahead), end, failed: false })
    }

    fn read(&mut self) -> io::Result<Option<PathBuf>> {
        loop {
            let mut name = Vec::new();
            self.ahead.read_until(self.end, &mut name)?;
            if name.last() != Some(&self.end) {
                self.reader.read_until(self.end, &mut name)?;
            }
            if name.is_empty() {
                return Ok(None);
            }
            if name.last() == Some(&self.end) {
                name.pop();
            }
            if !name.is_empty() {
                let name = os::name(name)
                    .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a name that cannot exist here"))?;
                return Ok(Some(name.into()));
            }
        }
    }
}

impl<R: BufRead> Iterator for NameList<R> {
    type Item = io::Result<PathBuf>;

    /// The next name; `None` after an error.
    fn next(&mut self) -> Option<io::Result<PathBuf>> {
        if self.failed {
            return None;
        }
        let name = self.read().transpose();
        self.failed = matches!(name, Some(Err(_)));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn names(text: &[u8]) -> Vec<String> {
        // A tiny buffer, so that names cross its boundary.
        let names = NameList::new(BufReader::with_capacity(3, text)).expect("memory does not fail");
        names.map(|name| name.expect("a name").to_str().expect("text").to_owned()).collect()
    }

    #[test]
    fn names_end_with_lf_or_with_nul() {
        assert_eq!(names(b""), [""; 0]);
        assert_eq!(names(b"a\n\nb c\r\nd"), ["a", "b c\r", "d"]);
        assert_eq!(names(b"a\nb\0c\0"), ["a\nb", "c"]);
        let long: String = (0..20_000).map(|n| format!("{n}\n")).collect();
        assert_eq!(names(long.as_bytes()).len(), 20_000);
    }
}
