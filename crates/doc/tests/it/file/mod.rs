//! Tests of files: saving, loading, rescue, and documents derived from others.

mod bundles;
mod copies;
mod damaged;
mod foreign_files;
mod fragments;
mod lazy_open;
mod loaded_cost;
mod own_saves;
mod rescue;
mod reused_columns;
mod transforms;
