//! Types that serde lacks. In a document each has its own type; in other formats they are their contents.

use std::fmt;
use std::marker::PhantomData;

use ::serde::de::{Deserialize, Deserializer, Visitor};
use ::serde::ser::{Serialize, Serializer};

/// Internal names by which the document's serializer recognizes these types.
pub(super) const TEXT: &str = "hashmill_doc::serde::Text";
pub(super) const COUNTER: &str = "hashmill_doc::serde::Counter";
pub(super) const TIMESTAMP: &str = "hashmill_doc::serde::Timestamp";

macro_rules! word {
    ($(#[$doc:meta])* $name:ident($inner:ty), $word:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                Self(inner)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_newtype_struct($word, &self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_newtype_struct($word, Inner(PhantomData)).map(Self)
            }
        }
    };
}

word! {
    /// A collaborative text; a `String` is replaced as a whole instead.
    Text(String), TEXT
}
word! {
    /// A number that adds up concurrent increments.
    Counter(i64), COUNTER
}
word! {
    /// Milliseconds since 1970.
    Timestamp(i64), TIMESTAMP
}

/// The contents of one of these types, with or without a newtype wrapper.
struct Inner<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Inner<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a counter or a time")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}
