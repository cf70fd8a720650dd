//! What a failing medium still gives. A stretch that could not be read, or mapped, in one go is read again in the smallest
//! pieces; what fails then is bad, and known by its place.
//!
//! ```text
//! for each block of 4 KiB:    read it               most of the stretch is there: a medium fails in one place of many
//!     if that fails:          its sectors of 512 bytes, one by one
//!         if that fails:      keep going?  zeros, and the place is remembered;  else the file is given up
//! ```
//! The paths that read fast know nothing of this: they come here with the stretch that failed.

use crate::error::Error;
use crate::function::Digest;
use crate::os::{self, fill_by};
use crate::pool::lock;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Mutex;

/// What file systems and page caches read at once.
const BLOCK: u64 = 4096;

/// The smallest piece that media have.
const SECTOR: u64 = 512;

/// So many places are remembered one by one; of further ones, how many and how long.
const PLACES: usize = 4096;

/// A place is the continuation of one of the last so many: threads report theirs by turns.
const RECENT: usize = 64;

/// A stretch of a file that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub len: u64,
}

/// What is known of a file that could not be read everywhere.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unreadable {
    /// Where it could not be read, in order: the first place, or with [`Options::keep_going`](crate::Options::keep_going)
    /// all, and of more than four thousand those that were met first.
    pub gaps: Vec<Gap>,
    /// How many places there are.
    pub places: u64,
    /// How many bytes could not be read.
    pub bytes: u64,
    /// What the system said the first time.
    pub error: io::Error,
    /// With [`Options::keep_going`](crate::Options::keep_going): the digest of the file with zeros in these places. It is
    /// not the digest of the file, not even where it is equal to that.
    pub digest: Option<Digest>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.gaps.first() else { return self.error.fmt(f) };
        match (&self.digest, self.places) {
            (None, _) => write!(f, "unreadable at offset {}: {}", first.offset, self.error),
            (Some(_), 1) => {
                write!(f, "{} bytes unreadable at offset {}: {}", first.len, first.offset, self.error)
            }
            (Some(_), places) => write!(
                f,
                "{} bytes unreadable in {places} places, the first at offset {}: {}",
                self.bytes, first.offset, self.error
            ),
        }
    }
}

/// The rescue of one file.
pub(crate) struct Rescue {
    keep_going: bool,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    gaps: Vec<Gap>,
    places: u64,
    bytes: u64,
    error: Option<io::Error>,
}

impl Rescue {
    pub(crate) fn new(keep_going: bool) -> Rescue {
        Rescue { keep_going, found: Mutex::default() }
    }

    /// Fills `tile` from `offset` on, as far as the file goes: with what `read` gives of small pieces, and zeros elsewhere.
    /// Bad places count to their end, so a tile must not go beyond that of the file.
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
                Err(error) if os::is_of_place(&error) => self.sectors(block, at, &mut read)?,
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
                Err(error) if os::is_of_place(&error) => {
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
            return Err(given_up(gap, error));
        }
        lock(&self.found).take(gap, error);
        Ok(())
    }

    /// The digest, unless it is that of a file with zeros in it that nobody has read.
    pub(crate) fn finish(self, digest: Digest) -> Result<Digest, Error> {
        let found = self.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Found { mut gaps, places, bytes, error } = found;
        let Some(error) = error else { return Ok(digest) };
        let named = gaps.len();
        join(&mut gaps);
        let places = places - (named - gaps.len()) as u64;
        Err(Error::Unreadable(Box::new(Unreadable { gaps, places, bytes, error, digest: Some(digest) })))
    }
}

impl Found {
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

/// Puts places in order, and those together of which one begins where another ends.
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

/// What comes of a file that is given up at its first bad place.
fn given_up(gap: Gap, error: io::Error) -> Error {
    let bytes = gap.len;
    Error::Unreadable(Box::new(Unreadable { gaps: vec![gap], places: 1, bytes, error, digest: None }))
}

/// As much of `tile` as lies before the next multiple of `size`; `at` is where it begins.
fn piece(tile: &mut [u8], at: u64, size: u64) -> &mut [u8] {
    let len = tile.len().min((size - at % size) as usize);
    &mut tile[..len]
}

/// A file that is read in order, over what cannot be read. Of what cannot be read out of order, the place is told.
pub(crate) struct Careful<'a, R> {
    reader: R,
    rescue: &'a Rescue,
    offset: u64,
}

