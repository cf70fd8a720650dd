//! The lines of a file of hashes or of passwords.

use super::input::{self, MOST, Secret};
use crate::flags::Misuse;
use crate::os;
use crate::out::shown;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Lines of a file, one by one, in memory for secrets: they may be passwords.
pub(super) struct Lines {
    source: Box<dyn Read>,
    /// What has been read and not yet given out is `buffer[start..end]`.
    buffer: Secret,
    start: usize,
    end: usize,
    number: u64,
    pub(super) path: String,
}

/// A line without its end.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) bytes: Secret,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Lines> {
        let source: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(os::stdin().context("standard input")?.lock())
        } else {
            Box::new(File::open(path).with_context(|| shown(path).into_owned())?)
        };
        Lines::over(source, shown(path).into_owned())
    }

    fn over(source: Box<dyn Read>, path: String) -> Result<Lines> {
        // Behind the longest line there is more room than standard input's own buffer has, so that one stays empty.
        Ok(Lines { source, buffer: input::room(2 * MOST)?, start: 0, end: 0, number: 0, path })
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<Option<Line>> {
        self.number += 1;
        let mut searched = self.start;
        let end = loop {
            let fresh = &self.buffer[searched..self.end];
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                break searched + at;
            }
            if self.end - self.start > MOST {
                let place = format!("{}:{}", self.path, self.number);
                bail!(Misuse(format!("{place}: a line of more than {MOST} bytes")));
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
        let bytes = input::copied(&self.buffer[self.start..end])?;
        self.start = self.end.min(end + 1);
        if bytes.len() > MOST {
            bail!(Misuse(format!("{}:{}: a line of more than {MOST} bytes", self.path, self.number)));
        }
        Ok(Some(Line { number: self.number, bytes }))
    }
}

/// Which part of a file was not read.
pub(super) fn unread_after(line: u64) -> String {
    match line {
        0 => "nothing of it was looked at".to_owned(),
        _ => format!("nothing after line {line} of it was looked at"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Gives a few bytes at a time.
    struct Drops(Vec<u8>, usize);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    fn lines(text: &[u8], step: usize) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut lines = Lines::over(Box::new(Drops(text.to_vec(), step)), "f".to_owned())?;
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            all.push((line.number, line.bytes.to_vec()));
        }
        Ok(all)
    }

    #[test]
    fn lines_are_cut_wherever_pieces_end() {
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
    fn lines_have_a_longest() {
        let longest = [b"x\n".to_vec(), vec![b'a'; MOST], b"\ny".to_vec()].concat();
        for step in [977, 1 << 20] {
            assert_eq!(lines(&longest, step).expect("lines")[1].1.len(), MOST);
            let longer = [&b"x\na"[..], &longest[2..]].concat();
            let error = lines(&longer, step).expect_err("too long").to_string();
            assert_eq!(error, "f:2: a line of more than 65536 bytes");
        }
    }
}
