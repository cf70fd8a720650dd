//! Deserialization of document values into Rust types.

use ::serde::de::value::StrDeserializer;
use ::serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use ::serde::forward_to_deserialize_any;

use super::{DEEPEST, Error};
use crate::types::ScalarValue;
use crate::types::literal::Literal;

/// Converts a value into a Rust type, as described in the [module](super).
pub fn from_literal<'de, T: Deserialize<'de>>(value: &'de Literal) -> Result<T, Error> {
    T::deserialize(Reader { value, left: DEEPEST })
}

#[derive(Clone, Copy)]
struct Reader<'de> {
    value: &'de Literal,
    /// Remaining levels.
    left: usize,
}

impl<'de> Reader<'de> {
    /// Reader for a contained value.
    fn inside(self, value: &'de Literal) -> Result<Self, Error> {
        let left = self.left.checked_sub(1).ok_or_else(Error::deep)?;
        Ok(Self { value, left })
    }

    fn list<V: Visitor<'de>>(self, elements: &'de [Literal], visitor: V) -> Result<V::Value, Error> {
        let mut list = List { from: self, rest: elements.iter(), index: 0 };
        let value = visitor.visit_seq(&mut list)?;
        match list.rest.len() {
            0 => Ok(value),
            _ => Err(::serde::de::Error::invalid_length(elements.len(), &"fewer elements")),
        }
    }

    fn map<V: Visitor<'de>>(
        self,
        entries: &'de std::collections::BTreeMap<String, Literal>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut map = Map { from: self, rest: entries.iter(), value: None };
        let value = visitor.visit_map(&mut map)?;
        match map.rest.len() {
            0 => Ok(value),
            _ => Err(::serde::de::Error::invalid_length(entries.len(), &"fewer keys")),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Literal::Map(entries) => self.map(entries, visitor),
            Literal::List(elements) => self.list(elements, visitor),
            Literal::Text(text) => visitor.visit_borrowed_str(text),
            Literal::Scalar(scalar) => match scalar {
                ScalarValue::Null => visitor.visit_unit(),
                ScalarValue::Boolean(value) => visitor.visit_bool(*value),
                ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value) => {
                    visitor.visit_i64(*value)
                }
                ScalarValue::Uint(value) => visitor.visit_u64(*value),
                ScalarValue::F64(value) => visitor.visit_f64(*value),
                ScalarValue::Str(text) => visitor.visit_borrowed_str(text),
                ScalarValue::Bytes(bytes) | ScalarValue::Unknown { bytes, .. } => {
                    visitor.visit_borrowed_bytes(bytes)
                }
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Literal::Scalar(ScalarValue::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Also reads bytes as a sequence of numbers, if one is requested.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Literal::Scalar(ScalarValue::Bytes(bytes)) => {
                visitor.visit_seq(::serde::de::value::SeqDeserializer::new(bytes.iter().copied()))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (name, contents) = match self.value {
            Literal::Text(name) => (&**name, None),
            Literal::Scalar(ScalarValue::Str(name)) => (&**name, None),
            Literal::Map(entries) if entries.len() == 1 => {
                let mut entries = entries.iter();
                let (name, value) = entries.next().ok_or_else(|| Error::new("a map without keys"))?;
                (&**name, Some(self.inside(value)?))
            }
            _ => return Err(Error::new("a variant is a string, or a map with its name as the only key")),
        };
        let read = visitor.visit_enum(Variant { name, contents });
        // The error occurred inside the variant.
        read.map_err(|error| if contents.is_some() { error.inside(name) } else { error })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier
    }
}

struct List<'de> {
    from: Reader<'de>,
    rest: std::slice::Iter<'de, Literal>,
    index: usize,
}

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let read = self.from.inside(value).and_then(|reader| seed.deserialize(reader));
        read.map(Some).map_err(|error| error.inside(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Map<'de> {
    from: Reader<'de>,
    rest: std::collections::btree_map::Iter<'de, String, Literal>,
    /// Value of the key returned last.
    value: Option<(&'de str, &'de Literal)>,
}

impl<'de> MapAccess<'de> for Map<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key, value));
        seed.deserialize(KeyReader(key)).map(Some).map_err(|error| error.inside(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) = self.value.take().ok_or_else(|| Error::new("a value before its key"))?;
        let read = self.from.inside(value).and_then(|reader| seed.deserialize(reader));
        read.map_err(|error| error.inside(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// Reader of keys, for types that are written as strings there: numbers, booleans, variants.
struct KeyReader<'de>(&'de str);

macro_rules! parsed {
    ($($method:ident as $type:ty: $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse::<$type>() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed!(
        deserialize_bool as bool: visit_bool, deserialize_i8 as i64: visit_i64, deserialize_i16 as i64: visit_i64,
        deserialize_i32 as i64: visit_i64, deserialize_i64 as i64: visit_i64, deserialize_i128 as i128: visit_i128,
        deserialize_u8 as u64: visit_u64, deserialize_u16 as u64: visit_u64, deserialize_u32 as u64: visit_u64,
        deserialize_u64 as u64: visit_u64, deserialize_u128 as u128: visit_u128
    );

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name: StrDeserializer<'de, Error> = self.0.into_deserializer();
        visitor.visit_enum(name)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant and its contents.
struct Variant<'de> {
    name: &'de str,
    contents: Option<Reader<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Contents<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Contents<'de>), Error> {
        let name: StrDeserializer<'de, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Contents(self.contents)))
    }
}

struct Contents<'de>(Option<Reader<'de>>);

impl<'de> Contents<'de> {
    fn some(self) -> Result<Reader<'de>, Error> {
        self.0.ok_or_else(|| Error::new("a variant with contents is a map with its name as the only key"))
    }
}

impl<'de> VariantAccess<'de> for Contents<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None => Ok(()),
            Some(reader) => Deserialize::deserialize(reader),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.some()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.some()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.some()?.deserialize_any(visitor)
    }
}
