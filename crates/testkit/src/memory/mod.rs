//! Memory of tests: guard pages, counted allocations, and what secrets leave behind.

pub mod alloc;
pub mod guard;
pub mod secret_scan;
pub mod stack_residue;
