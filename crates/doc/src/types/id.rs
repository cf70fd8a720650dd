//! Ids of operations and objects, internal and public.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{ActorId, ActorIdx};

/// Id of an operation in one document. Counter 0 is not an operation: the root, or the head of a sequence.
///
/// Not `Ord`: the order of operations compares actors by their bytes, which are in the actor table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct OpId {
    pub(crate) ctr: u32,
    pub(crate) actor: ActorIdx,
}

impl OpId {
    /// The head of a sequence, and the root object.
    pub(crate) const NONE: OpId = OpId { ctr: 0, actor: ActorIdx::FIRST };

    pub(crate) fn new(ctr: u32, actor: ActorIdx) -> Self {
        Self { ctr, actor }
    }

    pub(crate) fn is_none(self) -> bool {
        self.ctr == 0
    }

    /// The `n`-th operation after this one by the same actor.
    pub(crate) fn plus(self, n: u32) -> Self {
        Self { ctr: self.ctr + n, actor: self.actor }
    }
}

/// Id of an object, valid in all replicas that have the operation which created it.
#[derive(Clone, Debug)]
pub enum ObjId {
    /// The map at the root of every document.
    Root,
    /// An object created by operation `counter` of `actor`.
    Id {
        /// Lamport counter of the operation.
        counter: u64,
        /// Actor of the operation.
        actor: ActorId,
        /// Position of the object in the document that returned this id. It is checked before use, so a stale or
        /// foreign hint costs time, never correctness.
        hint: u32,
    },
}

/// The map at the root of every document.
pub const ROOT: ObjId = ObjId::Root;

impl ObjId {
    /// Parses `_root` or `<counter>@<actor in hex>`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "_root" {
            return Some(ObjId::Root);
        }
        let (counter, actor) = text.split_once('@')?;
        Some(ObjId::Id { counter: counter.parse().ok()?, actor: actor.parse().ok()?, hint: u32::MAX })
    }
}

/// As [`ObjId::parse`].
impl FromStr for ObjId {
    type Err = ParseObjIdError;

    fn from_str(text: &str) -> Result<Self, ParseObjIdError> {
        Self::parse(text).ok_or_else(|| ParseObjIdError(text.to_owned()))
    }
}

/// Text that is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an object id: expected _root, or a counter, @ and an actor in hexadecimal digits")]
pub struct ParseObjIdError(String);

/// The hint is not part of the identity.
impl PartialEq for ObjId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (ObjId::Root, ObjId::Root) => true,
            (ObjId::Id { counter: a, actor: x, .. }, ObjId::Id { counter: b, actor: y, .. }) => {
                a == b && x == y
            }
            _ => false,
        }
    }
}

impl Eq for ObjId {}

impl std::hash::Hash for ObjId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            ObjId::Root => 0u64.hash(state),
            ObjId::Id { counter, actor, .. } => {
                counter.hash(state);
                actor.hash(state);
            }
        }
    }
}

impl PartialOrd for ObjId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the creating operations: the root, then counters, then actors bytewise.
impl Ord for ObjId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (ObjId::Root, ObjId::Root) => std::cmp::Ordering::Equal,
            (ObjId::Root, _) => std::cmp::Ordering::Less,
            (_, ObjId::Root) => std::cmp::Ordering::Greater,
            (ObjId::Id { counter: a, actor: x, .. }, ObjId::Id { counter: b, actor: y, .. }) => {
                (a, x).cmp(&(b, y))
            }
        }
    }
}

impl fmt::Display for ObjId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjId::Root => f.write_str("_root"),
            ObjId::Id { counter, actor, .. } => write!(f, "{counter}@{actor}"),
        }
    }
}

impl AsRef<ObjId> for ObjId {
    fn as_ref(&self) -> &ObjId {
        self
    }
}

/// A key of a map, or an index of a list or text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prop<'a> {
    /// A key of a map.
    Map(Cow<'a, str>),
    /// An index of a list or text, in the units of the document's text encoding.
    Seq(usize),
}

impl Prop<'_> {
    /// This property with an owned key.
    pub fn into_owned(self) -> Prop<'static> {
        match self {
            Prop::Map(key) => Prop::Map(Cow::Owned(key.into_owned())),
            Prop::Seq(index) => Prop::Seq(index),
        }
    }
}

impl<'a> From<&'a str> for Prop<'a> {
    fn from(key: &'a str) -> Self {
        Prop::Map(Cow::Borrowed(key))
    }
}

impl From<String> for Prop<'_> {
    fn from(key: String) -> Self {
        Prop::Map(Cow::Owned(key))
    }
}

impl<'a> From<&'a String> for Prop<'a> {
    fn from(key: &'a String) -> Self {
        Prop::Map(Cow::Borrowed(key))
    }
}

impl<'a> From<Cow<'a, str>> for Prop<'a> {
    fn from(key: Cow<'a, str>) -> Self {
        Prop::Map(key)
    }
}

impl From<usize> for Prop<'_> {
    fn from(index: usize) -> Self {
        Prop::Seq(index)
    }
}

impl fmt::Display for Prop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Prop::Map(key) => f.write_str(key),
            Prop::Seq(index) => write!(f, "{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_print_and_parse() {
        let id = ObjId::Id { counter: 7, actor: ActorId::from([0xab, 0]), hint: 3 };
        assert_eq!(id.to_string(), "7@ab00");
        assert_eq!(ObjId::parse("7@ab00"), Some(id));
        assert_eq!(ObjId::parse("_root"), Some(ROOT));
        assert_eq!(ObjId::parse("7ab00"), None);
        assert_eq!("7@ab00".parse::<ObjId>().map(|id| id.to_string()), Ok("7@ab00".to_owned()));
        let error = "7ab00".parse::<ObjId>().expect_err("there is no @").to_string();
        assert!(error.starts_with("\"7ab00\" is not an object id: "), "{error}");
    }
}
