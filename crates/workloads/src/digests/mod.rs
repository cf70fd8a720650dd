//! Digests as workloads: BLAKE3, SHA-256 and files.

pub(crate) mod blake3;
pub(crate) mod call_patterns;
pub(crate) mod file;
pub(crate) mod sha256;
