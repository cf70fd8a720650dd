//! Pages of memory: their sizes, their use by this process, and memory in huge pages where the system grants
//! them.
//!
//! With 4 KiB pages, two processes of the same program differ by which physical pages they get, by more than
//! most changes are worth. 2 MiB pages remove most of that variance.

use super::huge_pools::{ALL_NODES, PageCounts, size_folders};
use crate::{linux, os};
use memmap2::MmapMut;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

/// The sizes of reservable huge pages in bytes, and the number reserved of each.
#[must_use]
pub fn huge_page_sizes() -> Vec<(u64, u64)> {
    huge_page_sizes_below(Path::new("/"))
}

/// As [`huge_page_sizes`], with the system's files below `root`.
fn huge_page_sizes_below(root: &Path) -> Vec<(u64, u64)> {
    // Facts that cannot be read are left out, as everywhere in this crate: these are shown, not decided by.
    let sizes = size_folders(&root.join(ALL_NODES)).unwrap_or_default();
    let reserved =
        |(bytes, folder): (u64, PathBuf)| Some((bytes, PageCounts::read(&folder).ok()?.persistent()));
    let mut sizes: Vec<_> = sizes.into_iter().filter_map(reserved).collect();
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
    use std::fs;

    #[test]
    fn sizes_of_huge_pages_have_their_reserved_pages_without_surplus_ones() {
        let root = tempfile::tempdir().expect("a directory");
        let sizes = [("hugepages-1048576kB", ["2", "0", "0"]), ("hugepages-2048kB", ["9", "1", "4"])];
        for (name, counts) in sizes {
            let folder = root.path().join(ALL_NODES).join(name);
            fs::create_dir_all(&folder).expect("folders");
            for (file, count) in
                ["nr_hugepages", "free_hugepages", "surplus_hugepages"].into_iter().zip(counts)
            {
                fs::write(folder.join(file), format!("{count}\n")).expect("a file");
            }
        }
        for other in ["hugepages-manykB", "hugepages-64kB", "others"] {
            fs::create_dir_all(root.path().join(ALL_NODES).join(other)).expect("folders");
        }
        assert_eq!(huge_page_sizes_below(root.path()), [(2 << 20, 5), (1 << 30, 2)]);
        assert_eq!(huge_page_sizes_below(Path::new("/nowhere")), []);
    }

    #[test]
    fn huge_bytes_are_readable_and_writable() {
        let mut bytes = HugeBytes::zeroed(5 << 20).expect("five megabytes");
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes[4 << 20] = 7;
        assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 7);
    }
}
