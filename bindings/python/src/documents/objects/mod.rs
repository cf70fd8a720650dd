//! Methods of maps, lists and texts.

pub(super) mod blame;
pub(super) mod json;
mod list;
pub(super) mod map;
pub(super) mod repr;
mod slices;
mod text;
