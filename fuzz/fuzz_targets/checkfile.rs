//! The target `checkfile`: its body is `hashmill_fuzz::checkfile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hashmill_fuzz::checkfile(data));
