//! The file format, byte by byte: chunks, columns, changes. Reading validates everything before anyone else sees it;
//! writing always gives the canonical form, so equal operations give equal hashes.
//!
//! Layers, each using only those before it: [`leb`], [`reader`], [`spread`] and [`packer`]; [`value`], [`row`], [`rules`];
//! [`rle`], [`delta`], [`boolean`]; [`deflate`]; [`column`]; [`chunk`]; [`ops`], [`op_writer`]; [`runs`]; [`shortcuts`];
//! [`change`], [`document`], [`bundle`], [`bundle_writer`].

pub(crate) mod boolean;
pub(crate) mod bundle;
pub(crate) mod bundle_writer;
pub(crate) mod change;
pub(crate) mod chunk;
pub(crate) mod column;
pub(crate) mod column_costs;
mod column_reader;
mod deflate;
pub(crate) mod delta;
pub(crate) mod document;
pub(crate) mod leb;
pub(crate) mod limits;
pub(crate) mod op_writer;
pub(crate) mod ops;
mod packer;
pub(crate) mod reader;
pub(crate) mod rle;
pub(crate) mod row;
pub(crate) mod rules;
pub(crate) mod runs;
pub(crate) mod shortcuts;
mod spread;
pub(crate) mod value;

#[cfg(test)]
mod tests;