impl<'a, R: Read + Seek> Careful<'a, R> {
    /// Goes on where the file is.
    pub(crate) fn new(mut reader: R, rescue: &'a Rescue) -> Careful<'a, R> {
        // A pipe cannot say where it is, and is not read again: then this counts what has come.
        let offset = reader.stream_position().unwrap_or(0);
        Careful { reader, rescue, offset }
    }

    fn rescue(&mut self, buffer: &mut [u8], error: io::Error) -> io::Result<usize> {
        let Careful { reader, rescue, offset } = self;
        // A medium has an end behind the bad place. What else there is to read (memory of a process, a pipe) has none.
        let end = reader.seek(SeekFrom::End(0)).unwrap_or(0);
        if end <= *offset {
            return Err(given_up(Gap { offset: *offset, len: 0 }, error).into());
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

impl<R: Read + Seek> Read for Careful<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buffer) {
            Err(error) if os::is_of_place(&error) => self.rescue(buffer, error),
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

    /// Bytes on a medium with bad sectors: a read that meets one gives what is before it, or the error.
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
                return Err(os::bad_place());
            }
            let found = self.bytes.get(at as usize..end as usize).unwrap_or_default();
            buffer[..found.len()].copy_from_slice(found);
            Ok(found.len())
        }

        /// What is there, with zeros in the bad sectors.
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
    fn all_that_can_be_read_is_and_the_rest_is_known_to_the_sector() {
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
    fn a_reader_goes_on_behind_a_bad_place_and_tells_it() {
        let bad = [4608..5120, 70_144..70_656];
        for size in [100, 4096, 65_536, 1 << 20] {
            let mut disk = Disk::new(200_000, &bad);
            let expected = disk.patched();
            let rescue = Rescue::new(true);
            let mut reader = Careful::new(&mut disk, &rescue);
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
    fn without_a_word_to_go_on_the_first_bad_place_ends_it() {
        let mut disk = Disk::new(20_000, &[8192..8704, 10_240..10_752]);
        let rescue = Rescue::new(false);
        let mut all = Vec::new();
        let error = Careful::new(&mut disk, &rescue).read_to_end(&mut all).expect_err("a bad sector");
        let Error::Unreadable(unreadable) = Error::from(error) else { panic!("another error") };
        assert_eq!((&unreadable.gaps[..], all.len()), (&[Gap { offset: 8192, len: 512 }][..], 8192));
        assert!(unreadable.digest.is_none());
        let text = unreadable.to_string();
        assert!(text.starts_with("unreadable at offset 8192: "), "{text}");
    }

    /// A read of many blocks that failed, as of a mapping or a read ahead, while every block can be read.
    #[test]
    fn what_fails_in_large_reads_alone_is_not_bad() {
        let disk = Disk::new(100_000, &[]);
        let rescue = Rescue::new(false);
        let mut tile = vec![0; 100_000];
        let found = rescue.fill(&mut tile, 0, |piece, at| {
            let len = piece.len();
            if len > 4096 {
                Err(os::bad_place())
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
                Err(os::bad_place())
            }
        }
        impl Seek for Endless {
            fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
                Err(io::ErrorKind::NotSeekable.into())
            }
        }
        let error = Careful::new(Endless, &rescue).read(&mut [0; 10]).expect_err("no end, no rescue");
        assert!(matches!(Error::from(error), Error::Unreadable(_)));
    }

    #[test]
    fn more_places_than_are_named_are_counted() {
        let rescue = Rescue::new(true);
        for place in (0..2 * PLACES as u64).rev() {
            rescue.bad(Gap { offset: 1024 * place, len: 512 }, os::bad_place()).expect("it keeps going");
        }
        let Err(Error::Unreadable(unreadable)) = rescue.finish(digest()) else { panic!("no gap") };
        let Unreadable { gaps, places, bytes, .. } = *unreadable;
        assert_eq!((gaps.len(), places, bytes), (PLACES, 2 * PLACES as u64, 1024 * PLACES as u64));
        assert!(gaps.is_sorted_by_key(|gap| gap.offset));
    }
}
