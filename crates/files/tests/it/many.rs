//! Many inputs at once: complete results, in order.

use crate::{files, short};
use hashmill_files::{Digest, Error, Function, HashJob, Input, Strategy};
use hashmill_hash::blake3;
use hashmill_testkit::paint;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Mostly small files and some large ones, so that batches, tiles and streams are mixed.
fn sizes(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(|n| match n % 100 {
        7 => 600_000 + n,
        50 => 66_000,
        99 => 0,
        _ => n * 37 % 9000,
    })
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut expected = Vec::new();
    for (n, size) in sizes(700).enumerate() {
        let bytes = paint(size);
        fs::write(dir.path().join(n.to_string()), &bytes).expect("room on the disk");
        expected.push(*blake3::hash(&bytes).as_bytes());
    }
    for strategy in Strategy::ALL {
        for threads in [1, 2, 6] {
            for count in [0, 1, 9, 33, 700] {
                let items = (0..count).map(|n| HashJob {
                    path: dir.path().join(n.to_string()),
                    input: Input::File,
                    tag: n,
                });
                let mut next = 0;
                let files = files(Function::blake3(), strategy, threads);
                let done = files.hash_many(items, |path, tag: usize, result: Result<Digest, Error>| {
                    assert_eq!(tag, next);
                    assert_eq!(path, dir.path().join(tag.to_string()));
                    assert_eq!(short(&result.expect("a readable file")), expected[tag], "file {tag}");
                    next += 1;
                    ControlFlow::<()>::Continue(())
                });
                assert_eq!(done, ControlFlow::Continue(()));
                assert_eq!(next, count, "{strategy}, {threads} threads");
                assert_eq!(files.progress().files(), count as u64);
            }
        }
    }
}

#[test]
fn failures_stay_in_their_places() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("f"), "x").expect("room on the disk");
    let items = (0..2000).map(|n| match n % 3 {
        0 => HashJob { path: dir.path().join("f"), input: Input::File, tag: n },
        1 => HashJob { path: dir.path().join("none"), input: Input::File, tag: n },
        _ => HashJob { path: PathBuf::from("-"), input: Input::Failed(Error::Refused("because")), tag: n },
    });
    let mut next = 0;
    let files = files(Function::blake3(), Strategy::Auto, 3);
    let done = files.hash_many(items, |_, tag, result: Result<Digest, Error>| {
        assert_eq!(tag, next);
        next += 1;
        match (tag % 3, result) {
            (0, Ok(digest)) => assert_eq!(short(&digest), *blake3::hash(b"x").as_bytes()),
            (1, Err(Error::Io(_))) | (2, Err(Error::Refused("because"))) => {}
            (_, other) => panic!("{tag}: {other:?}"),
        }
        ControlFlow::<()>::Continue(())
    });
    assert_eq!((next, done), (2000, ControlFlow::Continue(())));
}

#[test]
fn no_result_follows_a_break() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("f"), "x").expect("room on the disk");
    for threads in [1, 4] {
        for last in [0, 5, 40, 500] {
            let items = (0..).map(|n| HashJob { path: dir.path().join("f"), input: Input::File, tag: n });
            let mut results = 0;
            let done = files(Function::blake3(), Strategy::Auto, threads).hash_many(
                items,
                |_, tag, _: Result<Digest, Error>| {
                    results += 1;
                    if tag == last { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
                },
            );
            assert_eq!(
                (results, done),
                (last + 1, ControlFlow::Break("enough")),
                "an end that is told from the last"
            );
        }
    }
}
