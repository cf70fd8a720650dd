//! Serialization of Rust values into document values.

use std::collections::BTreeMap;

use ::serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{DEEPEST, Error};
use crate::interop::serde::special_values::{COUNTER, TEXT, TIMESTAMP};
use crate::types::ScalarValue;
use crate::types::literal::Literal;

/// Converts a Rust value into a document value, as described in the [module](super).
pub fn to_literal<T: Serialize + ?Sized>(value: &T) -> Result<Literal, Error> {
    value.serialize(Writer { left: DEEPEST })
}

#[derive(Clone, Copy)]
struct Writer {
    /// Remaining levels.
    left: usize,
}

impl Writer {
    /// Writer for a contained value.
    fn deeper(self) -> Result<Self, Error> {
        self.left.checked_sub(1).map(|left| Self { left }).ok_or_else(Error::deep)
    }
}

/// A list under construction, and its enum variant.
struct List {
    writer: Writer,
    variant: Option<&'static str>,
    elements: Vec<Literal>,
}

/// A map under construction, and its enum variant.
struct Map {
    writer: Writer,
    variant: Option<&'static str>,
    entries: BTreeMap<String, Literal>,
    /// Key whose value has not been added yet.
    key: Option<String>,
}

impl List {
    fn new(writer: Writer, variant: Option<&'static str>) -> Result<Self, Error> {
        Ok(Self { writer: writer.deeper()?, variant, elements: Vec::new() })
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let value = value.serialize(self.writer).map_err(|error| error.inside(self.elements.len()))?;
        self.elements.push(value);
        Ok(())
    }

    fn finish(self) -> Literal {
        in_variant(self.variant, Literal::List(self.elements.into()))
    }
}

impl Map {
    fn new(writer: Writer, variant: Option<&'static str>) -> Result<Self, Error> {
        Ok(Self { writer: writer.deeper()?, variant, entries: BTreeMap::new(), key: None })
    }

    fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        let value = value.serialize(self.writer).map_err(|error| error.inside(key))?;
        match self.entries.insert(key.to_owned(), value) {
            None => Ok(()),
            // Different keys may have the same string: 1 and "1".
            Some(_) => Err(Error::new("duplicate key").inside(key)),
        }
    }

    fn finish(self) -> Literal {
        in_variant(self.variant, Literal::Map(self.entries.into()))
    }
}

/// The contents of a variant, in a map with its name.
fn in_variant(variant: Option<&str>, value: Literal) -> Literal {
    match variant {
        Some(variant) => Literal::from([(variant, value)]),
        None => value,
    }
}

macro_rules! scalars {
    ($($method:ident: $type:ty as $as:ty),*) => {$(
        fn $method(self, value: $type) -> Result<Literal, Error> {
            Ok(Literal::from(<$as>::from(value)))
        }
    )*};
}

impl Serializer for Writer {
    type Ok = Literal;
    type Error = Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Map;
    type SerializeStruct = Map;
    type SerializeStructVariant = Map;

    scalars!(
        serialize_bool: bool as bool, serialize_i8: i8 as i64, serialize_i16: i16 as i64, serialize_i32: i32 as i64,
        serialize_i64: i64 as i64, serialize_u8: u8 as u64, serialize_u16: u16 as u64, serialize_u32: u32 as u64,
        serialize_u64: u64 as u64, serialize_f32: f32 as f64, serialize_f64: f64 as f64, serialize_char: char as String
    );

    fn serialize_i128(self, value: i128) -> Result<Literal, Error> {
        let small = i64::try_from(value).map(Literal::from);
        small.map_err(|_| Error::new(format_args!("{value} does not fit 64 bits")))
    }

    fn serialize_u128(self, value: u128) -> Result<Literal, Error> {
        let small = u64::try_from(value).map(Literal::from);
        small.map_err(|_| Error::new(format_args!("{value} does not fit 64 bits")))
    }

