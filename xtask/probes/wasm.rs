//! Tests of `hash` and `doc` in a module for JavaScript: `wasm.mjs` calls each exported function `test_…`, which returns, or panics and
//! traps.
//!
//! `wasm32-unknown-unknown` has no source of random bytes, so the program imports one.

use core::num::NonZeroU32;
use std::panic;

use hashmill_doc::{ActorId, Document, EditError, ObjType, ROOT, ReadDoc, Transactable};
use hashmill_hash::argon2::{Hasher, Input, Params, Variant};
use hashmill_hash::blake3;

#[link(wasm_import_module = "probe")]
unsafe extern "C" {
    /// Fills memory with random bytes.
    fn fill(first: *mut u8, len: usize);
    /// Prints a text.
    fn say(first: *const u8, len: usize);
}

/// Source of random bytes for the crate `getrandom` with `--cfg getrandom_backend="custom"`.
///
/// # Safety
/// The bytes are writable.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(first: *mut u8, len: usize) -> Result<(), NonZeroU32> {
    // SAFETY: by the contract of this function.
    unsafe { fill(first, len) };
    Ok(())
}

/// Prints panics. Called before the tests.
#[unsafe(no_mangle)]
extern "C" fn begin() {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the bytes of a text.
        unsafe { say(text.as_ptr(), text.len()) }
    }));
}

#[unsafe(no_mangle)]
extern "C" fn test_blake3_with_one_and_several_threads() {
    let input: Vec<u8> = (0..31744).map(|at| (at % 251) as u8).collect();
    let published = "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47";
    assert_eq!(blake3::hash(&input).to_string(), published);
    let mut hasher = blake3::Hasher::new();
    hasher.update_parallel(&input);
    assert_eq!(hasher.finalize().to_string(), published);
}

#[unsafe(no_mangle)]
extern "C" fn test_argon2_standard() {
    let params = Params::new(32, 3, 4).unwrap().with_variant(Variant::Id);
    let mut input = Input::new(&[1; 32], &[2; 16]);
    (input.secret, input.associated_data) = (&[3; 8], &[4; 12]);
    let mut tag = [0; 32];
    Hasher::new(params).hash_into(&input, &mut tag).unwrap();
    let published = "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659";
    assert_eq!(tag.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), published);
}

#[unsafe(no_mangle)]
extern "C" fn test_a_change_has_the_same_hash_as_on_other_targets() {
    let mut doc = Document::new().with_actor("00112233445566778899aabbccddeeff".parse().unwrap());
    doc.transact(|tx| tx.put(ROOT, "k", 1)).unwrap();
    let head = "a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a";
    assert_eq!(doc.get_heads()[0].to_string(), head);
}

#[unsafe(no_mangle)]
extern "C" fn test_a_foreign_document_is_saved_byte_for_byte() {
    let exemplar = include_bytes!("../../crates/doc/tests/data/automerge/exemplar");
    let mut doc = Document::load(exemplar).unwrap();
    doc.check(true);
    assert_eq!(doc.save(), exemplar);
}

/// Long enough for the code that uses several threads on other targets, and for the general compressor.
#[unsafe(no_mangle)]
extern "C" fn test_a_long_document_is_compressed_and_loads_again() {
    let mut doc = Document::new();
    let text: String = (0..200_000_u64).map(|n| char::from(b'a' + (n * n % 1009 % 26) as u8)).collect();
    doc.transact(|tx| {
        let object = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&object, 0, 0, &text)?;
        Ok::<_, EditError>(())
    })
    .unwrap();
    let saved = doc.save();
    assert!(saved.len() < text.len());
    let loaded = Document::load(&saved).unwrap();
    loaded.check(true);
    assert_eq!(loaded.get_heads(), doc.get_heads());
    assert_eq!(loaded.get_as(ROOT, "text"), Ok(Some(text)));
}

#[unsafe(no_mangle)]
extern "C" fn test_actors_are_random() {
    assert_ne!(ActorId::random(), ActorId::random());
}
