//! Structure of document files and sync messages.

use super::file::{self, name};
use super::json_report::hash_strings;
use super::read::{change_label, counted, print};
use crate::exit_code::{FAILED, OK};
use crate::flags::{ExamineArgs, ExamineSyncArgs};
use crate::output::{hex, json};
use anyhow::{Context as _, Result};
use hashmill_doc::sync::{Message, MessageFlags, MessageVersion};
use hashmill_doc::{Change, ExpandedChange, Limits, Part, PartKind, examine};
use serde::Serialize;
use std::io::{self, Write};

/// A chunk. The field names are those of the JSON.
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

/// A sync message. The field names are those of the JSON.
#[derive(Serialize)]
struct MessageSummary {
    version: u8,
    heads: Vec<String>,
    need: Vec<String>,
    have: Vec<HaveEntry>,
    flags: Option<Vec<&'static str>>,
    /// Each entry has one or more chunks.
    changes: Vec<Vec<Chunk>>,
}

/// Changes that the sender has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HaveEntry {
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

/// Writes a chunk and its changes as text.
fn write_chunk(part: &Part, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = (part.bytes.start, part.bytes.end);
    write!(out, "{indent}bytes {from} to {to}: {}", kind(part).unwrap_or("not a chunk"))?;
    match &part.changes {
        Ok(changes) => {
            writeln!(out, ", {}", counted(changes.len() as u64, "change"))?;
            for change in changes {
                let label = change_label(&change.hash(), change.actor_id(), change.seq(), change.timestamp());
                write!(out, "{indent}  {label}  {}", counted(change.len() as u64, "operation"))?;
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

pub(super) fn file(flags: &ExamineArgs) -> Result<u8> {
    let parts = examine(&file::read(&flags.file)?, &Limits::default());
    print(|out| {
        parts.iter().try_for_each(|part| match flags.json {
            true => json::line(out, &chunk(part)),
            false => write_chunk(part, "", out),
        })
    })?;
    Ok(if parts.iter().all(|part| part.changes.is_ok()) { OK } else { FAILED })
}

pub(super) fn message(flags: &ExamineSyncArgs) -> Result<u8> {
    let message = Message::decode(&file::read(&flags.file)?).with_context(|| name(&flags.file))?;
    let entries: Vec<Vec<Part>> =
        message.changes.iter().map(|entry| examine(entry, &Limits::default())).collect();
    let summary = MessageSummary {
        version: match message.version {
            MessageVersion::V1 => 1,
            MessageVersion::V2 => 2,
        },
        heads: hash_strings(&message.heads),
        need: hash_strings(&message.need),
        have: message
            .have
            .iter()
            .map(|have| HaveEntry {
                last_sync: hash_strings(&have.last_sync),
                bloom: hex(&have.bloom.to_bytes()),
            })
            .collect(),
        flags: message.flags.map(flag_names),
        changes: Vec::new(),
    };
    print(|out| match flags.json {
        true => {
            let changes = entries.iter().map(|parts| parts.iter().map(chunk).collect()).collect();
            json::line(out, &MessageSummary { changes, ..summary })
        }
        false => write_summary(&summary, &entries, out),
    })?;
    Ok(if entries.iter().flatten().all(|part| part.changes.is_ok()) { OK } else { FAILED })
}

fn flag_names(flags: MessageFlags) -> Vec<&'static str> {
    let all = [
        (MessageFlags::SYNC_RESET, "reset"),
        (MessageFlags::READ_ONLY, "read-only"),
        (MessageFlags::SUPPORTS_SYNC_RESET, "supports reset"),
    ];
    all.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| name).collect()
}

fn write_summary(summary: &MessageSummary, entries: &[Vec<Part>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "version   {}", summary.version)?;
    summary.heads.iter().try_for_each(|head| writeln!(out, "head      {head}"))?;
    summary.need.iter().try_for_each(|hash| writeln!(out, "need      {hash}"))?;
    for have in &summary.have {
        writeln!(out, "have      a filter of {} bytes", have.bloom.len() / 2)?;
        have.last_sync.iter().try_for_each(|hash| writeln!(out, "  since   {hash}"))?;
    }
    if let Some(flags) = &summary.flags {
        writeln!(out, "flags     {}", if flags.is_empty() { "none".to_owned() } else { flags.join(", ") })?;
    }
    for parts in entries {
        writeln!(out, "entry")?;
        parts.iter().try_for_each(|part| write_chunk(part, "  ", out))?;
    }
    Ok(())
}
