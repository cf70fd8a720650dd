//! The target `phc`: its body is `hashmill_fuzz::phc`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hashmill_fuzz::phc(data));
