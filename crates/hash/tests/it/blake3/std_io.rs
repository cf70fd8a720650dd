//! `std::io` traits: hashers as writers and of readers, output as a file.

use crate::plans::edge_lengths;
use hashmill_hash::blake3::{BufferedHasher, Hasher, hash};
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::{Rng, paint};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Delivers its bytes in random pieces and is interrupted by a signal before every other one.
struct Interrupted<'a> {
    rest: &'a [u8],
    rng: Rng,
    interrupt: bool,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = (1 + self.rng.below(5000)).min(buffer.len());
        self.rest.read(&mut buffer[..len])
    }
}

#[test]
fn interrupted_reads_are_retried() -> io::Result<()> {
    let input = paint(200_000);
    for len in edge_lengths().into_iter().step_by(11).chain([200_000]) {
        let reader = || Interrupted { rest: &input[..len], rng: Rng::new(len as u64), interrupt: false };
        assert_eq!(Hasher::new().update_reader(reader())?.finalize(), hash(&input[..len]), "{len} bytes");
    }
    Ok(())
}

/// Short reads of any length give the same input.
#[test]
fn short_reads_equal_one_update() -> io::Result<()> {
    struct ShortReads<'a>(&'a [u8], usize);
    impl Read for ShortReads<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len());
            self.0.read(&mut buffer[..len])
        }
    }
    let input = paint(300_000);
    for len in [65_535, 65_536, 65_537, 131_072, 300_000] {
        for read_len in [1, 1460, 4096, 65_535, 65_536, 100_000] {
            let mut hasher = Hasher::new();
            hasher.update(b"before").update_reader(ShortReads(&input[..len], read_len))?.update(b"after");
            let expected = hash(&[b"before", &input[..len], b"after"].concat());
            assert_eq!(hasher.finalize(), expected, "{len} bytes, {read_len} at a time");
        }
    }
    Ok(())
}

#[test]
fn failed_reader_keeps_the_bytes_before_the_error() {
    struct FailingReader(usize);
    impl Read for FailingReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("connection lost"));
            }
            self.0 -= 1;
            buffer[..100].fill(7);
            Ok(100)
        }
    }
    let mut hasher = Hasher::new();
    let error = hasher.update_reader(FailingReader(3)).expect_err("the reader fails");
    assert_eq!(error.to_string(), "connection lost");
    assert_eq!(hasher.count(), 300);
    assert_eq!(hasher.finalize(), hash(&[7; 300]));
}

#[test]
fn hashers_implement_write() -> io::Result<()> {
    let input = paint(50_000);
    let mut hasher = Hasher::new();
    assert_eq!(io::copy(&mut &input[..], &mut hasher)?, 50_000);
    hasher.flush()?;
    assert_eq!(hasher.finalize(), hash(&input));
    let mut buffered = BufferedHasher::new(Hasher::new());
    for piece in input.chunks(77) {
        assert_eq!(buffered.write(piece)?, piece.len());
    }
    buffered.flush()?;
    assert_eq!(buffered.finalize(), hash(&input));
    Ok(())
}

#[test]
fn output_reader_reads_and_seeks() -> io::Result<()> {
    let expected = Oracle::hash().xof(b"file", 0, 1000);
    let mut reader = Hasher::new().update(b"file").finalize_xof();
    let mut output = [0; 100];
    assert_eq!(reader.seek(SeekFrom::Start(300))?, 300);
    reader.read_exact(&mut output)?;
    assert_eq!(output, expected[300..400]);
    assert_eq!(reader.seek(SeekFrom::Current(-50))?, 350);
    reader.read_exact(&mut output)?;
    assert_eq!(output, expected[350..450]);
    assert_eq!(reader.stream_position()?, 450);
    assert!(reader.seek(SeekFrom::End(0)).is_err(), "there is no end");
    assert!(reader.seek(SeekFrom::Current(-451)).is_err(), "there is nothing before byte 0");
    assert_eq!(reader.position(), 450, "a refused seek changes nothing");
    let copy = reader.clone();
    reader.read_exact(&mut output)?;
    assert_eq!((copy.position(), reader.position()), (450, 550));
    Ok(())
}

#[test]
fn output_reader_ends_at_the_last_position() -> io::Result<()> {
    let mut reader = Hasher::new().finalize_xof();
    reader.seek(SeekFrom::Start(u64::MAX - 10))?;
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest)?;
    assert_eq!(rest, Oracle::hash().xof(b"", u64::MAX - 10, 10));
    assert!(reader.seek(SeekFrom::Current(i64::MAX)).is_err());
    Ok(())
}
