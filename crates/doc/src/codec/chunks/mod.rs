//! Chunks: the container format, and the contents of change, document and bundle chunks.

pub(crate) mod bundle;
pub(crate) mod bundle_writer;
pub(crate) mod change;
pub(crate) mod container;
pub(crate) mod document;

#[cfg(test)]
mod tests;
