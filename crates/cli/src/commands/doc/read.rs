//! Commands that read documents.

use super::json_report::hash_strings;
use super::{changes_by_prefix, diff_text, file, view};
use crate::exit_code::{FAILED, OK};
use crate::flags::{BlameArgs, CheckArgs, DiffArgs, ExportArgs, GetArgs, LogArgs, ShowArgs};
use crate::output::colour::TextStyle;
use crate::output::progress::Bar;
use crate::output::{self, CommandOutcome, Out, ReaderGone, json};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::json::{
    Layout, ScalarEncoding, WriteTarget, diff as json_diff, flatten, merge_diff, write,
};
use hashmill_doc::{
    ActorId, Blame, BlamedPart, ChangeHash, ChangeMetadata, Document, ObjType, ROOT, ReadDoc as _,
    ScalarValue, Value, View,
};
use serde::Serialize;
use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Summary of a document. The field names are those of the JSON.
#[derive(Serialize)]
struct DocSummary {
    #[serde(flatten)]
    name: json::Name,
    bytes: usize,
    changes: u64,
    operations: u64,
    actors: u64,
    heads: Vec<String>,
    /// Changes that the file lacks and others depend on.
    missing: Vec<String>,
}

/// A change. The field names are those of the JSON.
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

/// Result of a check. The field names are those of the JSON.
#[derive(Serialize)]
struct CheckResult {
    #[serde(flatten)]
    name: json::Name,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Prints the output of `write`.
pub(super) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = Out::new(None);
    let (ControlFlow::Continue(()) | ControlFlow::Break(output::StdoutClosed)) = out.print(write);
    match out.finish() {
        CommandOutcome::Success => Ok(()),
        CommandOutcome::ReaderGone => Err(ReaderGone.into()),
        // The failure was reported.
        CommandOutcome::Failure => Err(output::ReportedError.into()),
    }
}

fn root_value() -> (Value<'static>, hashmill_doc::ObjId) {
    (Value::Object(ObjType::Map), ROOT)
}

pub(super) fn show(flags: &ShowArgs) -> Result<()> {
    let bytes = file::read_document(&flags.file)?;
    let doc = file::parse(&flags.file, &bytes)?;
    let stats = doc.stats();
    let summary = DocSummary {
        name: json::Name::from_path(&flags.file),
        bytes: bytes.len(),
        changes: stats.changes,
        operations: stats.operations,
        actors: stats.actors,
        heads: hash_strings(&doc.get_heads()),
        missing: hash_strings(&doc.get_missing_deps(&[])),
    };
    let view = view(&flags.file, &doc, &flags.at.at)?;
    print(|out| {
        if flags.json {
            let value = |out: &mut dyn Write| {
                write(&view, root_value(), ScalarEncoding::Plain, Layout::Compact, &mut *out)
            };
            return write_with_value(&summary, out, value);
        }
        let DocSummary { changes, operations, actors, .. } = summary;
        writeln!(out, "file      {}, {}", file::name(&flags.file), counted(summary.bytes as u64, "byte"))?;
        let [changes, operations, actors] =
            [(changes, "change"), (operations, "operation"), (actors, "actor")]
                .map(|(count, what)| counted(count, what));
        writeln!(out, "history   {changes}, {operations}, {actors}")?;
        summary.heads.iter().try_for_each(|head| writeln!(out, "head      {head}"))?;
        summary.missing.iter().try_for_each(|hash| writeln!(out, "missing   {hash}"))?;
        write(&view, root_value(), ScalarEncoding::Plain, Layout::Lines, &mut *out)?;
        out.write_all(b"\n")
    })
}

