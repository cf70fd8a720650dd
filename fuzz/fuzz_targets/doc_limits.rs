//! The target `doc_limits`: its body is `hashmill_fuzz::doc_limits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_limits(data)));
