//! Behaviour of the lab as its users see it, one module per behaviour.

mod bench;
mod browser;
mod builds;
mod check;
mod claim;
mod commands;
mod doctor;
mod endurance;
mod explain;
mod foreign;
mod gate;
mod github;
mod import;
mod noise;
mod program;
mod repository;
mod saved;
mod schema;
mod signature;
mod verbs;
