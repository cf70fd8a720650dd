//! Verbs that change a document where it is.

use super::file::{self, Edited};
use super::report::{Made, NoMore, Teller, words};
use crate::flags::{
    ChangeFlags, DeleteArgs, Expand, JsonFlag, MarkArgs, MergeArgs, Misuse, PatchArgs, PutArgs, SpliceArgs,
    UndoArgs,
};
use crate::out::complain;
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{self, Form, Patch, Place, Pointer, PointerError, ReadError, read};
use hashmill_doc::{
    Commit, CommitOptions, Document, ExpandMark, Literal, Mark, ObjId, ObjType, Prop, ReadDoc as _,
    Transactable as _, Transaction, Value,
};
use serde::Serialize;
use std::path::Path;

/// So many characters of a value that cannot be used are repeated.
const SHOWN: usize = 60;

/// What is recorded with a change.
pub(super) fn options(change: &ChangeFlags) -> CommitOptions {
    let now = || i64::try_from(hashmill_machine::date::now_seconds()).unwrap_or(i64::MAX);
    let options = CommitOptions::default().with_time(change.time.unwrap_or_else(now));
    match &change.message {
        Some(message) => options.with_message(message),
        None => options,
    }
}

/// A change, and what else is told of it.
#[derive(Serialize)]
struct MadeAt<M> {
    #[serde(flatten)]
    made: Made,
    #[serde(flatten)]
    more: M,
}

/// Where a value is now.
#[derive(Serialize)]
struct At {
    pointer: String,
}

/// Edits the document in a file as one change.
struct Edit<'a> {
    teller: Teller<'a>,
    path: &'a Path,
    edited: Edited,
    doc: Document,
    options: CommitOptions,
}

