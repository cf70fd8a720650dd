//! DEFLATE compressor for short columns. A general compressor clears tables of a hundred kilobytes before it reads the
//! first byte; this one has tables as short as its input, and skips repeats without visiting each byte.

use super::huffman::Code;

/// Longer inputs are left to a general compressor. Positions must fit in 16 bits.
pub(super) const LONGEST: usize = 1 << 15;

/// Minimum length of a repeat.
const SHORTEST: usize = 4;

/// Maximum length of a repeat in DEFLATE.
const MAX_LEN: usize = 258;

/// Number of candidates compared for a repeat.
const TRIES: usize = 5;

/// A repeat of this length is accepted without further search.
const NICE: usize = 32;

/// Inside a repeat longer than this, positions in the middle are not indexed: later repeats of it are found by its
/// start.
const NOTED: usize = 24;

/// Number of symbols for literals and lengths, and for distances.
const LITLENS: usize = 288;
const DISTS: usize = 32;

/// Maximum code length: one below DEFLATE's, so that four codes fit in a word.
const DEEPEST: usize = 14;

/// End-of-block symbol.
const END: usize = 256;

/// Order of the code lengths of the code-length code in a block header.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// After this many bytes without a repeat, some positions are skipped.
const PATIENCE: usize = 64;

/// Memory reused from column to column.
#[derive(Debug, Default)]
pub(super) struct Deflater {
    /// Last position with each hash, plus one.
    heads: Vec<u16>,
    /// For each position the previous one with the same hash, plus one.
    before: Vec<u16>,
    steps: Vec<Step>,
}

/// Literals followed by a repeat; the last step has no repeat.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    literals: u16,
    len: u16,
    dist: u16,
}

impl Deflater {
    /// Deflates at most [`LONGEST`] bytes.
    pub(super) fn deflate(&mut self, bytes: &[u8]) -> Vec<u8> {
        debug_assert!(bytes.len() <= LONGEST);
        self.find(bytes);
        let counts = Counts::from_steps(bytes, &self.steps);
        let codes = Codes::from_counts(&counts);
        let custom_bits = counts.bits(&codes);
        let (bits, codes) = if custom_bits < counts.fixed() {
            (custom_bits, codes)
        } else {
            (counts.fixed(), Codes::fixed())
        };
        if bits / 8 > bytes.len() as u64 + 4 {
            return store(bytes);
        }
        codes.write(bytes, &self.steps, bits)
    }

    /// Divides the bytes into steps.
    fn find(&mut self, bytes: &[u8]) {
        let hash_bits = (bytes.len().max(2).ilog2() + 1).clamp(8, 14);
        self.heads.clear();
        self.heads.resize(1 << hash_bits, 0);
        self.before.clear();
        self.before.resize(bytes.len(), 0);
        self.steps.clear();
        let mut finder = Finder {
            bytes,
            shift: 32 - hash_bits,
            heads: &mut self.heads,
            before: &mut self.before,
            last: 0,
        };
        // Positions from here on are too close to the end for a repeat.
        let end = (bytes.len() + 1).saturating_sub(SHORTEST);
        let (mut at, mut done) = (0, 0);
        while at < end {
            let mut found = finder.longest(at);
            if found.len < SHORTEST {
                at += 1 + (at - done) / PATIENCE;
                continue;
            }
            let mut noted = at + 1;
            while found.len < NICE && noted < end {
                let next = finder.longest(noted);
                noted += 1;
                if next.score() <= found.score() + 2 {
                    break;
                }
                (at, found) = (at + 1, next);
            }
            finder.pass(noted, (at + found.len).min(end));
            finder.last = found.dist;
            let literals = (at - done) as u16;
            self.steps.push(Step { literals, len: found.len as u16, dist: found.dist as u16 });
            at += found.len;
            done = at;
        }
        self.steps.push(Step { literals: (bytes.len() - done) as u16, len: 0, dist: 0 });
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Repeat {
    len: usize,
    dist: usize,
}

impl Repeat {
    /// In quarters of a byte: the saving minus the cost of the distance.
    #[inline]
    fn score(self) -> u32 {
        (4 * self.len as u32 + 16).saturating_sub(self.dist.max(1).ilog2())
    }
}

struct Finder<'a> {
    bytes: &'a [u8],
    shift: u32,
    heads: &'a mut [u16],
    before: &'a mut [u16],
    /// Distance of the last repeat; 0 if there was none.
    last: usize,
}

impl Finder<'_> {
    #[inline]
    fn word(&self, at: usize) -> u32 {
        self.bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
    }

