//! The kernels of CUDA, run on the processor by a driver without a card (`../shim`), beside the engines of the processor: in the order
//! of their threads and in others. Or on a card, with `HASHMILL_CARD=1`.

mod argon2;
mod blake3;
mod card;
#[path = "../shim/mod.rs"]
mod shim;
