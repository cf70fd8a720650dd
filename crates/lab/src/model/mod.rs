//! Measurement model: workload × engine × timing class × size × threads × kernel.
//!
//! A workload makes inputs and knows the right answer; an engine does the work in phases. The timing class, not the
//! author of either, decides which phases are timed.

pub mod class;
pub(crate) mod driver;
pub mod engine;
pub(crate) mod inputs;
pub mod key;
pub(crate) mod labels;
pub mod lower_bound;
pub mod registry;
pub(crate) mod select;
pub mod summary;
pub mod units;
