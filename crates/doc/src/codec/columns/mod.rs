//! Columns: their encodings, their compression, and the section of a chunk that holds them.
//!
//! Layers, each using only those before it: [`rle`], [`delta`], [`boolean`]; [`deflate`]; [`section`]; [`column_reader`].

pub(crate) mod boolean;
pub(in crate::codec) mod column_reader;
pub(crate) mod costs;
pub(in crate::codec) mod deflate;
pub(crate) mod delta;
pub(crate) mod rle;
pub(crate) mod section;
