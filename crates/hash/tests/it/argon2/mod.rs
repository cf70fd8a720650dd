//! Argon2: memory, and proof of work.

mod memory;
mod pow;
