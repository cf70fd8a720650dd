//! The proofs of work of coins: what each hashes, and at which cost. The engines know headers and nonces, not coins.

use hashmill_hash::argon2::Params;
use hashmill_hash::argon2::pow::{Order, Pow, Recipe};

/// Blocknet: 2 GiB, one pass, one lane. The header is all of a block's header but the nonce, 92 bytes.
#[must_use]
pub fn blocknet() -> Pow {
    let recipe = Recipe::NonceIsPassword { header_len: Some(92) };
    Pow::new(Params::new(2 << 20, 1, 1).expect("within the limits"), recipe, Order::BigEndian)
}

/// Like TurtleCoin's Chukwa v2: 1 MiB, four passes, one lane, a nonce of four bytes inside a CryptoNote block, whose
/// first 16 bytes are the salt.
#[must_use]
pub fn chukwa_v2() -> Pow {
    let recipe = Recipe::NonceInHeader { offset: 39, len: 4, salt_len: 16 };
    Pow::new(Params::new(1 << 10, 4, 1).expect("within the limits"), recipe, Order::LittleEndian)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::pow::SingleThread;
    use hashmill_hash::argon2::{PagePolicy, Plan};
    use hashmill_hash::engine::{EngineError, NonceEngine, NonceJob, Watch, self_test};

    /// A digest from the reference implementation in C.
    const CHUKWA: [u8; 32] = [
        0x01, 0x92, 0x83, 0x40, 0xef, 0x5b, 0x0c, 0x2b, 0x14, 0x9d, 0xd6, 0xf4, 0xbc, 0xd9, 0x69, 0x26, 0x3f,
        0xb8, 0xef, 0xd8, 0x47, 0x6e, 0x3f, 0x14, 0x09, 0xf2, 0xba, 0xa6, 0x54, 0xec, 0x9c, 0xf8,
    ];

    #[test]
    fn chukwa_is_what_the_reference_computes() {
        let header: Vec<u8> = (0..76).map(|i| (31 * i + 7) as u8).collect();
        let mut engine =
            SingleThread::new(chukwa_v2(), Plan::host(), PagePolicy::Plain, 1).expect("a mebibyte");
        let nonce = 0x0102_0304;
        assert_eq!(self_test(&mut engine, &header, nonce..nonce + 1, |_| CHUKWA), Ok(()));
        let wrong = self_test(&mut engine, &header, nonce + 1..nonce + 2, |_| CHUKWA);
        assert!(matches!(wrong, Err(EngineError::SelfTest { .. })), "{wrong:?}");
    }

    #[test]
    fn a_header_of_another_coin_is_refused() {
        let mut engine =
            SingleThread::new(chukwa_v2(), Plan::host(), PagePolicy::Plain, 1).expect("a mebibyte");
        let refused = engine.search(&NonceJob::new(&[0; 42], [0; 32]), 0..1, &Watch::new(), &|_| {});
        assert_eq!(refused, Err(EngineError::HeaderLen { given: 42, least: 43, most: 256 }));
        assert_eq!(blocknet().params().memory_kib(), 2 << 20);
    }
}
