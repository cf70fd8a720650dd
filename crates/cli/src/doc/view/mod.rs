//! A page to look at: a document with its whole history in one HTML file, which loads nothing from anywhere.

use super::file;
use super::report::{NoMore, Teller};
use crate::flags::ViewArgs;
use anyhow::Result;
use data_encoding::BASE64;
use hashmill_doc::legacy::{ElementId, Key, ObjectId, Op, OpId, OpType};
use hashmill_doc::{ActorId, Change, ChangeHash, ObjType, ScalarValue};
use serde::Serialize;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, HashMap};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page knows. The names of the fields are those that its script uses.
#[derive(Serialize)]
struct Facts {
    /// In the order of their bytes, so that their numbers compare as they do.
    actors: Vec<String>,
    /// Each after those it was made after.
    changes: Vec<Made>,
}

#[derive(Serialize)]
struct Made {
    hash: String,
    actor: usize,
    seq: u64,
    start: u64,
    time: i64,
    message: Option<String>,
    deps: Vec<usize>,
    ops: Vec<Done>,
}

/// An operation; of characters that were typed one after the other, all of them.
#[derive(Serialize)]
struct Done {
    /// Which object.
    o: String,
    /// Key in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<String>,
    /// Element in it, or the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    /// Whether an element is inserted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    i: bool,
    /// What it replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    p: Vec<String>,
    /// What it does.
    a: &'static str,
    /// The value.
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<Json>,
    /// What the value is, where JSON does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<&'static str>,
    /// The name of a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
}

pub(super) fn write(low: &ViewArgs) -> Result<()> {
    let teller = Teller::new(&low.json, &low.output)?;
    let doc = file::load(&low.file)?;
    let facts = serde_json::to_string(&facts(&doc.get_changes(&[])))?;
    // Nothing else on the page is run or drawn, whatever a document says. Both begin on a line of their own.
    let hash = |text: &str| format!("sha256-{}", BASE64.encode(&Sha256::digest(format!("\n{text}"))));
    let (styled, scripted) = (hash(STYLE), hash(SCRIPT));
    // Nothing in it can end the element that it stands in.
    let facts = facts.replace('<', "\\u003c");
    let name = escape(&file::name(&low.file));
    let parts = [
        ("style-hash", &*styled),
        ("script-hash", &scripted),
        ("name", &name),
        ("style", STYLE),
        ("facts", &facts),
        ("script", SCRIPT),
    ];
    let wrote = file::create(&low.output, fill(PAGE, &parts).as_bytes())?;
    teller.tell(&doc, wrote, NoMore {})
}

/// The page with its parts in their places. What is put in is not looked at again.
fn fill(page: &str, parts: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let part = parts.iter().find(|(part, _)| *part == name);
        filled.push_str(part.map_or("", |(_, part)| part));
        rest = after;
    }
    filled + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn facts(changes: &[Change]) -> Facts {
    let others = changes.iter().flat_map(Change::other_actor_ids);
    let actors: BTreeSet<ActorId> =
        others.chain(changes.iter().map(|change| change.actor_id().clone())).collect();
    let numbers: HashMap<&ActorId, usize> = actors.iter().zip(0..).collect();
    let places: HashMap<ChangeHash, usize> = changes.iter().map(Change::hash).zip(0..).collect();
    let made = |change: &Change| Made {
        hash: change.hash().to_string(),
        actor: numbers[change.actor_id()],
        seq: change.seq(),
        start: change.start_op(),
        time: change.timestamp(),
        message: change.message().map(str::to_owned),
        deps: change.deps().iter().filter_map(|hash| places.get(hash).copied()).collect(),
        ops: done(change, &numbers),
    };
    Facts {
        changes: changes.iter().map(made).collect(),
        actors: actors.iter().map(ToString::to_string).collect(),
    }
}

