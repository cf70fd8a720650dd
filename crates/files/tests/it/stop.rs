//! Stop requests from another thread.

use crate::files;
use hashmill_files::{Error, Files, Function, HashJob, Input, Strategy};
use hashmill_testkit::wait::limit;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;

/// Endless bytes, whose reader requests a stop after some of them.
struct Endless<'a>(&'a Files, u32);

impl Read for Endless<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1 == 50 {
            self.0.stop();
        }
        bytes.fill(7);
        Ok(bytes.len())
    }
}

#[test]
fn a_stream_ends() {
    for function in [Function::blake3(), Function::sha256()] {
        for threads in [1, 3] {
            let files = files(function.clone(), Strategy::Auto, threads);
            let ended = files.hash_reader(Endless(&files, 0));
            assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
        }
    }
}

#[test]
fn a_file_ends_by_every_strategy_and_so_does_what_comes_after() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // A sparse file, which takes minutes and no disk space.
    let huge = dir.path().join("huge");
    File::create(&huge).and_then(|file| file.set_len(1 << 40)).expect("a file system with holes");
    let small = dir.path().join("small");
    std::fs::write(&small, "x").expect("room on the disk");
    for strategy in Strategy::ALL {
        for threads in [1, 3] {
            let files = files(Function::blake3(), strategy, threads);
            let _limit = limit("the beginning and the end of work that is stopped");
            let ended = thread::scope(|scope| {
                let work = scope.spawn(|| files.hash_file(&huge));
                while files.progress().bytes() == 0 {
                    thread::yield_now();
                }
                files.stop();
                work.join().expect("no panic")
            });
            assert!(matches!(ended, Err(Error::Stopped)), "{strategy} {ended:?}");
            let item = |path: &PathBuf| HashJob { path: path.clone(), input: Input::File, tag: () };
            let mut answers = Vec::new();
            let all: ControlFlow<()> = files.hash_many([&huge, &small].map(item), |_, (), result| {
                answers.push(result);
                ControlFlow::Continue(())
            });
            assert_eq!(all, ControlFlow::Continue(()));
            assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Stopped))), "{answers:?}");
        }
    }
}
