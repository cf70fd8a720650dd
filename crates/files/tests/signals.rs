//! Handler for SIGBUS of the first mapped file.
//!
//! A separate program with one test: handlers belong to the process.
#![cfg(unix)]
#![forbid(unsafe_code)]

use hashmill_files::{Files, Function, Mapping, Options, Strategy};
use hashmill_testkit::paint;
use hashmill_testkit::signal::{bus_errors, count_bus_errors, raise_bus_error};
use hashmill_testkit::wait::limit;
use std::fs::OpenOptions;

/// Foreign signals reach the previous handler, own ones do not.
#[test]
fn a_handler_that_was_there_before_still_gets_its_signals() {
    count_bus_errors();
    raise_bus_error();
    assert_eq!(bus_errors(), 1, "before there is ours");

    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, paint(40 << 20)).expect("room on the disk");
    let mut options = Options::default();
    (options.strategy, options.mapping) = (Strategy::Mmap, Mapping::Guarded);
    let files = Files::new(Function::blake3(), options);
    files.hash_file(&file).expect("a digest");
    raise_bus_error();
    assert_eq!(bus_errors(), 2, "behind ours");

    // A file that is truncated while it is hashed, until that raises the signal.
    let cut = OpenOptions::new().write(true).open(&file).expect("the same file");
    let len = 40 << 20;
    let _limit = limit("the first bytes of a file, 20 times");
    for _ in 0..20 {
        cut.set_len(len).expect("growth");
        let before = files.progress().bytes();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while files.progress().bytes() == before {
                    std::thread::yield_now();
                }
                cut.set_len(0).expect("a cut");
            });
            // Truncated too late: try again.
            if files.hash_file(&file).is_ok() {
                assert_eq!(files.progress().bytes(), before + len);
            }
        });
    }
    assert_eq!(bus_errors(), 2, "those were ours");
}
