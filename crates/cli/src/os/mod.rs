//! What differs by operating system: page sizes, what the kernel says about huge pages, file descriptors, and in files of
//! their own the terminal, signals and the standard streams.

mod prompt;
mod signals;
mod streams;

pub(crate) use prompt::read_hidden;
pub(crate) use signals::{Hold, end_unread, give_in};
pub(crate) use streams::{Output, stdin};

use std::fs::File;
use std::io;
#[cfg(not(unix))]
use std::io::ErrorKind;
use std::time::Duration;

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
    let size = |entry: io::Result<std::fs::DirEntry>| {
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

/// Opens a file descriptor that the program was started with.
#[cfg(unix)]
pub(crate) fn open_fd(number: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{number}"))
}

/// Opens a file descriptor that the program was started with.
#[cfg(not(unix))]
pub(crate) fn open_fd(_: u32) -> io::Result<File> {
    Err(io::Error::new(ErrorKind::Unsupported, "file descriptors have no names on this system"))
}

/// The processor time that this program has used so far, where the system tells.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// The processor time that this program has used so far, where the system tells.
#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Option<Duration> {
    None
}
