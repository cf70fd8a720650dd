//! A git repository of a test's own.

use crate::program::{Folder, said};
use std::path::PathBuf;
use std::process::Command;

/// With a folder beside it for what a test needs besides.
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
        let said = said(git.args(arguments));
        assert_eq!(said.code, Some(0), "git {arguments:?}: {}", said.err);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(path, text).expect("a writable folder");
    }

    /// Everything that is there, under a tag.
    pub(crate) fn commit(&self, tag: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", tag]);
        self.git(&["tag", tag]);
    }
}
