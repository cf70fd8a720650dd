//! Commands that write documents.

use super::file::{self, Edited};
use crate::flags::{
    AnonymiseArgs, AtArgs, ChangeFlags, DeleteArgs, Expand, ForkArgs, ImportArgs, MarkArgs, MergeArgs,
    Misuse, NewArgs, PatchArgs, PutArgs, RescueArgs, SpliceArgs, SquashArgs, UndoArgs,
};
use crate::out::complain;
use crate::{FAILED, OK};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{self, Form, Patch, Place, Pointer, PointerError, read, unflatten};
use hashmill_doc::{
    ActorId, Change, CommitOptions, Document, ExpandMark, ExpandedChange, Kept, Literal, LoadOptions, Mark,
    ObjId, ObjType, ReadDoc as _, Transactable as _, Transaction, Value,
};
use std::path::Path;

/// What is recorded with a change.
fn options(change: &ChangeFlags) -> CommitOptions {
    let now = || i64::try_from(hashmill_machine::date::now_seconds()).unwrap_or(i64::MAX);
    let options = CommitOptions::default().with_time(change.time.unwrap_or_else(now));
    match &change.message {
        Some(message) => options.with_message(message),
        None => options,
    }
}

/// Edits the document in a file as one change.
fn edit(
    path: &Path,
    change: &ChangeFlags,
    edit: impl FnOnce(&mut Transaction<'_>) -> Result<()>,
) -> Result<()> {
    let (mut edited, mut doc) = Edited::open(path)?;
    if let Some(actor) = &change.actor {
        doc.set_actor(actor.clone());
    }
    let ((), made) = doc.transact_with(&options(change), edit).with_context(|| file::name(path))?;
    match made {
        Some(_) => edited.replace(&mut doc).map(drop),
        None => edited.keep().map(drop),
    }
}

/// A value from the command line.
fn typed(json: &str, hint: &str) -> Result<Literal> {
    read(json.as_bytes(), Form::Tagged).map_err(|error| Misuse(format!("{json}: {error}{hint}")).into())
}

pub(super) fn new(low: &NewArgs) -> Result<()> {
    file::create(&low.file, &Document::new().save()).map(drop)
}

pub(super) fn put(low: &PutArgs) -> Result<()> {
    let value = match (low.string, low.text) {
        (true, _) => low.value.clone().into(),
        (_, true) => Literal::text(low.value.clone()),
        _ => typed(&low.value, " (for a string use --string)")?,
    };
    edit(&low.file, &low.change, |tx| {
        let Place { obj, kind, prop, taken } = low.pointer.place(&tx.view())?;
        match (prop, kind) {
            (hashmill_doc::Prop::Seq(index), ObjType::List) if low.insert || !taken => {
                tx.insert_literal(&obj, index, value)?;
            }
            (_, ObjType::Text) => bail!("what is in a text is edited with 'hashmill doc splice'"),
            (_, kind) if low.insert => bail!("a {kind} has no order: --insert is for lists"),
            (prop, _) => drop(tx.put_literal(&obj, prop, value)?),
        }
        Ok(())
    })
}

pub(super) fn delete(low: &DeleteArgs) -> Result<()> {
    edit(&low.file, &low.change, |tx| {
        let Place { obj, prop, taken, .. } = low.pointer.place(&tx.view())?;
        if !taken {
            return Err(PointerError::Nothing(low.pointer.clone()).into());
        }
        Ok(tx.delete(&obj, prop)?)
    })
}

/// The text at a place.
fn text(tx: &Transaction<'_>, pointer: &Pointer) -> Result<ObjId> {
    match pointer.find(&tx.view())? {
        (Value::Object(ObjType::Text), id) => Ok(id),
        (Value::Object(kind), _) => bail!("{pointer} is a {kind}, not a text"),
        (Value::Scalar(_), _) => {
            bail!("{pointer} is a single value, not a text (see 'hashmill doc put --text')")
        }
    }
}

pub(super) fn splice(low: &SpliceArgs) -> Result<()> {
    edit(&low.file, &low.change, |tx| {
        let text = text(tx, &low.pointer)?;
        let len = tx.length(&text);
        if low.index.checked_add(low.delete).is_none_or(|end| end > len) {
            bail!("{} has {len} characters: these are not all there", low.pointer);
        }
        Ok(tx.splice_text(&text, low.index, low.delete as isize, &low.insert)?)
    })
}

pub(super) fn mark(low: &MarkArgs) -> Result<()> {
    let Literal::Scalar(value) = typed(&low.value, "")? else {
        bail!(Misuse(format!("{}: the value of a mark has nothing inside", low.value)));
    };
    let expand = match low.expand {
        Expand::Before => ExpandMark::Before,
        Expand::After => ExpandMark::After,
        Expand::Both => ExpandMark::Both,
        Expand::None => ExpandMark::None,
    };
    edit(&low.file, &low.change, |tx| {
        let text = text(tx, &low.pointer)?;
        Ok(tx.mark(&text, Mark::new(&low.name, value, low.start, low.end), expand)?)
    })
}

pub(super) fn patch(low: &PatchArgs) -> Result<()> {
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    let json = file::read(&low.patch)?;
    let (mut edited, mut doc) = Edited::open(&low.file)?;
    if let Some(actor) = &low.change.actor {
        doc.set_actor(actor.clone());
    }
    let options = options(&low.change);
    let made = if low.merge {
        json::merge(&json, form, &mut doc, &options).with_context(|| file::name(&low.patch))?
    } else {
        let patch = Patch::read(&json, form).with_context(|| file::name(&low.patch))?;
        patch.apply(&mut doc, &options).with_context(|| file::name(&low.file))?
    };
    match made {
        Some(_) => edited.replace(&mut doc).map(drop),
        None => edited.keep().map(drop),
    }
}

pub(super) fn at(low: &AtArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let mut then = doc.fork_at(&super::named(&doc, &low.heads)?)?;
    file::create(&low.output, &then.save()).map(drop)
}

pub(super) fn fork(low: &ForkArgs) -> Result<()> {
    let mut doc = file::load(&low.file)?;
    if !low.at.at.is_empty() {
        doc = doc.fork_at(&super::named(&doc, &low.at.at)?)?;
    }
    file::create(&low.output, &doc.save()).map(drop)
}

pub(super) fn undo(low: &UndoArgs) -> Result<()> {
    let (mut edited, mut doc) = Edited::open(&low.file)?;
    if let Some(actor) = &low.change.actor {
        doc.set_actor(actor.clone());
    }
    let newest = || doc.get_changes_meta(&[]).last().map(|change| change.hash);
    let changes = match &low.changes[..] {
        [] => vec![newest().with_context(|| format!("{}: nothing was changed yet", file::name(&low.file)))?],
        named => super::named(&doc, named)?,
    };
    match doc.revert(&changes, &options(&low.change)).with_context(|| file::name(&low.file))? {
        Some(_) => edited.replace(&mut doc).map(drop),
        None => {
            complain(&format!(
                "{}: nothing of that is seen any more; nothing was changed",
                file::name(&low.file)
            ));
            edited.keep().map(drop)
        }
    }
}

pub(super) fn merge(low: &MergeArgs) -> Result<()> {
    let (mut edited, mut doc) = Edited::open(&low.file)?;
    for from in &low.from {
        doc.merge(&file::load(from)?).with_context(|| file::name(from))?;
    }
    match &low.output {
        Some(output) => file::create(output, &doc.save()).map(drop),
        None => edited.replace(&mut doc).map(drop),
    }
}

pub(super) fn import(low: &ImportArgs) -> Result<()> {
    if low.changes {
        let mut doc = from_changes(&file::read(&low.json)?).with_context(|| file::name(&low.json))?;
        return file::create(&low.output, &doc.save()).map(drop);
    }
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    let bytes = file::read(&low.json)?;
    let value = match low.flat {
        true => unflatten(&bytes, form).map_err(anyhow::Error::from),
        false => read(&bytes, form).map_err(anyhow::Error::from),
    };
    let value = value.with_context(|| file::name(&low.json))?;
    let mut doc = Document::new();
    if let Some(actor) = &low.change.actor {
        doc.set_actor(actor.clone());
    }
    doc.transact_with(&options(&low.change), |tx| tx.init_root(&value))
        .with_context(|| file::name(&low.json))?;
    file::create(&low.output, &doc.save()).map(drop)
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
        bail!("{} changes are missing, {hash} first", missing.len());
    }
    Ok(doc)
}

