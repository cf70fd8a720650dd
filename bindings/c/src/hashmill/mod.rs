//! libhashmill: the functions of `include/hashmill.h`, which cbindgen generates from this folder.
//!
//! Rust code can reach these functions only through the linker. `pointers` is the module that trusts the caller.
#![expect(non_camel_case_types, reason = "the names of the header")]
#![expect(unreachable_pub, reason = "public in C")]

mod pointers;

// In the order of the header.
mod version;

mod error;

mod free;

mod pool;

mod hash;

mod files;

mod passwords;

mod document;

/// Sizes that programs were compiled with; tests/c/hashmill/layout.c checks the offsets.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<pointers::hm_span>() == 16 && size_of::<pointers::hm_spans>() == 16);
    assert!(size_of::<pointers::hm_room>() == 16 && size_of::<pointers::hm_bytes>() == 24);
    assert!(size_of::<hash::hm_function>() == 24 && size_of::<files::hm_file_options>() == 32);
    assert!(size_of::<files::hm_file_digest>() == 48 && size_of::<passwords::hm_policy>() == 24);
    assert!(size_of::<document::values::hm_value>() == 48 && size_of::<document::values::hm_item>() == 88);
    assert!(
        size_of::<document::doc::hm_doc_limits>() == 80 && size_of::<document::doc::hm_doc_options>() == 136
    );
    assert!(size_of::<passwords::hm_password_options>() == 80 && size_of::<passwords::hm_verdict>() == 16);
};

/// The header's promises about threads.
const _: () = {
    const fn everywhere<T: Send + Sync>() {}
    everywhere::<error::hm_error>();
    everywhere::<pool::hm_pool>();
    everywhere::<hash::hm_hasher>();
    everywhere::<files::hm_files>();
    everywhere::<passwords::hm_passwords>();
    everywhere::<passwords::hm_stop>();
    everywhere::<document::values::hm_obj_id>();
    everywhere::<document::doc::hm_doc>();
    everywhere::<document::sync::hm_sync_state>();
};
