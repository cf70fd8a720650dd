//! Bounds on the number of hashes: those worth their memory, and those that kernels address together. No
//! device calls here.

use crate::argon2::schedule::BLOCK;
use crate::{Info, Kind};
use hashmill_hash::argon2::Params;

/// The most blocks of a slice of all hashes: kernels number pieces of 16 bytes with 32 bits.
const MOST_BLOCKS: u64 = 1 << 26;

/// The number of hashes, possibly zero, that a device runs side by side if it binds `binding` bytes per
/// slice.
pub(super) fn side_by_side(params: Params, binding: u64) -> u64 {
    let blocks = (binding / BLOCK).min(MOST_BLOCKS);
    blocks / (params.blocks() / 4)
}

/// Memory up to which more lanes help: on an H200 by Vulkan, hashes per second of 16 to 64 MiB grow with
/// every lane up to 32 GiB, and fall to 0.3 to 0.4 of that at twice the memory.
const REACH: u64 = 32 << 30;

/// Number of lanes that help even beyond that memory: 66 of 2 GiB, all that an H200 holds, are 3.3 times as
/// fast as 16.
const FEW: u64 = 66;

/// More lanes than a device runs groups of threads only wait for each other: an H200 runs 4,224, the largest
/// devices 10,000.
const MOST_LANES: u64 = 1 << 14;

/// The number of hashes side by side that are worth their memory, if the device has it.
pub(super) fn worthwhile(params: Params) -> u64 {
    let lanes = u64::from(params.lanes());
    (REACH / (params.blocks() * BLOCK)).min(MOST_LANES / lanes).max(FEW / lanes).max(1)
}

/// The part of a device's memory that hashes may use: other programs need some too, and half stays free where
/// it is the host's.
pub(super) fn usable(info: &Info) -> Option<u64> {
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
    fn as_many_hashes_go_side_by_side_as_their_slices_are_bound() {
        let mib = params(1024, 1, 1);
        for (binding, hashes) in
            [(0, 0), (262_143, 0), (262_144, 1), (262_144 * 7 + 1, 7), ((1 << 31) - 4, 8191)]
        {
            assert_eq!(side_by_side(mib, binding), hashes, "{binding}");
        }
        // A hash of 2 GiB has slices of 512 MiB.
        assert_eq!(side_by_side(params(1 << 21, 1, 1), (1 << 31) - 4), 3);
        // Kernels address at most 64 GiB, whatever is bound.
        assert_eq!(side_by_side(params(1 << 28, 1, 1), u64::MAX), 1);
        assert_eq!(side_by_side(params((1 << 28) + 16, 1, 4), u64::MAX), 0);
    }

    #[test]
    fn many_small_hashes_stay_within_reach_and_a_few_large_ones_need_not() {
        let of = |memory, lanes| worthwhile(params(memory, 1, lanes));
        assert_eq!([of(16 << 10, 1), of(64 << 10, 1), of(64 << 10, 4)], [2048, 512, 512]);
        assert_eq!([of(2 << 20, 1), of(2 << 20, 4), of(16 << 20, 128)], [66, 16, 2]);
        assert_eq!(of(64 << 20, 128), 1);
        assert_eq!([of(64, 1), of(64, 4), of(1 << 20, 1 << 17)], [1 << 14, 1 << 12, 1]);
    }
}
