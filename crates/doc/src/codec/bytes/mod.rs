//! Bytes of chunks: numbers, reading and writing.
//!
//! Layers, each using only those before it: [`leb`], [`reader`], [`byte_rope`]; [`packer`].

pub(in crate::codec) mod byte_rope;
pub(crate) mod leb;
pub(in crate::codec) mod packer;
pub(crate) mod reader;
