//! The target `blake3_split`: its body is `hashmill_fuzz::blake3_split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hashmill_fuzz::blake3_split(data));
