//! Type tests and conversions of values.

use std::borrow::Cow;

use super::{ObjType, Prop, ScalarValue, Value};

/// The first float above all `i64`, and the first above all `u64`.
const ENDS: [f64; 2] = [9_223_372_036_854_775_808.0, 18_446_744_073_709_551_616.0];

impl<'a> ScalarValue<'a> {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            ScalarValue::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if it is bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            ScalarValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            ScalarValue::Boolean(v) => Some(v),
            _ => None,
        }
    }

    /// The number as `i64`, if it is of any numeric type and exactly representable.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            ScalarValue::Int(v) | ScalarValue::Counter(v) | ScalarValue::Timestamp(v) => Some(v),
            ScalarValue::Uint(v) => v.try_into().ok(),
            ScalarValue::F64(v) => (v.trunc() == v && (-ENDS[0]..ENDS[0]).contains(&v)).then_some(v as i64),
            _ => None,
        }
    }

    /// The number as `u64`, if it is of any numeric type and exactly representable.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            ScalarValue::Int(v) | ScalarValue::Counter(v) | ScalarValue::Timestamp(v) => v.try_into().ok(),
            ScalarValue::Uint(v) => Some(v),
            ScalarValue::F64(v) => (v.trunc() == v && (0.0..ENDS[1]).contains(&v)).then_some(v as u64),
            _ => None,
        }
    }

    /// The number of any numeric type, as the nearest float.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            ScalarValue::Int(v) | ScalarValue::Counter(v) | ScalarValue::Timestamp(v) => Some(v as f64),
            ScalarValue::Uint(v) => Some(v as f64),
            ScalarValue::F64(v) => Some(v),
            _ => None,
        }
    }

    /// The string, if it is one; otherwise the value.
    pub fn into_string(self) -> Result<String, Self> {
        match self {
            ScalarValue::Str(text) => Ok(text.into_owned()),
            other => Err(other),
        }
    }

    /// The bytes, if it is bytes; otherwise the value.
    pub fn into_bytes(self) -> Result<Vec<u8>, Self> {
        match self {
            ScalarValue::Bytes(bytes) => Ok(bytes.into_owned()),
            other => Err(other),
        }
    }
}

impl<'a> Value<'a> {
    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<&ScalarValue<'a>> {
        match self {
            Value::Scalar(scalar) => Some(scalar),
            Value::Object(_) => None,
        }
    }

    /// The scalar, if it is one; otherwise the value.
    pub fn into_scalar(self) -> Result<ScalarValue<'a>, Self> {
        match self {
            Value::Scalar(scalar) => Ok(scalar),
            other => Err(other),
        }
    }

    /// The kind of object, if it is one.
    pub fn as_object(&self) -> Option<ObjType> {
        match self {
            Value::Object(kind) => Some(*kind),
            Value::Scalar(_) => None,
        }
    }

    /// Is it an object?
    pub fn is_object(&self) -> bool {
        self.as_object().is_some()
    }

    /// Is it a scalar?
    pub fn is_scalar(&self) -> bool {
        !self.is_object()
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(ScalarValue::as_str)
    }

    /// The bytes, if it is bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        self.as_scalar().and_then(ScalarValue::as_bytes)
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        self.as_scalar().and_then(ScalarValue::as_bool)
    }

    /// As [`ScalarValue::as_i64`].
    pub fn as_i64(&self) -> Option<i64> {
        self.as_scalar().and_then(ScalarValue::as_i64)
    }

    /// As [`ScalarValue::as_u64`].
    pub fn as_u64(&self) -> Option<u64> {
        self.as_scalar().and_then(ScalarValue::as_u64)
    }

    /// As [`ScalarValue::as_f64`].
    pub fn as_f64(&self) -> Option<f64> {
        self.as_scalar().and_then(ScalarValue::as_f64)
    }

    /// The string, if it is one; otherwise the value.
    pub fn into_string(self) -> Result<String, Self> {
        self.into_scalar().and_then(|scalar| scalar.into_string().map_err(Value::Scalar))
    }

    /// The bytes, if it is bytes; otherwise the value.
    pub fn into_bytes(self) -> Result<Vec<u8>, Self> {
        self.into_scalar().and_then(|scalar| scalar.into_bytes().map_err(Value::Scalar))
    }
}

