//! Verbs that write a document where nothing is.

use super::edit::options;
use super::file;
use super::report::{Made, NoMore, Teller, words};
use crate::flags::{AnonymiseArgs, AtArgs, ForkArgs, ImportArgs, JsonFlag, NewArgs, RescueArgs, SquashArgs};
use crate::out::complain;
use crate::{FAILED, OK};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{Form, read, unflatten};
use hashmill_doc::{ActorId, Change, Document, ExpandedChange, Kept, LoadOptions, Loss, Transactable as _};
use serde::Serialize;
use std::path::Path;

/// Writes a document where nothing is.
fn write(doc: &mut Document, output: &Path, json: &JsonFlag, more: impl Serialize) -> Result<()> {
    let teller = Teller::new(json, output)?;
    let wrote = file::create(output, &doc.save())?;
    teller.tell(doc, wrote, more)
}

pub(super) fn new(low: &NewArgs) -> Result<()> {
    write(&mut Document::new(), &low.file, &low.json, NoMore {})
}

pub(super) fn at(low: &AtArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let mut then = doc.fork_at(&super::named(&low.file, &doc, &low.heads)?)?;
    write(&mut then, &low.output, &low.json, NoMore {})
}

pub(super) fn fork(low: &ForkArgs) -> Result<()> {
    let mut doc = file::load(&low.file)?;
    if !low.at.at.is_empty() {
        doc = doc.fork_at(&super::named(&low.file, &doc, &low.at.at)?)?;
    }
    write(&mut doc, &low.output, &low.json, NoMore {})
}

pub(super) fn import(low: &ImportArgs) -> Result<()> {
    let bytes = file::read(&low.source)?;
    let named = || file::name(&low.source);
    if low.changes {
        let mut doc = from_changes(&bytes).with_context(named)?;
        return write(&mut doc, &low.output, &low.json, NoMore {});
    }
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    let value = match low.flat {
        true => unflatten(&bytes, form).map_err(anyhow::Error::from),
        false => read(&bytes, form).map_err(anyhow::Error::from),
    };
    let value = value.with_context(named)?;
    let mut doc = Document::new();
    if let Some(actor) = &low.change.actor {
        doc.set_actor(actor.clone());
    }
    let done = doc.transact_with(&options(&low.change), |tx| tx.init_root(&value));
    done.with_context(named)?;
    let made = Made::last(&doc);
    write(&mut doc, &low.output, &low.json, made)
}

/// The document of changes, one a line, each under the name that it says.
fn from_changes(lines: &[u8]) -> Result<Document> {
    let mut changes = Vec::new();
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
    {
        let place = || format!("line {}", number + 1);
        let said: ExpandedChange = serde_json::from_slice(line).with_context(place)?;
        let change = Change::try_from(&said).with_context(place)?;
        if said.hash.is_some_and(|hash| hash != change.hash()) {
            bail!("{}: what it says is change {}, which is not what it is called", place(), change.hash());
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

pub(super) fn squash(low: &SquashArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let actor = low.change.actor.clone().unwrap_or_else(ActorId::random);
    let squashed = doc.squash(actor, &options(&low.change));
    let mut squashed = squashed.with_context(|| file::name(&low.file))?;
    let made = Made::last(&squashed);
    write(&mut squashed, &low.output, &low.json, made)
}

pub(super) fn anonymise(low: &AnonymiseArgs) -> Result<()> {
    let mut masked = file::load(&low.file)?.anonymise().with_context(|| file::name(&low.file))?;
    write(&mut masked, &low.output, &low.json, NoMore {})
}

/// What could not be saved. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Lost {
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
    fn of(loss: &Loss) -> LostPart {
        let kept = match loss.kept {
            Kept::Nothing => "nothing",
            Kept::Values => "values",
            Kept::Contents => "contents",
        };
        LostPart { from: loss.bytes.start, to: loss.bytes.end, error: loss.why.to_string(), kept }
    }

    /// For people.
    fn line(&self) -> String {
        let kept = match self.kept {
            "nothing" => "nothing of it is kept",
            "values" => "its values are kept, without their history",
            _ => "it is kept, under other names",
        };
        format!("bytes {} to {}: {}; {kept}", self.from, self.to, self.error)
    }
}

pub(super) fn rescue(low: &RescueArgs) -> Result<u8> {
    let teller = Teller::new(&low.json, &low.output)?;
    let mut rescue = Document::rescue(&file::read(&low.file)?, LoadOptions::new());
    let losses: Vec<LostPart> = rescue.losses.iter().map(LostPart::of).collect();
    let name = file::name(&low.file);
    if !teller.is_program() {
        losses.iter().for_each(|loss| complain(&format!("{name}: {}", loss.line())));
        for hash in &rescue.missing {
            complain(&format!("{name}: change {hash} is missing, and others wait for it"));
        }
    }
    if rescue.document.is_empty() && !losses.is_empty() {
        bail!("{name}: there is nothing to save; nothing was written");
    }
    let code = if losses.is_empty() && rescue.missing.is_empty() { OK } else { FAILED };
    let wrote = file::create(&low.output, &rescue.document.save())?;
    teller.tell(&rescue.document, wrote, Lost { losses, missing: words(&rescue.missing) })?;
    Ok(code)
}
