//! Tests of patches and observers.

mod models;
mod observers;
mod patches;
mod recorded;
