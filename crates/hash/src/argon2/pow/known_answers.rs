//! Known answers: digests that every kernel must compute.

use super::DIGEST_LEN;

/// A cost, and the digests of nonces 0 to 3 with the header below, computed by the reference implementation
/// in C.
pub(super) struct Known {
    pub(super) memory_kib: u32,
    pub(super) passes: u32,
    pub(super) lanes: u32,
    pub(super) digests: [&'static str; 4],
}

pub(super) const HEADER: &[u8] = b"hashmill: known answers, asked of every kernel";

/// One pass over segments with two blocks of addresses; then later passes, and lanes.
pub(super) const KNOWN: [Known; 2] = [
    Known {
        memory_kib: 1024,
        passes: 1,
        lanes: 1,
        digests: [
            "7b6ebecbfa1503954f0db46a96c4bd0c287053b64242a27c0bd66ace577252b4",
            "8423923ff52fde1014a09b62f0735a2b32c46ff7b8eec8e395bf87906c96ae00",
            "e07183d919caf412f412f90037d5161a2c2ca94b03492f45d50ce97dd7647558",
            "818b77ddaee72b07218437d7f606f9b5f28c1b8724b5912004a695450a2b8397",
        ],
    },
    Known {
        memory_kib: 100,
        passes: 3,
        lanes: 3,
        digests: [
            "f9f46e275796c8929b9ba587eda0601c395333bce1ad980dc57c8d91e90f0bbd",
            "c3323aff68bcdfbe0bd906766dd6b771a8bd0cc782575e4b75e42247b85373f1",
            "816f2a845e431b17bba7a76cef6da9f62955e112484da8779b4bd3dc2e51b7b0",
            "8ee35ed5780f07db10d02fb192092b118bae1fc3879fc346399025704f99be9f",
        ],
    },
];

/// Decodes `hex`.
pub(super) fn bytes(hex: &str) -> [u8; DIGEST_LEN] {
    let digit =
        |at: usize| char::from(hex.as_bytes()[at]).to_digit(16).expect("digits of known answers") as u8;
    core::array::from_fn(|index| digit(2 * index) << 4 | digit(2 * index + 1))
}