/// A value with its type. The field names are those of the JSON; the field `value` follows them.
#[derive(Serialize)]
struct FoundValue {
    #[serde(flatten)]
    name: json::Name,
    pointer: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(super) fn get(flags: &GetArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    let view = view(&flags.file, &doc, &flags.at.at)?;
    let file_name = || file::name(&flags.file);
    let values = if flags.all && !flags.pointer.is_whole() {
        let WriteTarget { obj, prop, .. } = flags.pointer.write_target(&view).with_context(file_name)?;
        view.get_all(&obj, prop).with_context(file_name)?
    } else {
        vec![flags.pointer.find(&view).with_context(file_name)?]
    };
    if flags.raw {
        let (value, id) = values.into_iter().next().context("one value")?;
        return match &value {
            Value::Scalar(ScalarValue::Str(text)) => print(|out| out.write_all(text.as_bytes())),
            Value::Object(ObjType::Text) => {
                let text = view.text(&id)?;
                print(|out| out.write_all(text.as_bytes()))
            }
            other => {
                bail!(
                    "{}: {} is a {}: --raw is for strings and texts",
                    file_name(),
                    flags.pointer,
                    kind(other)
                )
            }
        };
    }
    if values.is_empty() {
        bail!("{}: there is nothing at {}", file_name(), flags.pointer);
    }
    print(|out| {
        values.into_iter().try_for_each(|value| {
            if !flags.json {
                return write_value_line(&view, value, out);
            }
            let name = json::Name::from_path(&flags.file);
            let found = FoundValue { name, pointer: flags.pointer.text(), kind: kind(&value.0) };
            write_with_value(&found, out, |out| {
                write(&view, value, ScalarEncoding::Plain, Layout::Compact, &mut *out)
            })
        })
    })
}

/// The type name of a value, as in changes as JSON.
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

/// Writes an object on one line, with a last field `value` that is streamed.
fn write_with_value(
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

fn write_value_line<'a>(
    view: &View<'a>,
    value: (Value<'a>, hashmill_doc::ObjId),
    out: &mut dyn Write,
) -> io::Result<()> {
    write(view, value, ScalarEncoding::Plain, Layout::Compact, &mut *out)?;
    out.write_all(b"\n")
}

/// `1 change`, `2 changes`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn log(flags: &LogArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    let changes = doc.get_changes_meta(&[]);
    print(|out| changes.iter().rev().try_for_each(|change| write_log_entry(change, flags.json, out)))
}

fn write_log_entry(change: &ChangeMetadata<'_>, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    let ChangeMetadata { actor, seq, timestamp, message, hash, .. } = change;
    let operations = (change.max_op + 1).saturating_sub(change.start_op);
    if as_json {
        let deps = change.deps.iter().map(ToString::to_string).collect();
        let (hash, actor) = (hash.to_string(), actor.to_string());
        let change = Change { hash, actor, seq: *seq, time: *timestamp, message: *message, operations, deps };
        return json::line(out, &change);
    }
    write!(out, "{}  {}", change_label(hash, actor, *seq, *timestamp), counted(operations, "operation"))?;
    if let Some(message) = message {
        write!(out, "  {}", message.escape_debug())?;
    }
    out.write_all(b"\n")
}

/// A part of an object and the change that made it. The field names are those of the JSON.
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

pub(super) fn blame(flags: &BlameArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    let view = view(&flags.file, &doc, &flags.at.at)?;
    let (value, id) = flags.pointer.find(&view).with_context(|| file::name(&flags.file))?;
    let Value::Object(kind) = value else {
        bail!("{}: {} is a scalar, which has no parts", file::name(&flags.file), flags.pointer)
    };
    let text: Vec<char> = if kind == ObjType::Text { view.text(&id)?.chars().collect() } else { vec![] };
    let with_metadata = |Blame { blamed, change }| {
        let change = change.and_then(|hash| doc.get_change_meta_by_hash(&hash));
        change.map(|change| (blamed, change)).context("a part of the document without a change")
    };
    let parts = view.blame(&id)?.into_iter().map(with_metadata).collect::<Result<Vec<_>>>()?;
    print(|out| {
        for (blamed, metadata) in parts {
            let (key, range) = match blamed {
                BlamedPart::Key(key) => (Some(key), None),
                BlamedPart::Range(range) => (None, Some(range)),
            };
            let text_part = range.clone().filter(|_| kind == ObjType::Text);
            let text_part = text_part.map(|range| text[range].iter().collect::<String>());
            if flags.json {
                let (start, end) = (range.as_ref().map(|range| range.start), range.map(|range| range.end));
                let (change, actor) = (metadata.hash.to_string(), metadata.actor.to_string());
                let (time, message) = (metadata.timestamp, metadata.message);
                json::line(out, &Part { key, start, end, text: text_part, change, actor, time, message })?;
                continue;
            }
            let part_name = match (key, &range) {
                (Some(key), _) => format!("{key:?}"),
                (None, Some(range)) => format!("{}..{}", range.start, range.end),
                (None, None) => String::new(),
            };
            let text_part = text_part.map_or_else(String::new, |text| format!("  {text:?}"));
            let label = change_label(&metadata.hash, metadata.actor, metadata.seq, metadata.timestamp);
            writeln!(out, "{label}  {part_name:<10}{text_part}")?;
        }
        Ok(())
    })
}

/// A change as in the log: its hash, time and author.
pub(super) fn change_label(hash: &ChangeHash, actor: &ActorId, seq: u64, time: i64) -> String {
    let when = match u64::try_from(time) {
        Ok(0) | Err(_) => "-".to_owned(),
        Ok(seconds) => hashmill_machine::date::utc(seconds),
    };
    let (hash, actor) = (hash.to_string(), actor.to_string());
    let hash = console::Style::new().yellow().apply_to(&hash[..10]);
    format!("{hash}  {when:<20}  {}/{seq}", &actor[..actor.len().min(8)])
}

pub(super) fn export(flags: &ExportArgs) -> Result<()> {
    let doc = file::load(&flags.file)?;
    if flags.changes {
        let changes = doc.get_changes(&[]);
        return print(|out| changes.iter().try_for_each(|change| json::line(out, &change.decode())));
    }
    let view = view(&flags.file, &doc, &flags.at.at)?;
    let form = if flags.tagged { ScalarEncoding::Tagged } else { ScalarEncoding::Plain };
    let layout = if flags.pretty { Layout::Lines } else { Layout::Compact };
    print(|out| {
        match flags.flat {
            true => flatten(&view, form, &mut *out)?,
            false => write(&view, root_value(), form, layout, &mut *out)?,
        }
        out.write_all(b"\n")
    })
}

pub(super) fn diff(flags: &DiffArgs) -> Result<()> {
    let mut doc = file::load(&flags.file)?;
    let here = doc.get_heads();
    let mut there = here.clone();
    if let Some(other) = &flags.other {
        let copy = file::load(other)?;
        there = copy.get_heads();
        doc.merge(&copy).with_context(|| file::name(other))?;
    }
    let from = match &flags.from[..] {
        [] if flags.other.is_none() => parents(&doc, &here),
        [] => here,
        from => changes_by_prefix(&flags.file, &doc, from)?,
    };
    let to = if flags.to.is_empty() { there } else { changes_by_prefix(&flags.file, &doc, &flags.to)? };
    if flags.human || (io::stdout().is_terminal() && !flags.json && !flags.tagged && !flags.merge) {
        let lines = diff_text::lines(&doc.at(&from)?, &doc.diff(&from, &to)?)?;
        return print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")));
    }
    let (before, after) = (doc.at(&from)?, doc.at(&to)?);
    let form = if flags.tagged { ScalarEncoding::Tagged } else { ScalarEncoding::Plain };
    if flags.merge {
        let patch = merge_diff(&before, &after, form)?;
        return print(|out| writeln!(out, "{patch}"));
    }
    print(|out| {
        json_diff(&before, &after, form, &mut *out)?;
        out.write_all(b"\n")
    })
}

/// The dependencies of changes.
fn parents(doc: &Document, changes: &[ChangeHash]) -> Vec<ChangeHash> {
    let metas = changes.iter().filter_map(|hash| doc.get_change_meta_by_hash(hash));
    let mut parents: Vec<ChangeHash> = metas.flat_map(|change| change.deps).collect();
    parents.sort_unstable();
    parents.dedup();
    parents
}

pub(super) fn check(flags: &CheckArgs) -> Result<u8> {
    let done = Arc::new(AtomicU64::new(0));
    let mut out = Out::new(Bar::counting("checking", &done, Some(flags.files.len() as u64), "documents"));
    let progress = out.progress();
    for path in &flags.files {
        if let Some(progress) = &progress {
            progress.begin_file(path);
        }
        let found = file::load(path).map(|doc| (doc.stats().changes, doc.get_missing_deps(&[]).len()));
        let fault = match &found {
            Ok((_, 0)) => None,
            Ok((_, missing)) => Some(format!(
                "{}: {} missing that other changes depend on",
                file::name(path),
                match missing {
                    1 => "a change is".to_owned(),
                    _ => format!("{missing} changes are"),
                }
            )),
            Err(error) => Some(output::error_chain(error)),
        };
        done.fetch_add(1, Ordering::Relaxed);
        if let Some(progress) = &progress {
            progress.end_file();
        }
        out.failed |= fault.is_some();
        let printed = match (&found, fault) {
            (found, error) if flags.json => {
                let changes = found.as_ref().ok().map(|(changes, _)| *changes);
                let name = json::Name::from_path(path);
                out.print(|out| json::line(out, &CheckResult { name, ok: error.is_none(), changes, error }))
            }
            (Ok((changes, _)), None) => {
                let (begin, end) = out.style(TextStyle::Success);
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
    Ok(out.finish().answer_code(OK, FAILED))
}