    fn serialize_str(self, value: &str) -> Result<Literal, Error> {
        Ok(value.to_owned().into())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Literal, Error> {
        Ok(value.to_vec().into())
    }

    fn serialize_none(self) -> Result<Literal, Error> {
        Ok(().into())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Literal, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Literal, Error> {
        Ok(().into())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Literal, Error> {
        Ok(().into())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Literal, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Literal, Error> {
        let value = value.serialize(self)?;
        Ok(match (name, value) {
            (TEXT, Literal::Scalar(ScalarValue::Str(text))) => Literal::Text(text.into_owned()),
            (COUNTER, Literal::Scalar(ScalarValue::Int(value))) => ScalarValue::Counter(value).into(),
            (TIMESTAMP, Literal::Scalar(ScalarValue::Int(value))) => ScalarValue::Timestamp(value).into(),
            (_, value) => value,
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Literal, Error> {
        let inside = value.serialize(self.deeper()?).map_err(|error| error.inside(variant))?;
        Ok(in_variant(Some(variant), inside))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, Error> {
        List::new(self, None)
    }

    fn serialize_tuple(self, _: usize) -> Result<List, Error> {
        List::new(self, None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, Error> {
        List::new(self, None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List, Error> {
        List::new(self.deeper()?, Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Map, Error> {
        Map::new(self, None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Map, Error> {
        Map::new(self, None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Map, Error> {
        Map::new(self.deeper()?, Some(variant))
    }
}

macro_rules! collects {
    ($($trait:ident for $holder:ident: $add:ident($($key:ident)?)),* $(,)?) => {$(
        impl $trait for $holder {
            type Ok = Literal;
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), Error> {
                self.add($($key,)? value)
            }

            fn end(self) -> Result<Literal, Error> {
                Ok(self.finish())
            }
        }
    )*};
}

collects!(
    SerializeSeq for List: serialize_element(),
    SerializeTuple for List: serialize_element(),
    SerializeTupleStruct for List: serialize_field(),
    SerializeTupleVariant for List: serialize_field(),
    SerializeStruct for Map: serialize_field(key),
    SerializeStructVariant for Map: serialize_field(key),
);

impl SerializeMap for Map {
    type Ok = Literal;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key.serialize(KeyWriter)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().ok_or_else(|| Error::new("a value without a key"))?;
        self.add(&key, value)
    }

    fn end(self) -> Result<Literal, Error> {
        Ok(self.finish())
    }
}

/// Writer of map keys.
struct KeyWriter;

macro_rules! keys {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<String, Error> {
            Ok(value.to_string())
        }
    )*};
}

fn no_key<T>() -> Result<T, Error> {
    Err(Error::new("a key of a map is a string, a number, a boolean or a variant"))
}

impl Serializer for KeyWriter {
    type Ok = String;
    type Error = Error;
    type SerializeSeq = Impossible<String, Error>;
    type SerializeTuple = Impossible<String, Error>;
    type SerializeTupleStruct = Impossible<String, Error>;
    type SerializeTupleVariant = Impossible<String, Error>;
    type SerializeMap = Impossible<String, Error>;
    type SerializeStruct = Impossible<String, Error>;
    type SerializeStructVariant = Impossible<String, Error>;

    keys!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_char: char, serialize_str: &str
    );

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<String, Error> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        key: &T,
    ) -> Result<String, Error> {
        key.serialize(self)
    }

    fn serialize_f32(self, _: f32) -> Result<String, Error> {
        no_key()
    }

    fn serialize_f64(self, _: f64) -> Result<String, Error> {
        no_key()
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, Error> {
        no_key()
    }

    fn serialize_none(self) -> Result<String, Error> {
        no_key()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<String, Error> {
        no_key()
    }

    fn serialize_unit(self) -> Result<String, Error> {
        no_key()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, Error> {
        no_key()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, Error> {
        no_key()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        no_key()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        no_key()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        no_key()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        no_key()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        no_key()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        no_key()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        no_key()
    }
}