fn done(change: &Change, numbers: &HashMap<&ActorId, usize>) -> Vec<Done> {
    let id = |id: &OpId| format!("{}@{}", id.counter(), numbers[id.actor()]);
    let mut all: Vec<Done> = Vec::new();
    // The element that the last of `all` has typed last.
    let mut typed: Option<OpId> = None;
    for (op, counter) in change.decode().operations.into_iter().zip(change.start_op()..) {
        let this = OpId::new(counter, change.actor_id());
        let typing = typing(&op);
        let goes_on =
            matches!((&op.key, &typed), (Key::Seq(ElementId::Id(after)), Some(last)) if after == last);
        if let (Some(c), true, Some(Done { v: Some(Json::String(text)), .. })) =
            (&typing, goes_on, all.last_mut())
        {
            text.push_str(c);
            typed = Some(this);
            continue;
        }
        typed = typing.is_some().then_some(this);
        let (a, v, t, n) = match (typing, op.action) {
            (Some(c), _) => ("type", Some(c.into()), None, None),
            (None, OpType::Make(kind)) => ("make", Some(name(kind).into()), None, None),
            (None, OpType::Delete) => ("delete", None, None, None),
            (None, OpType::Increment(by)) => ("add", Some(by.to_string().into()), None, None),
            (None, OpType::Put(value)) => {
                let (value, kind) = value_of(&value);
                ("put", Some(value), kind, None)
            }
            (None, OpType::MarkBegin(mark)) => {
                let (value, kind) = value_of(&mark.value);
                ("mark", Some(value), kind, Some(mark.name))
            }
            (None, OpType::MarkEnd(_)) => ("end", None, None, None),
        };
        let o = match &op.obj {
            ObjectId::Root => "_".to_owned(),
            ObjectId::Id(obj) => id(obj),
        };
        let (k, e) = match op.key {
            Key::Map(key) => (Some(key), None),
            Key::Seq(ElementId::Head) => (None, Some("_".to_owned())),
            Key::Seq(ElementId::Id(element)) => (None, Some(id(&element))),
        };
        all.push(Done { o, k, e, i: op.insert, p: op.pred.iter().map(id).collect(), a, v, t, n });
    }
    all
}

/// The character that an operation inserts.
fn typing(op: &Op) -> Option<String> {
    match &op.action {
        OpType::Put(ScalarValue::Str(text)) if op.insert && text.chars().count() == 1 => {
            Some(text.to_string())
        }
        _ => None,
    }
}

fn name(kind: ObjType) -> &'static str {
    match kind {
        ObjType::Map | ObjType::Table => "map",
        ObjType::List => "list",
        ObjType::Text => "text",
    }
}

/// A value for a script, which has one kind of numbers, and what to call it.
fn value_of(value: &ScalarValue<'_>) -> (Json, Option<&'static str>) {
    const SAFE: u64 = (1 << 53) - 1;
    let number = |value: i64| match value.unsigned_abs() <= SAFE {
        true => Json::from(value),
        false => value.to_string().into(),
    };
    match value {
        ScalarValue::Null => (Json::Null, None),
        ScalarValue::Boolean(value) => ((*value).into(), None),
        ScalarValue::Int(value) => (number(*value), None),
        ScalarValue::Uint(value) if *value <= SAFE => ((*value).into(), Some("unsigned")),
        ScalarValue::Uint(value) => (value.to_string().into(), Some("unsigned")),
        ScalarValue::F64(value) if value.is_finite() => ((*value).into(), None),
        ScalarValue::F64(value) => (value.to_string().into(), Some("number")),
        ScalarValue::Str(text) => (text.to_string().into(), None),
        ScalarValue::Counter(value) => (value.to_string().into(), Some("counter")),
        ScalarValue::Timestamp(value) => (number(*value), Some("milliseconds since 1970")),
        ScalarValue::Bytes(bytes) => (Json::from(&**bytes), Some("bytes")),
        ScalarValue::Unknown { bytes, .. } => (Json::from(&**bytes), Some("of an unknown type")),
    }
}
