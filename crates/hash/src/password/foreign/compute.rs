//! Functions behind foreign strings: RustCrypto's, combined as the strings' original programs do.

use super::read::write_bcrypt64;
use super::{Digest, Prehash, Scheme};
use crate::argon2::HashError;
use base64ct::{Base64, Encoding};
use blowfish::Blowfish;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a password that bcrypt uses.
pub(super) const BCRYPT_KEY: usize = 72;
/// The text that bcrypt encrypts.
const BCRYPT_TEXT: [[u32; 2]; 3] =
    [[0x4f72_7068, 0x6561_6e42], [0x6568_6f6c, 0x6465_7253], [0x6372_7944, 0x6f75_6274]];

/// Computes the tag of a password. `false` if no string of the scheme can be this password's.
pub(super) fn tag(scheme: Scheme, salt: &[u8], password: &[u8], tag: &mut [u8]) -> Result<bool, HashError> {
    match scheme {
        Scheme::Bcrypt { cost } => return Ok(bcrypt(cost, salt, password, tag)),
        Scheme::BcryptSha256 { cost, digest } => {
            return Ok(bcrypt(cost, salt, &prehash(digest, salt, password)[..], tag));
        }
        Scheme::Scrypt { log_n, r, p } => scrypt(log_n, r, p, salt, password, tag)?,
        Scheme::Pbkdf2 { digest: Digest::Sha1, iterations } => {
            pbkdf2_hmac::<Sha1>(password, salt, iterations, tag);
        }
        Scheme::Pbkdf2 { digest: Digest::Sha256, iterations } => {
            pbkdf2_hmac::<Sha256>(password, salt, iterations, tag);
        }
        Scheme::Pbkdf2 { digest: Digest::Sha512, iterations } => {
            pbkdf2_hmac::<Sha512>(password, salt, iterations, tag);
        }
    }
    Ok(true)
}

/// Programs that write such strings end passwords at a zero byte, so a password with one matches none of
/// them.
fn bcrypt(cost: u32, salt: &[u8], password: &[u8], tag: &mut [u8]) -> bool {
    if password.contains(&0) {
        return false;
    }
    // The password, a zero byte, and again from the start; or its first 72 bytes.
    let mut key = Zeroizing::new([0; BCRYPT_KEY]);
    let len = (password.len() + 1).min(BCRYPT_KEY);
    let taken = password.len().min(BCRYPT_KEY);
    key[..taken].copy_from_slice(&password[..taken]);
    let key = &key[..len];
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(salt, key);
    for _ in 0..1u64 << cost {
        state.bc_expand_key(key);
        state.bc_expand_key(salt);
    }
    let mut out = Zeroizing::new([0; 24]);
    for (words, bytes) in BCRYPT_TEXT.into_iter().zip(out.as_chunks_mut::<8>().0) {
        let mut words = (0..64).fold(words, |words, _| state.bc_encrypt(words));
        bytes[..4].copy_from_slice(&words[0].to_be_bytes());
        bytes[4..].copy_from_slice(&words[1].to_be_bytes());
        words.zeroize();
    }
    tag.copy_from_slice(&out[..tag.len()]);
    true
}

/// The input of bcrypt in place of the password: text, because it must not contain a zero byte.
fn prehash(prehash: Prehash, salt: &[u8], password: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut digest = Zeroizing::new([0; 32]);
    if prehash == Prehash::Hmac {
        let written = write_bcrypt64(salt);
        let mut mac = Hmac::<Sha256>::new_from_slice(&written).expect("a key of any length");
        mac.update(password);
        digest.copy_from_slice(&mac.finalize().into_bytes());
    } else {
        digest.copy_from_slice(&Sha256::digest(password));
    }
    let mut text = Zeroizing::new(vec![0; 64]);
    if prehash == Prehash::Hex {
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(&*digest) {
            *pair = [byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[usize::from(nibble)]);
        }
    } else {
        let len = Base64::encode(&digest[..], &mut text[..]).expect("44 characters").len();
        text.truncate(len);
    }
    text
}

fn scrypt(log_n: u32, r: u32, p: u32, salt: &[u8], password: &[u8], tag: &mut [u8]) -> Result<(), HashError> {
    let bytes = Scheme::Scrypt { log_n, r, p }.memory_kib().saturating_mul(1024);
    let refused = HashError::OutOfMemory { bytes };
    // The crate aborts the process if the allocation fails, so the memory is requested here first, and freed.
    let len = usize::try_from(bytes).map_err(|_| refused)?;
    drop({
        let mut probe = Vec::<u8>::new();
        probe.try_reserve_exact(len).map_err(|_| refused)?;
        probe
    });
    let log_n = u8::try_from(log_n).map_err(|_| refused)?;
    let params = scrypt::Params::new(log_n, r, p).map_err(|_| refused)?;
    scrypt::scrypt(password, salt, &params, tag).expect("tags have a length that was checked");
    Ok(())
}
