//! Rescue of the readable parts of a failing medium. A range that could not be read or mapped at once is read
//! again in the smallest pieces; pieces that fail then are recorded as bad.
//!
//! ```text
//! for each block of 4 KiB:    read it               most of the range is readable: media fail in few places
//!     if that fails:          its sectors of 512 bytes, one by one
//!         if that fails:      keep going?  zeros, and the range is recorded;  otherwise abandon the file
//! ```
//! The fast paths do not know this code: they call it with the range that failed.

use crate::context::pool::lock;
use crate::error::{Error, Gap, Unreadable};
use crate::function::Digest;
use crate::os::{self, fill_by};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Mutex;

/// The unit of file systems and page caches.
const BLOCK: u64 = 4096;

/// The smallest unit of media.
const SECTOR: u64 = 512;

/// The maximum number of ranges that are kept; further ones are only counted.
const PLACES: usize = 4096;

/// A range may continue one of this many recent ones: threads report theirs in turns.
const RECENT: usize = 64;

/// The rescue of one file.
pub(crate) struct Rescue {
    keep_going: bool,
    found: Mutex<BadRanges>,
}

#[derive(Default)]
struct BadRanges {
    gaps: Vec<Gap>,
    places: u64,
    bytes: u64,
    error: Option<io::Error>,
}

impl Rescue {
    pub(crate) fn new(keep_going: bool) -> Rescue {
        Rescue { keep_going, found: Mutex::default() }
    }

