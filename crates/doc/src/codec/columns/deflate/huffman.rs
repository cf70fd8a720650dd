//! Huffman codes of limited length, with DEFLATE's canonical numbering.

/// Maximum number of symbols.
const MOST: usize = 288;

/// Number of bits for a code length: shifts use only these bits of a count.
const COUNT: u32 = 6;

/// Huffman code: the bits of each symbol, with the first one lowest, and their number; zero bits for unused symbols.
#[derive(Clone, Debug)]
pub(super) struct Code<const N: usize> {
    pub(super) lens: [u8; N],
    /// Code length in the low six bits, the code above them.
    bits: [u32; N],
}

impl<const N: usize> Code<N> {
    /// Optimal code for these symbol counts, with lengths up to `limit`. It has at least two symbols, because some
    /// readers refuse fewer.
    pub(super) fn from_counts(counts: &[u32; N], limit: usize) -> Self {
        let mut lens = [0; N];
        let mut leaves = [0u32; MOST];
        let mut used = 0;
        // Branch-free, because the branch would often be mispredicted.
        for (symbol, count) in (0u32..).zip(counts) {
            leaves[used] = count << 9 | symbol;
            used += usize::from(*count > 0);
        }
        if used < 2 {
            let only = if used == 1 { (leaves[0] & 0x1ff) as usize } else { 0 };
            lens[only] = 1;
            lens[usize::from(only == 0)] = 1;
            return Self::from_lens(lens);
        }
        let symbols = leaves.map(|leaf| (leaf & 0x1ff) as u16);
        let leaves = &mut leaves[..used];
        leaves.sort_unstable();
        // The rarest symbols come first and get the longest codes.
        let (mut at, counts) = (0, depths(leaves, limit));
        for (len, count) in counts.into_iter().enumerate().rev() {
            for leaf in &leaves[at..at + count as usize] {
                lens[(leaf & 0x1ff) as usize] = len as u8;
            }
            at += count as usize;
        }
        Self::numbered(lens, &counts, symbols[..used].iter().map(|symbol| usize::from(*symbol)))
    }

    /// The canonical code with these lengths.
    pub(super) fn from_lens(lens: [u8; N]) -> Self {
        let mut counts = [0u32; 16];
        lens.iter().for_each(|len| counts[usize::from(len & 15)] += 1);
        counts[0] = 0;
        Self::numbered(lens, &counts, 0..N)
    }

    /// As [`Self::from_lens`], with known numbers of symbols per length and a list of the used symbols. `symbols` may
    /// contain unused ones, which get no code.
    fn numbered(lens: [u8; N], counts: &[u32; 16], symbols: impl Iterator<Item = usize>) -> Self {
        let (mut next, mut first) = ([0u16; 16], 0);
        for (next, count) in next.iter_mut().zip(counts) {
            *next = first;
            first = (first + *count as u16) << 1;
        }
        let mut bits = [0; N];
        // Unused symbols are numbered, too, with zero bits: a branch would often be mispredicted.
        for symbol in symbols {
            let len = lens[symbol] & 15;
            let code = &mut next[usize::from(len)];
            bits[symbol] = reversed(*code) >> (16 - len) << COUNT | u32::from(len);
            *code = code.wrapping_add(1);
        }
        Self { lens, bits }
    }

    /// The bits of a symbol, and their number.
    #[inline]
    pub(super) fn get(&self, symbol: usize) -> (u64, u32) {
        let bits = self.bits[symbol];
        (u64::from(bits >> COUNT), bits & ((1 << COUNT) - 1))
    }

    /// Appends the bits of some symbols to a word, and adds their number to the low six bits of `count`; the higher
    /// bits are undefined.
    #[inline]
    pub(super) fn add<const M: usize>(&self, symbols: [u8; M], word: &mut u64, count: &mut u64) {
        for symbol in symbols {
            let bits = u64::from(self.bits[usize::from(symbol)]);
            *word |= (bits >> COUNT).wrapping_shl(*count as u32);
            *count = count.wrapping_add(bits);
        }
    }

    /// Number of bits for symbols with these counts.
    pub(super) fn cost(&self, counts: &[u32; N]) -> u64 {
        counts.iter().zip(&self.lens).map(|(count, len)| u64::from(*count) * u64::from(*len)).sum()
    }
}

