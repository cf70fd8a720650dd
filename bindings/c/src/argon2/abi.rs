//! The boundary: the functions of `include/argon2.h`, and all code that trusts a pointer of a caller.
//!
//! No panic leaves a function. Memory that held a hash is wiped before it is released, also memory of the caller.
#![expect(unsafe_code, reason = "pointers of callers, and names that a linker finds")]
#![expect(non_camel_case_types, reason = "the names of the header")]

use super::check::check;
use super::code::Code;
use super::context::argon2_context;
use super::encoded::{self, Costs};
use crate::argon2::helper_threads::HelperThreads;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};
use hashmill_hash::argon2::hazmat::{Memory, PreparedHash};
use hashmill_hash::argon2::{Arena, Block, HashError, Input, PagePolicy, Params, Plan, Variant, Version};
use std::panic::{AssertUnwindSafe, catch_unwind};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// `Argon2_d`, `Argon2_i`, `Argon2_id`: 0, 1, 2.
pub type argon2_type = c_uint;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::{align_of, offset_of, size_of};
    assert!(size_of::<argon2_context>() == 120 && align_of::<argon2_context>() == 8);
    assert!(offset_of!(argon2_context, pwd) == 16 && offset_of!(argon2_context, salt) == 32);
    assert!(offset_of!(argon2_context, secret) == 48 && offset_of!(argon2_context, ad) == 64);
    assert!(offset_of!(argon2_context, adlen) == 72 && offset_of!(argon2_context, t_cost) == 76);
    assert!(offset_of!(argon2_context, threads) == 88 && offset_of!(argon2_context, version) == 92);
    assert!(offset_of!(argon2_context, allocate_cbk) == 96 && offset_of!(argon2_context, free_cbk) == 104);
    assert!(offset_of!(argon2_context, flags) == 112);
};

const FLAG_CLEAR_PASSWORD: u32 = 1 << 0;
const FLAG_CLEAR_SECRET: u32 = 1 << 1;

/// Programs that link the static library may set this to 0. Memory of hashes is wiped regardless.
#[unsafe(no_mangle)]
pub static FLAG_clear_internal_memory: AtomicI32 = AtomicI32::new(1);

/// Wipes memory of the caller, unless [`FLAG_clear_internal_memory`] is 0. The reference implementation's program needs it, and
/// finds it in the static library.
///
/// # Safety
/// Null, or `len` bytes can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clear_internal_memory(memory: *mut c_void, len: usize) {
    if FLAG_clear_internal_memory.load(Ordering::Relaxed) != 0 {
        // SAFETY: required of the caller.
        unsafe { bytes_mut(memory.cast(), len) }.zeroize();
    }
}

fn variant(number: argon2_type) -> Option<Variant> {
    Variant::ALL.get(number as usize).copied()
}

/// The result for the caller. A panic is a bug of this library and is reported as a failed thread.
fn guarded(work: impl FnOnce() -> Result<(), Code>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Code::ThreadFail));
    result.err().unwrap_or(Code::Ok) as c_int
}

/// # Safety
/// Either `len` is 0, with any pointer, or `len` bytes can be read.
unsafe fn bytes<'a>(first: *const u8, len: usize) -> &'a [u8] {
    if first.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: required of the caller.
    unsafe { core::slice::from_raw_parts(first, len) }
}

/// # Safety
/// Either `len` is 0, with any pointer, or `len` bytes can be written and no other thread uses them meanwhile.
unsafe fn bytes_mut<'a>(first: *mut u8, len: usize) -> &'a mut [u8] {
    if first.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: required of the caller. Uninitialized bytes of a caller are valid here: no compiler sees both sides.
    unsafe { core::slice::from_raw_parts_mut(first, len) }
}

/// A buffer of that many bytes, or an error.
fn buffer(len: usize) -> Result<Zeroizing<Vec<u8>>, Code> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Code::MemoryAllocationError)?;
    bytes.resize(len, 0);
    Ok(Zeroizing::new(bytes))
}

