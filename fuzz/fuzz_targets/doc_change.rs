//! The target `doc_change`: its body is `hashmill_fuzz::doc_change`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_change(data)));
