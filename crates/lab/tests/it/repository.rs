//! A git repository of a test.

use crate::program::{Folder, result_of};
use std::path::PathBuf;
use std::process::Command;

/// With a folder beside it for other files of the test.
pub(crate) struct Repository {
    pub(crate) folder: Folder,
}

impl Repository {
    /// Without a commit.
    pub(crate) fn new(name: &str) -> Self {
        let repository = Repository { folder: Folder::new(name) };
        std::fs::create_dir(repository.path()).expect("a folder");
        repository.git(&["init", "--quiet"]);
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("repository")
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path()).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        let result = result_of(git.args(arguments));
        assert_eq!(result.code, Some(0), "git {arguments:?}: {}", result.err);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(path, text).expect("a writable folder");
    }

    /// Commits everything, with a tag.
    pub(crate) fn commit(&self, tag: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", tag]);
        self.git(&["tag", tag]);
    }
}
