//! Commands that read documents.

use super::report::words;
use super::{changed, file, named, view};
use crate::flags::{BlameArgs, CheckArgs, DiffArgs, ExportArgs, GetArgs, LogArgs, ShowArgs};
use crate::out::colour::Ink;
use crate::out::progress::Bar;
use crate::out::{self, Ended, Out, Unread, json};
use crate::{FAILED, OK};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{Form, Layout, Place, diff as json_diff, flatten, merge_diff, write};
use hashmill_doc::{
    ActorId, Blame, BlamedPlace, ChangeHash, ChangeMetadata, Document, ObjType, ROOT, ReadDoc as _,
    ScalarValue, Value, View,
};
use serde::Serialize;
use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A document without its contents. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Standing {
    #[serde(flatten)]
    name: json::Name,
    bytes: usize,
    changes: u64,
    operations: u64,
    actors: u64,
    heads: Vec<String>,
    /// Changes that others in the file build on, and that are not in it.
    missing: Vec<String>,
}

/// A change.
#[derive(Serialize)]
struct Change<'a> {
    hash: String,
    actor: String,
    seq: u64,
    time: i64,
    message: Option<&'a str>,
    operations: u64,
    deps: Vec<String>,
}

/// How a document was found.
#[derive(Serialize)]
struct Checked {
    #[serde(flatten)]
    name: json::Name,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Prints what `write` writes.
pub(super) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = Out::new(None);
    let (ControlFlow::Continue(()) | ControlFlow::Break(out::Closed)) = out.print(write);
    match out.finish() {
        Ended::Well => Ok(()),
        Ended::Unread => Err(Unread.into()),
        // Why was said.
        Ended::Badly => Err(out::Said.into()),
    }
}

fn whole() -> (Value<'static>, hashmill_doc::ObjId) {
    (Value::Object(ObjType::Map), ROOT)
}

pub(super) fn show(low: &ShowArgs) -> Result<()> {
    let bytes = file::read_document(&low.file)?;
    let doc = file::parse(&low.file, &bytes)?;
    let stats = doc.stats();
    let standing = Standing {
        name: json::Name::of(&low.file),
        bytes: bytes.len(),
        changes: stats.changes,
        operations: stats.operations,
        actors: stats.actors,
        heads: words(&doc.get_heads()),
        missing: words(&doc.get_missing_deps(&[])),
    };
    let view = view(&low.file, &doc, &low.at.at)?;
    print(|out| {
        if low.json {
            let value = |out: &mut dyn Write| write(&view, whole(), Form::Plain, Layout::Compact, &mut *out);
            return behind(&standing, out, value);
        }
        let Standing { changes, operations, actors, .. } = standing;
        writeln!(out, "file      {}, {}", file::name(&low.file), counted(standing.bytes as u64, "byte"))?;
        let [changes, operations, actors] =
            [(changes, "change"), (operations, "operation"), (actors, "actor")]
                .map(|(count, what)| counted(count, what));
        writeln!(out, "history   {changes}, {operations}, {actors}")?;
        standing.heads.iter().try_for_each(|head| writeln!(out, "head      {head}"))?;
        standing.missing.iter().try_for_each(|hash| writeln!(out, "missing   {hash}"))?;
        write(&view, whole(), Form::Plain, Layout::Lines, &mut *out)?;
        out.write_all(b"\n")
    })
}

/// A value with what it is. The names of the fields are those of the JSON; the value follows them.
#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    name: json::Name,
    pointer: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(super) fn get(low: &GetArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let view = view(&low.file, &doc, &low.at.at)?;
    let named = || file::name(&low.file);
    let values = if low.all && !low.pointer.is_whole() {
        let Place { obj, prop, .. } = low.pointer.place(&view).with_context(named)?;
        view.get_all(&obj, prop).with_context(named)?
    } else {
        vec![low.pointer.find(&view).with_context(named)?]
    };
    if low.raw {
        let (value, id) = values.into_iter().next().context("one value")?;
        return match &value {
            Value::Scalar(ScalarValue::Str(text)) => print(|out| out.write_all(text.as_bytes())),
            Value::Object(ObjType::Text) => {
                let text = view.text(&id)?;
                print(|out| out.write_all(text.as_bytes()))
            }
            other => {
                bail!("{}: {} is a {}: --raw is for strings and texts", named(), low.pointer, kind(other))
            }
        };
    }
    if values.is_empty() {
        bail!("{}: there is nothing at {}", named(), low.pointer);
    }
    print(|out| {
        values.into_iter().try_for_each(|value| {
            if !low.json {
                return line(&view, value, out);
            }
            let name = json::Name::of(&low.file);
            let found = Found { name, pointer: low.pointer.text(), kind: kind(&value.0) };
            behind(&found, out, |out| write(&view, value, Form::Plain, Layout::Compact, &mut *out))
        })
    })
}

