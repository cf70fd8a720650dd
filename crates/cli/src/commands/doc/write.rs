//! Commands that edit a document in place.

use super::file::{self, EditedFile};
use super::json_report::{CommittedChange, JsonReporter, NoExtraFields, hash_strings};
use crate::flags::{
    ChangeFlags, DeleteArgs, Expand, JsonFlag, MarkArgs, MergeArgs, PatchArgs, PutArgs, SpliceArgs, UndoArgs,
    UsageError,
};
use crate::output::print_error;
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{self, Patch, Pointer, PointerError, ReadError, ScalarEncoding, WriteTarget, read};
use hashmill_doc::{
    Commit, CommitOptions, Document, ExpandMark, Literal, Mark, ObjId, ObjType, Prop, ReadDoc as _,
    Transactable as _, Transaction, Value,
};
use serde::Serialize;
use std::path::Path;

/// Maximum characters of a bad value in an error.
const MAX_CHARS: usize = 60;

/// The commit options from flags.
pub(super) fn commit_options(change: &ChangeFlags) -> CommitOptions {
    let now = || i64::try_from(hashmill_machine::date::now_seconds()).unwrap_or(i64::MAX);
    let options = CommitOptions::default().with_time(change.time.unwrap_or_else(now));
    match &change.message {
        Some(message) => options.with_message(message),
        None => options,
    }
}

/// The JSON of a change, with fields of the command.
#[derive(Serialize)]
struct ChangeReport<M> {
    #[serde(flatten)]
    change: CommittedChange,
    #[serde(flatten)]
    more: M,
}

/// The pointer to an edited value.
#[derive(Serialize)]
struct PointerField {
    pointer: String,
}

/// An edit of the document in a file, as one change.
struct Edit<'a> {
    reporter: JsonReporter<'a>,
    path: &'a Path,
    edited: EditedFile,
    doc: Document,
    options: CommitOptions,
}

