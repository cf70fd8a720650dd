//! The target `doc_orders`: its body is `hashmill_fuzz::doc_orders`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(hashmill_fuzz::doc_orders(data)));
