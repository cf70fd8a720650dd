//! Base 58 with a checksum, the text form of document ids and heads.

use sha2::{Digest as _, Sha256};

const CHECKSUM_BYTES: usize = 4;
/// Maximum number of payload bytes. Decoding takes quadratic time, so the text is bounded first.
pub(super) const MAX_PAYLOAD_BYTES: usize = 64;
/// A byte takes at most 1.37 characters.
const MAX_CHARS: usize = (MAX_PAYLOAD_BYTES + CHECKSUM_BYTES) * 11 / 8 + 1;

/// Reason why a text is not base 58 with a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base58Fault {
    Form,
    Checksum,
}

fn checksum(payload: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::digest(Sha256::digest(payload));
    *digest.first_chunk().expect("a digest has 32 bytes")
}

pub(crate) fn encode(payload: &[u8]) -> String {
    bs58::encode([payload, &checksum(payload)].concat()).into_string()
}

pub(crate) fn decode(text: &str) -> Result<Vec<u8>, Base58Fault> {
    if text.len() > MAX_CHARS {
        return Err(Base58Fault::Form);
    }
    let mut bytes = bs58::decode(text).into_vec().map_err(|_| Base58Fault::Form)?;
    let payload_len = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(Base58Fault::Form)?;
    let (payload, sum) = bytes.split_at(payload_len);
    if payload.is_empty() || payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Base58Fault::Form);
    }
    if checksum(payload) != *sum {
        return Err(Base58Fault::Checksum);
    }
    bytes.truncate(payload_len);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_round_trip() {
        for len in 1..=MAX_PAYLOAD_BYTES {
            // The largest payload has the longest text.
            for payload in [vec![0; len], vec![0xff; len]] {
                assert_eq!(decode(&encode(&payload)), Ok(payload));
            }
        }
        assert_eq!(decode(&encode(&[0xff; MAX_PAYLOAD_BYTES + 1])), Err(Base58Fault::Form));
        assert_eq!(decode(&encode(&[])), Err(Base58Fault::Form));
        assert_eq!(decode(""), Err(Base58Fault::Form));
        assert_eq!(decode("1"), Err(Base58Fault::Form));
    }
}