    /// Indexes a position; returns the previous one with the same hash, plus one.
    #[inline]
    fn note(&mut self, at: usize, word: u32) -> usize {
        let slot = (word.wrapping_mul(0x9e37_79b1) >> self.shift) as usize;
        let before = std::mem::replace(&mut self.heads[slot], (at + 1) as u16);
        self.before[at] = before;
        before.into()
    }

    /// Indexes `at` and returns the longest repeat there.
    #[inline]
    fn longest(&mut self, at: usize) -> Repeat {
        let word = self.word(at);
        let candidate = self.note(at, word);
        let again = self.last > 0 && self.word(at - self.last) == word;
        if candidate == 0 && !again { Repeat::default() } else { self.compare(at, word, candidate, again) }
    }

    /// The longest repeat among the candidates from `place` backwards. With `again`, the distance of the last repeat is
    /// tried first.
    fn compare(&self, at: usize, word: u32, mut candidate: usize, again: bool) -> Repeat {
        let most = (self.bytes.len() - at).min(MAX_LEN);
        let mut best = Repeat::default();
        if again {
            best = Repeat { len: self.same(at - self.last, at, most), dist: self.last };
        }
        for _ in 0..TRIES {
            if candidate == 0 || best.len >= most.min(NICE) {
                break;
            }
            let from = candidate - 1;
            // Only a candidate that matches at the end of the best one can be longer.
            if self.word(from) == word && self.bytes[from + best.len] == self.bytes[at + best.len] {
                let len = self.same(from, at, most);
                if len > best.len {
                    best = Repeat { len, dist: at - from };
                }
            }
            candidate = usize::from(self.before[from]);
        }
        best
    }

    /// Length of the common prefix of the bytes from `from` and from `at`, at most `most`.
    #[inline]
    fn same(&self, from: usize, at: usize, most: usize) -> usize {
        let (old, new) = (&self.bytes[from..from + most], &self.bytes[at..at + most]);
        let (old_words, new_words) = (old.as_chunks::<8>().0, new.as_chunks::<8>().0);
        let mut len = 0;
        for (old, new) in old_words.iter().zip(new_words) {
            let differ = u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new);
            if differ != 0 {
                return len + (differ.trailing_zeros() / 8) as usize;
            }
            len += 8;
        }
        len + old[len..].iter().zip(&new[len..]).take_while(|(old, new)| old == new).count()
    }

    /// Indexes the positions of a repeat, except the middle of a long one.
    #[inline]
    fn pass(&mut self, from: usize, to: usize) {
        let start = if to > from + NOTED { to - NOTED / 2 } else { from };
        for at in start..to {
            self.note(at, self.word(at));
        }
    }
}

/// Symbol of a length, its number of extra bits, and their base.
#[inline]
fn len_symbol(len: usize) -> (usize, u32, usize) {
    match len {
        ..=10 => (len + 254, 0, len),
        MAX_LEN => (285, 0, MAX_LEN),
        _ => {
            let extra = (len - 3).ilog2() - 2;
            let step = (len - 3) >> extra;
            (257 + 4 * extra as usize + step, extra, (step << extra) + 3)
        }
    }
}

