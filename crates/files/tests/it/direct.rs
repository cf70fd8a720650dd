//! Reads past the system's cache: the same digests wherever an edge is, nothing left in the cache, and what is said where it cannot be.

use crate::{files, short};
use hashmill_files::{Files, Function, Strategy};
use hashmill_hash::blake3::hash;
use hashmill_testkit::{paint, skip};

const KIB: usize = 1024;

/// On each side of sectors, pages, tiles, and where work becomes parallel.
fn sizes() -> Vec<usize> {
    let edges = [512, 4 * KIB, 64 * KIB, 1024 * KIB, 2048 * KIB, 4096 * KIB];
    let around = [-513, -512, -1, 0, 1, 511, 512, 513, 4096];
    edges.iter().flat_map(|&edge| around.map(|by| edge.checked_add_signed(by))).flatten().collect()
}

/// Says aloud what a test did not look at, if this file system has no way past the cache.
fn was_direct(files: &Files, what: &str) -> bool {
    if let Some(error) = files.direct_failure() {
        skip(what, &format!("no direct reads of temporary files: {error}"));
        return false;
    }
    true
}

#[test]
fn digests_are_the_same_at_every_edge() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("f");
    for size in sizes() {
        let bytes = paint(size);
        std::fs::write(&path, &bytes).expect("room on the disk");
        for threads in [1, 3] {
            let files = files(Function::blake3(), Strategy::Direct, threads);
            let digest = files.hash_file(&path).expect("a readable file");
            assert_eq!((short(&digest), digest.len), (*hash(&bytes).as_bytes(), size as u64), "{size}");
            if !was_direct(&files, "files read past the cache") {
                return;
            }
        }
        // In order: a function without subtrees.
        let both = [Strategy::Read, Strategy::Direct].map(|strategy| {
            let files = files(Function::sha256(), strategy, 2);
            short(&files.hash_file(&path).expect("a readable file"))
        });
        assert_eq!(both[0], both[1], "{size}");
    }
}

/// Some kernels read files of this system past a cache that it does not have.
#[cfg(target_os = "linux")]
#[test]
fn files_in_memory_have_their_digests_too() {
    let dir = match tempfile::tempdir_in("/dev/shm") {
        Ok(dir) => dir,
        Err(error) => return skip("files in memory", &format!("/dev/shm: {error}")),
    };
    let path = dir.path().join("f");
    for size in [1, 4097, 5 * 1024 * KIB + 513] {
        let bytes = paint(size);
        std::fs::write(&path, &bytes).expect("room in memory");
        let files = files(Function::blake3(), Strategy::Direct, 2);
        assert_eq!(short(&files.hash_file(&path).expect("a readable file")), *hash(&bytes).as_bytes());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_refuses_is_read_through_the_cache_and_reported() {
    // Files that the kernel makes, of one tile and of several, and those that report their sizes.
    let all = ["/sys/kernel/boot_params/data", "/sys/kernel/notes", "/sys/kernel/btf/vmlinux"];
    let mut read_files = 0;
    for path in all {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let files = files(Function::blake3(), Strategy::Direct, 2);
        assert!(files.direct_failure().is_none());
        match files.hash_file(path) {
            Ok(digest) => assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{path}"),
            Err(hashmill_files::Error::EndsEarly { .. }) => {}
            Err(error) => panic!("{path}: {error}"),
        }
        let failure = files.direct_failure().expect("there is no way past the cache");
        assert_eq!(failure.kind(), std::io::ErrorKind::InvalidInput, "{failure}");
        read_files += 1;
    }
    if read_files == 0 {
        skip("a file system that refuses direct reads", "no such files in /sys here");
    }
}

#[cfg(target_os = "linux")]
mod cache {
    use super::{KIB, files, short, skip, was_direct};
    use hashmill_files::{Function, Strategy};
    use hashmill_hash::blake3::hash;
    use hashmill_testkit::page_cache::cached_pages;
    use hashmill_testkit::paint;
    use std::io::{self, Write};
    use tempfile::NamedTempFile;

    const WHAT: &str = "the page cache after direct reads";

    /// Not a multiple of sectors or pages.
    fn bytes() -> Vec<u8> {
        paint(9 * 1024 * KIB + 77)
    }

    fn file_on_disk(bytes: &[u8]) -> NamedTempFile {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("room on the disk");
        file
    }

    fn pages_of(file: &NamedTempFile) -> Vec<usize> {
        cached_pages(file.as_file()).expect("a file of this process")
    }

    /// A file of which no page is cached; an error where the system keeps some of it.
    ///
    /// The request to drop pages is only a hint: a page that the kernel holds at that moment (at the end of its write, or while it
    /// moves memory) stays. An earlier form of this test took the hint for done and asked by reads that may not wait, which a fast disk
    /// can answer; it found one page, once.
    fn uncached_file(bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut left = 0;
        for _ in 0..20 {
            let file = file_on_disk(bytes);
            file.as_file().sync_all()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            left = cached_pages(file.as_file())?.len();
            if left == 0 {
                return Ok(file);
            }
        }
        Err(io::Error::other(format!("{left} pages stay there when they are to be dropped")))
    }

    fn hash_file(file: &NamedTempFile, strategy: Strategy, function: Function) -> ([u8; 32], bool) {
        let files = files(function, strategy, 2);
        let digest = short(&files.hash_file(file.path()).expect("a readable file"));
        (digest, was_direct(&files, WHAT))
    }

    #[test]
    fn a_direct_read_leaves_no_page_in_the_cache() {
        let bytes = bytes();
        for function in [Function::blake3(), Function::sha256()] {
            let (direct, read) = match (uncached_file(&bytes), uncached_file(&bytes)) {
                (Ok(direct), Ok(read)) => (direct, read),
                (Err(error), _) | (_, Err(error)) => return skip(WHAT, &error.to_string()),
            };
            let (past, was_direct) = hash_file(&direct, Strategy::Direct, function.clone());
            if !was_direct {
                return;
            }
            assert_eq!(pages_of(&direct), [0usize; 0], "{function:?}");
            let (through, _) = hash_file(&read, Strategy::Read, function.clone());
            // Not all of them: the system may drop some at any time.
            assert_ne!(pages_of(&read), [0usize; 0], "a read through the cache leaves pages there");
            assert_eq!(past, through, "{function:?}");
        }
    }

    #[test]
    fn a_direct_read_sees_bytes_that_only_the_cache_has() {
        let bytes = bytes();
        let file = file_on_disk(&bytes);
        assert_eq!(hash_file(&file, Strategy::Direct, Function::blake3()).0, *hash(&bytes).as_bytes());
        assert_ne!(pages_of(&file), [0usize; 0], "what was cached stays cached");
    }
}
