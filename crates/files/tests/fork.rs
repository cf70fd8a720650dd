//! Fork of a process with running threads: inherited objects work in the child, on threads of its own.
//!
//! A separate program, one test at a time: a child must not find locks that other tests hold.
#![cfg(unix)]
#![forbid(unsafe_code)]

use hashmill_files::{Files, Function, HasherExt, Mapping, Options, Strategy};
use hashmill_hash::blake3::{self, Hasher};
use hashmill_testkit::fork::{Child, beside, in_child};
use hashmill_testkit::paint;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn files(strategy: Strategy, mapping: Mapping) -> Files {
    let mut options = Options::default();
    options.strategy = strategy;
    options.mapping = mapping;
    options.threads = NonZero::new(4);
    Files::new(Function::blake3(), options)
}

/// A large and a small file, and their expected digests.
struct Two {
    folder: tempfile::TempDir,
    digests: [[u8; 32]; 2],
}

impl Two {
    fn new() -> Two {
        let folder = tempfile::tempdir().expect("a folder");
        let contents = [paint(9 << 20), paint(5000)];
        for (name, content) in ["0", "1"].iter().zip(&contents) {
            std::fs::write(folder.path().join(name), content).expect("a file");
        }
        Two { folder, digests: contents.map(|content| *blake3::hash(&content).as_bytes()) }
    }

    fn path(&self, index: usize) -> impl AsRef<Path> {
        self.folder.path().join(index.to_string())
    }

    /// Are both digests right?
    fn right(&self, files: &Files) -> bool {
        (0..2).all(|index| {
            let digest = files.hash_file(self.path(index));
            digest.is_ok_and(|digest| digest.output.bytes_at(0) == Some(self.digests[index]))
        })
    }
}

#[test]
fn files_are_hashed_in_a_child() {
    let _alone = alone();
    let two = Two::new();
    for strategy in Strategy::ALL {
        for mapping in [Mapping::Guarded, Mapping::Never] {
            let files = files(strategy, mapping);
            assert!(two.right(&files), "warm");
            let child = || {
                let right = two.right(&files) && two.right(&files);
                let grandchild = in_child(|| two.right(&files));
                drop(files);
                right && grandchild == Child::Agreed
            };
            assert_eq!(in_child(child), Child::Agreed, "{strategy} {mapping:?}");
        }
    }
}

#[test]
fn children_of_a_busy_parent_do_not_deadlock() {
    let _alone = alone();
    let two = Two::new();
    for strategy in [Strategy::Auto, Strategy::Read] {
        let files = files(strategy, Mapping::Guarded);
        let forks = || (0..20).map(|_| in_child(|| two.right(&files))).collect::<Vec<_>>();
        let children = beside(|| || assert!(two.right(&files)), forks);
        assert_eq!(children, [Child::Agreed; 20], "{strategy}");
    }
}

#[test]
fn a_hasher_takes_a_mapped_file_in_a_child() {
    let _alone = alone();
    let two = Two::new();
    let right = || {
        let mut hasher = Hasher::new();
        let taken = hasher.update_mmap_rayon(two.path(0)).is_ok();
        taken && *hasher.finalize().as_bytes() == two.digests[0]
    };
    assert!(right(), "warm");
    assert_eq!(in_child(right), Child::Agreed);
}
