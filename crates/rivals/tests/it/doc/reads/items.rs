//! Iteration over objects and documents: keys, indexes, values, ids, conflicts and spans, in the official order.

use automerge::hydrate::Value as TheirLiteral;
use automerge::iter::{
    DocItem as TheirItem, ListRangeItem as TheirElement, MapRangeItem as TheirEntry, Span as TheirSpan,
};
use automerge::{Automerge, ReadDoc as _, ScalarValueRef, ValueRef};
use hashmill_doc::{
    Change, ChangeHash, DocItem, DocObjItem, Document, ListRangeItem, Literal, MapRangeItem, ObjId, ObjType,
    ROOT, ReadDoc as _, ScalarValue, Span, Value,
};
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::Rng;

fn scalar(value: &ScalarValue<'_>) -> String {
    match value {
        ScalarValue::F64(number) => format!("f64 {:x}", number.to_bits()),
        other => format!("{other:?}"),
    }
}

fn their_scalar(value: &ScalarValueRef<'_>) -> String {
    scalar(&match value {
        ScalarValueRef::Null => ScalarValue::Null,
        ScalarValueRef::Boolean(v) => ScalarValue::Boolean(*v),
        ScalarValueRef::Int(v) => ScalarValue::Int(*v),
        ScalarValueRef::Uint(v) => ScalarValue::Uint(*v),
        ScalarValueRef::F64(v) => ScalarValue::F64(*v),
        ScalarValueRef::Str(v) => ScalarValue::Str(v.clone()),
        ScalarValueRef::Bytes(v) => ScalarValue::Bytes(v.clone()),
        ScalarValueRef::Counter(v) => ScalarValue::Counter(*v),
        ScalarValueRef::Timestamp(v) => ScalarValue::Timestamp(*v),
        ScalarValueRef::Unknown { type_code, bytes } => {
            ScalarValue::Unknown { type_code: *type_code, bytes: bytes.clone() }
        }
    })
}

fn value(value: &Value<'_>) -> String {
    match value {
        Value::Object(kind) => kind.to_string(),
        Value::Scalar(value) => scalar(value),
    }
}

fn their_value(value: &ValueRef<'_>) -> String {
    match value {
        ValueRef::Object(kind) => kind.to_string(),
        ValueRef::Scalar(value) => their_scalar(value),
    }
}

/// How many entries a block has, which is enough to tell blocks apart: each is gone through as an object, too.
fn span(span: &Span<'_>) -> String {
    match span {
        Span::Text { text, marks } => {
            let marks: Vec<String> =
                marks.iter().map(|(name, value)| format!("{name}={}", scalar(value))).collect();
            format!("{text:?} {marks:?}")
        }
        Span::Block(entries) => {
            let texts = entries.values().filter(|value| matches!(value, Literal::Text(_))).count();
            format!("block {} {texts}", entries.len())
        }
    }
}

fn their_span(span: &TheirSpan) -> String {
    match span {
        TheirSpan::Text { text, marks } => {
            let marks = marks.iter().flat_map(|marks| marks.iter());
            let marks: Vec<String> = marks
                .map(|(name, value)| format!("{name}={}", their_scalar(&ScalarValueRef::from(value.clone()))))
                .collect();
            format!("{text:?} {marks:?}")
        }
        TheirSpan::Block(map) => {
            let texts = map.iter().filter(|(_, value)| matches!(value.value, TheirLiteral::Text(_))).count();
            format!("block {} {texts}", map.iter().count())
        }
    }
}

fn entry(item: &MapRangeItem<'_>) -> String {
    format!("{:?} {} {} {}", item.key, value(&item.value), item.id, item.conflict)
}

fn their_entry(item: &TheirEntry<'_>) -> String {
    format!("{:?} {} {} {}", item.key, their_value(&item.value), item.id(), item.conflict)
}

fn element(item: &ListRangeItem<'_>) -> String {
    format!("{} {} {} {}", item.index, value(&item.value), item.id, item.conflict)
}

fn their_element(item: &TheirElement<'_>) -> String {
    format!("{} {} {} {}", item.index, their_value(&item.value), item.id(), item.conflict)
}

