//! The target `blake3_modes`: its body is `hashmill_fuzz::blake3_modes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hashmill_fuzz::blake3_modes(data));
