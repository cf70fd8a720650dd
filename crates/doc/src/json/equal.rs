//! Whether a value is what JSON says, as RFC 6902 has it: numbers by what they are worth, maps in any order.

use serde_json::{Number, Value as Json};

use crate::items::MapRangeItem;
use crate::types::{ObjId, ObjType, ScalarValue, Value};
use crate::view::View;

/// Compares no deeper than `json` is, which its parser has kept shallow.
pub(super) fn equal(view: &View<'_>, (value, id): &(Value<'_>, ObjId), json: &Json) -> bool {
    match (value, json) {
        (Value::Scalar(value), json) => scalar(value, json),
        (Value::Object(ObjType::Text), Json::String(text)) => view.text(id).is_ok_and(|there| there == *text),
        (Value::Object(ObjType::List), Json::Array(values)) => {
            let there = view.values_of(id);
            there.len() == values.len()
                && there.iter().zip(values).all(|(found, json)| equal(view, found, json))
        }
        (Value::Object(ObjType::Map | ObjType::Table), Json::Object(members)) => {
            let mut there = view.map_range(id, ..);
            there.len() == members.len()
                && there.all(|MapRangeItem { key, value, id, .. }| {
                    members.get(key).is_some_and(|json| equal(view, &(value, id), json))
                })
        }
        (Value::Object(_), _) => false,
    }
}

fn scalar(value: &ScalarValue<'_>, json: &Json) -> bool {
    match (value, json) {
        (ScalarValue::Null, Json::Null) => true,
        (ScalarValue::Boolean(value), Json::Bool(said)) => value == said,
        (ScalarValue::Str(text), Json::String(said)) => text == said,
        (
            ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value),
            Json::Number(said),
        ) => worth(said, &Number::from(*value)),
        (ScalarValue::Uint(value), Json::Number(said)) => worth(said, &Number::from(*value)),
        (ScalarValue::F64(value), Json::Number(said)) => {
            Number::from_f64(*value).is_some_and(|value| worth(said, &value))
        }
        (ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. }, Json::Array(said)) => {
            bytes.len() == said.len()
                && bytes.iter().zip(said).all(|(byte, said)| said.as_u64() == Some(u64::from(*byte)))
        }
        _ => false,
    }
}

/// Whether two numbers are worth the same.
fn worth(a: &Number, b: &Number) -> bool {
    let integer = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}
