//! The structure `argon2_context` of argon2.h, and the types of its callbacks.
#![expect(non_camel_case_types, reason = "the names of the header")]

use core::ffi::c_int;

/// Allocates memory for a hash.
pub type allocate_fptr = Option<unsafe extern "C" fn(memory: *mut *mut u8, bytes: usize) -> c_int>;

/// Frees that memory.
pub type deallocate_fptr = Option<unsafe extern "C" fn(memory: *mut u8, bytes: usize)>;

/// The inputs of a hash.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "in the header")]
pub struct argon2_context {
    pub out: *mut u8,
    pub outlen: u32,
    pub pwd: *mut u8,
    pub pwdlen: u32,
    pub salt: *mut u8,
    pub saltlen: u32,
    pub secret: *mut u8,
    pub secretlen: u32,
    pub ad: *mut u8,
    pub adlen: u32,
    pub t_cost: u32,
    pub m_cost: u32,
    pub lanes: u32,
    pub threads: u32,
    pub version: u32,
    pub allocate_cbk: allocate_fptr,
    pub free_cbk: deallocate_fptr,
    pub flags: u32,
}
