//! Reader of numbered lines of limited length.

use super::ListFormat;
use std::io::{self, BufRead};

/// The maximum length of a line. Paths have at most a few KiB on every system; a file without line ends must
/// not be loaded into memory.
pub const LINE_LIMIT: usize = 64 * 1024;

/// The lines of a list.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    end: u8,
    number: u64,
    line: Vec<u8>,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub struct NumberedLine<'a> {
    /// The line number, from 1.
    pub number: u64,
    /// The line without its end; `None` if it exceeds [`LINE_LIMIT`].
    pub bytes: Option<&'a [u8]>,
}

impl<R: BufRead> LineReader<R> {
    /// The lines of `reader`, in this format.
    pub fn new(reader: R, style: ListFormat) -> LineReader<R> {
        LineReader { reader, end: if style.zero { 0 } else { b'\n' }, number: 0, line: Vec::new() }
    }

    /// The next line, or `None` at the end.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn next_line(&mut self) -> io::Result<Option<NumberedLine<'_>>> {
        self.line.clear();
        let mut len = 0;
        let mut ended = false;
        while !ended {
            let bytes = match self.reader.fill_buf() {
                Ok([]) if len == 0 => return Ok(None),
                Ok([]) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let at = bytes.iter().position(|&byte| byte == self.end);
            ended = at.is_some();
            let (piece, used) = at.map_or((bytes, bytes.len()), |at| (&bytes[..at], at + 1));
            let room = (LINE_LIMIT + 1).saturating_sub(self.line.len());
            self.line.extend(&piece[..piece.len().min(room)]);
            len += used;
            self.reader.consume(used);
        }
        self.number += 1;
        let fits = self.line.len() <= LINE_LIMIT;
        Ok(Some(NumberedLine { number: self.number, bytes: fits.then_some(&self.line) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn all(input: &[u8], zero: bool) -> Vec<Option<Vec<u8>>> {
        // A tiny buffer, so that every line crosses a boundary.
        let reader = BufReader::with_capacity(3, input);
        let mut lines = LineReader::new(reader, ListFormat { zero, ..ListFormat::default() });
        let mut out = Vec::new();
        while let Some(line) = lines.next_line().expect("memory does not fail") {
            assert_eq!(line.number, out.len() as u64 + 1);
            out.push(line.bytes.map(<[u8]>::to_vec));
        }
        out
    }

    #[test]
    fn lines_end_with_lf_or_with_the_file() {
        let lines = |list: &[&[u8]]| list.iter().map(|line| Some(line.to_vec())).collect::<Vec<_>>();
        assert_eq!(all(b"", false), lines(&[]));
        assert_eq!(all(b"\n", false), lines(&[b""]));
        assert_eq!(all(b"abcd\r\n\nef", false), lines(&[b"abcd\r", b"", b"ef"]));
        assert_eq!(all(b"a\nb\0c\0", true), lines(&[b"a\nb", b"c"]));
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_and_not_stored() {
        let mut input = vec![b'x'; LINE_LIMIT];
        input.push(b'\n');
        input.extend(vec![b'y'; LINE_LIMIT + 1]);
        input.extend(b"\nz");
        let lines = all(&input, false);
        assert_eq!(lines[0].as_ref().map(Vec::len), Some(LINE_LIMIT));
        assert_eq!(lines[1], None);
        assert_eq!(lines[2], Some(b"z".to_vec()));
    }
}
