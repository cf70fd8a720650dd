//! The exports for JavaScript. Lengths are those of the arguments in the buffer, from its beginning.
#![allow(
    unsafe_code,
    reason = "the exports of the module, and the one piece of memory that they share with JavaScript"
)]

use crate::argon2::{self, Argon2};
use crate::blake3::{Blake3, Kind};
use crate::buffer::SharedBuffer;
use core::cell::UnsafeCell;
use hashmill_hash::blake3::hazmat::State;

/// The state of the module.
struct Module {
    buffer: SharedBuffer,
    blake3: Blake3,
    argon2: Argon2,
}

struct Shared(UnsafeCell<Option<Module>>);

// SAFETY: the module has no threads.
unsafe impl Sync for Shared {}

static MODULE: Shared = Shared(UnsafeCell::new(None));

/// The state, for the duration of one call.
fn module() -> &'static mut Module {
    // SAFETY: one thread, and no export calls another one or JavaScript: there is one reference at a time.
    let module = unsafe { &mut *MODULE.0.get() };
    module.get_or_insert_with(|| Module {
        buffer: SharedBuffer::new(),
        blake3: Blake3::new(),
        argon2: Argon2::new(),
    })
}

/// Resizes the buffer and returns its address. Only this call moves the buffer and clears its contents.
#[unsafe(no_mangle)]
extern "C" fn buffer(len: usize) -> *mut u8 {
    let buffer = &mut module().buffer;
    buffer.reserve(len);
    buffer.as_mut_ptr()
}

/// The address of the hasher's state, for JavaScript to save and restore.
#[unsafe(no_mangle)]
extern "C" fn blake3_state() -> *mut State {
    &raw mut module().blake3.state
}

/// Its length.
#[unsafe(no_mangle)]
extern "C" fn blake3_state_len() -> usize {
    size_of::<State>()
}

/// Writes the digest of `len` bytes into the first 32 of the buffer.
#[unsafe(no_mangle)]
extern "C" fn blake3_hash(len: usize) {
    let buffer = &mut module().buffer;
    let digest = hashmill_hash::blake3::hash(&buffer[..len]);
    buffer[..32].copy_from_slice(digest.as_bytes());
}

/// Resets the hasher: with a key of 32 bytes, or a context of `len`, in the buffer.
#[unsafe(no_mangle)]
extern "C" fn blake3_start(kind: u32, len: usize) {
    let Module { buffer, blake3, .. } = module();
    blake3.start(&Kind::from_number(kind, &buffer[..len]));
}

/// Adds `len` bytes.
#[unsafe(no_mangle)]
extern "C" fn blake3_update(len: usize) {
    let Module { buffer, blake3, .. } = module();
    blake3.state.update(&buffer[..len]);
}

/// Writes `len` bytes of output from a position on, which is passed as two halves.
#[unsafe(no_mangle)]
extern "C" fn blake3_read(seek_low: u32, seek_high: u32, len: usize) {
    let Module { buffer, blake3, .. } = module();
    blake3.state.finalize_seek(u64::from(seek_high) << 32 | u64::from(seek_low), &mut buffer[..len]);
}

/// Begins a tile of an input that several workers hash, as [`blake3_start`], at chunk `chunks`.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_start(kind: u32, len: usize, chunks: u32) {
    let Module { buffer, blake3, .. } = module();
    blake3.start_tile(&Kind::from_number(kind, &buffer[..len]), u64::from(chunks));
}

/// Adds `len` bytes to the tile.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_update(len: usize) {
    let Module { buffer, blake3, .. } = module();
    blake3.update_tile(&buffer[..len]);
}

/// Writes the chaining value of the tile into the first 32 bytes of the buffer.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_end() {
    let Module { buffer, blake3, .. } = module();
    buffer[..32].copy_from_slice(&blake3.end_tile());
}

/// Writes `out` bytes of output for the `tiles`, at least two, whose chaining values are in the buffer after `len` bytes as for
/// [`blake3_start`].
#[unsafe(no_mangle)]
extern "C" fn blake3_merge(kind: u32, len: usize, tiles: usize, out: usize) {
    let buffer = &mut module().buffer;
    let (before, values) = buffer.split_at_mut(len);
    let mut reader = Blake3::merge(&Kind::from_number(kind, before), &mut values[..32 * tiles]);
    reader.fill(&mut buffer[..out]);
}

/// Begins an Argon2 hash. The buffer has password, salt, secret and associated data, one after the other, with these lengths. Returns 0, or
/// the length of an error message in the buffer.
#[unsafe(no_mangle)]
extern "C" fn argon2_start(
    variant: u32,
    version: u32,
    memory: u32,
    passes: u32,
    lanes: u32,
    tag: usize,
    password: usize,
    salt: usize,
    secret: usize,
    data: usize,
) -> usize {
    let Module { buffer, argon2, .. } = module();
    let costs = argon2::Costs { variant, version, memory, passes, lanes };
    let result = argon2.start(&costs, tag, buffer, [password, salt, secret, data]);
    write_error(buffer, result)
}

/// Decodes a stored hash, `len` bytes of the buffer, and begins to compute that of the password and the secret after it. As [`argon2_start`].
#[unsafe(no_mangle)]
extern "C" fn argon2_verify(len: usize, password: usize, secret: usize) -> usize {
    let Module { buffer, argon2, .. } = module();
    let result = argon2.verify(buffer, [len, password, secret]);
    write_error(buffer, result)
}

/// Decodes a stored hash, `len` bytes of the buffer, and writes its version, memory, passes and lanes there, four bytes each. As
/// [`argon2_start`].
#[unsafe(no_mangle)]
extern "C" fn argon2_costs(len: usize) -> usize {
    let buffer = &mut module().buffer;
    match argon2::costs(&buffer[..len]) {
        Ok(costs) => {
            for (bytes, number) in buffer.as_chunks_mut::<4>().0.iter_mut().zip(costs) {
                *bytes = number.to_le_bytes();
            }
            0
        }
        Err(words) => write_error(buffer, Err(words)),
    }
}

/// Computes a step of the hash; returns whether more are left.
#[unsafe(no_mangle)]
extern "C" fn argon2_step() -> bool {
    module().argon2.step()
}

/// Ends a hash: writes its tag or, if `encoded`, the string to store into the buffer. Returns the length.
#[unsafe(no_mangle)]
extern "C" fn argon2_finish(encoded: bool) -> usize {
    let Module { buffer, argon2, .. } = module();
    buffer.leave(&argon2.finish(encoded))
}

/// Ends a verification: returns whether the password matches.
#[unsafe(no_mangle)]
extern "C" fn argon2_matches() -> bool {
    module().argon2.matches()
}

fn write_error(buffer: &mut SharedBuffer, result: Result<(), String>) -> usize {
    result.map_or_else(|words| buffer.leave(words.as_bytes()), |()| 0)
}
