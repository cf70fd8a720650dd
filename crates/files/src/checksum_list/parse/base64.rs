//! Digests in base64, as `rclone hashsum --base64` and `cksum --base64` write them.

use super::super::Algorithm;
use base64ct::{Base64, Base64Url, Encoding};

/// The bytes of a digest, if its length is that of a known function. Digests of these lengths end with `=`,
/// so the text cannot be mistaken for hexadecimal digits. Unused bits must be zero: no program writes another
/// text for the same bytes.
pub(super) fn digest(text: &[u8]) -> Option<Vec<u8>> {
    // Base64 is ASCII. The caller tries other forms of digests.
    let text = str::from_utf8(text).ok().filter(|text| text.ends_with('='))?;
    // Either alphabet, but not both at once.
    let digest = Base64::decode_vec(text).or_else(|_| Base64Url::decode_vec(text)).ok()?;
    Algorithm::by_digest_len(digest.len()).next().is_some().then_some(digest)
}
