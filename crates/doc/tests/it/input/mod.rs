//! Tests of hostile and malformed input, and of limits.

mod bounds;
mod hostile;
mod limits;
mod malformed;
mod refused;
mod rules;
