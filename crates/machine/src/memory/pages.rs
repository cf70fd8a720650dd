//! Pages of memory: their sizes, their use by this process, and memory in huge pages where the system grants
//! them.
//!
//! With 4 KiB pages, two processes of the same program differ by which physical pages they get, by more than
//! most changes are worth. 2 MiB pages remove most of that variance.

use crate::{linux, os};
use memmap2::MmapMut;
use std::fs::{DirEntry, read_dir, read_to_string};
use std::io;
use std::ops::{Deref, DerefMut};

/// The sizes of reservable huge pages in bytes, and the number reserved of each.
#[must_use]
pub fn huge_page_sizes() -> Vec<(u64, u64)> {
    let Ok(sizes) = read_dir("/sys/kernel/mm/hugepages") else { return Vec::new() };
    let size = |entry: io::Result<DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let reserved = read_to_string(entry.path().join("nr_hugepages")).ok()?;
        Some((kib * 1024, reserved.trim().parse().ok()?))
    };
    let mut sizes: Vec<_> = sizes.filter_map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// The setting of transparent huge pages: `always`, `madvise` or `never`.
#[must_use]
pub fn transparent_huge_pages() -> Option<String> {
    linux::transparent_huge_pages()
}

/// Bytes of this process in huge pages, transparent or reserved.
#[must_use]
pub fn huge_page_bytes() -> Option<u64> {
    linux::huge_page_bytes()
}

/// Bytes of this process in reserved huge pages, and how many of these are in pages of 1 GiB and more.
#[must_use]
pub fn reserved_bytes() -> Option<(u64, u64)> {
    linux::reserved_bytes()
}

/// Zeroed bytes in an anonymous mapping that requests huge pages. [`huge_page_bytes`] tells what was granted.
#[derive(Debug)]
pub struct HugeBytes {
    map: MmapMut,
}

impl HugeBytes {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let map = MmapMut::map_anon(len)?;
        os::ask_for_huge_pages(&map);
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
    fn huge_bytes_are_readable_and_writable() {
        let mut bytes = HugeBytes::zeroed(5 << 20).expect("five megabytes");
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes[4 << 20] = 7;
        assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 7);
    }
}
