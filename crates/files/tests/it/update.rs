//! Files as part of a hasher's input.

use hashmill_files::HasherExt;
use hashmill_hash::blake3::{self, Hasher};
use hashmill_testkit::paint;
use std::io::ErrorKind;

#[test]
fn a_file_is_input_like_any_other() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("f");
    // Read whole, mapped whole, mapped in windows.
    for size in [0, 1, 100_000, 256 * 1024, 1_000_001, (33 << 20) + 5] {
        let bytes = paint(size);
        std::fs::write(&path, &bytes).expect("room on the disk");
        let expected = blake3::hash(&[b"before", &bytes[..], &bytes[..], b"after"].concat());
        let mut hasher = Hasher::new();
        hasher.update(b"before");
        hasher.update_mmap(&path).expect("a readable file");
        hasher.update_mmap_rayon(&path).expect("a readable file");
        assert_eq!(hasher.update(b"after").finalize(), expected, "{size} bytes");
    }
}

#[test]
fn files_without_a_size_are_read() {
    let path = "/proc/version";
    let Ok(bytes) = std::fs::read(path) else {
        return hashmill_testkit::skip("a file of /proc", "no /proc here");
    };
    let mut hasher = Hasher::new();
    assert_eq!(hasher.update_mmap(path).expect("a readable file").finalize(), blake3::hash(&bytes));
}

#[test]
fn missing_files_are_not_found_errors() {
    let mut hasher = Hasher::new();
    let error = hasher.update_mmap_rayon("/no/such/file").expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(hasher.count(), 0);
}
