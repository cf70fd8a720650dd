//! Commands that write a new document.

use super::file;
use super::json_report::{CommittedChange, JsonReporter, NoExtraFields, hash_strings};
use super::write::commit_options;
use crate::exit_code::{FAILED, OK};
use crate::flags::{AnonymiseArgs, AtArgs, ForkArgs, ImportArgs, JsonFlag, NewArgs, RescueArgs, SquashArgs};
use crate::output::print_error;
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{ScalarEncoding, read, unflatten};
use hashmill_doc::{
    ActorId, Change, Document, ExpandedChange, LoadOptions, Loss, RecoveryLevel, Transactable as _,
};
use serde::Serialize;
use std::path::Path;

/// Writes a new document; the path must not exist.
fn write(doc: &mut Document, output: &Path, json: &JsonFlag, more: impl Serialize) -> Result<()> {
    let reporter = JsonReporter::new(json, output)?;
    let wrote = file::create(output, &doc.save())?;
    reporter.report(doc, wrote, more)
}

pub(super) fn new(flags: &NewArgs) -> Result<()> {
    write(&mut Document::new(), &flags.file, &flags.json, NoExtraFields {})
}

pub(super) fn at(flags: &AtArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    let mut then = doc.fork_at(&super::changes_by_prefix(&flags.file, &doc, &flags.heads)?)?;
    write(&mut then, &flags.output, &flags.json, NoExtraFields {})
}

pub(super) fn fork(flags: &ForkArgs) -> Result<()> {
    let mut doc = file::load(&flags.file)?;
    if !flags.at.at.is_empty() {
        doc = doc.fork_at(&super::changes_by_prefix(&flags.file, &doc, &flags.at.at)?)?;
    }
    write(&mut doc, &flags.output, &flags.json, NoExtraFields {})
}

pub(super) fn import(flags: &ImportArgs) -> Result<()> {
    let bytes = file::read(&flags.source)?;
    let source = || file::name(&flags.source);
    if flags.changes {
        let mut doc = from_changes(&bytes).with_context(source)?;
        return write(&mut doc, &flags.output, &flags.json, NoExtraFields {});
    }
    let form = if flags.tagged { ScalarEncoding::Tagged } else { ScalarEncoding::Plain };
    let value = match flags.flat {
        true => unflatten(&bytes, form).map_err(anyhow::Error::from),
        false => read(&bytes, form).map_err(anyhow::Error::from),
    };
    let value = value.with_context(source)?;
    let mut doc = Document::new();
    if let Some(actor) = &flags.change.actor {
        doc.set_actor(actor.clone());
    }
    let done = doc.transact_with(&commit_options(&flags.change), |tx| tx.init_root(&value));
    done.with_context(source)?;
    let change = CommittedChange::head(&doc);
    write(&mut doc, &flags.output, &flags.json, change)
}

/// Builds a document from changes, one per line, and checks the hashes that they state.
fn from_changes(lines: &[u8]) -> Result<Document> {
    let mut changes = Vec::new();
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
    {
        let line_name = || format!("line {}", number + 1);
        let expanded: ExpandedChange = serde_json::from_slice(line).with_context(line_name)?;
        let change = Change::try_from(&expanded).with_context(line_name)?;
        if expanded.hash.is_some_and(|hash| hash != change.hash()) {
            bail!(
                "{}: its content has the hash {}, which differs from the stated hash",
                line_name(),
                change.hash()
            );
        }
        changes.push(change);
    }
    let mut doc = Document::new();
    doc.apply_changes(changes)?;
    let missing = doc.get_missing_deps(&[]);
    if let Some(hash) = missing.first() {
        let (are, s) = if missing.len() == 1 { ("is", "") } else { ("are", "s") };
        bail!("{} change{s} {are} missing, {hash} first", missing.len());
    }
    Ok(doc)
}

pub(super) fn squash(flags: &SquashArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    let actor = flags.change.actor.clone().unwrap_or_else(ActorId::random);
    let squashed = doc.squash(actor, &commit_options(&flags.change));
    let mut squashed = squashed.with_context(|| file::name(&flags.file))?;
    let change = CommittedChange::head(&squashed);
    write(&mut squashed, &flags.output, &flags.json, change)
}

pub(super) fn anonymise(flags: &AnonymiseArgs) -> Result<()> {
    let mut masked = file::load(&flags.file)?.anonymise().with_context(|| file::name(&flags.file))?;
    write(&mut masked, &flags.output, &flags.json, NoExtraFields {})
}

/// Losses of a rescue. The field names are those of the JSON.
#[derive(Serialize)]
struct LossReport {
    losses: Vec<LostPart>,
    missing: Vec<String>,
}

#[derive(Serialize)]
struct LostPart {
    from: usize,
    to: usize,
    error: String,
    /// `nothing`, `values` or `contents`.
    kept: &'static str,
}

impl LostPart {
    fn from_loss(loss: &Loss) -> LostPart {
        let recovered = match loss.recovered {
            RecoveryLevel::Nothing => "nothing",
            RecoveryLevel::Values => "values",
            RecoveryLevel::Contents => "contents",
        };
        LostPart {
            from: loss.bytes.start,
            to: loss.bytes.end,
            error: loss.reason.to_string(),
            kept: recovered,
        }
    }

    /// The loss as text.
    fn line(&self) -> String {
        let recovered = match self.kept {
            "nothing" => "nothing of it is recovered",
            "values" => "its values are recovered, without their history",
            _ => "it is recovered, with other hashes",
        };
        format!("bytes {} to {}: {}; {recovered}", self.from, self.to, self.error)
    }
}

pub(super) fn rescue(flags: &RescueArgs) -> Result<u8> {
    let reporter = JsonReporter::new(&flags.json, &flags.output)?;
    let mut rescue = Document::rescue(&file::read(&flags.file)?, LoadOptions::new());
    let losses: Vec<LostPart> = rescue.losses.iter().map(LostPart::from_loss).collect();
    let name = file::name(&flags.file);
    if !reporter.prints_json() {
        losses.iter().for_each(|loss| print_error(&format!("{name}: {}", loss.line())));
        for hash in &rescue.missing {
            print_error(&format!("{name}: change {hash} is missing, and other changes depend on it"));
        }
    }
    if rescue.document.is_empty() && !losses.is_empty() {
        bail!("{name}: nothing can be recovered; nothing was written");
    }
    let code = if losses.is_empty() && rescue.missing.is_empty() { OK } else { FAILED };
    let wrote = file::create(&flags.output, &rescue.document.save())?;
    reporter.report(
        &rescue.document,
        wrote,
        LossReport { losses, missing: hash_strings(&rescue.missing) },
    )?;
    Ok(code)
}