    /// Fills `tile` from `offset` to the end of the file with readable pieces, and zeros elsewhere. Bad
    /// pieces count in full, so the tile must not extend beyond the end of the file.
    pub(crate) fn fill(
        &self,
        tile: &mut [u8],
        offset: u64,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> Result<usize, Error> {
        let mut done = 0;
        while done < tile.len() {
            let at = offset + done as u64;
            let block = piece(&mut tile[done..], at, BLOCK);
            let len = match read(block, at) {
                Err(error) if os::is_media_error(&error) => self.sectors(block, at, &mut read)?,
                read => read?,
            };
            done += len;
            if len < block.len() {
                break;
            }
        }
        Ok(done)
    }

    /// The same for one block, sector by sector.
    fn sectors(
        &self,
        block: &mut [u8],
        offset: u64,
        read: &mut impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> Result<usize, Error> {
        let mut done = 0;
        while done < block.len() {
            let at = offset + done as u64;
            let sector = piece(&mut block[done..], at, SECTOR);
            let len = match read(sector, at) {
                Err(error) if os::is_media_error(&error) => {
                    self.bad(Gap { offset: at, len: sector.len() as u64 }, error)?;
                    sector.fill(0);
                    sector.len()
                }
                read => read?,
            };
            done += len;
            if len < sector.len() {
                break;
            }
        }
        Ok(done)
    }

    fn bad(&self, gap: Gap, error: io::Error) -> Result<(), Error> {
        if !self.keep_going {
            return Err(abandoned(gap, error));
        }
        lock(&self.found).take(gap, error);
        Ok(())
    }

    /// The digest, or an error if parts of the file were replaced by zeros.
    pub(crate) fn finish(self, digest: Digest) -> Result<Digest, Error> {
        let found = self.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let BadRanges { mut gaps, places, bytes, error } = found;
        let Some(error) = error else { return Ok(digest) };
        let named = gaps.len();
        join(&mut gaps);
        let places = places - (named - gaps.len()) as u64;
        Err(Error::Unreadable(Box::new(Unreadable { gaps, places, bytes, error, digest: Some(digest) })))
    }
}

impl BadRanges {
    fn take(&mut self, gap: Gap, error: io::Error) {
        self.error.get_or_insert(error);
        self.bytes += gap.len;
        let continued = self.gaps.iter_mut().rev().take(RECENT);
        if let Some(before) = continued.into_iter().find(|before| before.offset + before.len == gap.offset) {
            before.len += gap.len;
            return;
        }
        self.places += 1;
        if self.gaps.len() < PLACES {
            self.gaps.push(gap);
        }
    }
}

/// Sorts ranges, and joins adjacent ones.
fn join(gaps: &mut Vec<Gap>) {
    gaps.sort_unstable_by_key(|gap| gap.offset);
    gaps.dedup_by(|next, before| {
        let joined = before.offset + before.len == next.offset;
        if joined {
            before.len += next.len;
        }
        joined
    });
}

/// The error of a file that is abandoned at its first bad range.
fn abandoned(gap: Gap, error: io::Error) -> Error {
    let bytes = gap.len;
    Error::Unreadable(Box::new(Unreadable { gaps: vec![gap], places: 1, bytes, error, digest: None }))
}

/// The part of `tile` before the next multiple of `size`; `at` is the offset of `tile`.
fn piece(tile: &mut [u8], at: u64, size: u64) -> &mut [u8] {
    let len = tile.len().min((size - at % size) as usize);
    &mut tile[..len]
}

/// Sequential reader that skips unreadable ranges. For inputs without random access, the error contains the
/// position.
pub(crate) struct RescueReader<'a, R> {
    reader: R,
    rescue: &'a Rescue,
    offset: u64,
}

impl<'a, R: Read + Seek> RescueReader<'a, R> {
    /// Continues at the current position of the file.
    pub(crate) fn new(mut reader: R, rescue: &'a Rescue) -> RescueReader<'a, R> {
        // A pipe has no position and cannot be read again; the offset then counts the bytes read.
        let offset = reader.stream_position().unwrap_or(0);
        RescueReader { reader, rescue, offset }
    }

    fn rescue(&mut self, buffer: &mut [u8], error: io::Error) -> io::Result<usize> {
        let RescueReader { reader, rescue, offset } = self;
        // A medium has an end behind the bad range. Other inputs (memory of a process, a pipe) have none.
        let end = reader.seek(SeekFrom::End(0)).unwrap_or(0);
        if end <= *offset {
            return Err(abandoned(Gap { offset: *offset, len: 0 }, error).into());
        }
        let most = buffer.len().min(usize::try_from(end - *offset).unwrap_or(usize::MAX));
        let len = rescue.fill(&mut buffer[..most], *offset, |piece, at| {
            reader.seek(SeekFrom::Start(at))?;
            fill_by(piece, |rest, _| reader.read(rest))
        })?;
        *offset += len as u64;
        reader.seek(SeekFrom::Start(*offset))?;
        Ok(len)
    }
}

impl<R: Read + Seek> Read for RescueReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buffer) {
            Err(error) if os::is_media_error(&error) => self.rescue(buffer, error),
            read => {
                let len = read?;
                self.offset += len as u64;
                Ok(len)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of places may have one")]
mod tests {
    use super::*;
    use crate::function::Output;
    use std::ops::Range;

    /// Bytes on a medium with bad sectors: a read returns the bytes before one, or the error.
    struct Disk {
        bytes: Vec<u8>,
        bad: Vec<Range<u64>>,
        position: u64,
        reads: u64,
    }

    impl Disk {
        fn new(len: usize, bad: &[Range<u64>]) -> Disk {
            let bytes = (0..len).map(|at| (at % 251) as u8 + 1).collect();
            Disk { bytes, bad: bad.to_vec(), position: 0, reads: 0 }
        }

        fn read_at(&mut self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
            self.reads += 1;
            let end = (at + buffer.len() as u64).min(self.bytes.len() as u64);
            if self.bad.iter().any(|bad| bad.start < end && at < bad.end) {
                return Err(os::bad_sector_error());
            }
            // Reads after the end find nothing.
            let found = if at < end { &self.bytes[at as usize..end as usize] } else { &[] };
            buffer[..found.len()].copy_from_slice(found);
            Ok(found.len())
        }

        /// The bytes, with zeros in the bad sectors.
        fn patched(&self) -> Vec<u8> {
            let mut bytes = self.bytes.clone();
            for bad in &self.bad {
                bytes[bad.start as usize..(bad.end as usize).min(self.bytes.len())].fill(0);
            }
            bytes
        }
    }

    impl Read for Disk {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.read_at(buffer, self.position)?;
            self.position += len as u64;
            Ok(len)
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.position = match to {
                SeekFrom::Start(at) => at,
                SeekFrom::End(_) => self.bytes.len() as u64,
                SeekFrom::Current(by) => self.position.wrapping_add_signed(by),
            };
            Ok(self.position)
        }
    }

    fn digest() -> Digest {
        Digest { output: Output::Short([0; 32]), len: 0 }
    }

    fn gaps(rescue: Rescue) -> Vec<(u64, u64)> {
        match rescue.finish(digest()) {
            Ok(_) => Vec::new(),
            Err(Error::Unreadable(unreadable)) => {
                let Unreadable { gaps, places, bytes, .. } = *unreadable;
                assert_eq!((places, bytes), (gaps.len() as u64, gaps.iter().map(|gap| gap.len).sum()));
                gaps.iter().map(|gap| (gap.offset, gap.len)).collect()
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn rescues_readable_sectors_and_lists_the_rest() {
        for (len, bad) in [
            (10_000, vec![]),
            (10_000, vec![4096..4608]),
            (10_000, vec![0..512, 9728..10_240]),
            (100_000, vec![512..1024, 1024..9216, 50_176..50_688]),
            (4096, vec![0..4096]),
        ] {
            let mut disk = Disk::new(len, &bad);
            let expected = disk.patched();
            let rescue = Rescue::new(true);
            let mut tile = vec![7; len];
            let found =
                rescue.fill(&mut tile, 0, |piece, at| disk.read_at(piece, at)).expect("it keeps going");
            assert!(found == len && tile == expected, "{bad:?}");
            let mut joined: Vec<Gap> = bad
                .iter()
                .map(|bad| Gap { offset: bad.start, len: bad.end.min(len as u64) - bad.start })
                .collect();
            join(&mut joined);
            let joined: Vec<_> = joined.iter().map(|gap| (gap.offset, gap.len)).collect();
            assert_eq!(gaps(rescue), joined);
            assert!(disk.reads <= 2 + len as u64 / BLOCK + 3 * 8 * bad.len() as u64, "{} reads", disk.reads);
        }
    }

    #[test]
    fn a_reader_continues_behind_a_bad_range_and_reports_it() {
        let bad = [4608..5120, 70_144..70_656];
        for size in [100, 4096, 65_536, 1 << 20] {
            let mut disk = Disk::new(200_000, &bad);
            let expected = disk.patched();
            let rescue = Rescue::new(true);
            let mut reader = RescueReader::new(&mut disk, &rescue);
            let (mut found, mut buffer) = (Vec::<u8>::new(), vec![0; size]);
            loop {
                let len = reader.read(&mut buffer).expect("it keeps going");
                found.extend(&buffer[..len]);
                if len == 0 {
                    break;
                }
            }
            assert!(found == expected, "{size}");
            assert_eq!(gaps(rescue), [(4608, 512), (70_144, 512)], "{size}");
        }
    }

    #[test]
    fn stops_at_the_first_bad_sector_by_default() {
        let mut disk = Disk::new(20_000, &[8192..8704, 10_240..10_752]);
        let rescue = Rescue::new(false);
        let mut all = Vec::new();
        let error = RescueReader::new(&mut disk, &rescue).read_to_end(&mut all).expect_err("a bad sector");
        let Error::Unreadable(unreadable) = Error::from(error) else { panic!("another error") };
        assert_eq!((&unreadable.gaps[..], all.len()), (&[Gap { offset: 8192, len: 512 }][..], 8192));
        assert!(unreadable.digest.is_none());
        let text = unreadable.to_string();
        assert!(text.starts_with("unreadable at offset 8192: "), "{text}");
    }

    /// A failed read of many blocks, as by a mapping or read-ahead, where every block can be read.
    #[test]
    fn failed_large_reads_are_retried_in_small_ones() {
        let disk = Disk::new(100_000, &[]);
        let rescue = Rescue::new(false);
        let mut tile = vec![0; 100_000];
        let found = rescue.fill(&mut tile, 0, |piece, at| {
            let len = piece.len();
            if len > 4096 {
                Err(os::bad_sector_error())
            } else {
                Disk { position: 0, reads: 0, ..Disk::new(100_000, &[]) }.read_at(piece, at)
            }
        });
        assert_eq!(found.expect("every block can be read"), 100_000);
        assert!(tile == disk.bytes && rescue.finish(digest()).is_ok());
    }

    #[test]
    fn other_errors_and_inputs_without_an_end_are_not_patched() {
        let rescue = Rescue::new(true);
        let denied = rescue.fill(&mut [0; 10], 0, |_, _| Err(io::ErrorKind::PermissionDenied.into()));
        assert!(matches!(denied, Err(Error::Io(_))));

        struct Endless;
        impl Read for Endless {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(os::bad_sector_error())
            }
        }
        impl Seek for Endless {
            fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
                Err(io::ErrorKind::NotSeekable.into())
            }
        }
        let error = RescueReader::new(Endless, &rescue).read(&mut [0; 10]).expect_err("no end, no rescue");
        assert!(matches!(Error::from(error), Error::Unreadable(_)));
    }

    #[test]
    fn more_places_than_are_named_are_counted() {
        let rescue = Rescue::new(true);
        for sector in (0..2 * PLACES as u64).rev() {
            rescue
                .bad(Gap { offset: 1024 * sector, len: 512 }, os::bad_sector_error())
                .expect("it keeps going");
        }
        let Err(Error::Unreadable(unreadable)) = rescue.finish(digest()) else { panic!("no gap") };
        let Unreadable { gaps, places, bytes, .. } = *unreadable;
        assert_eq!((gaps.len(), places, bytes), (PLACES, 2 * PLACES as u64, 1024 * PLACES as u64));
        assert!(gaps.is_sorted_by_key(|gap| gap.offset));
    }
}