/// As [`len_symbol`], for a distance.
#[inline]
fn dist_symbol(dist: usize) -> (usize, u32, usize) {
    match dist {
        ..=4 => (dist - 1, 0, dist),
        _ => {
            let extra = (dist - 1).ilog2() - 1;
            let step = (dist - 1) >> extra;
            (2 * extra as usize + step, extra, (step << extra) + 1)
        }
    }
}

/// Symbol frequencies.
struct Counts {
    litlens: [u32; LITLENS],
    dists: [u32; DISTS],
    /// Number of extra bits after symbols.
    extra: u64,
}

impl Counts {
    fn from_steps(bytes: &[u8], steps: &[Step]) -> Self {
        let mut counts = Self { litlens: [0; LITLENS], dists: [0; DISTS], extra: 0 };
        // Two counters for alternating literals: increments of the same counter would wait for each other.
        let mut seconds = [0; 256];
        let mut at = 0;
        for step in steps {
            let literals = &bytes[at..at + usize::from(step.literals)];
            let (pairs, rest) = literals.as_chunks();
            for &[first, second] in pairs {
                counts.litlens[usize::from(first)] += 1;
                seconds[usize::from(second)] += 1;
            }
            rest.iter().for_each(|byte| counts.litlens[usize::from(*byte)] += 1);
            at += literals.len() + usize::from(step.len);
            if step.len > 0 {
                let (len, dist) = (len_symbol(step.len.into()), dist_symbol(step.dist.into()));
                counts.litlens[len.0] += 1;
                counts.dists[dist.0] += 1;
                counts.extra += u64::from(len.1 + dist.1);
            }
        }
        counts.litlens.iter_mut().zip(seconds).for_each(|(count, seconds)| *count += seconds);
        counts.litlens[END] += 1;
        counts
    }

    /// Length of the block in bits.
    fn bits(&self, codes: &Codes) -> u64 {
        let header = codes.header.as_ref().map_or(0, Header::bits);
        3 + header + self.extra + codes.litlen.cost(&self.litlens) + codes.dist.cost(&self.dists)
    }

    /// Length of the block with [`Codes::fixed`].
    fn fixed(&self) -> u64 {
        let sum = |counts: &[u32]| u64::from(counts.iter().sum::<u32>());
        let (low, high, lens) = (&self.litlens[..144], &self.litlens[144..256], &self.litlens[256..280]);
        3 + self.extra
            + 8 * sum(low)
            + 9 * sum(high)
            + 7 * sum(lens)
            + 8 * sum(&self.litlens[280..])
            + 5 * sum(&self.dists)
    }
}

/// Codes of the only block.
struct Codes {
    litlen: Code<LITLENS>,
    dist: Code<DISTS>,
    header: Option<Header>,
}

impl Codes {
    /// Optimal codes for the block.
    fn from_counts(counts: &Counts) -> Self {
        let (litlen, dist) =
            (Code::from_counts(&counts.litlens, DEEPEST), Code::from_counts(&counts.dists, DEEPEST));
        let header = Some(Header::from_lengths(&litlen.lens, &dist.lens));
        Self { litlen, dist, header }
    }

    /// DEFLATE's fixed codes, which need no header.
    fn fixed() -> Self {
        let mut lens = [8; LITLENS];
        lens[144..256].fill(9);
        lens[256..280].fill(7);
        Self { litlen: Code::from_lens(lens), dist: Code::from_lens([5; DISTS]), header: None }
    }

