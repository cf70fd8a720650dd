//! Values as Rust types.

use crate::types::{ScalarValue, Value};

/// A Rust type that a value of a document can become. Numbers become any type that holds them without loss.
pub trait FromValue: Sized {
    /// What to call it in an error.
    const EXPECTED: &'static str;

    /// The value as this type, if it is one.
    fn from_value(value: &Value<'_>) -> Option<Self>;
}

fn number<T: TryFrom<i64> + TryFrom<u64>>(value: &Value<'_>) -> Option<T> {
    match value {
        Value::Scalar(ScalarValue::Int(v) | ScalarValue::Counter(v) | ScalarValue::Timestamp(v)) => {
            T::try_from(*v).ok()
        }
        Value::Scalar(ScalarValue::Uint(v)) => T::try_from(*v).ok(),
        _ => None,
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl FromValue for $type {
            const EXPECTED: &'static str = concat!("a number that fits ", stringify!($type));

            fn from_value(value: &Value<'_>) -> Option<Self> {
                number(value)
            }
        }
    )*};
}

numbers!(i8, i16, i32, i64, u8, u16, u32, u64, usize, isize);

impl FromValue for f64 {
    const EXPECTED: &'static str = "a floating-point number";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::F64(v)) => Some(*v),
            _ => number::<i32>(value).map(f64::from),
        }
    }
}

impl FromValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Boolean(v)) => Some(*v),
            _ => None,
        }
    }
}

impl FromValue for String {
    const EXPECTED: &'static str = "a string";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Str(v)) => Some(v.to_string()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Bytes(v)) => Some(v.to_vec()),
            _ => None,
        }
    }
}

/// Null is nothing.
impl<T: FromValue> FromValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Null) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
