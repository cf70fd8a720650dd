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
fn a_file_system_that_refuses_is_read_through_the_cache_and_that_is_told() {
    // Files that the kernel makes, of one tile and of several, and those that report their sizes.
    let all = ["/sys/kernel/boot_params/data", "/sys/kernel/notes", "/sys/kernel/btf/vmlinux"];
    let mut seen = 0;
    for path in all {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let files = files(Function::blake3(), Strategy::Direct, 2);
        assert!(files.direct_failure().is_none());
        match files.hash_file(path) {
            Ok(digest) => assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{path}"),
            Err(hashmill_files::Error::EndsEarly { .. }) => {}
            Err(error) => panic!("{path}: {error}"),
        }
        let told = files.direct_failure().expect("there is no way past the cache");
        assert_eq!(told.kind(), std::io::ErrorKind::InvalidInput, "{told}");
        seen += 1;
    }
    if seen == 0 {
        skip("a file system that refuses direct reads", "no such files in /sys here");
    }
}

/// How many of these places of a file are in the cache: reads that may not wait get only what is there. They bring the others in, so a
/// file is looked at once.
#[cfg(target_os = "linux")]
fn cached(file: &std::fs::File, places: &[u64]) -> Result<usize, rustix::io::Errno> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random)?;
    let mut there = 0;
    for &place in places {
        let mut byte = [0];
        match preadv2(file, &mut [std::io::IoSliceMut::new(&mut byte)], place, ReadWriteFlags::NOWAIT) {
            Ok(len) => there += len,
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(there)
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_file_is_in_the_cache_afterwards() {
    let what = "a cache that stays as it was";
    let bytes = paint(9 * 1024 * KIB + 77);
    // One in each tile, and one where a read is short.
    let places: Vec<u64> = (0..=9).map(|mib| mib << 20).collect();
    let on_disk = || {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::io::Write::write_all(&mut file, &bytes).expect("room on the disk");
        file
    };
    let out_of_cache = || {
        let file = on_disk();
        file.as_file().sync_all().expect("a disk");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a file");
        file
    };
    match cached(out_of_cache().as_file(), &places) {
        Ok(0) => {}
        Ok(there) => {
            return skip(what, &format!("{there} pages of 10 stay there when they are to be dropped"));
        }
        Err(error) => return skip(what, &format!("nobody tells what is in the cache: {error}")),
    }
    let digest = |file: &tempfile::NamedTempFile, strategy, function| {
        let files = files(function, strategy, 2);
        let digest = short(&files.hash_file(file.path()).expect("a readable file"));
        (digest, was_direct(&files, what))
    };
    for function in [Function::blake3(), Function::sha256()] {
        let (direct, read) = (out_of_cache(), out_of_cache());
        let (past, was_direct) = digest(&direct, Strategy::Direct, function.clone());
        if !was_direct {
            return;
        }
        assert_eq!(cached(direct.as_file(), &places), Ok(0), "{function:?}");
        let (through, _) = digest(&read, Strategy::Read, function.clone());
        assert_eq!(cached(read.as_file(), &places), Ok(10), "the other way leaves all of it there");
        assert_eq!(past, through, "{function:?}");
    }
    // What is there stays, and bytes that no disk has seen yet are those of the file.
    let new = on_disk();
    assert_eq!(digest(&new, Strategy::Direct, Function::blake3()).0, *hash(&bytes).as_bytes());
    assert_eq!(cached(new.as_file(), &places), Ok(10));
}
