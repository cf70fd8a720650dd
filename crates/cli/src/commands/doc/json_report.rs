//! JSON output of commands that write documents: one object per command.

use super::file::{WriteOutcome, is_stream};
use crate::flags::{JsonFlag, UsageError};
use crate::output::{self, json};
use anyhow::{Result, bail};
use hashmill_doc::{ChangeHash, Commit, Document};
use serde::Serialize;
use std::path::Path;

/// The field names are those of the JSON.
#[derive(Serialize)]
struct Report<M> {
    #[serde(flatten)]
    name: json::Name,
    /// False if the file was already up to date.
    written: bool,
    bytes: usize,
    changes: u64,
    operations: u64,
    heads: Vec<String>,
    #[serde(flatten)]
    more: M,
}

/// The hash of the committed change.
#[derive(Serialize)]
pub(super) struct CommittedChange {
    change: Option<String>,
}

impl CommittedChange {
    /// The change of a commit, if there is one: it is the only head.
    pub(super) fn from_commit(commit: Option<&Commit>, doc: &Document) -> CommittedChange {
        if commit.is_some() { CommittedChange::head(doc) } else { CommittedChange { change: None } }
    }

    /// The first head of a document.
    pub(super) fn head(doc: &Document) -> CommittedChange {
        CommittedChange { change: doc.get_heads().first().map(ToString::to_string) }
    }
}

/// No further fields.
#[derive(Serialize)]
pub(super) struct NoExtraFields {}

/// Prints the JSON object, if `--json` is given.
pub(super) struct JsonReporter<'a> {
    path: &'a Path,
    json: bool,
}

impl<'a> JsonReporter<'a> {
    /// For the document written to `path`.
    pub(super) fn new(flag: &JsonFlag, path: &'a Path) -> Result<JsonReporter<'a>> {
        if flag.json && is_stream(path) {
            bail!(UsageError(
                "--json: standard output cannot take both the document and the JSON object".to_owned()
            ));
        }
        Ok(JsonReporter { path, json: flag.json })
    }

    /// Whether JSON is printed instead of messages for people.
    pub(super) fn prints_json(&self) -> bool {
        self.json
    }

    pub(super) fn report(&self, doc: &Document, wrote: WriteOutcome, more: impl Serialize) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        let stats = doc.stats();
        let mut line = Vec::new();
        let report = Report {
            name: json::Name::from_path(self.path),
            written: wrote.written,
            bytes: wrote.bytes,
            changes: stats.changes,
            operations: stats.operations,
            heads: hash_strings(&doc.get_heads()),
            more,
        };
        json::line(&mut line, &report)?;
        output::print(&String::from_utf8(line)?)
    }
}

/// Hashes as hexadecimal text.
pub(super) fn hash_strings(hashes: &[ChangeHash]) -> Vec<String> {
    hashes.iter().map(ToString::to_string).collect()
}