/// Memory of a caller's allocator.
struct CallerMemory {
    memory: *mut u8,
    bytes: usize,
    free: unsafe extern "C" fn(*mut u8, usize),
    /// Whether it may contain a hash.
    is_dirty: bool,
}

impl CallerMemory {
    /// Memory for that many blocks; `None` if the context has no allocator.
    ///
    /// The first request has exactly that size. Memory that is not aligned to a block is freed, and the second request is larger,
    /// so that an aligned part fits.
    ///
    /// # Safety
    /// The functions of the context satisfy the header.
    unsafe fn new(context: &argon2_context, blocks: u64) -> Result<Option<CallerMemory>, Code> {
        let (Some(allocate), Some(free)) = (context.allocate_cbk, context.free_cbk) else {
            return Ok(None);
        };
        let refused = Code::MemoryAllocationError;
        let needed = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(size_of::<Block>()));
        let needed = needed.ok_or(refused)?;
        let allocate_bytes = |bytes| {
            let mut memory = ptr::null_mut();
            // Only the pointer is checked, as in the reference implementation. SAFETY: required of the caller.
            unsafe { allocate(&raw mut memory, bytes) };
            if memory.is_null() {
                Err(refused)
            } else {
                Ok(CallerMemory { memory, bytes, free, is_dirty: false })
            }
        };
        let unpadded = allocate_bytes(needed)?;
        if unpadded.memory.align_offset(align_of::<Block>()) == 0 {
            return Ok(Some(unpadded));
        }
        drop(unpadded);
        allocate_bytes(needed.checked_add(align_of::<Block>() - 1).ok_or(refused)?).map(Some)
    }

    /// The whole blocks in the memory.
    fn blocks(&mut self) -> &mut [MaybeUninit<Block>] {
        let skipped = self.memory.align_offset(align_of::<Block>());
        let whole = self.bytes.saturating_sub(skipped) / size_of::<Block>();
        self.is_dirty = true;
        // SAFETY: inside the allocation, aligned, and any contents are valid.
        unsafe { core::slice::from_raw_parts_mut(self.memory.add(skipped).cast(), whole) }
    }
}

impl Drop for CallerMemory {
    fn drop(&mut self) {
        if self.is_dirty {
            // SAFETY: inside the allocation.
            unsafe { bytes_mut(self.memory, self.bytes) }.zeroize();
        }
        // SAFETY: the allocation is freed once, with its requested size.
        unsafe { (self.free)(self.memory, self.bytes) }
    }
}

/// Computes the hash of a context, into its `out`.
///
/// # Safety
/// Null, or a context whose pointers and functions satisfy the header.
unsafe fn compute(context: *mut argon2_context, number: argon2_type) -> Result<(), Code> {
    // SAFETY: required of the caller.
    let context = unsafe { context.as_mut() }.ok_or(Code::IncorrectParameter)?;
    check(context)?;
    let variant = variant(number).ok_or(Code::IncorrectType)?;
    let params = Params::new(context.m_cost, context.t_cost, context.lanes);
    let params = params.map_err(|_| Code::IncorrectParameter)?.with_variant(variant);
    // SAFETY: required of the caller.
    let mut caller_memory = unsafe { CallerMemory::new(context, params.blocks()) }?;
    let mut arena = Arena::new(PagePolicy::default());
    let memory = match &mut caller_memory {
        Some(caller_memory) => Memory::Blocks(caller_memory.blocks()),
        None => Memory::Arena(&mut arena),
    };
    // SAFETY: checked to be null only if they are empty; the rest is required of the caller.
    let input = unsafe {
        Input::new(bytes(context.pwd, context.pwdlen as usize), bytes(context.salt, context.saltlen as usize))
            .with_secret(bytes(context.secret, context.secretlen as usize))
            .with_associated_data(bytes(context.ad, context.adlen as usize))
    };
    let prepared =
        PreparedHash::new(Plan::host(), params, context.version, &input, context.outlen as usize, memory);
    let prepared = prepared.map_err(|error| match error {
        HashError::OutOfMemory { .. } => Code::MemoryAllocationError,
        _ => Code::IncorrectParameter,
    })?;
    // The input is not read after this point. SAFETY: a caller that sets these flags allows writing to the memory.
    unsafe { clear(context) }
    {
        // SAFETY: not null, and required of the caller.
        let out = unsafe { bytes_mut(context.out, context.outlen as usize) };
        let helpers = HelperThreads::default();
        prepared.finish(out, || HelperThreads::count(context.threads), |task| helpers.start(task));
    }
    if let Some(caller_memory) = &mut caller_memory {
        caller_memory.is_dirty = false;
    }
    Ok(())
}