impl<'a> Edit<'a> {
    fn of(path: &'a Path, change: &ChangeFlags, json: &JsonFlag) -> Result<Edit<'a>> {
        let teller = Teller::new(json, path)?;
        let (edited, mut doc) = Edited::open(path)?;
        if let Some(actor) = &change.actor {
            doc.set_actor(actor.clone());
        }
        Ok(Edit { teller, path, edited, doc, options: options(change) })
    }

    fn run<M: Serialize>(mut self, edit: impl FnOnce(&mut Transaction<'_>) -> Result<M>) -> Result<()> {
        let done = self.doc.transact_with(&self.options, edit);
        let (more, made) = done.with_context(|| file::name(self.path))?;
        self.write(made, more)
    }

    fn write(mut self, made: Option<Commit>, more: impl Serialize) -> Result<()> {
        let wrote = match &made {
            Some(_) => self.edited.replace(&mut self.doc)?,
            None => self.edited.keep()?,
        };
        let made = Made::of(made.as_ref(), &self.doc);
        self.teller.tell(&self.doc, wrote, MadeAt { made, more })
    }
}

/// A value from the command line.
fn typed(json: &str) -> Result<Literal> {
    read(json.as_bytes(), Form::Tagged).map_err(|error| {
        let words = match error {
            ReadError::Json(_) => format!("{}: {error} (for a string use --string)", cut(json)),
            ReadError::Tag(_) => format!("{} is no value of the type that it says", cut(json)),
            error => error.to_string(),
        };
        Misuse(words).into()
    })
}

fn cut(words: &str) -> String {
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Where something can be put or deleted.
fn place(pointer: &Pointer, tx: &Transaction<'_>) -> Result<Place> {
    if pointer.is_whole() {
        bail!("the whole document cannot be replaced or deleted: name a key in it, as /title");
    }
    Ok(pointer.place(&tx.view())?)
}

pub(super) fn put(low: &PutArgs) -> Result<()> {
    let value = match (low.string, low.text) {
        (true, _) => low.value.clone().into(),
        (_, true) => Literal::text(low.value.clone()),
        _ => typed(&low.value)?,
    };
    Edit::of(&low.file, &low.change, &low.json)?.run(|tx| {
        let Place { obj, kind, prop, taken } = place(&low.pointer, tx)?;
        let mut pointer = low.pointer.text();
        if let (Prop::Seq(index), Some((list, _))) = (&prop, pointer.rsplit_once('/')) {
            pointer = format!("{list}/{index}");
        }
        match (prop, kind) {
            (Prop::Seq(index), ObjType::List) if low.insert || !taken => {
                tx.insert_literal(&obj, index, value)?;
            }
            (_, ObjType::Text) => bail!("what is in a text is edited with 'hashmill doc splice'"),
            (_, kind) if low.insert => bail!("a {kind} has no order: --insert is for lists"),
            (prop, _) => drop(tx.put_literal(&obj, prop, value)?),
        }
        Ok(At { pointer })
    })
}

pub(super) fn delete(low: &DeleteArgs) -> Result<()> {
    Edit::of(&low.file, &low.change, &low.json)?.run(|tx| {
        let Place { obj, prop, taken, .. } = place(&low.pointer, tx)?;
        if !taken {
            return Err(PointerError::Nothing(low.pointer.clone()).into());
        }
        tx.delete(&obj, prop)?;
        Ok(At { pointer: low.pointer.text() })
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
    Edit::of(&low.file, &low.change, &low.json)?.run(|tx| {
        let text = text(tx, &low.pointer)?;
        let len = tx.length(&text);
        if low.index.checked_add(low.delete).is_none_or(|end| end > len) {
            bail!("{} has {len} characters: these are not all there", low.pointer);
        }
        tx.splice_text(&text, low.index, low.delete as isize, &low.insert)?;
        Ok(At { pointer: low.pointer.text() })
    })
}

pub(super) fn mark(low: &MarkArgs) -> Result<()> {
    let Literal::Scalar(value) = typed(&low.value)? else {
        bail!(Misuse(format!("{}: the value of a mark has nothing inside", low.value)));
    };
    let expand = match low.expand {
        Expand::Before => ExpandMark::Before,
        Expand::After => ExpandMark::After,
        Expand::Both => ExpandMark::Both,
        Expand::None => ExpandMark::None,
    };
    Edit::of(&low.file, &low.change, &low.json)?.run(|tx| {
        let text = text(tx, &low.pointer)?;
        let len = tx.length(&text);
        if low.end > len {
            bail!("{} has {len} characters: these are not all there", low.pointer);
        }
        tx.mark(&text, Mark::new(&low.name, value, low.start, low.end), expand)?;
        Ok(At { pointer: low.pointer.text() })
    })
}

pub(super) fn patch(low: &PatchArgs) -> Result<()> {
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    let json = file::read(&low.patch)?;
    let mut edit = Edit::of(&low.file, &low.change, &low.json)?;
    let made = if low.merge {
        json::merge(&json, form, &mut edit.doc, &edit.options).with_context(|| file::name(&low.patch))?
    } else {
        let patch = Patch::read(&json, form).with_context(|| file::name(&low.patch))?;
        patch.apply(&mut edit.doc, &edit.options).with_context(|| file::name(&low.file))?
    };
    edit.write(made, NoMore {})
}

/// What was taken back.
#[derive(Serialize)]
struct Undone {
    undone: Vec<String>,
}

pub(super) fn undo(low: &UndoArgs) -> Result<()> {
    let mut edit = Edit::of(&low.file, &low.change, &low.json)?;
    let newest = edit.doc.get_changes_meta(&[]).last().map(|change| change.hash);
    let changes = match &low.changes[..] {
        [] => vec![newest.with_context(|| format!("{}: nothing was changed yet", file::name(&low.file)))?],
        named => super::named(&low.file, &edit.doc, named)?,
    };
    let made = edit.doc.revert(&changes, &edit.options).with_context(|| file::name(&low.file))?;
    if made.is_none() && !edit.teller.is_program() {
        complain(&format!(
            "{}: nothing of that is seen any more; nothing was changed",
            file::name(&low.file)
        ));
    }
    edit.write(made, Undone { undone: words(&changes) })
}

/// What came from others.
#[derive(Serialize)]
struct Received {
    received: u64,
}

pub(super) fn merge(low: &MergeArgs) -> Result<()> {
    let teller = Teller::new(&low.json, low.output.as_ref().unwrap_or(&low.file))?;
    let (mut edited, mut doc) = Edited::open(&low.file)?;
    let standing = |doc: &Document| (doc.stats().changes, doc.get_missing_deps(&[]));
    let before = standing(&doc);
    for from in &low.from {
        doc.merge(&file::load(from)?).with_context(|| file::name(from))?;
    }
    let wrote = match &low.output {
        Some(output) => file::create(output, &doc.save())?,
        // Written again it could have another form.
        None if standing(&doc) == before => edited.keep()?,
        None => edited.replace(&mut doc)?,
    };
    teller.tell(&doc, wrote, Received { received: doc.stats().changes - before.0 })
}