    fn write(&self, bytes: &[u8], steps: &[Step], bits: u64) -> Vec<u8> {
        let mut bits = Bits::new(bits);
        bits.put(1, 1);
        bits.put(if self.header.is_some() { 2 } else { 1 }, 2);
        if let Some(header) = &self.header {
            header.write(&mut bits);
        }
        let mut at = 0;
        for step in steps {
            let literals = &bytes[at..at + usize::from(step.literals)];
            at += literals.len() + usize::from(step.len);
            bits.literals(&self.litlen, literals);
            if step.len > 0 {
                let (symbol, extra, base) = len_symbol(step.len.into());
                let (code, count) = self.litlen.get(symbol);
                bits.put(code | (u64::from(step.len) - base as u64) << count, count + extra);
                let (symbol, extra, base) = dist_symbol(step.dist.into());
                let (code, count) = self.dist.get(symbol);
                bits.put(code | (u64::from(step.dist) - base as u64) << count, count + extra);
            }
        }
        bits.symbol(&self.litlen, END);
        bits.finish()
    }
}

/// Block header: the code lengths, encoded with a third code.
struct Header {
    litlens: usize,
    dists: usize,
    /// Symbols, with their extra bits above the low five bits.
    items: [u16; LITLENS + DISTS],
    len: usize,
    counts: [u32; 19],
    code: Code<19>,
}

impl Header {
    fn from_lengths(litlen: &[u8; LITLENS], dist: &[u8; DISTS]) -> Self {
        let used =
            |lens: &[u8], least| lens.iter().rposition(|len| *len > 0).map_or(0, |last| last + 1).max(least);
        let (litlens, dists) = (used(litlen, 257), used(dist, 1));
        let mut lens = [0; LITLENS + DISTS];
        lens[..litlens].copy_from_slice(&litlen[..litlens]);
        lens[litlens..litlens + dists].copy_from_slice(&dist[..dists]);
        let (mut items, mut len, mut counts) = ([0; LITLENS + DISTS], 0, [0; 19]);
        let mut add = |symbol: u16, more: usize| {
            items[len] = symbol | (more as u16) << 5;
            counts[usize::from(symbol)] += 1;
            len += 1;
        };
        for run in lens[..litlens + dists].chunk_by(|a, b| a == b) {
            let (value, mut left) = (u16::from(run[0]), run.len());
            if value == 0 {
                while left > 10 {
                    let now = left.min(138);
                    add(18, now - 11);
                    left -= now;
                }
                if left > 2 {
                    add(17, left - 3);
                    left = 0;
                }
            } else {
                add(value, 0);
                left -= 1;
                while left > 2 {
                    let now = left.min(6);
                    add(16, now - 3);
                    left -= now;
                }
            }
            (0..left).for_each(|_| add(value, 0));
        }
        Self { litlens, dists, items, len, counts, code: Code::from_counts(&counts, 7) }
    }

    /// Number of stored lengths of the third code.
    fn stored_lengths(&self) -> usize {
        ORDER.iter().rposition(|symbol| self.code.lens[*symbol] > 0).map_or(4, |last| last + 1).max(4)
    }

    fn bits(&self) -> u64 {
        let extra = u64::from(2 * self.counts[16] + 3 * self.counts[17] + 7 * self.counts[18]);
        14 + 3 * self.stored_lengths() as u64 + self.code.cost(&self.counts) + extra
    }

    fn write(&self, bits: &mut Bits) {
        let stored_count = self.stored_lengths();
        bits.put(self.litlens as u64 - 257, 5);
        bits.put(self.dists as u64 - 1, 5);
        bits.put(stored_count as u64 - 4, 4);
        ORDER[..stored_count].iter().for_each(|symbol| bits.put(self.code.lens[*symbol].into(), 3));
        for item in &self.items[..self.len] {
            let (symbol, more) = (usize::from(item & 0x1f), u64::from(item >> 5));
            let extra = match symbol {
                16 => 2,
                17 => 3,
                18 => 7,
                _ => 0,
            };
            let (code, count) = self.code.get(symbol);
            bits.put(code | more << count, count + extra);
        }
    }
}

/// Bit buffer, low bits first.
struct Bits {
    out: Vec<u8>,
    at: usize,
    open: u64,
    count: u32,
}

