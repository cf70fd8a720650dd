//! Memory that copies of a document share until one of them changes it, and the tables and orders over it. Nothing here
//! knows what an operation does.

pub(crate) mod byte_arena;
pub(crate) mod cow_box;
pub(crate) mod cow_vec;
pub(crate) mod index;
pub(crate) mod keys;
pub(crate) mod op_id_map;
pub(crate) mod shards;
pub(in crate::store) mod sort;
