//! Copy-on-write memory that documents share, with indexes and sorting on top. Independent of the meaning of
//! operations.

pub(crate) mod byte_arena;
pub(crate) mod cow_box;
pub(crate) mod cow_vec;
pub(crate) mod index;
pub(crate) mod keys;
pub(crate) mod op_id_map;
pub(crate) mod shards;
pub(in crate::store) mod sort;
