//! Tree digest compared with its specification, `docs/tree-digest.md`, implemented here by hand.

use crate::files;
use hashmill_files::{Error, Function, Strategy};
use hashmill_hash::blake3;
use hashmill_testkit::paint;
use std::fs;
use std::path::Path;

fn record(kind: u8, name: &str, digest: [u8; 32]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((name.len() as u64).to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend(digest);
    bytes
}

fn directory(records: &[Vec<u8>]) -> [u8; 32] {
    blake3::derive_key("hashmill tree digest v1: directory", &records.concat())
}

fn digest(path: &Path) -> [u8; 32] {
    let hash = files(Function::blake3(), Strategy::Auto, 2).hash_tree(path);
    *hash.unwrap_or_else(|failures| panic!("{failures:?}")).as_bytes()
}

#[test]
fn names_contents_and_structure_as_specified() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect("a file");
    assert_eq!(digest(dir.path()), directory(&[]), "an empty directory");

    fs::create_dir_all(dir.path().join("a/empty")).expect("directories");
    let large = paint(700_000);
    write("a/x", b"x");
    write("a.txt", b"");
    write("z", &large);
    let expected = directory(&[
        // Sorted by the bytes of the name alone: "a" before "a.txt", although the walk visits them in the
        // other order.
        record(
            b'd',
            "a",
            directory(&[
                record(b'd', "empty", directory(&[])),
                record(b'f', "x", *blake3::hash(b"x").as_bytes()),
            ]),
        ),
        record(b'f', "a.txt", *blake3::hash(b"").as_bytes()),
        record(b'f', "z", *blake3::hash(&large).as_bytes()),
    ]);
    assert_eq!(digest(dir.path()), expected);
    assert_eq!(digest(&dir.path().join("a").join("..")), expected, "the root's own name does not count");
    assert_eq!(digest(&dir.path().join("z")), *blake3::hash(&large).as_bytes(), "a file is its own tree");
}

#[cfg(unix)]
#[test]
fn links_count_by_their_targets_and_special_files_refuse() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::os::unix::fs::symlink("no\\where", dir.path().join("l")).expect("a link");
    let link = record(b'l', "l", *blake3::hash(b"no\\where").as_bytes());
    assert_eq!(digest(dir.path()), directory(&[link]));

    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("s")).expect("a socket");
    let failures = files(Function::blake3(), Strategy::Auto, 2).hash_tree(dir.path()).expect_err("a socket");
    assert!(
        matches!(&failures[..], [(path, Error::Special)] if *path == dir.path().join("s")),
        "{failures:?}"
    );
}

#[test]
fn another_function_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("f"), "x").expect("a file");
    for function in [
        Function::sha256(),
        Function::derive_key("context"),
        Function::keyed([7; 32].into()),
        Function::blake3().extended(),
    ] {
        let name = format!("{function:?}");
        let result = files(function, Strategy::Auto, 1).hash_tree(dir.path());
        let failures = result.expect_err("such a digest could not be checked");
        assert!(matches!(&failures[..], [(_, Error::Refused(_))]), "{name}: {failures:?}");
    }
}
