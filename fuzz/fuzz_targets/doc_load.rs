//! The target `doc_load`: its body is `hashmill_fuzz::doc_load`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_load(data)));
