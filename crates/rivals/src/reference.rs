//! The reference implementation of Argon2 in C, through its raw bindings: the only file of this crate with `unsafe`.
#![expect(unsafe_code, reason = "a function in C")]

use std::ptr;

use anyhow::ensure;

/// Inputs and costs of a hash, with the names of RFC 9106.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// 0 for Argon2d, 1 for Argon2i, 2 for Argon2id.
    pub variant: u32,
    /// 0x10 or 0x13.
    pub version: u32,
    /// Memory in KiB.
    pub memory_kib: u32,
    pub passes: u32,
    /// Lanes, and threads.
    pub lanes: u32,
    pub password: &'a [u8],
    /// The salt, at least eight bytes.
    pub salt: &'a [u8],
    pub secret: &'a [u8],
    pub associated_data: &'a [u8],
}

/// Computes the tag of a job with the defaults of the reference: memory from `malloc`, wiped at the end, and a thread for each lane.
///
/// # Errors
/// The error code of the reference.
pub fn hash(job: &Job<'_>, tag: &mut [u8]) -> anyhow::Result<()> {
    let len = |bytes: &[u8]| u32::try_from(bytes.len());
    let start = |bytes: &[u8]| if bytes.is_empty() { ptr::null_mut() } else { bytes.as_ptr().cast_mut() };
    let mut context = argon2_sys::Argon2_Context {
        out: tag.as_mut_ptr(),
        outlen: len(tag)?,
        pwd: start(job.password),
        pwdlen: len(job.password)?,
        salt: start(job.salt),
        saltlen: len(job.salt)?,
        secret: start(job.secret),
        secretlen: len(job.secret)?,
        ad: start(job.associated_data),
        adlen: len(job.associated_data)?,
        t_cost: job.passes,
        m_cost: job.memory_kib,
        lanes: job.lanes,
        threads: job.lanes,
        version: job.version,
        allocate_cbk: None,
        free_cbk: None,
        flags: argon2_sys::ARGON2_DEFAULT_FLAGS,
    };
    // SAFETY: every pointer comes with its length, the memory outlives the call, and without the flags for clearing, only the tag is
    // written.
    let code = unsafe { argon2_sys::argon2_ctx(&raw mut context, job.variant) };
    ensure!(code == argon2_sys::ARGON2_OK, "the C reference refuses {job:?}: {code}");
    Ok(())
}
