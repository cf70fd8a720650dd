//! What differs by operating system: page sizes and what the kernel says about huge pages.

/// The size of a page of memory, where the system tells.
#[cfg(unix)]
pub(crate) fn page_size() -> Option<usize> {
    Some(rustix::param::page_size())
}

/// The size of a page of memory, where the system tells.
#[cfg(not(unix))]
pub(crate) fn page_size() -> Option<usize> {
    None
}

/// The sizes of huge pages that can be reserved, in bytes, and how many of each are.
pub(crate) fn huge_pages() -> Vec<(u64, u64)> {
    let Ok(sizes) = std::fs::read_dir("/sys/kernel/mm/hugepages") else { return Vec::new() };
    let size = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let reserved = std::fs::read_to_string(entry.path().join("nr_hugepages")).ok()?;
        Some((kib * 1024, reserved.trim().parse().ok()?))
    };
    let mut sizes: Vec<_> = sizes.filter_map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// Whether memory gets huge pages without asking: `always`, `madvise` or `never`.
pub(crate) fn transparent_huge_pages() -> Option<String> {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}
