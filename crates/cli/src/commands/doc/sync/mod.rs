//! `hashmill doc sync`: exchanges missing changes between copies of a document.

mod change_counts;
mod client;
mod files;
mod refused_changes;
mod socket;
mod socket_error;
mod tls;
mod unaccepted_changes;

use super::file;
use crate::exit_code::{FAILED, OK};
use crate::flags::{SyncArgs, UsageError};
use crate::output::{self, display_path, json};
use anyhow::{Result, bail};
use hashmill_doc::Document;
use refused_changes::RefusedChanges;
use serde::Serialize;
use std::path::Path;

/// Schemes of URLs, including those that are not supported.
const SCHEMES: [&str; 4] = ["ws://", "wss://", "http://", "https://"];

/// Runs the sync.
pub(super) fn run(flags: &SyncArgs) -> Result<u8> {
    let done = match flags.other.to_str() {
        Some(url) if SCHEMES.iter().any(|scheme| url.starts_with(scheme)) => client::sync(flags, url)?,
        _ if flags.id.is_some() || flags.new || flags.watch || flags.ca.is_some() => {
            bail!(UsageError("--id, --new, --watch and --ca need a server (ws://HOST:PORT)".to_owned()));
        }
        _ => files::sync(flags)?,
    };
    Ok(if done { OK } else { FAILED })
}

/// Result of a sync. The field names are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    name: json::Name,
    /// The other file, or the server.
    with: &'a str,
    /// The URL of the document on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    /// Number of changes that the file lacked.
    received: u64,
    /// Number of changes that the other side lacked and got.
    sent: u64,
    /// Number of changes that the server lacks and has not taken.
    unaccepted: u64,
    #[serde(flatten)]
    refused: RefusedChanges,
    heads: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(path: &Path, with: &'a str, doc: &Document) -> Report<'a> {
        let heads = doc.get_heads().iter().map(ToString::to_string).collect();
        Report {
            name: json::Name::from_path(path),
            with,
            document: None,
            received: 0,
            sent: 0,
            unaccepted: 0,
            refused: RefusedChanges::default(),
            heads,
        }
    }

    fn print(&self, path: &Path, as_json: bool) -> Result<()> {
        if as_json {
            let mut line = Vec::new();
            json::line(&mut line, self)?;
            return output::print(&String::from_utf8(line)?);
        }
        let Report { received, sent, .. } = self;
        let changes = if *received == 1 { "change" } else { "changes" };
        let document = self.document.iter().map(|url| format!(", as {url}")).collect::<String>();
        output::print(&format!(
            "{}: {received} {changes} received, {sent} sent{document}\n",
            display_path(path)
        ))
    }
}
