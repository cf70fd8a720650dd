//! Tile sizes and counts for files on a device: candidates for tuning, and their text form. No device calls
//! here.

use crate::{Info, TuningError};
use std::fmt;
use std::str::FromStr;

/// Length of file tiles, and the number in flight: arguments of [`Device::subtrees`](crate::Device::subtrees). They
/// change no digest.
///
/// [`Display`](fmt::Display) and [`FromStr`] use one line of text, to be stored under [`Info::model`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tiles {
    /// Bytes of the longest tile: a power of two.
    pub bytes: usize,
    /// The most tiles in flight.
    pub count: usize,
}

impl Tiles {
    /// Bounds of the two values.
    const BYTES: [usize; 2] = [1 << 20, 64 << 20];
    const MAX_COUNT: usize = 64;

    /// The default without a measurement. Longer tiles do not hide more of the launch time, and more tiles do not
    /// increase bus throughput.
    pub fn guess(device: &Info) -> Tiles {
        Tiles { bytes: 8 << 20, count: 8 }.fitting(device)
    }

    /// Candidates for `threads` copying threads: the default first, then values that differ from it in one
    /// respect.
    pub fn all(device: &Info, threads: usize) -> Vec<Tiles> {
        let guess = Tiles::guess(device);
        let guess = Tiles { count: guess.count.min(threads.max(1)), ..guess };
        let shorter = [4 << 20, 2 << 20, 1 << 20].map(|bytes| Tiles { bytes, ..guess });
        let counts = [guess.count / 2, guess.count * 2].map(|count| Tiles { count: count.max(1), ..guess });
        let mut all = vec![guess];
        for tiles in shorter.into_iter().chain(counts).map(|tiles| tiles.fitting(device)) {
            // Each thread has one tile in flight.
            if tiles.count <= threads.max(1) && !all.contains(&tiles) {
                all.push(tiles);
            }
        }
        all
    }

    /// Shortened to what the device can bind.
    #[must_use]
    pub fn fitting(self, device: &Info) -> Tiles {
        let most = usize::try_from(device.binding).unwrap_or(usize::MAX).max(Tiles::BYTES[0]);
        Tiles { bytes: self.bytes.min(1 << most.ilog2()), ..self }
    }
}

impl fmt::Display for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tiles { bytes, count } = self;
        write!(f, "bytes={bytes} count={count}")
    }
}

impl FromStr for Tiles {
    type Err = TuningError;

    /// Parses the output of [`Display`](fmt::Display), within bounds.
    fn from_str(line: &str) -> Result<Tiles, TuningError> {
        let wrong = || TuningError::new(format!("these are no tiles: {line:?}"));
        let mut words = line.split_ascii_whitespace();
        let mut number = |name: &str| -> Option<usize> {
            words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse().ok()
        };
        let (bytes, count) = number("bytes").zip(number("count")).ok_or_else(wrong)?;
        let [least, most] = Tiles::BYTES;
        let fits = bytes.is_power_of_two()
            && (least..=most).contains(&bytes)
            && (1..=Tiles::MAX_COUNT).contains(&count);
        if fits && words.next().is_none() { Ok(Tiles { bytes, count }) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn device(binding: u64) -> Info {
        Info {
            name: String::new(),
            id: None,
            bus: None,
            kind: Kind::Discrete,
            interface: "",
            driver: String::new(),
            memory: None,
            binding,
            buffer: binding,
            subgroup: 0,
            lacks: None,
        }
    }

    #[test]
    fn only_printed_tiles_are_parsed() {
        for tiles in Tiles::all(&device(1 << 30), 16) {
            assert_eq!(tiles.to_string().parse(), Ok(tiles));
        }
        for line in
            ["", "bytes=8388608", "bytes=8388607 count=8", "bytes=524288 count=8", "bytes=134217728 count=8"]
        {
            assert!(line.parse::<Tiles>().is_err(), "{line}");
        }
        for line in [
            "bytes=8388608 count=0",
            "bytes=8388608 count=65",
            "count=8 bytes=8388608",
            "bytes=8388608 count=8 x",
        ] {
            assert!(line.parse::<Tiles>().is_err(), "{line}");
        }
    }

    #[test]
    fn candidates_fit_device_and_threads() {
        let all = |binding, threads| -> Vec<(usize, usize)> {
            Tiles::all(&device(binding), threads)
                .iter()
                .map(|tiles| (tiles.bytes >> 20, tiles.count))
                .collect()
        };
        assert_eq!(all(1 << 30, 16), [(8, 8), (4, 8), (2, 8), (1, 8), (8, 4), (8, 16)]);
        assert_eq!(all(1 << 30, 2), [(8, 2), (4, 2), (2, 2), (1, 2), (8, 1)]);
        assert_eq!(all((3 << 20) + 5, 1), [(2, 1), (1, 1)]);
        assert_eq!(all(0, 0), [(1, 1)]);
    }
}
