//! Diffs as JSON Patches, applied by another implementation of RFC 6902, the crate `json-patch`.
//!
//! That crate panics on some patches that move a value onto itself. A diff has no such operation: it adds, removes and
//! replaces.

use std::collections::BTreeMap;

use hashmill_doc::json::{Layout, Patch, ScalarEncoding, diff, write};
use hashmill_doc::{
    ChangeHash, CommitOptions, Document, ObjId, ObjType, ROOT, ReadDoc as _, ScalarValue, Value, View,
};
use serde_json::Value as Json;

use crate::support::worlds::{document_with_heads, for_all};

/// A value of a document as plain JSON, read value by value.
fn plain(view: &View<'_>, (value, id): &(Value<'_>, ObjId)) -> Json {
    match value {
        Value::Object(ObjType::Map | ObjType::Table) => {
            let member = |key: &str| {
                let value = view.get(id, key).expect("a map").expect("a key that is there");
                (key.to_owned(), plain(view, &value))
            };
            Json::Object(view.keys(id).map(member).collect())
        }
        Value::Object(ObjType::List) => {
            let element = |at| view.get(id, at).expect("a list").expect("an element that is there");
            (0..view.length(id)).map(|at| plain(view, &element(at))).collect()
        }
        Value::Object(ObjType::Text) => view.text(id).expect("a text").into(),
        Value::Scalar(value) => match value {
            ScalarValue::Null => Json::Null,
            ScalarValue::Boolean(value) => (*value).into(),
            ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value) => {
                (*value).into()
            }
            ScalarValue::Uint(value) => (*value).into(),
            ScalarValue::F64(value) => (*value).into(),
            ScalarValue::Str(text) => (&**text).into(),
            ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. } => bytes.to_vec().into(),
        },
    }
}

fn whole(view: &View<'_>) -> Json {
    plain(view, &(Value::Object(ObjType::Map), ROOT))
}

/// JSON as text: equal for equal values, different for zeros with two signs.
fn words(json: &Json) -> String {
    match json {
        Json::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().map(|(key, value)| (key, words(value))).collect();
            format!("{members:?}")
        }
        Json::Array(elements) => format!("{:?}", elements.iter().map(words).collect::<Vec<_>>()),
        other => other.to_string(),
    }
}

fn difference(before: &View<'_>, after: &View<'_>, form: ScalarEncoding) -> String {
    let mut out = vec![];
    diff(before, after, form, &mut out).expect("writing to a vector succeeds");
    String::from_utf8(out).expect("JSON is text")
}

fn text(view: &View<'_>, form: ScalarEncoding) -> String {
    let mut out = vec![];
    let root = (Value::Object(ObjType::Map), ROOT);
    write(view, root, form, Layout::Compact, &mut out).expect("writing to a vector succeeds");
    String::from_utf8(out).expect("JSON is text")
}

/// Applies a diff with the other implementation.
fn assert_leads_there(before: &View<'_>, after: &View<'_>) {
    let patch = difference(before, after, ScalarEncoding::Plain);
    let steps: json_patch::Patch = serde_json::from_str(&patch).expect("a JSON Patch");
    let (mut value, wanted) = (whole(before), whole(after));
    if let Err(error) = json_patch::patch(&mut value, &steps) {
        panic!("{error}: {patch}\non {}", words(&whole(before)));
    }
    assert_eq!(words(&value), words(&wanted), "{patch}\non {}", words(&whole(before)));
    // The tagged form may differ where the plain form is equal.
    if patch == "[]" {
        assert_eq!(words(&whole(before)), words(&wanted));
    }
}

/// Applies a diff with this implementation, as a change.
fn assert_is_applied(doc: &Document, from: &[ChangeHash], to: &[ChangeHash], form: ScalarEncoding) {
    let (before, after) = (doc.at(from).expect("its past"), doc.at(to).expect("its past"));
    let words = difference(&before, &after, form);
    let patch = Patch::read(words.as_bytes(), form).expect("a patch of this engine");
    let mut fork = doc.fork_at(from).expect("its past");
    if let Err(error) = patch.apply(&mut fork, &CommitOptions::default()) {
        panic!("{error}: {words}");
    }
    assert_eq!(text(&fork.view(), form), text(&after, form), "{words}");
}

#[test]
fn diff_leads_from_one_state_to_the_other() {
    for_all("JSON differences", 0..150, |seed| {
        let (doc, heads) = document_with_heads(seed, 60);
        let view = |heads: &[ChangeHash]| doc.at(heads).expect("its past");
        let last = &heads[heads.len() - 1];
        for pair in heads.windows(2) {
            assert_leads_there(&view(&pair[0]), &view(&pair[1]));
        }
        for then in heads.iter().step_by(5) {
            assert_leads_there(&view(then), &view(last));
            assert_leads_there(&view(last), &view(then));
            for form in [ScalarEncoding::Plain, ScalarEncoding::Tagged] {
                assert_is_applied(&doc, then, last, form);
                assert_is_applied(&doc, last, then, form);
                assert_eq!(difference(&view(then), &view(then), form), "[]");
            }
        }
        doc.stats().operations as usize
    });
}
