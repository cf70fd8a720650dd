//! Line reader for files of hashes or of passwords.

use super::password_source::{MAX_BYTES, Secret, buffer, copied};
use crate::flags::UsageError;
use crate::os;
use crate::output::display_path;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Reads lines into memory for secrets, as they may be passwords.
pub(in super::super) struct Lines {
    source: Box<dyn Read>,
    /// `buffer[start..end]` is read but not yet returned.
    buffer: Secret,
    start: usize,
    end: usize,
    number: u64,
    pub(in super::super) path: String,
}

/// A line without its line end.
pub(in super::super) struct Line {
    pub(in super::super) number: u64,
    pub(in super::super) bytes: Secret,
}

impl Lines {
    pub(in super::super) fn open(path: &Path) -> Result<Lines> {
        let source: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(os::stdin().context("standard input")?.lock())
        } else {
            Box::new(File::open(path).with_context(|| display_path(path).into_owned())?)
        };
        Lines::from_reader(source, display_path(path).into_owned())
    }

    fn from_reader(source: Box<dyn Read>, path: String) -> Result<Lines> {
        // Reads are longer than standard input's own buffer, so they bypass it and leave no copy there.
        Ok(Lines { source, buffer: buffer(2 * MAX_BYTES)?, start: 0, end: 0, number: 0, path })
    }

    /// The next line.
    pub(in super::super) fn next(&mut self) -> Result<Option<Line>> {
        self.number += 1;
        let mut searched = self.start;
        let end = loop {
            let unsearched = &self.buffer[searched..self.end];
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                break searched + at;
            }
            if self.end - self.start > MAX_BYTES {
                let (path, number) = (&self.path, self.number);
                bail!(UsageError(format!("{path}:{number}: a line of more than {MAX_BYTES} bytes")));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            searched = self.end;
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == 0 => return Ok(None),
                Ok(0) => break self.end,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).with_context(|| self.path.clone()),
            }
        };
        let bytes = copied(&self.buffer[self.start..end])?;
        self.start = self.end.min(end + 1);
        if bytes.len() > MAX_BYTES {
            bail!(UsageError(format!(
                "{}:{}: a line of more than {MAX_BYTES} bytes",
                self.path, self.number
            )));
        }
        Ok(Some(Line { number: self.number, bytes }))
    }
}

/// A message that says which part of a file was not read.
pub(in super::super) fn unread_after(line: u64) -> String {
    match line {
        0 => "nothing was read".to_owned(),
        _ => format!("nothing was read after line {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Returns at most a given number of bytes per read.
    struct ShortReads(Vec<u8>, usize);

    impl Read for ShortReads {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    fn lines(text: &[u8], step: usize) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut lines = Lines::from_reader(Box::new(ShortReads(text.to_vec(), step)), "f".to_owned())?;
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push((line.number, line.bytes.to_vec()));
        }
        Ok(all)
    }

    #[test]
    fn lines_do_not_depend_on_read_sizes() {
        for step in [1, 2, 3, 1000] {
            let line = |number, text: &[u8]| (number, text.to_vec());
            assert_eq!(lines(b"", step).expect("lines"), []);
            assert_eq!(
                lines(b"ab\n\ncde\n", step).expect("lines"),
                [line(1, b"ab"), line(2, b""), line(3, b"cde")]
            );
            assert_eq!(lines(b"\nab", step).expect("lines"), [line(1, b""), line(2, b"ab")]);
        }
    }

    #[test]
    fn rejects_lines_over_the_limit() {
        let longest = [b"x\n".to_vec(), vec![b'a'; MAX_BYTES], b"\ny".to_vec()].concat();
        for step in [977, 1 << 20] {
            assert_eq!(lines(&longest, step).expect("lines")[1].1.len(), MAX_BYTES);
            let longer = [&b"x\na"[..], &longest[2..]].concat();
            let error = lines(&longer, step).expect_err("too long").to_string();
            assert_eq!(error, "f:2: a line of more than 65536 bytes");
        }
    }
}
