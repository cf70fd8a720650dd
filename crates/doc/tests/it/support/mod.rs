//! Builders of test documents and chunks.

pub(crate) mod forge;
pub(crate) mod worlds;
