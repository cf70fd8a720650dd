//! A library of Windows that older versions of wine lack: the one function that Rust's standard library calls.
#![no_std]

use core::panic::PanicInfo;

#[link(name = "advapi32")]
unsafe extern "system" {
    /// `RtlGenRandom`, by its exported name.
    fn SystemFunction036(first: *mut u8, len: u32) -> u8;
}

/// Fills memory with random bytes; 1 if that worked.
///
/// # Safety
/// The bytes are writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ProcessPrng(first: *mut u8, len: usize) -> i32 {
    let Ok(len) = u32::try_from(len) else { return 0 };
    // SAFETY: by the contract of this function.
    i32::from(unsafe { SystemFunction036(first, len) })
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
