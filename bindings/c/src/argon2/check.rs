//! Checks of a context, in the order of the reference implementation: the first error is reported.

use super::code::Code;
use super::context::argon2_context;
use hashmill_hash::argon2::Params;

/// The shortest salt.
const MIN_SALT_LEN: u32 = 8;
/// Minimum memory in KiB.
const MIN_MEMORY: u32 = 8;
/// Maximum memory in KiB: half of the address space.
const MAX_MEMORY: u64 = {
    let bits = usize::BITS - 11;
    let half = 1 << if bits < 32 { bits } else { 32 };
    if half < u32::MAX as u64 { half } else { u32::MAX as u64 }
};
/// Maximum number of lanes and of threads.
const MAX_LANES: u32 = Params::MAX_LANES;

/// The first error of a context. Values that 32 bits cannot represent are not checked.
pub(super) fn check(context: &argon2_context) -> Result<(), Code> {
    let c = context;
    let conditions = [
        (c.out.is_null(), Code::OutputPtrNull),
        (c.outlen < Params::MIN_TAG_LEN as u32, Code::OutputTooShort),
        (c.pwd.is_null() && c.pwdlen != 0, Code::PwdPtrMismatch),
        (c.salt.is_null() && c.saltlen != 0, Code::SaltPtrMismatch),
        (c.saltlen < MIN_SALT_LEN, Code::SaltTooShort),
        (c.secret.is_null() && c.secretlen != 0, Code::SecretPtrMismatch),
        (c.ad.is_null() && c.adlen != 0, Code::AdPtrMismatch),
        (c.m_cost < MIN_MEMORY, Code::MemoryTooLittle),
        (u64::from(c.m_cost) > MAX_MEMORY, Code::MemoryTooMuch),
        // If this overflows 32 bits, the error is too many lanes, or by chance too little memory.
        (c.m_cost < c.lanes.wrapping_mul(Params::MIN_KIB_PER_LANE), Code::MemoryTooLittle),
        (c.t_cost == 0, Code::TimeTooSmall),
        (c.lanes == 0, Code::LanesTooFew),
        (c.lanes > MAX_LANES, Code::LanesTooMany),
        (c.threads == 0, Code::ThreadsTooFew),
        (c.threads > MAX_LANES, Code::ThreadsTooMany),
        (c.allocate_cbk.is_some() && c.free_cbk.is_none(), Code::FreeMemoryCbkNull),
        (c.allocate_cbk.is_none() && c.free_cbk.is_some(), Code::AllocateMemoryCbkNull),
    ];
    conditions.iter().find(|(is_fault, _)| *is_fault).map_or(Ok(()), |(_, code)| Err(*code))
}