fn item(DocObjItem { obj, item }: DocObjItem<'_>) -> String {
    let item = match item {
        DocItem::Map(item) => entry(&item),
        DocItem::List(item) => element(&item),
        DocItem::Text(item) => span(&item),
    };
    format!("{obj}: {item}")
}

fn their_item(item: &TheirItem<'_>) -> String {
    match item {
        TheirItem::Map(item) => their_entry(item),
        TheirItem::List(item) => their_element(item),
        TheirItem::Text(item) => their_span(item),
    }
}

#[test]
fn everything_is_gone_through_in_the_official_order() {
    let (mut rng, mut items, mut conflicts) = (Rng::new(3), 0, 0);
    for seed in 0..300 {
        let made = changes::<Official>(&Script::invent(seed, 70));
        let (mut ours, mut theirs) = (Document::new(), Automerge::new());
        for change in &made {
            ours.apply_changes([Change::from_bytes(change).expect("a change")]).expect("in order");
            let change = automerge::Change::from_bytes(change.clone()).expect("a change");
            theirs.apply_changes([change]).expect("in order");
        }
        let all: Vec<ChangeHash> = ours.get_changes(&[]).iter().map(Change::hash).collect();
        if all.is_empty() {
            continue;
        }
        let now = ours.get_heads();
        let past: Vec<ChangeHash> = all.get(rng.below(all.len())).copied().into_iter().collect();
        for heads in [&now, &past] {
            let their_heads: Vec<_> =
                heads.iter().map(|hash| automerge::ChangeHash(*hash.as_bytes())).collect();
            let found: Vec<String> =
                ours.iter_at(ROOT, heads).expect("heads of this document").map(item).collect();
            let expected: Vec<String> = theirs
                .iter_at(automerge::ROOT, Some(&their_heads))
                .map(|item| format!("{}: {}", item.obj, their_item(&item.item)))
                .collect();
            assert_eq!(found, expected, "of script {seed}");
            items += found.len();
            if *heads == now {
                assert_eq!(ours.iter().map(item).collect::<Vec<_>>(), found);
            }
            let view = ours.at(heads).expect("heads of this document");
            let objects = ours.iter_at(ROOT, heads).expect("heads").filter_map(|item| {
                item.value()
                    .and_then(Value::as_object)
                    .map(|kind| (item.id().expect("of an object").clone(), kind))
            });
            for (obj, kind) in objects.chain([(ROOT, ObjType::Map)]) {
                if kind == ObjType::Text {
                    // There the boundaries of marks are elements.
                    continue;
                }
                let theirs_obj = match &obj {
                    ObjId::Root => automerge::ROOT,
                    id => theirs.import_obj(&id.to_string()).expect("an object of both"),
                };
                let (from, to) = (rng.below(4), rng.below(9));
                let (from, to) = (from.min(to), from.max(to));
                let (found, expected): (Vec<String>, Vec<String>) = if kind == ObjType::Map {
                    let (low, high) = (format!("k{from}"), format!("k{to}"));
                    (
                        view.map_range(&obj, &*low..&*high).map(|item| entry(&item)).collect(),
                        theirs
                            .map_range_at(&theirs_obj, low.clone()..high.clone(), &their_heads)
                            .map(|item| their_entry(&item))
                            .collect(),
                    )
                } else {
                    (
                        view.list_range(&obj, from..to).map(|item| element(&item)).collect(),
                        theirs
                            .list_range_at(&theirs_obj, from..to, &their_heads)
                            .map(|item| their_element(&item))
                            .collect(),
                    )
                };
                assert_eq!(found, expected, "{obj} of script {seed}");
            }
        }
        conflicts +=
            ours.iter().filter(|item| matches!(&item.item, DocItem::Map(item) if item.conflict)).count();
        conflicts +=
            ours.iter().filter(|item| matches!(&item.item, DocItem::List(item) if item.conflict)).count();
    }
    assert!(items > 2_000 && conflicts > 20, "{items} items, {conflicts} conflicts");
}
