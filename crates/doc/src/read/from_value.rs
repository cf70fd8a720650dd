//! Conversion of document values into Rust types.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use crate::read::range_items::MapRangeItem;
use crate::read::view::View;
use crate::types::error::{EditError, Mismatch, described};
use crate::types::literal::Literal;
use crate::types::{ObjId, ObjType, Prop, ScalarValue, Value};

/// A Rust type that a document value can be converted into. Numbers convert to any type that holds them without loss,
/// texts to strings, lists to `Vec`s, and maps to the maps of the standard library.
pub trait FromValue: Sized {
    /// Description of the type in errors.
    const EXPECTED: &'static str;

    /// The value as this type, if it is one. For objects, `value` contains the kind only.
    fn from_value(value: &Value<'_>) -> Option<Self>;

    /// As [`Self::from_value`], with a view for reading objects. `None` for a value of another type; an error if the
    /// document could not be read.
    fn from_document(_view: &View<'_>, value: &Value<'_>, _id: &ObjId) -> Result<Option<Self>, EditError> {
        Ok(Self::from_value(value))
    }

    /// A vector of this type from bytes: only for `u8`.
    #[doc(hidden)]
    fn from_bytes(_bytes: &[u8]) -> Option<Vec<Self>> {
        None
    }
}

impl View<'_> {
    /// The winning value at a key or index as a Rust type; an error if it has another type.
    pub fn get_as<'p, T: FromValue>(
        &self,
        obj: impl AsRef<ObjId>,
        prop: impl Into<Prop<'p>>,
    ) -> Result<Option<T>, EditError> {
        let (obj, prop) = (obj.as_ref(), prop.into());
        let Some((value, id)) = self.get(obj, prop.clone())? else { return Ok(None) };
        T::from_document(self, &value, &id)?.map(Some).ok_or_else(|| {
            EditError::WrongValue(Mismatch::new(obj, Some(&prop), T::EXPECTED, described(&value)))
        })
    }
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

numbers!(i8, i16, i32, i64, u16, u32, u64, usize, isize);

impl FromValue for u8 {
    const EXPECTED: &'static str = "a number that fits u8";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        number(value)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Vec<Self>> {
        Some(bytes.to_vec())
    }
}

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
    const EXPECTED: &'static str = "a string or a text";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Str(v)) => Some(v.to_string()),
            _ => None,
        }
    }

    fn from_document(view: &View<'_>, value: &Value<'_>, id: &ObjId) -> Result<Option<Self>, EditError> {
        match value {
            Value::Object(ObjType::Text) => view.text(id).map(Some),
            value => Ok(Self::from_value(value)),
        }
    }
}

/// A list with elements of one type; bytes as `u8`.
impl<T: FromValue> FromValue for Vec<T> {
    const EXPECTED: &'static str = "a list of values of one type, or bytes";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Bytes(v)) => T::from_bytes(v),
            _ => None,
        }
    }

    fn from_document(view: &View<'_>, value: &Value<'_>, id: &ObjId) -> Result<Option<Self>, EditError> {
        match value {
            Value::Object(ObjType::List) => {
                view.values_of(id).iter().map(|(value, id)| T::from_document(view, value, id)).collect()
            }
            value => Ok(Self::from_value(value)),
        }
    }
}

macro_rules! maps {
    ($map:ty, $($param:tt)*) => {
        /// A map with values of one type.
        impl<T: FromValue, $($param)*> FromValue for $map {
            const EXPECTED: &'static str = "a map to values of one type";

            fn from_value(_: &Value<'_>) -> Option<Self> {
                None
            }

            fn from_document(
                view: &View<'_>,
                value: &Value<'_>,
                id: &ObjId,
            ) -> Result<Option<Self>, EditError> {
                let Some(ObjType::Map | ObjType::Table) = value.as_object() else { return Ok(None) };
                let entry = |item: MapRangeItem<'_>| {
                    let value = T::from_document(view, &item.value, &item.id)?;
                    Ok(value.map(|value| (item.key.to_owned(), value)))
                };
                view.map_range(id, ..).map(entry).collect()
            }
        }
    };
}

maps!(BTreeMap<String, T>,);
maps!(HashMap<String, T, S>, S: BuildHasher + Default);

/// Any value with its contents.
impl FromValue for Literal {
    const EXPECTED: &'static str = "a value";

    fn from_value(value: &Value<'_>) -> Option<Self> {
        value.as_scalar().map(|scalar| Literal::Scalar(scalar.clone().into_owned()))
    }

    fn from_document(view: &View<'_>, value: &Value<'_>, id: &ObjId) -> Result<Option<Self>, EditError> {
        match value {
            Value::Object(_) => view.hydrate(id).map(Some),
            value => Ok(Self::from_value(value)),
        }
    }
}

/// Null converts to `None`.
impl<T: FromValue> FromValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Scalar(ScalarValue::Null) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }

    fn from_document(view: &View<'_>, value: &Value<'_>, id: &ObjId) -> Result<Option<Self>, EditError> {
        match value {
            Value::Scalar(ScalarValue::Null) => Ok(Some(None)),
            value => Ok(T::from_document(view, value, id)?.map(Some)),
        }
    }
}
