//! Cryptography of TLS: graviola, which needs no C compiler. Other processors than its own have none, and no TLS.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The cryptography. `None`: this processor lacks its instructions.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(in crate::shell) fn provider() -> Option<Arc<CryptoProvider>> {
    graviola::util::is_cpu_supported().then(|| Arc::new(rustls_graviola::default_provider()))
}

/// None for this processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(in crate::shell) fn provider() -> Option<Arc<CryptoProvider>> {
    None
}
