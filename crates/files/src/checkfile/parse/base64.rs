//! Digests in base64, as `rclone hashsum --base64` and `cksum --base64` write them.

use super::super::Algorithm;
use base64ct::{Base64, Base64Url, Encoding};

/// The bytes of a digest that is as long as that of a function known here. Digests of these lengths end with `=`, so that nothing
/// of it can be taken for hexadecimal digits. Bits that are left over must be zero: another text with the same bytes is no digest
/// that anybody writes.
pub(super) fn digest(text: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok().filter(|text| text.ends_with('='))?;
    // Either alphabet, but not both at once.
    let digest = Base64::decode_vec(text).or_else(|_| Base64Url::decode_vec(text)).ok()?;
    Algorithm::by_digest_len(digest.len()).next().is_some().then_some(digest)
}
