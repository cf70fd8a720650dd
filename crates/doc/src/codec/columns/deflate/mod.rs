//! DEFLATE: an own compressor for short columns, zlib-rs for all others. No C code.

mod huffman;
mod short;

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use short::Deflater;

/// Compression effort for a column of a known kind. Columns that turn out to be highly repetitive are deflated with the
/// level of [`Self::Messages`] instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effort {
    /// Numbers that rarely repeat for long: the higher level gains half a percent and takes a third longer.
    Numbers,
    /// Within half a percent of zlib's default level, in four fifths of the time.
    Texts,
    /// Messages of changes, which repeat whole sentences at long distances.
    Messages,
}

/// Up to this length our own compressor is faster than zlib-rs for any column.
const SHORT: usize = 1 << 12;

impl Effort {
    /// Up to this length our own compressor is faster than zlib-rs.
    fn short(self) -> usize {
        match self {
            Self::Numbers => short::LONGEST,
            Self::Texts | Self::Messages => SHORT,
        }
    }

    fn level(self) -> Compression {
        Compression::new(match self {
            Self::Numbers => 2,
            Self::Texts => 5,
            Self::Messages => 6,
        })
    }

    /// May the fast level lose more than one percent to zlib's default level, judged by the ratio that it reached? With
    /// a threshold of a third instead of a fifth, texts gained a quarter of a percent, and a save of the largest real
    /// file took 1.8 times as many instructions instead of 1.06.
    fn repeats(self, plain: usize, deflated: usize) -> bool {
        let times = match self {
            Self::Numbers => 2,
            Self::Texts => 5,
            Self::Messages => return false,
        };
        plain > SHORT && deflated < plain / times
    }
}

/// Reused memory: allocating and clearing it takes longer than a short column does.
#[derive(Default)]
struct Compressors {
    short: Deflater,
    long: Option<Compress>,
}

impl Compressors {
    fn long(&mut self, bytes: &[u8], effort: Effort) -> Vec<u8> {
        let compressor = self.long.get_or_insert_with(|| Compress::new(effort.level(), false));
        compressor.reset();
        let level = compressor.set_level(effort.level());
        // The fastest levels write nine bits for some bytes.
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
        let status = compressor.compress_vec(bytes, &mut out, FlushCompress::Finish);
        assert!(level.is_ok() && matches!(status, Ok(Status::StreamEnd)), "there is room for all");
        out
    }
}

thread_local! {
    static COMPRESSORS: RefCell<Compressors> = RefCell::default();
    static DECOMPRESSOR: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Compresses to raw DEFLATE.
pub(crate) fn deflate(bytes: &[u8], effort: Effort) -> Vec<u8> {
    COMPRESSORS.with_borrow_mut(|compressors| {
        let quick = match bytes.len() <= effort.short() {
            true => compressors.short.deflate(bytes),
            false => compressors.long(bytes, effort),
        };
        if !effort.repeats(bytes.len(), quick.len()) {
            return quick;
        }
        let hard = compressors.long(bytes, Effort::Messages);
        if hard.len() < quick.len() { hard } else { quick }
    })
}

/// Reason why bytes did not inflate.
#[derive(Debug, PartialEq)]
pub(crate) enum Inflate {
    Corrupt,
    TooLong,
}

/// Inflates raw DEFLATE to at most `limit` bytes. Ignores bytes after the end of the stream, as readers of this format
/// always did.
pub(crate) fn inflate(bytes: &[u8], limit: u64) -> Result<Vec<u8>, Inflate> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        decompressor.reset(false);
        inflate_with(decompressor, bytes, limit)
    })
}

fn inflate_with(decompressor: &mut Decompress, bytes: &[u8], limit: u64) -> Result<Vec<u8>, Inflate> {
    // One more byte distinguishes a stream that is too long from one that ends at the limit.
    let most = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
    // Columns of texts inflate to about three times their size.
    let mut out = Vec::with_capacity(bytes.len().saturating_mul(4).clamp(64, most.max(64)));
    loop {
        let rest = usize::try_from(decompressor.total_in()).ok().and_then(|read| bytes.get(read..));
        let rest = rest.expect("reads stay within the input");
        let status = decompressor.decompress_vec(rest, &mut out, FlushDecompress::Finish);
        if out.len() >= most {
            return Err(Inflate::TooLong);
        }
        match status {
            Ok(Status::StreamEnd) => break,
            // More output follows, and only room for it is missing.
            Ok(_) if out.len() == out.capacity() => out.reserve_exact(out.len().min(most - out.len())),
            Ok(_) | Err(_) => return Err(Inflate::Corrupt),
        }
    }
    out.shrink_to_fit();
    Ok(out)
}

