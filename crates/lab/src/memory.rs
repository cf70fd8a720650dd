//! Memory for large inputs: in huge pages where the system grants them.
//!
//! With 4 KiB pages two processes of the same program differ by which physical pages they happen to get, by more
//! than most changes are worth. 2 MiB pages remove most of that luck.

use memmap2::MmapMut;
use std::io;
use std::ops::{Deref, DerefMut};

/// KiB that can be taken without pushing other programs out, by the system and by the control groups of this process.
/// `None` where nobody tells.
#[must_use]
pub fn free_kib() -> Option<u64> {
    crate::host::free_kib()
}

/// Zeroed bytes from an anonymous mapping that asks for huge pages. What was granted stands in the report.
#[derive(Debug)]
pub struct HugeBytes {
    map: MmapMut,
}

impl HugeBytes {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let map = MmapMut::map_anon(len)?;
        crate::host::ask_for_huge_pages(&map);
        Ok(HugeBytes { map })
    }
}

impl Deref for HugeBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl DerefMut for HugeBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ordinary_memory() {
        let mut bytes = HugeBytes::zeroed(5 << 20).expect("five megabytes");
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes[4 << 20] = 7;
        assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 7);
    }
}
