//! Reports: wire format, assembly, checks, and the forms in which people read them.

pub(crate) mod analysis;
pub(crate) mod assemble;
pub(crate) mod check;
pub(crate) mod documents;
pub(crate) mod headline;
pub(crate) mod render;
pub(crate) mod schema;
pub(crate) mod sections;
pub(crate) mod store;
pub(crate) mod view;

#[cfg(test)]
pub(crate) mod tests;
