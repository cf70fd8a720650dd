//! The file format, byte by byte: chunks, columns, changes. Reading validates everything before anyone else sees it;
//! writing always gives the canonical form, so equal operations give equal hashes.
//!
//! Layers, each using only those before it: [`leb`], [`reader`] and [`packer`]; [`rle`], [`delta`], [`boolean`];
//! [`value`]; [`huffman`]; [`deflate`], [`libdeflate`]; [`column`]; [`chunk`]; [`block`], [`unlinked`]; [`ops`], [`op_writer`]; [`stretch`];
//! `literals`; [`stroke`], [`put`]; [`single`]; [`change`], [`document`], [`bundle`].

pub(crate) mod block;
pub(crate) mod boolean;
pub(crate) mod bundle;
pub(crate) mod change;
pub(crate) mod chunk;
pub(crate) mod column;
mod cursor;
mod deflate;
pub(crate) mod delta;
pub(crate) mod document;
mod huffman;
pub(crate) mod kept;
pub(crate) mod leb;
mod libdeflate;
pub(crate) mod limits;
mod literals;
pub(crate) mod op_writer;
pub(crate) mod ops;
mod packer;
pub(crate) mod put;
pub(crate) mod reader;
pub(crate) mod rle;
pub(crate) mod single;
pub(crate) mod stretch;
pub(crate) mod stroke;
pub(crate) mod unlinked;
pub(crate) mod value;

#[cfg(test)]
mod tests;
