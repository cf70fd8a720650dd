//! Conversion of scalars, with the caller's types for some of them.

use std::fmt::Display;

use hashmill_doc::ScalarValue;
use js_sys::{BigInt, Date, Function, Number, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};

use crate::values::arguments::{Js, MemoryBudget, thrown, time_of};

/// The caller's functions that construct its value from a scalar of a type, and deconstruct it.
#[derive(Clone)]
struct Type {
    name: String,
    construct: Function,
    deconstruct: Function,
}

/// The registered types of the caller.
#[derive(Clone, Default)]
pub(crate) struct Types(Vec<Type>);

impl Types {
    /// Sets the functions of a type, or removes the type if one of them is no function.
    pub(crate) fn register(&mut self, name: String, construct: JsValue, deconstruct: JsValue) {
        self.0.retain(|known| known.name != name);
        if let (Ok(construct), Ok(deconstruct)) = (construct.dyn_into(), deconstruct.dyn_into()) {
            self.0.push(Type { name, construct, deconstruct });
        }
    }

    /// A scalar converted by the caller's type.
    pub(crate) fn construct(&self, name: &str, value: &JsValue) -> Option<Js> {
        let found = self.0.iter().find(|known| known.name == name)?;
        Some(found.construct.call1(&JsValue::UNDEFINED, value))
    }

    /// The scalar in a value of the caller, and its type.
    pub(crate) fn deconstruct(&self, value: &JsValue) -> Js<Option<(String, JsValue)>> {
        for known in &self.0 {
            let inner = known.deconstruct.call1(&JsValue::UNDEFINED, value)?;
            if !inner.is_undefined() {
                return Ok(Some((known.name.clone(), inner)));
            }
        }
        Ok(None)
    }
}

/// The name of a type in JavaScript.
pub(crate) fn name(value: &ScalarValue<'_>) -> &'static str {
    match value {
        ScalarValue::Null => "null",
        ScalarValue::Boolean(_) => "boolean",
        ScalarValue::Int(_) => "int",
        ScalarValue::Uint(_) => "uint",
        ScalarValue::F64(_) => "f64",
        ScalarValue::Str(_) => "str",
        ScalarValue::Bytes(_) => "bytes",
        ScalarValue::Counter(_) => "counter",
        ScalarValue::Timestamp(_) => "timestamp",
        ScalarValue::Unknown { .. } => "unknown",
    }
}

/// A scalar in JavaScript: numbers that are not safe integers become a `BigInt`.
pub(crate) fn plain(value: &ScalarValue<'_>) -> JsValue {
    match value {
        ScalarValue::Null => JsValue::NULL,
        ScalarValue::Boolean(value) => JsValue::from_bool(*value),
        ScalarValue::Int(value) | ScalarValue::Counter(value) => integer(*value),
        ScalarValue::Uint(value) => match i64::try_from(*value) {
            Ok(value) => integer(value),
            Err(_) => BigInt::from(*value).into(),
        },
        ScalarValue::F64(value) => JsValue::from_f64(*value),
        ScalarValue::Str(value) => JsValue::from_str(value),
        ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. } => Uint8Array::from(&**bytes).into(),
        ScalarValue::Timestamp(value) => Date::new(&JsValue::from_f64(*value as f64)).into(),
    }
}

fn integer(value: i64) -> JsValue {
    let safe = Number::MIN_SAFE_INTEGER as i64..=Number::MAX_SAFE_INTEGER as i64;
    if safe.contains(&value) { JsValue::from_f64(value as f64) } else { BigInt::from(value).into() }
}

/// Objects that are not maps.
pub(crate) fn is_scalar_object(value: &JsValue) -> bool {
    value.is_instance_of::<Date>() || value.is_instance_of::<Uint8Array>()
}

