//! The target `doc_cursor`: its body is `hashmill_fuzz::doc_cursor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_cursor(data)));