/// What a value is, in the words of changes as JSON.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Object(ObjType::Map) => "map",
        Value::Object(ObjType::Table) => "table",
        Value::Object(ObjType::List) => "list",
        Value::Object(ObjType::Text) => "text",
        Value::Scalar(value) => match value {
            ScalarValue::Null => "null",
            ScalarValue::Boolean(_) => "boolean",
            ScalarValue::Int(_) => "int",
            ScalarValue::Uint(_) => "uint",
            ScalarValue::F64(_) => "float64",
            ScalarValue::Counter(_) => "counter",
            ScalarValue::Timestamp(_) => "timestamp",
            ScalarValue::Str(_) => "string",
            ScalarValue::Bytes(_) => "bytes",
            ScalarValue::Unknown { .. } => "unknown",
        },
    }
}

/// An object on one line, with a field `value` behind the others that is written piece by piece.
fn behind(
    head: &impl Serialize,
    out: &mut dyn Write,
    value: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let head = serde_json::to_string(head)?;
    out.write_all(&head.as_bytes()[..head.len() - 1])?;
    out.write_all(b",\"value\":")?;
    value(out)?;
    out.write_all(b"}\n")
}

fn line<'a>(view: &View<'a>, value: (Value<'a>, hashmill_doc::ObjId), out: &mut dyn Write) -> io::Result<()> {
    write(view, value, Form::Plain, Layout::Compact, &mut *out)?;
    out.write_all(b"\n")
}

/// `1 change`, `2 changes`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn log(low: &LogArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let changes = doc.get_changes_meta(&[]);
    print(|out| changes.iter().rev().try_for_each(|change| entry(change, low.json, out)))
}

fn entry(change: &ChangeMetadata<'_>, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    let ChangeMetadata { actor, seq, timestamp, message, hash, .. } = change;
    let operations = (change.max_op + 1).saturating_sub(change.start_op);
    if as_json {
        let deps = change.deps.iter().map(ToString::to_string).collect();
        let (hash, actor) = (hash.to_string(), actor.to_string());
        let change = Change { hash, actor, seq: *seq, time: *timestamp, message: *message, operations, deps };
        return json::line(out, &change);
    }
    write!(out, "{}  {}", who(hash, actor, *seq, *timestamp), counted(operations, "operation"))?;
    if let Some(message) = message {
        write!(out, "  {}", message.escape_debug())?;
    }
    out.write_all(b"\n")
}

/// A part of an object and the change that made it. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    change: String,
    actor: String,
    time: i64,
    message: Option<&'a str>,
}

pub(super) fn blame(low: &BlameArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    let view = view(&low.file, &doc, &low.at.at)?;
    let (value, id) = low.pointer.find(&view).with_context(|| file::name(&low.file))?;
    let Value::Object(kind) = value else {
        bail!("{}: {} is a single value: there is nothing inside", file::name(&low.file), low.pointer)
    };
    let text: Vec<char> = if kind == ObjType::Text { view.text(&id)?.chars().collect() } else { vec![] };
    let made = |Blame { place, change }| {
        let made = change.and_then(|hash| doc.get_change_meta_by_hash(&hash));
        made.map(|made| (place, made)).context("a part of the document that no change made")
    };
    let parts = view.blame(&id)?.into_iter().map(made).collect::<Result<Vec<_>>>()?;
    print(|out| {
        for (place, made) in parts {
            let (key, range) = match place {
                BlamedPlace::Key(key) => (Some(key), None),
                BlamedPlace::Range(range) => (None, Some(range)),
            };
            let said = range.clone().filter(|_| kind == ObjType::Text);
            let said = said.map(|range| text[range].iter().collect::<String>());
            if low.json {
                let (start, end) = (range.as_ref().map(|range| range.start), range.map(|range| range.end));
                let (change, actor) = (made.hash.to_string(), made.actor.to_string());
                let (time, message) = (made.timestamp, made.message);
                json::line(out, &Part { key, start, end, text: said, change, actor, time, message })?;
                continue;
            }
            let place = match (key, &range) {
                (Some(key), _) => format!("{key:?}"),
                (None, Some(range)) => format!("{}..{}", range.start, range.end),
                (None, None) => String::new(),
            };
            let said = said.map_or_else(String::new, |said| format!("  {said:?}"));
            let who = who(&made.hash, made.actor, made.seq, made.timestamp);
            writeln!(out, "{who}  {place:<10}{said}")?;
        }
        Ok(())
    })
}

