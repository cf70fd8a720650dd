//! The target `doc_converse`: its body is `hashmill_fuzz::doc_converse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_converse(data)));
