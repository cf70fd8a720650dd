//! Checks of generated assembly, in tests.

mod asm_contracts;
mod operands;
mod register_check;
mod register_sets;
