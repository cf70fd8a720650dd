//! Bloom filter of change hashes: with ten bits per entry, about one in a hundred absent changes is reported as
//! present.

use crate::codec::bytes::leb::{len_u64, put_u64};
use crate::codec::bytes::reader::Reader;
use crate::types::ChangeHash;
use crate::types::error::Rule;
use crate::types::small_list::Aligned;

/// The value that all implementations write.
const BITS_PER_ENTRY: u32 = 10;
const PROBES: u32 = 7;
/// Upper bound of the optimal number of probes for any number of bits per entry.
const MOST_PROBES: u32 = 32;
/// Bits up to this length are stored inline.
const INLINE: usize = 16;
/// Maximum length of the bits of a filter: that of 2^26 changes.
pub(crate) const MOST_BYTES: usize = (1 << 26) / 8 * BITS_PER_ENTRY as usize;

/// Tells of a change that a peer certainly lacks it or probably has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BloomFilter {
    /// Number of inserted changes. An empty filter has no other fields.
    entries: u32,
    bits_per_entry: u32,
    probes: u32,
    bits: Bits,
}

/// The bits, eight per byte; unused bytes are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bits {
    /// As many bytes as the filter's entries need.
    Few(Aligned<[u8; INLINE]>),
    Many(Vec<u8>),
}

impl Default for Bits {
    fn default() -> Self {
        Self::Few(Aligned([0; INLINE]))
    }
}

impl BloomFilter {
    /// A filter that contains these changes.
    pub fn from_hashes(hashes: impl ExactSizeIterator<Item = ChangeHash>) -> Self {
        let mut filter = Self::with_room(hashes.len());
        hashes.for_each(|hash| filter.insert(&hash));
        filter
    }

    /// An empty filter for this number of changes.
    pub(crate) fn with_room(entries: usize) -> Self {
        let Some(entries) = u32::try_from(entries).ok().filter(|entries| *entries > 0) else {
            return Self::default();
        };
        let bits = match bytes_for(entries, BITS_PER_ENTRY) {
            ..=INLINE => Bits::default(),
            bytes => Bits::Many(vec![0; bytes]),
        };
        Self { entries, bits_per_entry: BITS_PER_ENTRY, probes: PROBES, bits }
    }

    /// Length of the bits in bytes.
    pub(crate) fn len(&self) -> usize {
        match &self.bits {
            Bits::Few(_) => bytes_for(self.entries, self.bits_per_entry),
            Bits::Many(bits) => bits.len(),
        }
    }

    fn bits(&self) -> &[u8] {
        match &self.bits {
            Bits::Few(Aligned(bits)) => &bits[..self.len()],
            Bits::Many(bits) => bits,
        }
    }

