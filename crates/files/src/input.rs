//! An open file as bytes at offsets, through the system's cache or past it.
//!
//! Past the cache, a device writes to memory by itself: offset, length and address have to be multiples of what the file system
//! asks for. So more is asked for than the file has at its end, where a read is short, and whatever does not fit is read through
//! the cache: the rest after a read that was short elsewhere, and everything once the file system has refused.

use crate::os;
use crate::plan::SMALLEST_TILE;
use crate::pool::PAGE;
use crate::work::Work;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file, and the way past the cache if that is wanted and there is one.
pub(crate) struct Input<'a> {
    file: &'a File,
    direct: Option<Direct<'a>>,
}

struct Direct<'a> {
    past: os::PastCache,
    /// The file system said no to a read.
    refused: AtomicBool,
    work: &'a Work,
}

impl<'a> Input<'a> {
    /// Through the cache.
    pub(crate) fn new(file: &'a File) -> Input<'a> {
        Input { file, direct: None }
    }

    /// Past it, as far as that is possible. Where it is not, it is noted why.
    pub(crate) fn direct(file: &'a File, work: &'a Work) -> Input<'a> {
        let direct = match os::past_cache(file).and_then(within_reach) {
            Ok(past) => Some(Direct { past, refused: AtomicBool::new(false), work }),
            Err(error) => {
                note(work, error);
                None
            }
        };
        Input { file, direct }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        self.file
    }

    /// Whether bytes can be read to this place as they are wanted.
    pub(crate) fn suits(&self, room: &[u8]) -> bool {
        self.direct.as_ref().is_none_or(|direct| is_multiple(room.as_ptr().addr(), direct.past.memory))
    }

    /// Reads `len` bytes from `offset` on, or as many as the file has there, to the beginning of `room`. What is behind them
    /// in `room` may change.
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

impl Direct<'_> {
    /// Reads as much of that as can be read so.
    fn read_at(&self, room: &mut [u8], len: usize, offset: u64) -> io::Result<usize> {
        let os::PastCache { file, memory, offset: step } = &self.past;
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
                Err(error) if os::is_of_way(&error) => {
                    self.refused.store(true, Ordering::Relaxed);
                    note(self.work, error);
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

/// Refuses what buffers and tiles are not multiples of.
fn within_reach(past: os::PastCache) -> io::Result<os::PastCache> {
    let (memory, offset) = (past.memory, past.offset);
    let fits = |step: usize, most: usize| (1..=most).contains(&step) && most.is_multiple_of(step);
    if fits(memory, PAGE) && fits(offset, SMALLEST_TILE) {
        return Ok(past);
    }
    let reason = format!("the file system asks for multiples of {memory} and {offset} bytes");
    Err(io::Error::new(ErrorKind::Unsupported, reason))
}

/// Of several reasons the first is told, see [`Files::direct_failure`](crate::Files::direct_failure).
fn note(work: &Work, error: io::Error) {
    let _ = work.direct_failure.set(error);
}

/// An input from its first byte to its last.
pub(crate) struct InOrder<'a> {
    input: Input<'a>,
    position: u64,
}

impl<'a> InOrder<'a> {
    pub(crate) fn new(input: Input<'a>) -> InOrder<'a> {
        InOrder { input, position: 0 }
    }
}

impl Read for InOrder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read_at(buffer, buffer.len(), self.position)?;
        self.position += len as u64;
        Ok(len)
    }
}

impl Seek for InOrder<'_> {
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
    use crate::function::Function;
    use crate::pool::Buffer;
    use crate::work::Options;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("room on the disk");
        file
    }

    fn work() -> Work {
        Work::new(Function::blake3(), Options::default())
    }

    /// Pieces that fit the file system and pieces that do not, into places that do and do not.
    #[test]
    fn all_bytes_come_wherever_they_are_wanted_from_and_to() {
        let bytes: Vec<u8> = (0..40_001_u32).map(|at| (at % 251) as u8).collect();
        let (file, work) = (file_of(&bytes), work());
        let inputs = [Input::new(&file), Input::direct(&file, &work)];
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
        let (mut all, input) = (Vec::new(), Input::direct(&file, &work));
        InOrder::new(input).read_to_end(&mut all).expect("a readable file");
        assert!(all == bytes);
    }

    /// As of a file system that asks for more than it says.
    #[test]
    fn a_refusal_in_the_middle_is_noted_and_the_rest_read_through_the_cache() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|at| (at % 251) as u8).collect();
        let (file, work) = (file_of(&bytes), work());
        let mut input = Input::direct(&file, &work);
        let Some(direct) = &mut input.direct else {
            let error = work.direct_failure.get().expect("a reason");
            return hashmill_testkit::skip("direct reads that are refused", &error.to_string());
        };
        (direct.past.memory, direct.past.offset) = (1, 1);
        let mut room = Buffer::new(8192);
        for offset in [4096, 4097, 8192] {
            let found = input.read_at(&mut room[1..], 5000, offset).expect("a readable file");
            assert!(room[1..=found] == bytes[offset as usize..][..5000]);
        }
        match work.direct_failure.get() {
            Some(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput),
            None => hashmill_testkit::skip("direct reads that are refused", "any are taken here"),
        }
    }

    #[test]
    fn what_asks_for_more_than_buffers_and_tiles_give_is_refused() {
        let within = |memory, offset| {
            within_reach(os::PastCache { file: file_of(b""), memory, offset })
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
