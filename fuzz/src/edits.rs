//! Random small edits, many of them at the same keys and indexes.

use hashmill_doc::{
    Document, EditError, ExpandMark, Mark, ObjId, ObjType, ROOT, ReadDoc, ScalarValue, Transactable, Value,
};
use hashmill_testkit::Rng;

/// Commits a change of a few edits. Refused edits have no effect.
pub(crate) fn edit(doc: &mut Document, rng: &mut Rng) {
    let mut transaction = doc.transaction();
    edits(&mut transaction, rng);
    transaction.commit();
}

/// A few edits.
pub(crate) fn edits(tx: &mut impl Transactable, rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        // Refused edits have no effect; the property would show one.
        let _: Result<(), EditError> = one(tx, rng);
    }
}

fn one(tx: &mut impl Transactable, rng: &mut Rng) -> Result<(), EditError> {
    let object = any_object(tx, rng);
    let number = rng.below(200) as i64 - 60;
    let sequence = tx.object_type(&object)?.is_sequence();
    let text = tx.object_type(&object)? == ObjType::Text;
    let kind = [ObjType::Map, ObjType::List, ObjType::Text][rng.below(3)];
    let value = match rng.below(6) {
        0 => ScalarValue::counter(number),
        1 => ScalarValue::Null,
        2 => ScalarValue::Boolean(number > 0),
        3 => ScalarValue::Uint(number.unsigned_abs()),
        4 => ScalarValue::from("v"),
        _ => ScalarValue::Int(number),
    };
    if sequence {
        let at = rng.below(tx.length(&object) + 1);
        match rng.below(if text { 11 } else { 8 }) {
            8 | 9 => {
                let end = at + rng.below(tx.length(&object) + 1 - at);
                let expand = [ExpandMark::Before, ExpandMark::After, ExpandMark::Both, ExpandMark::None];
                tx.mark(&object, Mark::new(["b", "i"][rng.below(2)], value, at, end), expand[rng.below(4)])
            }
            10 => match rng.below(3) {
                0 => tx.join_block(&object, at),
                1 => tx.replace_block(&object, at).map(drop),
                _ => tx.split_block(&object, at).map(drop),
            },
            0..=2 if text => tx.splice_text(&object, at, 0, ["a", "bc", "é", "hello", "😀"][rng.below(5)]),
            3 if text => tx.splice_text(&object, at, rng.below(4) as isize, ""),
            4 => tx.delete(&object, at.saturating_sub(1)),
            5 => tx.increment(&object, at.saturating_sub(1), number),
            6 => tx.put(&object, at.saturating_sub(1), value),
            7 => tx.insert_object(&object, at, kind).map(drop),
            _ => tx.insert(&object, at, value),
        }
    } else {
        let key = ["a", "k", "text", "list"][rng.below(4)];
        match rng.below(8) {
            0 => tx.delete(&object, key),
            1 | 2 => tx.increment(&object, key, number),
            3 => tx.put_object(&object, key, kind).map(drop),
            _ => tx.put(&object, key, value),
        }
    }
}

/// Mostly the root, or an object below it, or one below that.
fn any_object(doc: &impl ReadDoc, rng: &mut Rng) -> ObjId {
    let mut object = ROOT;
    for _ in 0..2 {
        let inside = doc.values(&object).into_iter().filter(|(value, _)| matches!(value, Value::Object(_)));
        let inside: Vec<ObjId> = inside.map(|(_, id)| id).collect();
        if inside.is_empty() || rng.below(4) == 0 {
            break;
        }
        object = inside[rng.below(inside.len())].clone();
    }
    object
}