    pub(crate) fn insert(&mut self, hash: &ChangeHash) {
        let places = self.places(hash);
        let bits = match &mut self.bits {
            Bits::Few(Aligned(bits)) => &mut bits[..],
            Bits::Many(bits) => bits,
        };
        for bit in places {
            bits[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Does the filter probably contain a change?
    pub fn contains_hash(&self, hash: &ChangeHash) -> bool {
        let bits = self.bits();
        self.entries > 0 && self.places(hash).all(|bit| bits[bit / 8] & 1 << (bit % 8) > 0)
    }

    /// Bit positions of a change. The filter must not be empty.
    fn places(&self, hash: &ChangeHash) -> impl Iterator<Item = usize> + use<> {
        let bits = 8 * self.len() as u32;
        let [mut x, mut y, z] = [0, 4, 8].map(|at| {
            let word = hash.0[at..].first_chunk().expect("a hash has eight words");
            u32::from_le_bytes(*word) % bits
        });
        // Below 2^31, so that sums do not overflow.
        let add = move |a: u32, b: u32| if a + b < bits { a + b } else { a + b - bits };
        (0..self.probes).map(move |_| {
            let probe = x;
            x = add(x, y);
            y = add(y, z);
            probe as usize
        })
    }

    /// The encoded filter; no bytes for an empty one.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        self.put(&mut out);
        out
    }

    /// Appends the filter with a length prefix.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let numbers = self.numbers().map(|number| number.into_iter().map(len_u64).sum::<usize>());
        put_u64(out, numbers.map_or(0, |bytes| bytes + self.len()) as u64);
        self.put(out);
    }

    fn put(&self, out: &mut Vec<u8>) {
        if let Some(numbers) = self.numbers() {
            numbers.into_iter().for_each(|number| put_u64(out, number));
            out.extend_from_slice(self.bits());
        }
    }

    /// Fields before the bits, unless the filter is empty.
    fn numbers(&self) -> Option<[u64; 3]> {
        (self.entries > 0).then(|| [self.entries, self.bits_per_entry, self.probes].map(u64::from))
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Rule> {
        let mut reader = Reader::new(bytes);
        if reader.is_empty() {
            return Ok(Self::default());
        }
        let [entries, bits_per_entry, probes] = [reader.u32()?, reader.u32()?, reader.u32()?];
        let bits = reader.rest();
        let sound = (1..=MOST_PROBES).contains(&probes)
            && bits_per_entry > 0
            && bits.len() <= MOST_BYTES
            && bits.len() == bytes_for(entries, bits_per_entry);
        if !sound {
            return Err(Rule::BloomFilter);
        }
        let bits = match bits.len() {
            len @ ..=INLINE => {
                let mut few = [0; INLINE];
                few[..len].copy_from_slice(bits);
                Bits::Few(Aligned(few))
            }
            _ => Bits::Many(bits.to_vec()),
        };
        Ok(Self { entries, bits_per_entry, probes, bits })
    }
}

impl TryFrom<&[u8]> for BloomFilter {
    type Error = Rule;

    /// Decodes the bytes of [`Self::to_bytes`].
    fn try_from(bytes: &[u8]) -> Result<Self, Rule> {
        Self::read(bytes)
    }
}

/// Length in bytes of the bits of a filter.
fn bytes_for(entries: u32, bits_per_entry: u32) -> usize {
    usize::try_from((u64::from(entries) * u64::from(bits_per_entry)).div_ceil(8)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u32) -> ChangeHash {
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (number.wrapping_mul(0x9e37_79b9).rotate_left(at as u32) >> 7) as u8;
        }
        ChangeHash(bytes)
    }

    #[test]
    fn contains_inserted_changes_and_few_others() {
        let filter = BloomFilter::from_hashes((0..1000).map(hash));
        assert!((0..1000).all(|number| filter.contains_hash(&hash(number))));
        let wrong = (1000..11_000).filter(|number| filter.contains_hash(&hash(*number))).count();
        assert!(wrong < 300, "{wrong} of 10,000");
        assert!(!BloomFilter::default().contains_hash(&hash(1)));
    }

    #[test]
    fn filter_round_trips_and_invalid_bytes_are_refused() {
        for entries in [0, 1, 3, 100] {
            let filter = BloomFilter::from_hashes((0..entries).map(hash));
            assert_eq!(BloomFilter::try_from(&filter.to_bytes()[..]), Ok(filter));
        }
        // One more and one less byte, no probes, too many, no bits, and truncated numbers.
        let wrong: [&[u8]; 7] = [
            &[1, 10, 7, 1, 2, 3],
            &[1, 10, 7, 1],
            &[1, 10, 0, 1, 2],
            &[1, 10, 33, 1, 2],
            &[1, 0, 7],
            &[1, 10],
            &[0, 10, 7, 1],
        ];
        wrong.iter().for_each(|bytes| assert!(BloomFilter::read(bytes).is_err(), "{bytes:?}"));
        let endless = [0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f, 7, 1, 2, 3];
        assert_eq!(BloomFilter::read(&endless), Err(Rule::BloomFilter));
    }
}
