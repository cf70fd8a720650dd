//! Reading documents, now and at earlier heads.

pub(crate) mod blame;
pub(crate) mod change_metadata;
pub(crate) mod cursor;
pub(crate) mod from_value;
pub(crate) mod iter;
pub(crate) mod nested_walk;
pub(crate) mod range_items;
pub(crate) mod read_doc;
pub(crate) mod view;
