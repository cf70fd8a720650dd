//! Signatures of tokens. Other processors than those of graviola have none, and refuse all keys.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod with_graviola {
    use graviola::hashing::Sha256;
    use graviola::hashing::hmac::Hmac;
    use graviola::signing::ecdsa::{P256, VerifyingKey};
    use graviola::signing::eddsa::Ed25519VerifyingKey;
    use zeroize::Zeroizing;

    /// A key that checks signatures of one algorithm.
    pub(crate) enum Key {
        EdDsa(Ed25519VerifyingKey),
        Es256(Box<VerifyingKey<P256>>),
        Hs256(Zeroizing<Vec<u8>>),
    }

    impl Key {
        pub(crate) fn from_ed25519(bytes: &[u8]) -> Option<Key> {
            is_supported().then(|| Ed25519VerifyingKey::from_bytes(bytes).ok().map(Key::EdDsa)).flatten()
        }

        /// From an uncompressed point of P-256.
        pub(crate) fn from_p256(point: &[u8]) -> Option<Key> {
            is_supported()
                .then(|| VerifyingKey::from_x962_uncompressed(point).ok().map(Box::new).map(Key::Es256))
                .flatten()
        }

        pub(crate) fn from_secret(secret: &[u8]) -> Option<Key> {
            is_supported().then(|| Key::Hs256(Zeroizing::new(secret.to_vec())))
        }

        /// The name of the algorithm in tokens.
        pub(crate) fn algorithm(&self) -> &'static str {
            match self {
                Key::EdDsa(_) => "EdDSA",
                Key::Es256(_) => "ES256",
                Key::Hs256(_) => "HS256",
            }
        }

        /// Has this key signed the message?
        pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
            match self {
                Key::EdDsa(key) => key.verify(signature, message).is_ok(),
                Key::Es256(key) => key.verify::<Sha256>(&[message], signature).is_ok(),
                Key::Hs256(secret) => {
                    let mut mac = Hmac::<Sha256>::new(secret.as_slice());
                    mac.update(message);
                    // In constant time.
                    mac.verify(signature).is_ok()
                }
            }
        }
    }

    fn is_supported() -> bool {
        graviola::util::is_cpu_supported()
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use with_graviola::Key;

/// No key: nothing here can check signatures.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) enum Key {}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Key {
    pub(super) fn from_ed25519(_: &[u8]) -> Option<Key> {
        None
    }

    pub(super) fn from_p256(_: &[u8]) -> Option<Key> {
        None
    }

    pub(super) fn from_secret(_: &[u8]) -> Option<Key> {
        None
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match *self {}
    }

    pub(super) fn verifies(&self, _: &[u8], _: &[u8]) -> bool {
        match *self {}
    }
}
