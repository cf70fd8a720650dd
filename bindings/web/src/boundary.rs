//! What JavaScript calls. Lengths are those of what it left in the room, from the beginning of it.
#![allow(
    unsafe_code,
    reason = "the exports of the module, and the one piece of memory that they share with JavaScript"
)]

use crate::argon2::{self, Argon2};
use crate::blake3::{Blake3, Kind};
use crate::room::Room;
use core::cell::UnsafeCell;
use hashmill_hash::blake3::hazmat::State;

/// All that the module keeps.
struct Module {
    room: Room,
    blake3: Blake3,
    argon2: Argon2,
}

struct Shared(UnsafeCell<Option<Module>>);

// SAFETY: the module has no threads.
unsafe impl Sync for Shared {}

static MODULE: Shared = Shared(UnsafeCell::new(None));

/// For the length of one call.
fn module() -> &'static mut Module {
    // SAFETY: one thread, and no export calls another, nor JavaScript: there is one reference at a time.
    let module = unsafe { &mut *MODULE.0.get() };
    module.get_or_insert_with(|| Module { room: Room::new(), blake3: Blake3::new(), argon2: Argon2::new() })
}

/// Makes the room that large, and says where it is: its place changes, and its content goes, only by this.
#[unsafe(no_mangle)]
extern "C" fn room(len: usize) -> *mut u8 {
    let room = &mut module().room;
    room.reserve(len);
    room.as_mut_ptr()
}

/// Where the state of the hasher is, for JavaScript to take away and bring back.
#[unsafe(no_mangle)]
extern "C" fn blake3_state() -> *mut State {
    &raw mut module().blake3.state
}

/// How long it is.
#[unsafe(no_mangle)]
extern "C" fn blake3_state_len() -> usize {
    size_of::<State>()
}

/// The digest of `len` bytes, in the first 32 of the room.
#[unsafe(no_mangle)]
extern "C" fn blake3_hash(len: usize) {
    let room = &mut module().room;
    let digest = hashmill_hash::blake3::hash(&room[..len]);
    room[..32].copy_from_slice(digest.as_bytes());
}

/// Begins anew: with a key of 32 bytes, or a context of `len`, in the room.
#[unsafe(no_mangle)]
extern "C" fn blake3_start(kind: u32, len: usize) {
    let Module { room, blake3, .. } = module();
    blake3.start(&Kind::of(kind, &room[..len]));
}

/// Takes `len` more bytes.
#[unsafe(no_mangle)]
extern "C" fn blake3_update(len: usize) {
    let Module { room, blake3, .. } = module();
    blake3.state.update(&room[..len]);
}

/// `len` bytes of output from a place on that comes in halves.
#[unsafe(no_mangle)]
extern "C" fn blake3_read(seek_low: u32, seek_high: u32, len: usize) {
    let Module { room, blake3, .. } = module();
    blake3.state.finalize_seek(u64::from(seek_high) << 32 | u64::from(seek_low), &mut room[..len]);
}

/// Begins a tile of an input that is hashed in several places, as [`blake3_start`], `chunks` chunks into it.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_start(kind: u32, len: usize, chunks: u32) {
    let Module { room, blake3, .. } = module();
    blake3.start_tile(&Kind::of(kind, &room[..len]), u64::from(chunks));
}

/// Takes `len` more bytes of the tile.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_update(len: usize) {
    let Module { room, blake3, .. } = module();
    blake3.update_tile(&room[..len]);
}

/// The chaining value of the tile, in the first 32 bytes of the room.
#[unsafe(no_mangle)]
extern "C" fn blake3_tile_end() {
    let Module { room, blake3, .. } = module();
    room[..32].copy_from_slice(&blake3.end_tile());
}

/// `out` bytes of output for the `tiles`, two at least, whose chaining values are in the room behind `len` bytes as for [`blake3_start`].
#[unsafe(no_mangle)]
extern "C" fn blake3_merge(kind: u32, len: usize, tiles: usize, out: usize) {
    let room = &mut module().room;
    let (before, values) = room.split_at_mut(len);
    let mut reader = Blake3::merge(&Kind::of(kind, before), &mut values[..32 * tiles]);
    reader.fill(&mut room[..out]);
}

/// Begins a hash of Argon2. In the room are password, salt, secret and associated data, one after the other, of these lengths.
/// Gives 0, or the length of what is wrong with it, in the room.
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
    let Module { room, argon2, .. } = module();
    let costs = argon2::Costs { variant, version, memory, passes, lanes };
    let result = argon2.start(&costs, tag, room, [password, salt, secret, data]);
    said(room, result)
}

/// Reads a stored hash, `len` bytes of the room, and begins to compute that of the password and the secret behind it. As [`argon2_start`].
#[unsafe(no_mangle)]
extern "C" fn argon2_verify(len: usize, password: usize, secret: usize) -> usize {
    let Module { room, argon2, .. } = module();
    let result = argon2.verify(room, [len, password, secret]);
    said(room, result)
}

/// Reads a stored hash, `len` bytes of the room, and puts its version, memory, passes and lanes there, four bytes each. As
/// [`argon2_start`].
#[unsafe(no_mangle)]
extern "C" fn argon2_costs(len: usize) -> usize {
    let room = &mut module().room;
    match argon2::costs(&room[..len]) {
        Ok(costs) => {
            for (bytes, number) in room.as_chunks_mut::<4>().0.iter_mut().zip(costs) {
                *bytes = number.to_le_bytes();
            }
            0
        }
        Err(words) => said(room, Err(words)),
    }
}

/// Computes a step of the hash; whether there are more.
#[unsafe(no_mangle)]
extern "C" fn argon2_step() -> bool {
    module().argon2.step()
}

/// Ends a hash: its tag or, `encoded`, the string to store is in the room. Gives the length.
#[unsafe(no_mangle)]
extern "C" fn argon2_finish(encoded: bool) -> usize {
    let Module { room, argon2, .. } = module();
    room.leave(&argon2.finish(encoded))
}

/// Ends a verification: whether the password is the one.
#[unsafe(no_mangle)]
extern "C" fn argon2_matches() -> bool {
    module().argon2.matches()
}

fn said(room: &mut Room, result: Result<(), String>) -> usize {
    result.map_or_else(|words| room.leave(words.as_bytes()), |()| 0)
}
