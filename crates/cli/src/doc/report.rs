//! What a verb that writes says to programs: one JSON object.

use super::file::{Wrote, is_stream};
use crate::flags::{JsonFlag, Misuse};
use crate::out::{self, json};
use anyhow::{Result, bail};
use hashmill_doc::{ChangeHash, Commit, Document};
use serde::Serialize;
use std::path::Path;

/// The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report<M> {
    #[serde(flatten)]
    name: json::Name,
    /// Not if the file was so already.
    written: bool,
    bytes: usize,
    changes: u64,
    operations: u64,
    heads: Vec<String>,
    #[serde(flatten)]
    more: M,
}

/// The change that was made.
#[derive(Serialize)]
pub(super) struct Made {
    change: Option<String>,
}

impl Made {
    /// If there is one: what was made last is the only head.
    pub(super) fn of(commit: Option<&Commit>, doc: &Document) -> Made {
        if commit.is_some() { Made::last(doc) } else { Made { change: None } }
    }

    /// Of a document in which there is no other.
    pub(super) fn last(doc: &Document) -> Made {
        Made { change: doc.get_heads().first().map(ToString::to_string) }
    }
}

/// Nothing else is to be said.
#[derive(Serialize)]
pub(super) struct NoMore {}

/// Whoever waits for the report, if anybody does.
pub(super) struct Teller<'a> {
    path: &'a Path,
    json: bool,
}

impl<'a> Teller<'a> {
    /// About what is written to `path`.
    pub(super) fn new(flag: &JsonFlag, path: &'a Path) -> Result<Teller<'a>> {
        if flag.json && is_stream(path) {
            bail!(Misuse("--json: standard output cannot take the document and the object".to_owned()));
        }
        Ok(Teller { path, json: flag.json })
    }

    /// Whether a program reads it, and people do not.
    pub(super) fn is_program(&self) -> bool {
        self.json
    }

    pub(super) fn tell(&self, doc: &Document, wrote: Wrote, more: impl Serialize) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        let stats = doc.stats();
        let mut line = Vec::new();
        let report = Report {
            name: json::Name::of(self.path),
            written: wrote.written,
            bytes: wrote.bytes,
            changes: stats.changes,
            operations: stats.operations,
            heads: words(&doc.get_heads()),
            more,
        };
        json::line(&mut line, &report)?;
        out::print(&String::from_utf8(line)?)
    }
}

/// Hashes as people see them.
pub(super) fn words(hashes: &[ChangeHash]) -> Vec<String> {
    hashes.iter().map(ToString::to_string).collect()
}
