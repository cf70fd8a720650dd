//! `hashmill doc sync`: copies of a document learn from each other what they lack.

mod files;

use super::file;
use crate::flags::SyncArgs;
use crate::out::{self, json, shown};
use crate::{FAILED, OK};
use anyhow::Result;
use hashmill_doc::Document;
use serde::Serialize;
use std::path::Path;

/// Does what the flags say.
pub(super) fn run(low: &SyncArgs) -> Result<u8> {
    let done = files::sync(low)?;
    Ok(if done { OK } else { FAILED })
}

/// What a sync did. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    name: json::Name,
    /// The other file.
    with: &'a str,
    /// Changes that the file did not have.
    received: u64,
    /// Changes that the other side did not have.
    sent: u64,
    heads: Vec<String>,
}

impl<'a> Report<'a> {
    fn of(path: &Path, with: &'a str, doc: &Document) -> Report<'a> {
        let heads = doc.get_heads().iter().map(ToString::to_string).collect();
        Report { name: json::Name::of(path), with, received: 0, sent: 0, heads }
    }

    fn print(&self, path: &Path, as_json: bool) -> Result<()> {
        if as_json {
            let mut line = Vec::new();
            json::line(&mut line, self)?;
            return out::print(&String::from_utf8(line)?);
        }
        let Report { received, sent, .. } = self;
        let changes = if *received == 1 { "change" } else { "changes" };
        out::print(&format!("{}: {received} {changes} received, {sent} sent\n", shown(path)))
    }
}