impl Bits {
    /// Allocates room for `bits` bits.
    fn new(bits: u64) -> Self {
        Self { out: vec![0; bits.div_ceil(8) as usize + 8], at: 0, open: 0, count: 0 }
    }

    /// Appends at most 57 bits.
    #[inline]
    fn put(&mut self, bits: u64, count: u32) {
        self.open |= bits << self.count;
        self.count += count;
        self.flush();
    }

    /// Moves whole bytes to the output.
    #[inline]
    fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.open.to_le_bytes());
        self.at += (self.count / 8) as usize;
        self.open >>= self.count & !7;
        self.count &= 7;
    }

    /// Appends literals, four at a time.
    #[inline]
    fn literals(&mut self, code: &Code<LITLENS>, bytes: &[u8]) {
        let (fours, rest) = bytes.as_chunks::<4>();
        let mut count = self.count.into();
        for four in fours {
            code.add(*four, &mut self.open, &mut count);
            self.count = count as u32 & 63;
            self.flush();
            count = self.count.into();
        }
        rest.iter().for_each(|byte| self.symbol(code, (*byte).into()));
    }

    #[inline]
    fn symbol<const N: usize>(&mut self, code: &Code<N>, symbol: usize) {
        let (code, count) = code.get(symbol);
        self.put(code, count);
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.truncate(self.at + usize::from(self.count > 0));
        self.out
    }
}

/// A stored block.
fn store(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u16;
    let mut out = Vec::with_capacity(bytes.len() + 5);
    out.push(1);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&(!len).to_le_bytes());
    out.extend_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::super::inflate;
    use super::*;

    fn check(deflater: &mut Deflater, bytes: &[u8]) -> usize {
        let deflated = deflater.deflate(bytes);
        assert_eq!(inflate(&deflated, bytes.len() as u64).as_deref(), Ok(bytes));
        deflated.len()
    }

    #[test]
    fn symbols_of_lengths_and_distances() {
        let len = |len| len_symbol(len);
        assert_eq!([3, 10].map(|n| len(n).0), [257, 264]);
        assert_eq!([11, 12, 13, 257].map(len), [(265, 1, 11), (265, 1, 11), (266, 1, 13), (284, 5, 227)]);
        assert_eq!(len(258), (285, 0, 258));
        assert_eq!([1, 4].map(|n| dist_symbol(n).0), [0, 3]);
        assert_eq!([5, 6, 7, 32768].map(dist_symbol), [(4, 1, 5), (4, 1, 5), (5, 1, 7), (29, 13, 24577)]);
    }

    #[test]
    fn deflated_bytes_inflate() {
        let mut deflater = Deflater::default();
        let mut state = 9u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for round in 0..600 {
            let letters = 1 + random(if round % 3 == 0 { 256 } else { 6 });
            let len = random(if round % 50 == 0 { LONGEST as u32 + 1 } else { 700 }) as usize;
            let mut bytes: Vec<u8> = vec![];
            while bytes.len() < len {
                if bytes.len() > 8 && random(3) == 0 {
                    let from = random(bytes.len() as u32) as usize;
                    let rows = 1 + random(600) as usize;
                    (0..rows).for_each(|i| bytes.push(bytes[from + i]));
                } else {
                    bytes.push(random(letters) as u8);
                }
            }
            bytes.truncate(len);
            check(&mut deflater, &bytes);
        }
    }

    #[test]
    fn repeats_shrink_and_nothing_expands() {
        let mut deflater = Deflater::default();
        for len in [0, 1, 2, 3, 4, 5, 255, 258, 259, 263, 1000, LONGEST] {
            assert!(check(&mut deflater, &vec![7; len]) <= 12 + len / 150, "{len}");
        }
        let mut state = 1u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(LONGEST).collect();
        assert_eq!(check(&mut deflater, &noise), LONGEST + 5);
        let twice: Vec<u8> = [&noise[..9000], &noise[..9000]].concat();
        assert!(check(&mut deflater, &twice) < 9200);
    }
}