/// Inflates raw DEFLATE to at most `limit` bytes and passes them to `each` in parts.
pub(crate) fn inflate_each(bytes: &[u8], limit: u64, mut each: impl FnMut(&[u8])) -> Result<(), Inflate> {
    let mut decompressor = Decompress::new(false);
    let mut piece = Vec::with_capacity(1 << 14);
    loop {
        let rest = usize::try_from(decompressor.total_in()).ok().and_then(|read| bytes.get(read..));
        let rest = rest.expect("reads stay within the input");
        piece.clear();
        let status = decompressor.decompress_vec(rest, &mut piece, FlushDecompress::None);
        if decompressor.total_out() > limit {
            return Err(Inflate::TooLong);
        }
        each(&piece);
        match status {
            Ok(Status::StreamEnd) => return Ok(()),
            Ok(_) if !piece.is_empty() => {}
            Ok(_) | Err(_) => return Err(Inflate::Corrupt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_testkit::Rng;

    const EFFORTS: [Effort; 3] = [Effort::Numbers, Effort::Texts, Effort::Messages];

    /// Incompressible bytes: no repeats, no byte rarer than others.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn deflated_bytes_inflate() {
        let repeating = b"abcde".repeat(9000);
        for bytes in [Vec::new(), b"a".to_vec(), vec![0xff; 100_000], noise(5_000), noise(1 << 17), repeating]
        {
            for effort in EFFORTS {
                let deflated = deflate(&bytes, effort);
                for limit in [bytes.len(), 2 * bytes.len() + 9] {
                    assert_eq!(inflate(&deflated, limit as u64).as_ref(), Ok(&bytes), "{effort:?}");
                }
            }
        }
    }

    #[test]
    fn inflate_errors_are_distinguished() {
        for bytes in [b"abcde".repeat(9000), noise(9000)] {
            let (len, mut deflated) = (bytes.len() as u64, deflate(&bytes, Effort::Texts));
            for limit in [0, 1, 100, len / 2, len - 1] {
                assert_eq!(inflate(&deflated, limit), Err(Inflate::TooLong), "{limit}");
            }
            for short in [0, 1, deflated.len() / 2, deflated.len() - 2, deflated.len() - 1] {
                assert_eq!(inflate(&deflated[..short], 2 * len), Err(Inflate::Corrupt), "{short}");
            }
            deflated.extend(b"bytes after the end");
            assert_eq!(inflate(&deflated, len), Ok(bytes));
        }
        assert_eq!(inflate(&[0xff; 8], 100), Err(Inflate::Corrupt));
        assert_eq!(inflate(&[], 100), Err(Inflate::Corrupt));
    }

    /// A repetitive column of `len` bytes, one of seven kinds.
    fn repetitive(kind: usize, rng: &mut Rng, len: usize) -> Vec<u8> {
        let words: Vec<Vec<u8>> = (0..1 + rng.below(60))
            .map(|_| (0..1 + rng.below(40)).map(|_| rng.below(1 << (1 + kind % 7)) as u8).collect())
            .collect();
        let noise = [0, 2, 10, 50][rng.below(4)];
        let mut out = vec![];
        let mut number = 0;
        while out.len() < len {
            number += 1;
            match kind {
                // Cyclic.
                0 => out.extend(&words[number % words.len()]),
                // Random.
                1 => out.extend(&words[rng.below(words.len())]),
                // A few letters, as in differences of counters.
                2 => out.extend([2, [1, 0x7f, 3, 0x7e][rng.below(4)]]),
                // Runs of one byte.
                3 => out.resize(out.len() + 1 + rng.below(20), rng.below(4) as u8),
                // Repeats from random distances.
                4 if out.len() > 200 => {
                    let from = out.len() - 1 - rng.below(out.len().min(20_000));
                    (0..10 + rng.below(300)).for_each(|n| out.push(out[from + n]));
                }
                // Records with a growing number.
                5 => out.extend(format!("{{\"id\":{number},\"name\":\"{}\"}}", number % 7).bytes()),
                _ => out.push(words[number % words.len()][0]),
            }
            if rng.below(1000) < noise {
                out.push(rng.below(256) as u8);
            }
        }
        out.truncate(len);
        out
    }

    #[test]
    fn long_repetitive_columns_are_as_short_as_with_zlib() {
        let mut compressors = Compressors::default();
        let mut rng = Rng::new(39);
        for round in 0..210 {
            let len = [5_000, 20_000, 32_768, 50_000, 90_000][rng.below(5)];
            let bytes = repetitive(round % 7, &mut rng, len);
            let usual = compressors.long(&bytes, Effort::Messages).len();
            for effort in EFFORTS {
                // A lower ratio says nothing about repeats. The fast level may take 1.7 times as many bytes.
                let times = if effort == Effort::Texts { 12 } else { 3 };
                if usual > len / times {
                    continue;
                }
                let our_len = deflate(&bytes, effort).len();
                let what = format!("{effort:?}, kind {}, {len} bytes: {our_len} and {usual}", round % 7);
                assert!(our_len <= usual + usual / 100, "{what}");
            }
        }
    }

    #[test]
    fn inflation_stops_at_the_limit() {
        let bomb = deflate(&vec![0; 1 << 20], Effort::Texts);
        assert!(bomb.len() < 2000);
        assert_eq!(inflate(&bomb, 1 << 20).map(|out| out.len()), Ok(1 << 20));
        assert_eq!(inflate(&bomb, (1 << 20) - 1), Err(Inflate::TooLong));
    }
}
