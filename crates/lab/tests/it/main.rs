//! Behaviour of the lab as its users see it, one module per behaviour.

mod ab;
mod browser;
mod check;
mod claim;
mod count;
mod doctor;
mod gate;
mod import;
mod noise;
mod profile;
mod program;
mod schema;
mod signed_rank;
mod soak;
