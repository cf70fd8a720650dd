//! The target `doc_rescue`: its body is `hashmill_fuzz::doc_rescue`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_rescue(data)));
