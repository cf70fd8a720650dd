//! Bounds on the number of hashes of a batch: by speed, and by the memory that a kernel can address. No device calls
//! here.

use crate::argon2::schedule::BLOCK_BYTES;
use crate::{Info, Kind};
use hashmill_hash::argon2::Params;

/// The most blocks of a slice of all hashes: kernels number pieces of 16 bytes with 32 bits.
const MAX_BLOCKS: u64 = 1 << 26;

/// The number of hashes, possibly zero, that one kernel addresses if a device binds `binding` bytes per slice.
pub(super) fn max_bound_hashes(params: Params, binding: u64) -> u64 {
    let blocks = (binding / BLOCK_BYTES).min(MAX_BLOCKS);
    blocks / (params.blocks() / 4)
}

/// Memory up to which more lanes are faster. On an H200 by Vulkan, the rate of hashes of 16 to 64 MiB rises with every
/// lane up to 32 GiB, and falls to 0.3 to 0.4 of that at twice the memory.
const FAST_BYTES: u64 = 32 << 30;

/// Lanes that are faster even beyond that memory: 66 of 2 GiB, all that an H200 holds, are 3.3 times as fast as 16.
const MIN_LANES: u64 = 66;

/// The most lanes: an H200 runs 4,224 groups of threads at a time, the largest devices 10,000, and more lanes only
/// wait.
const MAX_LANES: u64 = 1 << 14;

/// The number of hashes side by side beyond which more are no faster, if the device has the memory.
pub(super) fn useful_hashes(params: Params) -> u64 {
    let lanes = u64::from(params.lanes());
    (FAST_BYTES / (params.blocks() * BLOCK_BYTES)).min(MAX_LANES / lanes).max(MIN_LANES / lanes).max(1)
}

/// The part of a device's memory that hashes may use: other programs need some, and half stays free if it is the
/// host's memory.
pub(super) fn usable_bytes(info: &Info) -> Option<u64> {
    let reserve = |memory| match info.kind {
        Kind::Integrated | Kind::Software => memory / 2,
        _ => memory / 20,
    };
    info.memory.map(|memory| memory - reserve(memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(memory: u32, passes: u32, lanes: u32) -> Params {
        Params::new(memory, passes, lanes).unwrap()
    }

    #[test]
    fn the_bound_bytes_of_a_slice_limit_the_hashes_of_a_kernel() {
        let mib = params(1024, 1, 1);
        for (binding, hashes) in
            [(0, 0), (262_143, 0), (262_144, 1), (262_144 * 7 + 1, 7), ((1 << 31) - 4, 8191)]
        {
            assert_eq!(max_bound_hashes(mib, binding), hashes, "{binding}");
        }
        // A hash of 2 GiB has slices of 512 MiB.
        assert_eq!(max_bound_hashes(params(1 << 21, 1, 1), (1 << 31) - 4), 3);
        // Kernels address at most 64 GiB, even if a device binds more.
        assert_eq!(max_bound_hashes(params(1 << 28, 1, 1), u64::MAX), 1);
        assert_eq!(max_bound_hashes(params((1 << 28) + 16, 1, 4), u64::MAX), 0);
    }

    #[test]
    fn memory_limits_small_hashes_but_not_the_least_number_of_large_ones() {
        let hashes = |memory, lanes| useful_hashes(params(memory, 1, lanes));
        assert_eq!([hashes(16 << 10, 1), hashes(64 << 10, 1), hashes(64 << 10, 4)], [2048, 512, 512]);
        assert_eq!([hashes(2 << 20, 1), hashes(2 << 20, 4), hashes(16 << 20, 128)], [66, 16, 2]);
        assert_eq!(hashes(64 << 20, 128), 1);
        assert_eq!([hashes(64, 1), hashes(64, 4), hashes(1 << 20, 1 << 17)], [1 << 14, 1 << 12, 1]);
    }
}