/// Each byte with its bits reversed.
const REVERSED: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = (byte as u8).reverse_bits();
        byte += 1;
    }
    bytes
};

#[inline]
fn reversed(code: u16) -> u32 {
    let [low, high] = code.to_le_bytes().map(|byte| u32::from(REVERSED[usize::from(byte)]));
    low << 8 | high
}

/// Number of symbols per length. `leaves` ascend by count, which is above nine other bits.
fn depths(leaves: &[u32], limit: usize) -> [u32; 16] {
    let used = leaves.len();
    // Inner nodes in order of creation, which is ascending by count; then the parent of each.
    let mut nodes = [0u32; MOST];
    let (mut leaf, mut inner) = (0, 0);
    for node in 0..used - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let count = leaves.get(leaf).map_or(u32::MAX, |leaf| leaf >> 9);
            if inner < node && nodes[inner] < count {
                sum += std::mem::replace(&mut nodes[inner], node as u32);
                inner += 1;
            } else {
                sum += count;
                leaf += 1;
            }
        }
        nodes[node] = sum;
    }
    // From parents to depths, from the root down; every other node of a depth is a leaf.
    let mut counts = [0u32; 16];
    let root = used - 2;
    nodes[root] = 0;
    let (mut at, mut depth, mut open) = (root + 1, 0, 1);
    for node in (0..root).rev() {
        nodes[node] = nodes[nodes[node] as usize] + 1;
    }
    while open > 0 {
        let inner = nodes[..at].iter().rev().take_while(|node| **node == depth).count();
        at -= inner;
        counts[(depth as usize).min(limit)] += (open - inner) as u32;
        (open, depth) = (2 * inner, depth + 1);
    }
    shorten(&mut counts, limit);
    counts
}

/// Restores a valid code after depths were cut off at `limit`.
fn shorten(counts: &mut [u32; 16], limit: usize) {
    let mut taken: u64 = (1..=limit).map(|len| u64::from(counts[len]) << (limit - len)).sum();
    while taken > 1 << limit {
        // A symbol at the limit becomes the sibling of one that moves down a level.
        let len =
            (1..limit).rev().find(|len| counts[*len] > 0).expect("a code of the limit's length holds all");
        counts[len] -= 1;
        counts[len + 1] += 2;
        counts[limit] -= 1;
        taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kraft sum in units of the longest code.
    fn sum(lens: &[u8]) -> u32 {
        lens.iter().filter(|len| **len > 0).map(|len| 1 << (15 - len)).sum()
    }

    #[test]
    fn codes_are_complete_and_short() {
        let mut counts = [0; 6];
        counts.copy_from_slice(&[45, 13, 12, 16, 9, 5]);
        let code = Code::from_counts(&counts, 15);
        assert_eq!(code.lens, [1, 3, 3, 3, 4, 4]);
        assert_eq!(code.cost(&counts), 224);
        // Canonical codes are 0, 100, 101, 110, 1110 and 1111, written from their first bit.
        assert_eq!((0..6).map(|symbol| code.get(symbol).0).collect::<Vec<_>>(), [0, 1, 5, 3, 7, 15]);
    }

    #[test]
    fn codes_stay_below_the_limit() {
        // Fibonacci counts make the deepest tree.
        let mut counts = [0; 30];
        let (mut a, mut b) = (1, 1);
        for count in &mut counts {
            *count = a;
            (a, b) = (b, (a + b).min(1 << 20));
        }
        for limit in [5, 7, 15] {
            let code = Code::from_counts(&counts, limit);
            assert!(code.lens.iter().all(|len| (1..=limit).contains(&usize::from(*len))), "{limit}");
            assert_eq!(sum(&code.lens), 1 << 15, "{limit}");
            assert!(code.lens.windows(2).all(|pair| pair[0] >= pair[1]), "{limit}");
        }
    }

    #[test]
    fn few_symbols_still_make_a_code() {
        for only in 0..3 {
            let mut counts = [0; 3];
            counts[only] = 7;
            let code = Code::from_counts(&counts, 7);
            assert_eq!((code.lens[only], sum(&code.lens)), (1, 1 << 15));
        }
        assert_eq!(sum(&Code::from_counts(&[0; 3], 7).lens), 1 << 15);
    }
}
