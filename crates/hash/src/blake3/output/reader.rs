//! Extended output: [`OutputReader`].

use crate::blake3::kernel::{Cv, RunFlags, XofJob};
use crate::blake3::{BLOCK_LEN, DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL, KEYED_HASH, Plan, ROOT, lanes};
use core::fmt;
use zeroize::Zeroize;

/// Blocks computed at once where the last is short: a few, or as many as most kernels compute in the time of
/// one.
const FEW: usize = 4;
const SHARED: usize = 16;

/// A node that is not yet compressed: whether it is the root is still open.
#[derive(Clone)]
pub(in crate::blake3) struct Output {
    pub(in crate::blake3) cv: Cv,
    /// Zero behind `len`.
    pub(in crate::blake3) block: [u8; BLOCK_LEN],
    pub(in crate::blake3) len: u8,
    pub(in crate::blake3) counter: u64,
    pub(in crate::blake3) flags: u8,
}

impl Output {
    fn message(&self) -> &[u8] {
        &self.block[..usize::from(self.len)]
    }

    pub(in crate::blake3) fn chaining_words(&self, plan: Plan) -> Cv {
        let flags = RunFlags::new(self.flags, 0, 0);
        lanes::run(plan.one(BLOCK_LEN), &self.cv, self.message(), self.counter, flags)
    }

    pub(in crate::blake3) fn root_words(&self, plan: Plan) -> Cv {
        let flags = RunFlags::new(self.flags | ROOT, 0, 0);
        lanes::run(plan.one(BLOCK_LEN), &self.cv, self.message(), 0, flags)
    }
}

/// Output of any length, from any position.
///
/// Shorter outputs are prefixes of longer ones. There are 2^64 - 1 bytes; requesting more panics, because the
/// position would wrap.
///
/// ```
/// use hashmill_hash::blake3::Hasher;
///
/// let mut output = Hasher::new().update(b"seed").finalize_xof();
/// let mut bytes = [0; 100];
/// output.fill(&mut bytes);
/// assert_eq!(bytes[..32], *Hasher::new().update(b"seed").finalize().as_bytes());
/// ```
#[derive(Clone)]
pub struct OutputReader {
    job: XofJob,
    plan: Plan,
    position: u64,
}

impl OutputReader {
    // Inlined: data that is written in parts and copied as a whole stalls, and the kernel waits for it.
    #[inline(always)]
    pub(in crate::blake3) fn new(output: &Output, plan: Plan) -> OutputReader {
        let &Output { cv, block, len, flags, .. } = output;
        let job = XofJob { block, cv, len: u32::from(len), flags: u32::from(flags | ROOT) };
        OutputReader { job, plan, position: 0 }
    }

    /// Fills `out` with the next bytes of output.
    ///
    /// # Panics
    /// If the output would end beyond byte 2^64 - 1.
    pub fn fill(&mut self, out: &mut [u8]) {
        let end = self.position.checked_add(out.len() as u64).expect("the output has 2^64 - 1 bytes");
        self.copy(self.position / BLOCK_LEN as u64, (self.position % BLOCK_LEN as u64) as usize, out);
        self.position = end;
    }

    /// Fills `out` from byte `seek` on. Beyond byte 2^64 it continues with the next block numbers, as the
    /// official implementation in C does.
    pub(in crate::blake3) fn fill_from(&self, seek: u64, out: &mut [u8]) {
        self.copy(seek / BLOCK_LEN as u64, (seek % BLOCK_LEN as u64) as usize, out);
    }

    /// Output from byte `offset` of block `counter` on.
    #[inline(always)]
    fn copy(&self, mut counter: u64, offset: usize, out: &mut [u8]) {
        let mut rest = out;
        if offset > 0 {
            let len = rest.len().min(BLOCK_LEN - offset);
            let (head, later) = rest.split_at_mut(len);
            head.copy_from_slice(&self.block(counter)[offset..offset + len]);
            counter += 1;
            rest = later;
        }
        // A kernel computes several blocks in the time of one, so full blocks before a short last one are
        // computed with it.
        let whole = rest.len() / BLOCK_LEN;
        let direct = if rest.len().is_multiple_of(BLOCK_LEN) { whole } else { whole / SHARED * SHARED };
        let (now, last) = rest.split_at_mut(direct * BLOCK_LEN);
        if direct > 0 {
            lanes::xof(self.plan.xof(), &self.job, counter, now.as_chunks_mut().0);
        }
        match last.len() {
            0 => {}
            len if len <= FEW * BLOCK_LEN => self.copied::<FEW>(counter + direct as u64, last),
            _ => self.copied::<SHARED>(counter + direct as u64, last),
        }
    }

    /// Output from block `counter` on that is not a whole number of blocks, and at most `N`.
    fn copied<const N: usize>(&self, counter: u64, out: &mut [u8]) {
        let mut blocks = [[0; BLOCK_LEN]; N];
        let blocks = &mut blocks[..out.len().div_ceil(BLOCK_LEN)];
        lanes::xof(self.plan.xof(), &self.job, counter, blocks);
        out.copy_from_slice(&blocks.as_flattened()[..out.len()]);
    }

    fn block(&self, counter: u64) -> [u8; BLOCK_LEN] {
        let mut block = [[0; BLOCK_LEN]];
        lanes::xof(self.plan.xof(), &self.job, counter, &mut block);
        block[0]
    }

    /// The offset of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Sets the position to any offset; no bytes in between are computed.
    pub fn set_position(&mut self, position: u64) {
        self.position = position;
    }
}

impl fmt::Debug for OutputReader {
    /// Omits everything that could reveal key or output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputReader").field("position", &self.position).finish_non_exhaustive()
    }
}

impl Zeroize for OutputReader {
    fn zeroize(&mut self) {
        self.job.block.zeroize();
        self.job.cv.zeroize();
        self.job.len.zeroize();
        self.position.zeroize();
    }
}

impl Drop for OutputReader {
    /// The value holds the key itself for a keyed hash of one chunk. Without a key nothing in here is more
    /// secret than the input, which the caller has anyway.
    fn drop(&mut self) {
        if self.job.flags & u32::from(KEYED_HASH | DERIVE_KEY_CONTEXT | DERIVE_KEY_MATERIAL) != 0 {
            self.zeroize();
        }
    }
}

#[cfg(feature = "std")]
impl std::io::Read for OutputReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = u64::MAX - self.position;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        self.fill(&mut out[..len]);
        Ok(len)
    }
}

#[cfg(feature = "std")]
impl std::io::Seek for OutputReader {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        use std::io::{Error, ErrorKind, SeekFrom};
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
            SeekFrom::End(_) => {
                return Err(Error::new(ErrorKind::Unsupported, "the output has no end to seek from"));
            }
        };
        let position = position.ok_or_else(|| {
            Error::new(ErrorKind::InvalidInput, "the output runs from byte 0 to byte 2^64 - 1")
        })?;
        self.position = position;
        Ok(position)
    }
}
