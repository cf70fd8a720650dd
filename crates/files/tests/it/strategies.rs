//! Strategies and threads: equal digests with every combination.

use crate::{files, short};
use hashmill_files::{Error, Files, Function, Options, Output, Strategy};
use hashmill_hash::blake3::{self, Hasher, Kernel, Plan};
use hashmill_testkit::paint;
use std::io::{self, Read, Write};
use std::num::NonZero;
use zeroize::Zeroizing;

const KIB: usize = 1024;

/// Sizes around every threshold of the plan: one chunk, small files, tiles, parallel work.
fn sizes() -> Vec<usize> {
    let edges = [1, 2, 16, 64, 256, 1024, 2048, 4096].map(|kib| kib * KIB);
    let mut sizes: Vec<usize> = edges.iter().flat_map(|&edge| [edge - 1, edge, edge + 1]).collect();
    sizes.extend([0, 1, 1000 * KIB + 7, 3 * 1024 * KIB + 1, 9 * 1024 * KIB + 513, 32 * 1024 * KIB + 1]);
    sizes
}

fn on_disk(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

#[test]
fn all_strategies_and_threads_agree() {
    for size in sizes() {
        let bytes = paint(size);
        let file = on_disk(&bytes);
        let expected = *blake3::hash(&bytes).as_bytes();
        for strategy in Strategy::ALL {
            for threads in [1, 2, 5] {
                let files = files(Function::blake3(), strategy, threads);
                let digest = files.hash_file(file.path()).expect("a readable file");
                assert_eq!(short(&digest), expected, "{size} bytes, {strategy}, {threads} threads");
                assert_eq!(digest.len, size as u64);
                assert_eq!((files.progress().bytes(), files.progress().files()), (size as u64, 1));
            }
        }
    }
}

#[test]
fn the_size_of_tiles_changes_no_digest() {
    let bytes = paint(9 * 1024 * KIB + 513);
    let file = on_disk(&bytes);
    let expected = *blake3::hash(&bytes).as_bytes();
    for strategy in Strategy::ALL {
        for (tile, threads) in [(1, 2), (300_000, 2), (1024 * KIB, 1), (usize::MAX, 5)] {
            let mut options = Options::default();
            options.strategy = strategy;
            options.threads = NonZero::new(threads);
            options.tile = NonZero::new(tile);
            let digest =
                Files::new(Function::blake3(), options).hash_file(file.path()).expect("a readable file");
            assert_eq!(short(&digest), expected, "{strategy}, tiles of {tile}, {threads} threads");
        }
    }
}

#[test]
fn all_modes_and_functions_agree() {
    let key = [7; 32];
    for size in [0, 5000, 700 * KIB, 5 * 1024 * KIB + 3] {
        let bytes = paint(size);
        let file = on_disk(&bytes);
        let mut hashers = [Hasher::new(), Hasher::new_keyed(&key), Hasher::new_derive_key("files test")];
        let functions =
            [Function::blake3(), Function::keyed(Zeroizing::new(key)), Function::derive_key("files test")];
        for (hasher, function) in hashers.iter_mut().zip(functions) {
            let mut expected = [0; 150];
            hasher.update(&bytes).finalize_xof().fill(&mut expected);
            for strategy in Strategy::ALL {
                let name = format!("{function:?}, {size} bytes, {strategy}");
                let digest = files(function.clone(), strategy, 2).hash_file(file.path()).expect(&name);
                assert_eq!(short(&digest), expected[..32], "{name}");
                let digest =
                    files(function.clone().extended(), strategy, 2).hash_file(file.path()).expect(&name);
                let Output::Extended(mut reader) = digest.output.clone() else { panic!("{name}") };
                let mut output = [0; 150];
                reader.fill(&mut output);
                assert_eq!(output, expected, "{name}");
                assert_eq!(
                    digest.output.bytes_at(77).as_ref().map(<[u8; 32]>::as_slice),
                    Some(&expected[77..109])
                );
                assert_eq!(digest.output.bytes_at(u64::MAX - 31), None, "beyond the end of the output");
            }
        }
    }
}

#[test]
fn sha256_is_the_same_by_every_strategy() {
    use sha2::{Digest, Sha256};
    for size in [0, 3, 70 * KIB, 3 * 1024 * KIB + 3] {
        let bytes = paint(size);
        let file = on_disk(&bytes);
        let expected: [u8; 32] = Sha256::digest(&bytes).into();
        for strategy in Strategy::ALL {
            for threads in [1, 2] {
                let digest = files(Function::sha256(), strategy, threads).hash_file(file.path());
                assert_eq!(short(&digest.expect("a readable file")), expected, "{size} bytes, {strategy}");
            }
        }
    }
}

#[test]
fn every_kernel_agrees() {
    let bytes = paint(3 * 1024 * KIB + 100);
    let file = on_disk(&bytes);
    let expected = *blake3::hash(&bytes).as_bytes();
    for kernel in Kernel::all() {
        let function = Function::blake3().with_plan(Plan::for_kernel(kernel));
        let digest = files(function, Strategy::Auto, 2).hash_file(file.path()).expect("a readable file");
        assert_eq!(short(&digest), expected, "{kernel:?}");
    }
}

/// Reader that returns pieces of odd sizes and is interrupted sometimes.
struct Bumpy<'a> {
    bytes: &'a [u8],
    turn: usize,
}

