//! Positioned reads of an open file, through the system's cache or past it.
//!
//! Past the cache, a device writes to memory directly: offset, length and address must be multiples of the
//! file system's units. So a read requests more than the file has at its end, and gets a short result. Bytes
//! that cannot be read directly go through the cache: the rest after any other short read, and everything
//! once the file system has refused.

use crate::context::HashContext;
use crate::context::pool::PAGE;
use crate::os;
use crate::read::plan::SMALLEST_TILE;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file, with direct access if requested and available.
pub(crate) struct Input<'a> {
    file: &'a File,
    direct: Option<DirectIo<'a>>,
}

struct DirectIo<'a> {
    past: os::DirectFile,
    /// Has the file system refused a read?
    refused: AtomicBool,
    context: &'a HashContext,
}

impl<'a> Input<'a> {
    /// Through the cache.
    pub(crate) fn new(file: &'a File) -> Input<'a> {
        Input { file, direct: None }
    }

    /// Direct, where possible. The reason of a failure is recorded.
    pub(crate) fn direct(file: &'a File, context: &'a HashContext) -> Input<'a> {
        let direct = match os::open_direct(file).and_then(check_alignment) {
            Ok(past) => Some(DirectIo { past, refused: AtomicBool::new(false), context }),
            Err(error) => {
                record_direct_failure(context, error);
                None
            }
        };
        Input { file, direct }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        self.file
    }

    /// Is this memory suitable for reads of the requested kind?
    pub(crate) fn suits(&self, room: &[u8]) -> bool {
        self.direct.as_ref().is_none_or(|direct| is_multiple(room.as_ptr().addr(), direct.past.memory))
    }

    /// Reads `len` bytes from `offset` on, or up to the end of the file, to the start of `room`. The bytes
    /// behind them in `room` may change.
    pub(crate) fn read_at(&self, room: &mut [u8], len: usize, offset: u64) -> io::Result<usize> {
        let done = match &self.direct {
            Some(direct) => direct.read_at(room, len, offset)?,
            None => 0,
        };
        if done >= len {
            return Ok(len);
        }
        Ok(done + os::read_at(self.file, &mut room[done..len], offset + done as u64)?)
    }
}

impl DirectIo<'_> {
    /// Reads the part that can be read directly.
    fn read_at(&self, room: &mut [u8], len: usize, offset: u64) -> io::Result<usize> {
        let os::DirectFile { file, memory, offset: step } = &self.past;
        let whole = len.next_multiple_of(*step).min(room.len());
        let mut done = 0;
        while done < len && !self.refused.load(Ordering::Relaxed) {
            let (rest, at) = (&mut room[done..whole], offset + done as u64);
            if !is_multiple(rest.as_ptr().addr(), *memory)
                || !is_multiple(rest.len(), *step)
                || !at.is_multiple_of(*step as u64)
            {
                break;
            }
            match os::read_once_at(file, rest, at) {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if os::is_direct_access_error(&error) => {
                    self.refused.store(true, Ordering::Relaxed);
                    record_direct_failure(self.context, error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

fn is_multiple(number: usize, of: usize) -> bool {
    number.is_multiple_of(of)
}

/// Refuses units that do not divide buffers and tiles.
fn check_alignment(past: os::DirectFile) -> io::Result<os::DirectFile> {
    let (memory, offset) = (past.memory, past.offset);
    let fits = |step: usize, most: usize| (1..=most).contains(&step) && most.is_multiple_of(step);
    if fits(memory, PAGE) && fits(offset, SMALLEST_TILE) {
        return Ok(past);
    }
    let reason = format!("the file system asks for multiples of {memory} and {offset} bytes");
    Err(io::Error::new(ErrorKind::Unsupported, reason))
}

/// Records the first failure, see [`Files::direct_failure`](crate::Files::direct_failure).
fn record_direct_failure(context: &HashContext, error: io::Error) {
    let _ = context.direct_failure.set(error);
}

/// Sequential reads of an input from its start.
pub(crate) struct SequentialReader<'a> {
    input: Input<'a>,
    position: u64,
}

impl<'a> SequentialReader<'a> {
    pub(crate) fn new(input: Input<'a>) -> SequentialReader<'a> {
        SequentialReader { input, position: 0 }
    }
}

impl Read for SequentialReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read_at(buffer, buffer.len(), self.position)?;
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for SequentialReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.input.file().metadata()?.len().checked_add_signed(by),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::context::pool::Buffer;
    use crate::function::Function;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("room on the disk");
        file
    }

    fn context() -> HashContext {
        HashContext::new(Function::blake3(), Options::default())
    }

    /// Ranges that suit the file system and ranges that do not, in memory that does and does not.
    #[test]
    fn reads_any_range_into_any_alignment() {
        let bytes: Vec<u8> = (0..40_001_u32).map(|at| (at % 251) as u8).collect();
        let (file, context) = (file_of(&bytes), context());
        let inputs = [Input::new(&file), Input::direct(&file, &context)];
        for offset in [0, 1, 512, 4096, 36_864, 40_000, 40_001, 50_000] {
            for len in [0, 1, 511, 512, 4096, 4097, 32_768] {
                for shift in [0, 1, 512] {
                    let expected = &bytes[offset.min(bytes.len())..(offset + len).min(bytes.len())];
                    for input in &inputs {
                        let mut buffer = Buffer::new(65_536);
                        let room = &mut buffer[shift..];
                        let found = input.read_at(room, len, offset as u64).expect("a readable file");
                        assert_eq!(found, expected.len(), "{len} at {offset}");
                        assert!(&room[..found] == expected, "{len} at {offset}");
                    }
                }
            }
        }
        let (mut all, input) = (Vec::new(), Input::direct(&file, &context));
        SequentialReader::new(input).read_to_end(&mut all).expect("a readable file");
        assert!(all == bytes);
    }

    /// Like a file system with larger alignments than it reports.
    #[test]
    fn a_refusal_in_the_middle_is_noted_and_the_rest_read_through_the_cache() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| (at % 251) as u8).collect();
        let (file, context) = (file_of(&bytes), context());
        let mut input = Input::direct(&file, &context);
        let Some(direct) = &mut input.direct else {
            let error = context.direct_failure.get().expect("a reason");
            return hashmill_testkit::skip("direct reads that are refused", &error.to_string());
        };
        (direct.past.memory, direct.past.offset) = (1, 1);
        let mut room = Buffer::new(8192);
        for offset in [4096, 4097, 8192] {
            let found = input.read_at(&mut room[1..], 5000, offset).expect("a readable file");
            assert!(room[1..=found] == bytes[offset as usize..][..5000]);
        }
        match context.direct_failure.get() {
            Some(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput),
            None => hashmill_testkit::skip("direct reads that are refused", "any are taken here"),
        }
    }

    #[test]
    fn large_alignments_are_refused() {
        let within = |memory, offset| {
            check_alignment(os::DirectFile { file: file_of(b""), memory, offset })
                .map(|_| ())
                .map_err(|error| error.kind())
        };
        for (memory, offset) in [(1, 1), (4, 512), (512, 4096), (4096, 65_536)] {
            assert_eq!(within(memory, offset), Ok(()));
        }
        for (memory, offset) in [(8192, 512), (512, 131_072), (3, 512), (512, 3), (0, 1), (1, 0)] {
            assert_eq!(within(memory, offset), Err(ErrorKind::Unsupported), "{memory} {offset}");
        }
    }
}
