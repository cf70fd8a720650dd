//! Version of the library and of the header.
#![expect(unsafe_code, reason = "names that a linker finds")]

/// Version of this header: the first number. It changes if programs must be changed; before 1.0.0 the second number does.
pub const HM_VERSION_MAJOR: u32 = 0;
/// The second number of the version.
pub const HM_VERSION_MINOR: u32 = 1;
/// The third number of the version.
pub const HM_VERSION_PATCH: u32 = 0;
/// The version as one increasing number: `0x000100` for 0.1.0.
pub const HM_VERSION: u32 = (HM_VERSION_MAJOR << 16) | (HM_VERSION_MINOR << 8) | HM_VERSION_PATCH;

/// Version of the library at run time, in the form of `HM_VERSION`, which is the version of the header at compile time.
#[unsafe(no_mangle)]
pub extern "C" fn hm_version() -> u32 {
    HM_VERSION
}

// cbindgen reads only literals, so the numbers are repeated here.
const _: () = {
    assert!(HM_VERSION_MAJOR == number(env!("CARGO_PKG_VERSION_MAJOR")));
    assert!(HM_VERSION_MINOR == number(env!("CARGO_PKG_VERSION_MINOR")));
    assert!(HM_VERSION_PATCH == number(env!("CARGO_PKG_VERSION_PATCH")));
    assert!(HM_VERSION_MINOR < 256 && HM_VERSION_PATCH < 256, "one byte each in HM_VERSION");
};

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the version that is not a number"),
    }
}
