//! `hashmill doc sync`: copies of a document learn from each other what they lack.

mod files;
mod id;
mod server;
mod session;
mod socket;
mod tls;
mod wire;

pub(crate) use id::DocumentId;

use super::file;
use crate::flags::{Misuse, SyncArgs};
use crate::out::{self, json, shown};
use crate::{FAILED, OK};
use anyhow::{Result, bail};
use hashmill_doc::Document;
use serde::Serialize;
use std::path::Path;

/// What begins so is a URL, if not always of a server that we can talk to.
const SCHEMES: [&str; 4] = ["ws://", "wss://", "http://", "https://"];

/// Does what the flags say.
pub(super) fn run(low: &SyncArgs) -> Result<u8> {
    let done = match low.other.to_str() {
        Some(url) if SCHEMES.iter().any(|scheme| url.starts_with(scheme)) => server::sync(low, url)?,
        _ if low.id.is_some() || low.new || low.watch || low.ca.is_some() => {
            bail!(Misuse("--id, --new, --watch and --ca are for a server (ws://HOST:PORT)".to_owned()));
        }
        _ => files::sync(low)?,
    };
    Ok(if done { OK } else { FAILED })
}

/// What a sync did. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    name: json::Name,
    /// The other file, or the server.
    with: &'a str,
    /// What the document is called there.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    /// Changes that the file did not have.
    received: u64,
    /// Changes that the other side did not have.
    sent: u64,
    heads: Vec<String>,
}

impl<'a> Report<'a> {
    fn of(path: &Path, with: &'a str, doc: &Document) -> Report<'a> {
        let heads = doc.get_heads().iter().map(ToString::to_string).collect();
        Report { name: json::Name::of(path), with, document: None, received: 0, sent: 0, heads }
    }

    fn print(&self, path: &Path, as_json: bool) -> Result<()> {
        if as_json {
            let mut line = Vec::new();
            json::line(&mut line, self)?;
            return out::print(&String::from_utf8(line)?);
        }
        let Report { received, sent, .. } = self;
        let changes = if *received == 1 { "change" } else { "changes" };
        let document = self.document.iter().map(|url| format!(", as {url}")).collect::<String>();
        out::print(&format!("{}: {received} {changes} received, {sent} sent{document}\n", shown(path)))
    }
}
