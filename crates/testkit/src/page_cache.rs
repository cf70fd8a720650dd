//! Look-up of a file's pages in the page cache.
#![expect(unsafe_code, reason = "a mapping that is asked about and never read")]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::{io, ptr};

/// Indexes of the file's pages that are in the page cache. The query neither reads a page nor keeps it longer.
///
/// The system answers only owners and writers of a file; for others every page counts as cached.
pub fn cached_pages(file: &File) -> io::Result<Vec<usize>> {
    let len = file.metadata()?.len() as usize;
    if len == 0 {
        return Ok(Vec::new());
    }
    let mut pages = vec![0u8; len.div_ceil(rustix::param::page_size())];
    // SAFETY: a fresh mapping at an address of the system's choice disturbs no other memory; it is never read.
    let mapping = unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0)? };
    // SAFETY: the mapping has `len` bytes, and `pages` one byte for each of its pages.
    let result = match unsafe { libc::mincore(mapping, len, pages.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the mapping was made above with this length, and no reference to it exists.
    unsafe { munmap(mapping, len)? };
    result?;
    Ok(pages.iter().enumerate().filter(|(_, flags)| *flags & 1 == 1).map(|(number, _)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::cached_pages;
    use std::io::Write;

    #[test]
    fn pages_that_were_written_are_cached() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        assert_eq!(cached_pages(&file).expect("an own file"), [0usize; 0]);
        file.write_all(&vec![7; 3 * rustix::param::page_size() + 1]).expect("room on the disk");
        assert_eq!(cached_pages(&file).expect("an own file"), [0, 1, 2, 3]);
        assert_eq!(cached_pages(&file).expect("asked twice"), [0, 1, 2, 3]);
    }

    #[test]
    fn pages_that_were_never_written_stay_out_of_the_cache() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(1 << 20).expect("a sparse file");
        for _ in 0..2 {
            assert_eq!(cached_pages(&file).expect("an own file"), [0usize; 0]);
        }
    }
}