pub(super) fn squash(low: &SquashArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let actor = low.change.actor.clone().unwrap_or_else(ActorId::random);
    let squashed = doc.squash(actor, &options(&low.change));
    let mut squashed = squashed.with_context(|| file::name(&low.file))?;
    file::create(&low.output, &squashed.save()).map(drop)
}

pub(super) fn anonymise(low: &AnonymiseArgs) -> Result<()> {
    let mut masked = file::load(&low.file)?.anonymise().with_context(|| file::name(&low.file))?;
    file::create(&low.output, &masked.save()).map(drop)
}

pub(super) fn rescue(low: &RescueArgs) -> Result<u8> {
    let mut rescue = Document::rescue(&file::read(&low.file)?, LoadOptions::new());
    for loss in &rescue.losses {
        let kept = match loss.kept {
            Kept::Nothing => "nothing of it is kept",
            Kept::Values => "its values are kept, without their history",
            Kept::Contents => "it is kept, under other names",
        };
        let (from, to) = (loss.bytes.start, loss.bytes.end);
        complain(&format!("{}: bytes {from} to {to}: {}; {kept}", file::name(&low.file), loss.why));
    }
    for hash in &rescue.missing {
        complain(&format!("{}: change {hash} is missing, and others wait for it", file::name(&low.file)));
    }
    if rescue.document.is_empty() && !rescue.losses.is_empty() {
        bail!("{}: there is nothing to save; nothing was written", file::name(&low.file));
    }
    file::create(&low.output, &rescue.document.save())?;
    Ok(if rescue.losses.is_empty() && rescue.missing.is_empty() { OK } else { FAILED })
}