/// Wipes the inputs that the flags select.
///
/// # Safety
/// As for [`compute`].
unsafe fn clear(context: &mut argon2_context) {
    if context.flags & FLAG_CLEAR_PASSWORD != 0 && !context.pwd.is_null() {
        // SAFETY: required of the caller.
        unsafe { bytes_mut(context.pwd, context.pwdlen as usize) }.zeroize();
        context.pwdlen = 0;
    }
    if context.flags & FLAG_CLEAR_SECRET != 0 && !context.secret.is_null() {
        // SAFETY: required of the caller.
        unsafe { bytes_mut(context.secret, context.secretlen as usize) }.zeroize();
        context.secretlen = 0;
    }
}

/// A context from the parameters of the short functions.
fn context_from_costs(
    costs: Costs,
    pwd: (*const c_void, usize),
    salt: (*const c_void, usize),
) -> argon2_context {
    argon2_context {
        out: ptr::null_mut(),
        outlen: 0,
        pwd: pwd.0.cast_mut().cast(),
        pwdlen: pwd.1 as u32,
        salt: salt.0.cast_mut().cast(),
        saltlen: salt.1 as u32,
        secret: ptr::null_mut(),
        secretlen: 0,
        ad: ptr::null_mut(),
        adlen: 0,
        t_cost: costs.t_cost,
        m_cost: costs.m_cost,
        lanes: costs.lanes,
        threads: costs.lanes,
        version: costs.version,
        allocate_cbk: None,
        free_cbk: None,
        flags: 0,
    }
}

fn is_too_long(len: usize) -> bool {
    len as u64 > Params::MAX_LEN
}