impl<'a> Edit<'a> {
    fn open(path: &'a Path, change: &ChangeFlags, json: &JsonFlag) -> Result<Edit<'a>> {
        let reporter = JsonReporter::new(json, path)?;
        let (edited, mut doc) = EditedFile::open(path)?;
        if let Some(actor) = &change.actor {
            doc.set_actor(actor.clone());
        }
        Ok(Edit { reporter, path, edited, doc, options: commit_options(change) })
    }

    fn run<M: Serialize>(mut self, edit: impl FnOnce(&mut Transaction<'_>) -> Result<M>) -> Result<()> {
        let done = self.doc.transact_with(&self.options, edit);
        let (more, commit) = done.with_context(|| file::name(self.path))?;
        self.write(commit, more)
    }

    fn write(mut self, commit: Option<Commit>, more: impl Serialize) -> Result<()> {
        let wrote = match &commit {
            Some(_) => self.edited.replace(&mut self.doc)?,
            None => self.edited.keep_unchanged()?,
        };
        let change = CommittedChange::from_commit(commit.as_ref(), &self.doc);
        self.reporter.report(&self.doc, wrote, ChangeReport { change, more })
    }
}

/// Parses a value from the command line.
fn parse_value(json: &str) -> Result<Literal> {
    read(json.as_bytes(), ScalarEncoding::Tagged).map_err(|error| {
        let message = match error {
            ReadError::Json(_) => format!("{}: {error} (for a string use --string)", shortened(json)),
            ReadError::Tag(_) => format!("{} is not a value of the type in its tag", shortened(json)),
            error => error.to_string(),
        };
        UsageError(message).into()
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The target of a put or delete.
fn write_target(pointer: &Pointer, tx: &Transaction<'_>) -> Result<WriteTarget> {
    if pointer.is_whole() {
        bail!("the whole document cannot be replaced or deleted: name a key, such as /title");
    }
    Ok(pointer.write_target(&tx.view())?)
}

pub(super) fn put(flags: &PutArgs) -> Result<()> {
    let value = match (flags.string, flags.text) {
        (true, _) => flags.value.clone().into(),
        (_, true) => Literal::text(flags.value.clone()),
        _ => parse_value(&flags.value)?,
    };
    Edit::open(&flags.file, &flags.change, &flags.json)?.run(|tx| {
        let WriteTarget { obj, kind, prop, taken } = write_target(&flags.pointer, tx)?;
        let mut pointer = flags.pointer.text();
        if let (Prop::Seq(index), Some((list, _))) = (&prop, pointer.rsplit_once('/')) {
            pointer = format!("{list}/{index}");
        }
        match (prop, kind) {
            (Prop::Seq(index), ObjType::List) if flags.insert || !taken => {
                tx.insert_literal(&obj, index, value)?;
            }
            (_, ObjType::Text) => bail!("characters of a text are edited with 'hashmill doc splice'"),
            (_, kind) if flags.insert => bail!("--insert is for lists, not for a {kind}"),
            (prop, _) => drop(tx.put_literal(&obj, prop, value)?),
        }
        Ok(PointerField { pointer })
    })
}

pub(super) fn delete(flags: &DeleteArgs) -> Result<()> {
    Edit::open(&flags.file, &flags.change, &flags.json)?.run(|tx| {
        let WriteTarget { obj, prop, taken, .. } = write_target(&flags.pointer, tx)?;
        if !taken {
            return Err(PointerError::Nothing(flags.pointer.clone()).into());
        }
        tx.delete(&obj, prop)?;
        Ok(PointerField { pointer: flags.pointer.text() })
    })
}

/// The text object at a pointer.
fn text_at(tx: &Transaction<'_>, pointer: &Pointer) -> Result<ObjId> {
    match pointer.find(&tx.view())? {
        (Value::Object(ObjType::Text), id) => Ok(id),
        (Value::Object(kind), _) => bail!("{pointer} is a {kind}, not a text"),
        (Value::Scalar(_), _) => {
            bail!("{pointer} is a single value, not a text (see 'hashmill doc put --text')")
        }
    }
}

pub(super) fn splice(flags: &SpliceArgs) -> Result<()> {
    Edit::open(&flags.file, &flags.change, &flags.json)?.run(|tx| {
        let text = text_at(tx, &flags.pointer)?;
        let len = tx.length(&text);
        if flags.index.checked_add(flags.delete).is_none_or(|end| end > len) {
            bail!("{} has only {len} characters", flags.pointer);
        }
        tx.splice_text(&text, flags.index, flags.delete as isize, &flags.insert)?;
        Ok(PointerField { pointer: flags.pointer.text() })
    })
}

pub(super) fn mark(flags: &MarkArgs) -> Result<()> {
    let Literal::Scalar(value) = parse_value(&flags.value)? else {
        bail!(UsageError(format!("{}: the value of a mark must be a scalar", flags.value)));
    };
    let expand = match flags.expand {
        Expand::Before => ExpandMark::Before,
        Expand::After => ExpandMark::After,
        Expand::Both => ExpandMark::Both,
        Expand::None => ExpandMark::None,
    };
    Edit::open(&flags.file, &flags.change, &flags.json)?.run(|tx| {
        let text = text_at(tx, &flags.pointer)?;
        let len = tx.length(&text);
        if flags.end > len {
            bail!("{} has only {len} characters", flags.pointer);
        }
        tx.mark(&text, Mark::new(&flags.name, value, flags.start, flags.end), expand)?;
        Ok(PointerField { pointer: flags.pointer.text() })
    })
}

pub(super) fn patch(flags: &PatchArgs) -> Result<()> {
    let form = if flags.tagged { ScalarEncoding::Tagged } else { ScalarEncoding::Plain };
    let json = file::read(&flags.patch)?;
    let mut edit = Edit::open(&flags.file, &flags.change, &flags.json)?;
    let commit = if flags.merge {
        json::merge(&json, form, &mut edit.doc, &edit.options).with_context(|| file::name(&flags.patch))?
    } else {
        let patch = Patch::read(&json, form).with_context(|| file::name(&flags.patch))?;
        patch.apply(&mut edit.doc, &edit.options).with_context(|| file::name(&flags.file))?
    };
    edit.write(commit, NoExtraFields {})
}

/// The hashes of the undone changes.
#[derive(Serialize)]
struct UndoneChanges {
    undone: Vec<String>,
}

pub(super) fn undo(flags: &UndoArgs) -> Result<()> {
    let mut edit = Edit::open(&flags.file, &flags.change, &flags.json)?;
    let newest = edit.doc.get_changes_meta(&[]).last().map(|change| change.hash);
    let changes = match &flags.changes[..] {
        [] => vec![newest.with_context(|| format!("{}: there are no changes", file::name(&flags.file)))?],
        prefixes => super::changes_by_prefix(&flags.file, &edit.doc, prefixes)?,
    };
    let commit = edit.doc.revert(&changes, &edit.options).with_context(|| file::name(&flags.file))?;
    if commit.is_none() && !edit.reporter.prints_json() {
        print_error(&format!(
            "{}: these changes have no visible effect any more; nothing was changed",
            file::name(&flags.file)
        ));
    }
    edit.write(commit, UndoneChanges { undone: hash_strings(&changes) })
}

/// The number of received changes.
#[derive(Serialize)]
struct Received {
    received: u64,
}

pub(super) fn merge(flags: &MergeArgs) -> Result<()> {
    let reporter = JsonReporter::new(&flags.json, flags.output.as_ref().unwrap_or(&flags.file))?;
    let (mut edited, mut doc) = EditedFile::open(&flags.file)?;
    let state = |doc: &Document| (doc.stats().changes, doc.get_missing_deps(&[]));
    let before = state(&doc);
    for from in &flags.from {
        doc.merge(&file::load(from)?).with_context(|| file::name(from))?;
    }
    let wrote = match &flags.output {
        Some(output) => file::create(output, &doc.save())?,
        // Do not rewrite an unchanged document: its bytes could differ.
        None if state(&doc) == before => edited.keep_unchanged()?,
        None => edited.replace(&mut doc)?,
    };
    reporter.report(&doc, wrote, Received { received: doc.stats().changes - before.0 })
}
