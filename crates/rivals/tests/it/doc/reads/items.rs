//! Iteration over objects and documents: keys, indexes, values, ids, conflicts and spans, in the official order.

use automerge::hydrate::Value as OfficialLiteral;
use automerge::iter::{
    DocItem as OfficialItem, ListRangeItem as OfficialElement, MapRangeItem as OfficialEntry,
    Span as OfficialSpan,
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
        scalar => format!("{scalar:?}"),
    }
}

fn official_scalar(value: &ScalarValueRef<'_>) -> String {
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

fn official_value(value: &ValueRef<'_>) -> String {
    match value {
        ValueRef::Object(kind) => kind.to_string(),
        ValueRef::Scalar(value) => official_scalar(value),
    }
}

/// The text of a span. For a block, its number of entries suffices: the iteration also visits it as an object.
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

fn official_span(span: &OfficialSpan) -> String {
    match span {
        OfficialSpan::Text { text, marks } => {
            let marks = marks.iter().flat_map(|marks| marks.iter());
            let marks: Vec<String> = marks
                .map(|(name, value)| {
                    format!("{name}={}", official_scalar(&ScalarValueRef::from(value.clone())))
                })
                .collect();
            format!("{text:?} {marks:?}")
        }
        OfficialSpan::Block(map) => {
            let texts =
                map.iter().filter(|(_, value)| matches!(value.value, OfficialLiteral::Text(_))).count();
            format!("block {} {texts}", map.iter().count())
        }
    }
}

fn entry(item: &MapRangeItem<'_>) -> String {
    format!("{:?} {} {} {}", item.key, value(&item.value), item.id, item.conflict)
}

fn official_entry(item: &OfficialEntry<'_>) -> String {
    format!("{:?} {} {} {}", item.key, official_value(&item.value), item.id(), item.conflict)
}

fn element(item: &ListRangeItem<'_>) -> String {
    format!("{} {} {} {}", item.index, value(&item.value), item.id, item.conflict)
}

fn official_element(item: &OfficialElement<'_>) -> String {
    format!("{} {} {} {}", item.index, official_value(&item.value), item.id(), item.conflict)
}

fn item(DocObjItem { obj, item }: DocObjItem<'_>) -> String {
    let item = match item {
        DocItem::Map(item) => entry(&item),
        DocItem::List(item) => element(&item),
        DocItem::Text(item) => span(&item),
    };
    format!("{obj}: {item}")
}

fn official_item(item: &OfficialItem<'_>) -> String {
    match item {
        OfficialItem::Map(item) => official_entry(item),
        OfficialItem::List(item) => official_element(item),
        OfficialItem::Text(item) => official_span(item),
    }
}

#[test]
fn items_are_iterated_in_the_official_order() {
    let (mut rng, mut items, mut conflicts) = (Rng::new(3), 0, 0);
    for seed in 0..300 {
        let made_changes = changes::<Official>(&Script::random(seed, 70));
        let (mut hashmill, mut official) = (Document::new(), Automerge::new());
        for change in &made_changes {
            hashmill.apply_changes([Change::from_bytes(change).expect("a change")]).expect("in order");
            let change = automerge::Change::from_bytes(change.clone()).expect("a change");
            official.apply_changes([change]).expect("in order");
        }
        let all: Vec<ChangeHash> = hashmill.get_changes(&[]).iter().map(Change::hash).collect();
        if all.is_empty() {
            continue;
        }
        let current = hashmill.get_heads();
        let earlier: Vec<ChangeHash> = all.get(rng.below(all.len())).copied().into_iter().collect();
        for heads in [&current, &earlier] {
            let official_heads: Vec<_> =
                heads.iter().map(|hash| automerge::ChangeHash(*hash.as_bytes())).collect();
            let items_at: Vec<String> =
                hashmill.iter_at(ROOT, heads).expect("heads of this document").map(item).collect();
            let expected: Vec<String> = official
                .iter_at(automerge::ROOT, Some(&official_heads))
                .map(|item| format!("{}: {}", item.obj, official_item(&item.item)))
                .collect();
            assert_eq!(items_at, expected, "of script {seed}");
            items += items_at.len();
            if *heads == current {
                assert_eq!(hashmill.iter().map(item).collect::<Vec<_>>(), items_at);
            }
            let view = hashmill.at(heads).expect("heads of this document");
            let objects = hashmill.iter_at(ROOT, heads).expect("heads").filter_map(|item| {
                item.value()
                    .and_then(Value::as_object)
                    .map(|kind| (item.id().expect("of an object").clone(), kind))
            });
            for (obj, kind) in objects.chain([(ROOT, ObjType::Map)]) {
                if kind == ObjType::Text {
                    // In the official crate, boundaries of marks are elements.
                    continue;
                }
                let official_obj = match &obj {
                    ObjId::Root => automerge::ROOT,
                    id => official.import_obj(&id.to_string()).expect("an object of both"),
                };
                let (from, to) = (rng.below(4), rng.below(9));
                let (from, to) = (from.min(to), from.max(to));
                let (range, expected): (Vec<String>, Vec<String>) = if kind == ObjType::Map {
                    let (low, high) = (format!("k{from}"), format!("k{to}"));
                    (
                        view.map_range(&obj, &*low..&*high).map(|item| entry(&item)).collect(),
                        official
                            .map_range_at(&official_obj, low.clone()..high.clone(), &official_heads)
                            .map(|item| official_entry(&item))
                            .collect(),
                    )
                } else {
                    (
                        view.list_range(&obj, from..to).map(|item| element(&item)).collect(),
                        official
                            .list_range_at(&official_obj, from..to, &official_heads)
                            .map(|item| official_element(&item))
                            .collect(),
                    )
                };
                assert_eq!(range, expected, "{obj} of script {seed}");
            }
        }
        conflicts +=
            hashmill.iter().filter(|item| matches!(&item.item, DocItem::Map(item) if item.conflict)).count();
        conflicts +=
            hashmill.iter().filter(|item| matches!(&item.item, DocItem::List(item) if item.conflict)).count();
    }
    assert!(items > 2_000 && conflicts > 20, "{items} items, {conflicts} conflicts");
}
