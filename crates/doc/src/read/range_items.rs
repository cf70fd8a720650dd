//! Items of maps and lists, as range queries return them.

use crate::types::{ObjId, Value};

/// A key of a map and the value that won there. See [`crate::View::map_range`].
#[derive(Clone, Debug, PartialEq)]
pub struct MapRangeItem<'a> {
    /// The key.
    pub key: &'a str,
    /// The winning value.
    pub value: Value<'a>,
    /// Id of the value: the object, or the operation that wrote the scalar.
    pub id: ObjId,
    /// Whether other values lost against it: [`crate::View::get_all`] has them.
    pub conflict: bool,
}

/// An element of a list or text and the value that won there. See [`crate::View::list_range`].
#[derive(Clone, Debug, PartialEq)]
pub struct ListRangeItem<'a> {
    /// Number of elements before it.
    pub index: usize,
    /// The winning value.
    pub value: Value<'a>,
    /// Id of the value: the object, or the operation that wrote the scalar.
    pub id: ObjId,
    /// Whether other values lost against it: [`crate::View::get_all`] has them.
    pub conflict: bool,
}
