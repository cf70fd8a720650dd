//! What files and sync messages are made of.

use super::file::{self, name};
use super::report::words;
use super::show::{counted, print, who};
use crate::flags::{ExamineArgs, ExamineSyncArgs};
use crate::out::{hex, json};
use crate::{FAILED, OK};
use anyhow::{Context as _, Result};
use hashmill_doc::sync::{Message, MessageFlags, MessageVersion};
use hashmill_doc::{Change, ExpandedChange, Limits, Part, PartKind, examine};
use serde::Serialize;
use std::io::{self, Write};

/// A chunk. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Chunk {
    from: usize,
    to: usize,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    changes: Vec<ExpandedChange>,
}

/// A sync message. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Said {
    version: u8,
    heads: Vec<String>,
    need: Vec<String>,
    have: Vec<Had>,
    flags: Option<Vec<&'static str>>,
    /// An entry is a chunk or several.
    changes: Vec<Vec<Chunk>>,
}

/// What the sender says it has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Had {
    last_sync: Vec<String>,
    bloom: String,
}

fn kind(part: &Part) -> Option<&'static str> {
    part.kind.map(|kind| match kind {
        PartKind::Document => "document",
        PartKind::Change => "change",
        PartKind::CompressedChange => "compressed change",
        PartKind::Bundle => "bundle",
    })
}

fn chunk(part: &Part) -> Chunk {
    let (changes, error) = match &part.changes {
        Ok(changes) => (changes.iter().map(Change::decode).collect(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Chunk { from: part.bytes.start, to: part.bytes.end, kind: kind(part), error, changes }
}

/// A chunk for people, and the changes in it.
fn told(part: &Part, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = (part.bytes.start, part.bytes.end);
    write!(out, "{indent}bytes {from} to {to}: {}", kind(part).unwrap_or("no chunk"))?;
    match &part.changes {
        Ok(changes) => {
            writeln!(out, ", {}", counted(changes.len() as u64, "change"))?;
            for change in changes {
                let who = who(&change.hash(), change.actor_id(), change.seq(), change.timestamp());
                write!(out, "{indent}  {who}  {}", counted(change.len() as u64, "operation"))?;
                if let Some(message) = change.message() {
                    write!(out, "  {}", message.escape_debug())?;
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        Err(error) => writeln!(out, ", {error}"),
    }
}

pub(super) fn file(low: &ExamineArgs) -> Result<u8> {
    let parts = examine(&file::read(&low.file)?, &Limits::default());
    print(|out| {
        parts.iter().try_for_each(|part| match low.json {
            true => json::line(out, &chunk(part)),
            false => told(part, "", out),
        })
    })?;
    Ok(if parts.iter().all(|part| part.changes.is_ok()) { OK } else { FAILED })
}

pub(super) fn message(low: &ExamineSyncArgs) -> Result<u8> {
    let message = Message::decode(&file::read(&low.file)?).with_context(|| name(&low.file))?;
    let entries: Vec<Vec<Part>> =
        message.changes.iter().map(|entry| examine(entry, &Limits::default())).collect();
    let said = Said {
        version: match message.version {
            MessageVersion::V1 => 1,
            MessageVersion::V2 => 2,
        },
        heads: words(&message.heads),
        need: words(&message.need),
        have: message
            .have
            .iter()
            .map(|have| Had { last_sync: words(&have.last_sync), bloom: hex(&have.bloom.to_bytes()) })
            .collect(),
        flags: message.flags.map(flags),
        changes: Vec::new(),
    };
    print(|out| match low.json {
        true => {
            let changes = entries.iter().map(|parts| parts.iter().map(chunk).collect()).collect();
            json::line(out, &Said { changes, ..said })
        }
        false => summary(&said, &entries, out),
    })?;
    Ok(if entries.iter().flatten().all(|part| part.changes.is_ok()) { OK } else { FAILED })
}

fn flags(flags: MessageFlags) -> Vec<&'static str> {
    let all = [
        (MessageFlags::SYNC_RESET, "reset"),
        (MessageFlags::READ_ONLY, "read-only"),
        (MessageFlags::SUPPORTS_SYNC_RESET, "supports reset"),
    ];
    all.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| name).collect()
}

fn summary(said: &Said, entries: &[Vec<Part>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "version   {}", said.version)?;
    said.heads.iter().try_for_each(|head| writeln!(out, "head      {head}"))?;
    said.need.iter().try_for_each(|hash| writeln!(out, "need      {hash}"))?;
    for have in &said.have {
        writeln!(out, "have      a filter of {} bytes", have.bloom.len() / 2)?;
        have.last_sync.iter().try_for_each(|hash| writeln!(out, "  since   {hash}"))?;
    }
    if let Some(flags) = &said.flags {
        writeln!(out, "flags     {}", if flags.is_empty() { "none".to_owned() } else { flags.join(", ") })?;
    }
    for parts in entries {
        writeln!(out, "entry")?;
        parts.iter().try_for_each(|part| told(part, "  ", out))?;
    }
    Ok(())
}
