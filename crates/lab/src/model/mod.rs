//! The one measurement model: workload × engine × timing class × size × threads × kernel.
//!
//! A workload makes inputs and knows the right answer; an engine does the work in phases; the timing class, and
//! not the author of either, decides which phases lie between the two readings of the clock.

pub mod class;
pub(crate) mod driver;
pub mod engine;
pub mod floor;
pub(crate) mod inputs;
pub mod key;
pub(crate) mod reach;
pub mod registry;
pub(crate) mod select;
pub mod units;
