//! CUDA kernels, run on the processor by a simulated driver (`../shim`) and compared with the processor's
//! engines, in the order of thread numbers and in others. On a card with `HASHMILL_CARD=1`.

mod argon2;
mod blake3;
mod card;
#[path = "../shim/mod.rs"]
mod shim;
