//! Equality of document values and JSON as defined by RFC 6902: numbers by value, maps in any order.

use serde_json::{Number, Value as Json};

use crate::read::range_items::MapRangeItem;
use crate::read::view::View;
use crate::types::{ObjId, ObjType, ScalarValue, Value};

/// Compares no deeper than `json`, whose depth its parser has limited.
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
        (ScalarValue::Boolean(value), Json::Bool(other)) => value == other,
        (ScalarValue::Str(text), Json::String(other)) => text == other,
        (
            ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value),
            Json::Number(other),
        ) => numbers_equal(other, &Number::from(*value)),
        (ScalarValue::Uint(value), Json::Number(other)) => numbers_equal(other, &Number::from(*value)),
        (ScalarValue::F64(value), Json::Number(other)) => {
            Number::from_f64(*value).is_some_and(|value| numbers_equal(other, &value))
        }
        (ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. }, Json::Array(other)) => {
            bytes.len() == other.len()
                && bytes.iter().zip(other).all(|(byte, other)| other.as_u64() == Some(u64::from(*byte)))
        }
        _ => false,
    }
}

/// Are two numbers numerically equal?
fn numbers_equal(a: &Number, b: &Number) -> bool {
    let integer = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}
