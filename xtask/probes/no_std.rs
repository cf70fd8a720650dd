//! Minimal program with `hashmill-hash`: it links only if the crate needs neither `std` nor `alloc`.
#![no_std]

/// Computes a digest, so that the linker keeps the crate.
#[unsafe(no_mangle)]
pub extern "C" fn first_byte(input: &[u8; 64]) -> u8 {
    hashmill_hash::blake3::hash(input).as_bytes()[0]
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