/// The name of a type, or null if there is no such type.
#[unsafe(no_mangle)]
pub extern "C" fn argon2_type2string(r#type: argon2_type, uppercase: c_int) -> *const c_char {
    let names = [(c"Argon2d", c"argon2d"), (c"Argon2i", c"argon2i"), (c"Argon2id", c"argon2id")];
    let name = names.get(r#type as usize).map(|names| if uppercase != 0 { names.0 } else { names.1 });
    name.map_or(ptr::null(), CStr::as_ptr)
}

/// The message for a number that a function returned.
#[unsafe(no_mangle)]
pub extern "C" fn argon2_error_message(error_code: c_int) -> *const c_char {
    Code::text_of(error_code).as_ptr()
}

/// The length of an encoded hash, including the zero at its end. 0 if there is no such type.
#[unsafe(no_mangle)]
pub extern "C" fn argon2_encodedlen(
    t_cost: u32,
    m_cost: u32,
    parallelism: u32,
    saltlen: u32,
    hashlen: u32,
    r#type: argon2_type,
) -> usize {
    let costs = [t_cost, m_cost, parallelism];
    variant(r#type).map_or(0, |variant| encoded::len(variant.name(), costs, saltlen, hashlen))
}

/// Computes the hash of a context.
///
/// # Safety
/// As the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn argon2_ctx(context: *mut argon2_context, r#type: argon2_type) -> c_int {
    // SAFETY: required of the caller.
    guarded(|| unsafe { compute(context, r#type) })
}

/// Computes the hash and compares it with `hash`, which has the same length.
///
/// # Safety
/// As the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn argon2_verify_ctx(
    context: *mut argon2_context,
    hash: *const c_char,
    r#type: argon2_type,
) -> c_int {
    guarded(|| {
        // SAFETY: required of the caller.
        unsafe {
            compute(context, r#type)?;
            let len = (*context).outlen as usize;
            equal(bytes(hash.cast(), len), bytes((*context).out, len))
        }
    })
}

fn equal(one: &[u8], other: &[u8]) -> Result<(), Code> {
    if one.ct_eq(other).into() { Ok(()) } else { Err(Code::VerifyMismatch) }
}

/// The hash of a password, raw, encoded or both.
///
/// # Safety
/// As the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn argon2_hash(
    t_cost: u32,
    m_cost: u32,
    parallelism: u32,
    pwd: *const c_void,
    pwdlen: usize,
    salt: *const c_void,
    saltlen: usize,
    hash: *mut c_void,
    hashlen: usize,
    encoded: *mut c_char,
    encodedlen: usize,
    r#type: argon2_type,
    version: u32,
) -> c_int {
    guarded(|| {
        let faults = [
            (is_too_long(pwdlen), Code::PwdTooLong),
            (is_too_long(saltlen), Code::SaltTooLong),
            (is_too_long(hashlen), Code::OutputTooLong),
            (hashlen < Params::MIN_TAG_LEN, Code::OutputTooShort),
        ];
        if let Some((_, code)) = faults.iter().find(|(is_fault, _)| *is_fault) {
            return Err(*code);
        }
        let costs = Costs { version, m_cost, t_cost, lanes: parallelism };
        let mut tag = buffer(hashlen)?;
        let mut context = context_from_costs(costs, (pwd, pwdlen), (salt, saltlen));
        (context.out, context.outlen) = (tag.as_mut_ptr(), hashlen as u32);
        // SAFETY: required of the caller, and the buffer above.
        unsafe { compute(&raw mut context, r#type) }?;
        if !hash.is_null() {
            // SAFETY: required of the caller.
            unsafe { bytes_mut(hash.cast(), hashlen) }.copy_from_slice(&tag);
        }
        if encoded.is_null() || encodedlen == 0 {
            return Ok(());
        }
        let variant = variant(r#type).ok_or(Code::EncodingFail)?;
        // SAFETY: required of the caller.
        let salt = unsafe { bytes(salt.cast(), saltlen) };
        let unpadded =
            encoded::len(variant.name(), [t_cost, m_cost, parallelism], saltlen as u32, hashlen as u32);
        // A version of three or more digits makes it longer.
        let most = unpadded.saturating_add(10).min(encodedlen);
        // SAFETY: required of the caller.
        let text = unsafe { bytes_mut(encoded.cast(), most) };
        encoded::encode(variant, costs, salt, &tag, text).ok_or_else(|| {
            // SAFETY: required of the caller.
            unsafe { bytes_mut(encoded.cast(), encodedlen) }.zeroize();
            Code::EncodingFail
        })
    })
}

/// Whether a password matches an encoded hash.
///
/// # Safety
/// As the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn argon2_verify(
    encoded: *const c_char,
    pwd: *const c_void,
    pwdlen: usize,
    r#type: argon2_type,
) -> c_int {
    guarded(|| {
        if is_too_long(pwdlen) {
            return Err(Code::PwdTooLong);
        }
        if encoded.is_null() {
            return Err(Code::DecodingFail);
        }
        // SAFETY: required of the caller.
        let text = unsafe { CStr::from_ptr(encoded) }.to_bytes();
        if is_too_long(text.len()) {
            return Err(Code::DecodingFail);
        }
        let variant = variant(r#type).ok_or(Code::IncorrectType)?;
        let mut read = encoded::decode(text, variant)?;
        let costs =
            Costs { version: read.version, m_cost: read.m_cost, t_cost: read.t_cost, lanes: read.lanes };
        let salt = (read.salt.as_ptr().cast(), read.salt.len());
        let mut context = context_from_costs(costs, (pwd, pwdlen), salt);
        (context.out, context.outlen) = (read.tag.as_mut_ptr(), read.tag.len() as u32);
        // The values are checked before the end of the string, as in the reference implementation.
        check(&context)?;
        if read.has_rest {
            return Err(Code::DecodingFail);
        }
        let mut tag = buffer(read.tag.len())?;
        context.out = tag.as_mut_ptr();
        // SAFETY: required of the caller, and the decoded buffers.
        unsafe { compute(&raw mut context, r#type) }?;
        equal(&read.tag, &tag)
    })
}

macro_rules! of_a_type {
    ($number:literal: $ctx:ident $verify_ctx:ident $raw:ident $encoded:ident $verify:ident) => {
        /// [`argon2_ctx`] of one type.
        ///
        /// # Safety
        /// As the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ctx(context: *mut argon2_context) -> c_int {
            // SAFETY: required of the caller.
            unsafe { argon2_ctx(context, $number) }
        }

        /// [`argon2_verify_ctx`] of one type.
        ///
        /// # Safety
        /// As the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $verify_ctx(context: *mut argon2_context, hash: *const c_char) -> c_int {
            // SAFETY: required of the caller.
            unsafe { argon2_verify_ctx(context, hash, $number) }
        }

        /// [`argon2_hash`] of one type, raw.
        ///
        /// # Safety
        /// As the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $raw(
            t_cost: u32,
            m_cost: u32,
            parallelism: u32,
            pwd: *const c_void,
            pwdlen: usize,
            salt: *const c_void,
            saltlen: usize,
            hash: *mut c_void,
            hashlen: usize,
        ) -> c_int {
            let (none, version) = (ptr::null_mut(), Version::V13.number());
            // SAFETY: required of the caller.
            unsafe {
                argon2_hash(
                    t_cost,
                    m_cost,
                    parallelism,
                    pwd,
                    pwdlen,
                    salt,
                    saltlen,
                    hash,
                    hashlen,
                    none,
                    0,
                    $number,
                    version,
                )
            }
        }

        /// [`argon2_hash`] of one type, encoded.
        ///
        /// # Safety
        /// As the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $encoded(
            t_cost: u32,
            m_cost: u32,
            parallelism: u32,
            pwd: *const c_void,
            pwdlen: usize,
            salt: *const c_void,
            saltlen: usize,
            hashlen: usize,
            encoded: *mut c_char,
            encodedlen: usize,
        ) -> c_int {
            let (none, version) = (ptr::null_mut(), Version::V13.number());
            // SAFETY: required of the caller.
            unsafe {
                argon2_hash(
                    t_cost,
                    m_cost,
                    parallelism,
                    pwd,
                    pwdlen,
                    salt,
                    saltlen,
                    none,
                    hashlen,
                    encoded,
                    encodedlen,
                    $number,
                    version,
                )
            }
        }

        /// [`argon2_verify`] of one type.
        ///
        /// # Safety
        /// As the header requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $verify(encoded: *const c_char, pwd: *const c_void, pwdlen: usize) -> c_int {
            // SAFETY: required of the caller.
            unsafe { argon2_verify(encoded, pwd, pwdlen, $number) }
        }
    };
}

of_a_type!(0: argon2d_ctx argon2d_verify_ctx argon2d_hash_raw argon2d_hash_encoded argon2d_verify);
of_a_type!(1: argon2i_ctx argon2i_verify_ctx argon2i_hash_raw argon2i_hash_encoded argon2i_verify);
of_a_type!(2: argon2id_ctx argon2id_verify_ctx argon2id_hash_raw argon2id_hash_encoded argon2id_verify);
