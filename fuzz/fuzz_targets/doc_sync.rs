//! The target `doc_sync`: its body is `hashmill_fuzz::doc_sync`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_sync(data)));
