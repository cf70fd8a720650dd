//! Checks of the machine's free memory and load.

pub(crate) mod load;
pub(crate) mod memory;