impl Read for Bumpy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = (self.turn * 7919 % 70_001).min(buffer.len());
        self.bytes.read(&mut buffer[..len.max(1)])
    }
}

#[test]
fn readers_of_any_rhythm() {
    for size in sizes() {
        let bytes = paint(size);
        let expected = *blake3::hash(&bytes).as_bytes();
        for threads in [1, 2, 5] {
            let reader = Bumpy { bytes: &bytes, turn: 0 };
            let digest = files(Function::blake3(), Strategy::Auto, threads).hash_reader(reader);
            let digest = digest.expect("the reader does not fail");
            assert_eq!(short(&digest), expected, "{size} bytes, {threads} threads");
            assert_eq!(digest.len, size as u64);
        }
    }
}

#[test]
fn a_reader_that_fails_late_is_an_error() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.0);
            self.0 -= len;
            if len == 0 { Err(io::Error::other("unplugged")) } else { Ok(len) }
        }
    }
    for len in [0, 100, 300 * KIB, 600 * KIB, 3 * 1024 * KIB] {
        for function in [Function::blake3(), Function::sha256()] {
            for threads in [1, 2] {
                let result = files(function.clone(), Strategy::Auto, threads).hash_reader(Broken(len));
                assert!(
                    matches!(&result, Err(Error::Io(error)) if error.to_string() == "unplugged"),
                    "{result:?}"
                );
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_report_no_size_are_read_all_the_same() {
    for strategy in Strategy::ALL {
        let expected = blake3::hash(&std::fs::read("/proc/version").expect("procfs"));
        let digest = files(Function::blake3(), strategy, 2).hash_file("/proc/version").expect("procfs");
        assert_eq!(short(&digest), *expected.as_bytes(), "{strategy}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_report_too_large_a_size_are_explained() {
    // Files of sysfs report the size of a page and have fewer bytes.
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Ok(bytes) = std::fs::read(path) else {
        hashmill_testkit::skip("sizes that promise too much", &format!("no {path} here"));
        return;
    };
    for strategy in Strategy::ALL {
        let result = files(Function::blake3(), strategy, 2).hash_file(path);
        match result {
            Ok(digest) => assert_eq!(short(&digest), *blake3::hash(&bytes).as_bytes(), "{strategy}"),
            Err(Error::EndsEarly { reported: 4096, offset }) => assert_eq!(offset, bytes.len() as u64),
            Err(error) => panic!("{strategy}: {error}"),
        }
    }
}

#[test]
fn directories_and_missing_files_are_errors() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for strategy in Strategy::ALL {
        let files = files(Function::blake3(), strategy, 2);
        assert!(matches!(files.hash_file(dir.path()), Err(Error::Io(_))), "{strategy}");
        assert!(matches!(files.hash_file(dir.path().join("none")), Err(Error::Io(_))), "{strategy}");
    }
}