/// A change, as the log has it: its hash, when it was made, by whom.
pub(super) fn who(hash: &ChangeHash, actor: &ActorId, seq: u64, time: i64) -> String {
    let when = match u64::try_from(time) {
        Ok(0) | Err(_) => "-".to_owned(),
        Ok(seconds) => hashmill_machine::date::utc(seconds),
    };
    let (hash, actor) = (hash.to_string(), actor.to_string());
    let hash = console::Style::new().yellow().apply_to(&hash[..10]);
    format!("{hash}  {when:<20}  {}/{seq}", &actor[..actor.len().min(8)])
}

pub(super) fn export(low: &ExportArgs) -> Result<()> {
    let doc = file::load(&low.file)?;
    if low.changes {
        let changes = doc.get_changes(&[]);
        return print(|out| changes.iter().try_for_each(|change| json::line(out, &change.decode())));
    }
    let view = view(&low.file, &doc, &low.at.at)?;
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    let layout = if low.pretty { Layout::Lines } else { Layout::Compact };
    print(|out| {
        match low.flat {
            true => flatten(&view, form, &mut *out)?,
            false => write(&view, whole(), form, layout, &mut *out)?,
        }
        out.write_all(b"\n")
    })
}

pub(super) fn diff(low: &DiffArgs) -> Result<()> {
    let mut doc = file::load(&low.file)?;
    let here = doc.get_heads();
    let mut there = here.clone();
    if let Some(other) = &low.other {
        let copy = file::load(other)?;
        there = copy.get_heads();
        doc.merge(&copy).with_context(|| file::name(other))?;
    }
    let from = match &low.from[..] {
        [] if low.other.is_none() => parents(&doc, &here),
        [] => here,
        from => named(&low.file, &doc, from)?,
    };
    let to = if low.to.is_empty() { there } else { named(&low.file, &doc, &low.to)? };
    if low.human || (io::stdout().is_terminal() && !low.json && !low.tagged && !low.merge) {
        let lines = changed::lines(&doc.at(&from)?, &doc.diff(&from, &to)?)?;
        return print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")));
    }
    let (before, after) = (doc.at(&from)?, doc.at(&to)?);
    let form = if low.tagged { Form::Tagged } else { Form::Plain };
    if low.merge {
        let patch = merge_diff(&before, &after, form)?;
        return print(|out| writeln!(out, "{patch}"));
    }
    print(|out| {
        json_diff(&before, &after, form, &mut *out)?;
        out.write_all(b"\n")
    })
}

/// What some changes were made after.
fn parents(doc: &Document, changes: &[ChangeHash]) -> Vec<ChangeHash> {
    let metas = changes.iter().filter_map(|hash| doc.get_change_meta_by_hash(hash));
    let mut parents: Vec<ChangeHash> = metas.flat_map(|change| change.deps).collect();
    parents.sort_unstable();
    parents.dedup();
    parents
}

pub(super) fn check(low: &CheckArgs) -> Result<u8> {
    let done = Arc::new(AtomicU64::new(0));
    let mut out = Out::new(Bar::counting("checking", &done, Some(low.files.len() as u64), "documents"));
    let job = out.job();
    for path in &low.files {
        if let Some(job) = &job {
            job.begin(path);
        }
        let found = file::load(path).map(|doc| (doc.stats().changes, doc.get_missing_deps(&[]).len()));
        let wrong = match &found {
            Ok((_, 0)) => None,
            Ok((_, missing)) => Some(format!(
                "{}: {} missing that others build on",
                file::name(path),
                match missing {
                    1 => "a change is".to_owned(),
                    _ => format!("{missing} changes are"),
                }
            )),
            Err(error) => Some(out::told(error)),
        };
        done.fetch_add(1, Ordering::Relaxed);
        if let Some(job) = &job {
            job.end_file();
        }
        out.failed |= wrong.is_some();
        let printed = match (&found, wrong) {
            (found, error) if low.json => {
                let changes = found.as_ref().ok().map(|(changes, _)| *changes);
                let name = json::Name::of(path);
                out.print(|out| json::line(out, &Checked { name, ok: error.is_none(), changes, error }))
            }
            (Ok((changes, _)), None) => {
                let (begin, end) = out.ink(Ink::Good);
                let changes = counted(*changes, "change");
                out.print(|out| writeln!(out, "{}: {begin}OK{end}, {changes}", file::name(path)))
            }
            (_, error) => {
                out.fail(&error.unwrap_or_default());
                ControlFlow::Continue(())
            }
        };
        if printed.is_break() {
            break;
        }
    }
    Ok(out.finish().answer(OK, FAILED))
}
