//! The target `doc_incremental`: its body is `hashmill_fuzz::doc_incremental`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_incremental(data)));
