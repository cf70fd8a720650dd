//! Tests of gates and claims.

mod claim;
mod gate;
