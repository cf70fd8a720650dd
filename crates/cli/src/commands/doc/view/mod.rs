//! HTML page with a document and its history, in one file without external resources.

use super::file;
use super::json_report::{JsonReporter, NoExtraFields};
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

/// Data of the page. Its script uses the field names.
#[derive(Serialize)]
struct PageData {
    /// Sorted by bytes, so that indices compare as actors do.
    actors: Vec<String>,
    /// Each after its dependencies.
    changes: Vec<PageChange>,
}

#[derive(Serialize)]
struct PageChange {
    hash: String,
    actor: usize,
    seq: u64,
    start: u64,
    time: i64,
    message: Option<String>,
    deps: Vec<usize>,
    ops: Vec<PageOp>,
}

/// An operation, or a run of characters typed one after the other.
#[derive(Serialize)]
struct PageOp {
    /// Object.
    o: String,
    /// Key in the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<String>,
    /// Element of the object, or for an insertion the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    /// Insertion of an element.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    i: bool,
    /// Operations that it replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    p: Vec<String>,
    /// Action.
    a: &'static str,
    /// Value.
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<Json>,
    /// Type of the value, if JSON does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<&'static str>,
    /// Name of a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
}

pub(super) fn write(flags: &ViewArgs) -> Result<()> {
    let reporter = JsonReporter::new(&flags.json, &flags.output)?;
    let doc = file::load(&flags.file)?;
    let data = serde_json::to_string(&page_data(&doc.get_changes(&[])))?;
    // The page's policy allows only this style and script, whatever the document contains. Both start on a new line.
    let hash = |text: &str| format!("sha256-{}", BASE64.encode(&Sha256::digest(format!("\n{text}"))));
    let (style_hash, script_hash) = (hash(STYLE), hash(SCRIPT));
    // No `<`, so the data cannot end its element.
    let data = data.replace('<', "\\u003c");
    let name = escape(&file::name(&flags.file));
    let parts = [
        ("style-hash", &*style_hash),
        ("script-hash", &script_hash),
        ("name", &name),
        ("style", STYLE),
        ("facts", &data),
        ("script", SCRIPT),
    ];
    let wrote = file::create(&flags.output, fill(PAGE, &parts).as_bytes())?;
    reporter.report(&doc, wrote, NoExtraFields {})
}

/// Fills the placeholders of the page. Inserted text is not searched for placeholders.
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

fn page_data(changes: &[Change]) -> PageData {
    let others = changes.iter().flat_map(Change::other_actor_ids);
    let actors: BTreeSet<ActorId> =
        others.chain(changes.iter().map(|change| change.actor_id().clone())).collect();
    let actor_indices: HashMap<&ActorId, usize> = actors.iter().zip(0..).collect();
    let change_indices: HashMap<ChangeHash, usize> = changes.iter().map(Change::hash).zip(0..).collect();
    let page_change = |change: &Change| PageChange {
        hash: change.hash().to_string(),
        actor: actor_indices[change.actor_id()],
        seq: change.seq(),
        start: change.start_op(),
        time: change.timestamp(),
        message: change.message().map(str::to_owned),
        deps: change.deps().iter().filter_map(|hash| change_indices.get(hash).copied()).collect(),
        ops: page_ops(change, &actor_indices),
    };
    PageData {
        changes: changes.iter().map(page_change).collect(),
        actors: actors.iter().map(ToString::to_string).collect(),
    }
}

fn page_ops(change: &Change, actor_indices: &HashMap<&ActorId, usize>) -> Vec<PageOp> {
    let id = |id: &OpId| format!("{}@{}", id.counter(), actor_indices[id.actor()]);
    let mut all: Vec<PageOp> = Vec::new();
    // The last element of the typing run at the end of `all`.
    let mut last_typed: Option<OpId> = None;
    for (op, counter) in change.decode().operations.into_iter().zip(change.start_op()..) {
        let this = OpId::new(counter, change.actor_id());
        let inserted = inserted_char(&op);
        let continues_run =
            matches!((&op.key, &last_typed), (Key::Seq(ElementId::Id(after)), Some(last)) if after == last);
        if let (Some(c), true, Some(PageOp { v: Some(Json::String(text)), .. })) =
            (&inserted, continues_run, all.last_mut())
        {
            text.push_str(c);
            last_typed = Some(this);
            continue;
        }
        last_typed = inserted.is_some().then_some(this);
        let (a, v, t, n) = match (inserted, op.action) {
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
        all.push(PageOp { o, k, e, i: op.insert, p: op.pred.iter().map(id).collect(), a, v, t, n });
    }
    all
}

/// The single character that an operation inserts.
fn inserted_char(op: &Op) -> Option<String> {
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

/// A value for the script, whose numbers are doubles, and its type name.
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
