//! Return codes of the functions, and their messages.

use core::ffi::CStr;

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// The return code of a function.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(i32)]
        pub enum Code {
            $(#[doc = $text] $name = $number,)*
        }

        impl Code {
            /// All codes, in the order of the header.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The message.
            pub const fn text(self) -> &'static CStr {
                match self {
                    $(Code::$name => const {
                        match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                            Ok(text) => text,
                            Err(_) => panic!("a zero inside"),
                        }
                    },)*
                }
            }
        }
    };
}

codes! {
    Ok = 0, "OK";
    OutputPtrNull = -1, "Output pointer is NULL";
    OutputTooShort = -2, "Output is too short";
    OutputTooLong = -3, "Output is too long";
    PwdTooShort = -4, "Password is too short";
    PwdTooLong = -5, "Password is too long";
    SaltTooShort = -6, "Salt is too short";
    SaltTooLong = -7, "Salt is too long";
    AdTooShort = -8, "Associated data is too short";
    AdTooLong = -9, "Associated data is too long";
    SecretTooShort = -10, "Secret is too short";
    SecretTooLong = -11, "Secret is too long";
    TimeTooSmall = -12, "Time cost is too small";
    TimeTooLarge = -13, "Time cost is too large";
    MemoryTooLittle = -14, "Memory cost is too small";
    MemoryTooMuch = -15, "Memory cost is too large";
    LanesTooFew = -16, "Too few lanes";
    LanesTooMany = -17, "Too many lanes";
    PwdPtrMismatch = -18, "Password pointer is NULL, but password length is not 0";
    SaltPtrMismatch = -19, "Salt pointer is NULL, but salt length is not 0";
    SecretPtrMismatch = -20, "Secret pointer is NULL, but secret length is not 0";
    AdPtrMismatch = -21, "Associated data pointer is NULL, but ad length is not 0";
    MemoryAllocationError = -22, "Memory allocation error";
    FreeMemoryCbkNull = -23, "The free memory callback is NULL";
    AllocateMemoryCbkNull = -24, "The allocate memory callback is NULL";
    IncorrectParameter = -25, "Argon2_Context context is NULL";
    IncorrectType = -26, "There is no such version of Argon2";
    OutPtrMismatch = -27, "Output pointer mismatch";
    ThreadsTooFew = -28, "Not enough threads";
    ThreadsTooMany = -29, "Too many threads";
    MissingArgs = -30, "Missing arguments";
    EncodingFail = -31, "Encoding failed";
    DecodingFail = -32, "Decoding failed";
    ThreadFail = -33, "Threading failure";
    DecodingLengthFail = -34, "Some of encoded parameters are too long or too short";
    VerifyMismatch = -35, "The password does not match the supplied hash";
}

impl Code {
    /// The message for any number.
    pub(super) fn text_of(number: i32) -> &'static CStr {
        let known = Code::ALL.iter().find(|code| **code as i32 == number);
        known.map_or(c"Unknown error code", |code| code.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_consecutive() {
        for (index, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as i32, -(index as i32));
            assert_eq!(Code::text_of(-(index as i32)), code.text());
        }
        assert_eq!(Code::ALL.len(), 36);
        for unknown in [1, -36, i32::MIN] {
            assert_eq!(Code::text_of(unknown), c"Unknown error code");
        }
    }
}
