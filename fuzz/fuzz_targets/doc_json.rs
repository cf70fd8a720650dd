//! The target `doc_json`: its body is `hashmill_fuzz::doc_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_json(data)));
