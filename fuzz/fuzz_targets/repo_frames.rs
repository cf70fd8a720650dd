//! The target `repo_frames`: its body is `hashmill_fuzz::repo_frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hashmill_fuzz::repo_frames(data));
