//! Reading of files: the plan, sources of tiles, and the rescue of readable parts.

pub(crate) mod input;
pub mod plan;
pub(crate) mod rescue;
pub(crate) mod source;