/// A scalar whose type follows from its value. A number without a fraction is an integer from one on, as in the original.
pub(crate) fn untyped(value: &JsValue, budget: &MemoryBudget) -> Js<ScalarValue<'static>> {
    if let Some(number) = value.as_f64() {
        let whole = number.fract() == 0.0 && (1.0..9.3e18).contains(&number);
        return Ok(if whole { ScalarValue::Int(number as i64) } else { ScalarValue::F64(number) });
    }
    if let Some(text) = budget.string(value)? {
        return Ok(text.into());
    }
    if let Some(value) = value.as_bool() {
        return Ok(value.into());
    }
    if value.is_null() {
        return Ok(ScalarValue::Null);
    }
    if value.is_bigint() {
        return signed(value).map(ScalarValue::Int).or_else(|_| unsigned(value).map(ScalarValue::Uint));
    }
    match (value.dyn_ref::<Date>(), value.dyn_ref::<Uint8Array>()) {
        (Some(date), _) => Ok(ScalarValue::Timestamp(time_of(date)? as i64)),
        (_, Some(bytes)) => Ok(budget.copy(bytes)?.into()),
        _ => Err(invalid("a value")),
    }
}

/// A scalar of a type given by the caller.
pub(crate) fn typed(value: &JsValue, datatype: &str, budget: &MemoryBudget) -> Js<ScalarValue<'static>> {
    let found = match datatype {
        "boolean" => value.as_bool().map(ScalarValue::Boolean),
        "int" => Some(ScalarValue::Int(signed(value)?)),
        "uint" => Some(ScalarValue::Uint(unsigned(value)?)),
        "counter" => Some(ScalarValue::Counter(signed(value)?)),
        "timestamp" => Some(ScalarValue::Timestamp(signed(value)?)),
        "str" => budget.string(value)?.map(ScalarValue::from),
        "f64" => value.as_f64().map(ScalarValue::F64),
        "bytes" => value.dyn_ref().map(|bytes| budget.copy(bytes)).transpose()?.map(ScalarValue::from),
        "null" => Some(ScalarValue::Null),
        "map" | "list" | "text" | "table" => return Err(thrown("value not primitive")),
        _ => return Err(thrown(format_args!("unknown datatype {datatype}"))),
    };
    found.ok_or_else(|| invalid(datatype))
}

/// As [`typed`] if the caller gives a type, otherwise as [`untyped`].
pub(crate) fn scalar(value: &JsValue, datatype: &JsValue) -> Js<ScalarValue<'static>> {
    if datatype.is_undefined() || datatype.is_null() {
        return untyped(value, &MemoryBudget::default());
    }
    let datatype = datatype.as_string().ok_or_else(|| thrown("datatype is not a string"))?;
    typed(value, &datatype, &MemoryBudget::default())
}

fn invalid(what: &str) -> JsValue {
    thrown(format_args!("the value cannot be stored as {what}"))
}

fn out_of_range(value: &JsValue, least: impl Display, most: impl Display) -> JsValue {
    let value: &BigInt = value.unchecked_ref();
    match value.to_string(10) {
        Ok(text) if text.starts_with("-", 0) => {
            thrown(format_args!("bignum {text} smaller than min {least}"))
        }
        Ok(text) => thrown(format_args!("bignum {text} larger than max {most}")),
        Err(error) => error.into(),
    }
}

fn signed(value: &JsValue) -> Js<i64> {
    if value.is_bigint() {
        return i64::try_from(value.clone()).map_err(|_| out_of_range(value, i64::MIN, i64::MAX));
    }
    let number = match value.dyn_ref::<Date>() {
        Some(date) => Some(time_of(date)?),
        None => value.as_f64(),
    };
    number.map(|number| number as i64).ok_or_else(|| invalid("an integer"))
}

fn unsigned(value: &JsValue) -> Js<u64> {
    if value.is_bigint() {
        return u64::try_from(value.clone()).map_err(|_| out_of_range(value, u64::MIN, u64::MAX));
    }
    value.as_f64().map(|number| number as u64).ok_or_else(|| invalid("an unsigned integer"))
}