/// Type tests for scalars and values.
macro_rules! kinds {
    ($($(#[$doc:meta])* $is:ident, $kind:ident;)+) => {
        impl ScalarValue<'_> {
            $($(#[$doc])*
            pub fn $is(&self) -> bool {
                matches!(self, ScalarValue::$kind { .. })
            })+
        }

        impl Value<'_> {
            $($(#[$doc])*
            pub fn $is(&self) -> bool {
                self.as_scalar().is_some_and(ScalarValue::$is)
            })+
        }
    };
}

kinds! {
    /// Is it null?
    is_null, Null;
    /// Is it a boolean?
    is_boolean, Boolean;
    /// Is it a signed integer?
    is_int, Int;
    /// Is it an unsigned integer?
    is_uint, Uint;
    /// Is it a floating-point number?
    is_f64, F64;
    /// Is it a string?
    is_str, Str;
    /// Is it bytes?
    is_bytes, Bytes;
    /// Is it a counter?
    is_counter, Counter;
    /// Is it a timestamp?
    is_timestamp, Timestamp;
}

impl<'a> From<&'a ScalarValue<'_>> for ScalarValue<'a> {
    fn from(value: &'a ScalarValue<'_>) -> Self {
        match value {
            ScalarValue::Str(text) => ScalarValue::Str(Cow::Borrowed(text)),
            ScalarValue::Bytes(bytes) => ScalarValue::Bytes(Cow::Borrowed(bytes)),
            ScalarValue::Unknown { type_code, bytes } => {
                ScalarValue::Unknown { type_code: *type_code, bytes: Cow::Borrowed(bytes) }
            }
            other => other.clone().into_owned(),
        }
    }
}

impl Prop<'_> {
    /// The key, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Prop::Map(key) => Some(key),
            Prop::Seq(_) => None,
        }
    }

    /// The index, if it is one.
    pub fn as_index(&self) -> Option<usize> {
        match self {
            Prop::Map(_) => None,
            Prop::Seq(index) => Some(*index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_convert_exactly() {
        type Answers = (Option<i64>, Option<u64>, Option<f64>);
        let ask = |value: ScalarValue<'_>| -> Answers { (value.as_i64(), value.as_u64(), value.as_f64()) };
        assert_eq!(ask(ScalarValue::Int(-3)), (Some(-3), None, Some(-3.0)));
        assert_eq!(ask(ScalarValue::Uint(u64::MAX)), (None, Some(u64::MAX), Some(ENDS[1])));
        assert_eq!(ask(ScalarValue::Counter(4)), (Some(4), Some(4), Some(4.0)));
        assert_eq!(ask(ScalarValue::Timestamp(-1)), (Some(-1), None, Some(-1.0)));
        assert_eq!(ask(ScalarValue::F64(2.0)), (Some(2), Some(2), Some(2.0)));
        assert_eq!(ask(ScalarValue::F64(2.5)), (None, None, Some(2.5)));
        assert_eq!(ask(ScalarValue::F64(-0.0)), (Some(0), Some(0), Some(0.0)));
        assert_eq!(ask(ScalarValue::F64(-ENDS[0])), (Some(i64::MIN), None, Some(-ENDS[0])));
        assert_eq!(ask(ScalarValue::F64(ENDS[0])), (None, Some(1 << 63), Some(ENDS[0])));
        assert_eq!(ask(ScalarValue::F64(ENDS[1])), (None, None, Some(ENDS[1])));
        let (int, uint, float) = ask(ScalarValue::F64(f64::NAN));
        assert!(int.is_none() && uint.is_none() && float.is_some_and(f64::is_nan));
        assert_eq!(ask(ScalarValue::from("3")), (None, None, None));
    }

    #[test]
    fn each_value_has_one_type() {
        let unknown = ScalarValue::Unknown { type_code: 12, bytes: vec![1].into() };
        let values: Vec<ScalarValue<'_>> = vec![
            ().into(),
            true.into(),
            1i64.into(),
            1u64.into(),
            1.0.into(),
            "a".into(),
            vec![1u8].into(),
            ScalarValue::counter(1),
            ScalarValue::Timestamp(1),
            unknown,
        ];
        for (n, scalar) in values.iter().enumerate() {
            let value = Value::Scalar(scalar.clone());
            let kinds = [
                (scalar.is_null(), value.is_null()),
                (scalar.is_boolean(), value.is_boolean()),
                (scalar.is_int(), value.is_int()),
                (scalar.is_uint(), value.is_uint()),
                (scalar.is_f64(), value.is_f64()),
                (scalar.is_str(), value.is_str()),
                (scalar.is_bytes(), value.is_bytes()),
                (scalar.is_counter(), value.is_counter()),
                (scalar.is_timestamp(), value.is_timestamp()),
            ];
            for (kind, (scalar, value)) in kinds.into_iter().enumerate() {
                assert_eq!((scalar, value), (kind == n, kind == n), "{kind} of {n}");
            }
            assert!(value.is_scalar() && !value.is_object());
            assert_eq!(scalar.as_bool(), (n == 1).then_some(true));
            assert_eq!(scalar.as_str(), (n == 5).then_some("a"));
            assert_eq!(scalar.as_bytes(), (n == 6).then_some(&[1u8][..]));
            assert_eq!(ScalarValue::from(scalar), *scalar);
            assert_eq!(value.clone().into_scalar(), Ok(scalar.clone()));
            assert_eq!(
                value.clone().into_string(),
                if n == 5 { Ok("a".to_owned()) } else { Err(value.clone()) }
            );
            assert_eq!(value.clone().into_bytes(), if n == 6 { Ok(vec![1]) } else { Err(value) });
        }
        let map = Value::Object(ObjType::Map);
        assert!(map.is_object() && !map.is_scalar() && !map.is_null() && map.as_scalar().is_none());
        assert_eq!((map.as_object(), map.as_f64(), map.as_bool()), (Some(ObjType::Map), None, None));
        assert_eq!(map.clone().into_string(), Err(map));
        assert_eq!((Prop::from("a").as_str(), Prop::from("a").as_index()), (Some("a"), None));
        assert_eq!((Prop::from(3).as_str(), Prop::from(3).as_index()), (None, Some(3)));
    }
}
