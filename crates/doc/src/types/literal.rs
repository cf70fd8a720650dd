//! Nested values, to be put into a document at once.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};

use crate::types::{ObjType, ScalarValue};

/// A value with its contents. Made from scalars, `Vec`s and maps of the standard library, or constructed directly.
///
/// It may be nested more deeply than a stack allows: drop, clone, comparison and `Debug` are iterative.
pub enum Literal {
    /// A scalar.
    Scalar(ScalarValue<'static>),
    /// A map with its entries.
    Map(Entries),
    /// A list with its elements.
    List(Elements),
    /// A text.
    Text(String),
}

/// The entries of a [`Literal::Map`]: a [`BTreeMap`] whose values may be nested to any depth.
#[derive(Default)]
pub struct Entries(pub(crate) BTreeMap<String, Literal>);

/// The elements of a [`Literal::List`]: a [`Vec`] whose values may be nested to any depth.
#[derive(Default)]
pub struct Elements(pub(crate) Vec<Literal>);

macro_rules! holds {
    ($holder:ident, $inner:ty, $item:ty) => {
        impl Deref for $holder {
            type Target = $inner;

            fn deref(&self) -> &$inner {
                &self.0
            }
        }

        impl DerefMut for $holder {
            fn deref_mut(&mut self) -> &mut $inner {
                &mut self.0
            }
        }

        impl From<$inner> for $holder {
            fn from(inner: $inner) -> Self {
                Self(inner)
            }
        }

        impl From<$holder> for $inner {
            fn from(mut holder: $holder) -> Self {
                std::mem::take(&mut holder.0)
            }
        }

        impl FromIterator<$item> for $holder {
            fn from_iter<I: IntoIterator<Item = $item>>(items: I) -> Self {
                Self(items.into_iter().collect())
            }
        }

        impl IntoIterator for $holder {
            type Item = $item;
            type IntoIter = <$inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                <$inner>::from(self).into_iter()
            }
        }

        impl<'l> IntoIterator for &'l $holder {
            type Item = <&'l $inner as IntoIterator>::Item;
            type IntoIter = <&'l $inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }
    };
}

holds!(Entries, BTreeMap<String, Literal>, (String, Literal));
holds!(Elements, Vec<Literal>, Literal);

impl Literal {
    /// A list of values. `Vec<u8>` on its own is a scalar of bytes.
    pub fn list<V: Into<Literal>>(elements: impl IntoIterator<Item = V>) -> Self {
        Literal::List(elements.into_iter().map(Into::into).collect())
    }

    /// A collaborative text. A string on its own is a scalar, replaced as a whole.
    pub fn text(text: impl Into<String>) -> Self {
        Literal::Text(text.into())
    }

    /// Kind of the object, if it is one.
    pub fn kind(&self) -> Option<ObjType> {
        match self {
            Literal::Scalar(_) => None,
            Literal::Map(_) => Some(ObjType::Map),
            Literal::List(_) => Some(ObjType::List),
            Literal::Text(_) => Some(ObjType::Text),
        }
    }

    /// Can it contain values?
    pub(crate) fn is_nested(&self) -> bool {
        matches!(self, Literal::Map(_) | Literal::List(_))
    }

    /// The string of a scalar.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Literal::Scalar(scalar) => scalar.as_str(),
            _ => None,
        }
    }
}

impl<T: Into<ScalarValue<'static>>> From<T> for Literal {
    fn from(value: T) -> Self {
        Literal::Scalar(value.into())
    }
}

impl<K: Into<String>, V: Into<Literal>, const N: usize> From<[(K, V); N]> for Literal {
    fn from(entries: [(K, V); N]) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<String>, V: Into<Literal>> From<BTreeMap<K, V>> for Literal {
    fn from(entries: BTreeMap<K, V>) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<String>, V: Into<Literal>> From<HashMap<K, V>> for Literal {
    fn from(entries: HashMap<K, V>) -> Self {
        Literal::Map(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl From<Vec<Literal>> for Literal {
    fn from(elements: Vec<Literal>) -> Self {
        Literal::List(elements.into())
    }
}

impl<V: Into<Literal>> FromIterator<V> for Literal {
    fn from_iter<I: IntoIterator<Item = V>>(elements: I) -> Self {
        Literal::List(elements.into_iter().map(Into::into).collect())
    }
}

/// A [`Literal`] in a syntax like JSON: maps in braces, lists in brackets, and any expression that
/// converts to a value. Expressions of several tokens, such as `-1`, a call or a key that is not a literal, must be in
/// parentheses.
///
/// ```
/// use hashmill_doc::{Literal, literal};
///
/// let card = literal!({
///     "title": (Literal::text("Edited together")),
///     "tags": ["a", "b", []],
///     "size": { "width": 3, "depth": (-1) },
/// });
/// assert!(matches!(card, Literal::Map(entries) if entries.len() == 3));
/// ```
#[macro_export]
macro_rules! literal {
    ({ $($key:tt : $value:tt),* $(,)? }) => {
        $crate::Literal::Map([$((::std::string::String::from($key), $crate::literal!($value))),*].into_iter().collect())
    };
    ([ $($value:tt),* $(,)? ]) => {
        $crate::Literal::List(vec![$($crate::literal!($value)),*].into())
    };
    ($value:expr) => {
        $crate::Literal::from($value)
    };
}
