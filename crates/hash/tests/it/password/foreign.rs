//! Password strings of other programs: verification, refusal of hostile costs, and names of unsupported
//! kinds.

use hashmill_hash::password::foreign::{Digest, HashPrefix, Scheme, StoredError, StoredHash};
use hashmill_hash::password::{Limits, OverLimit, Passwords, Policy, Quantity, Syntax, VerifyError};
use hashmill_testkit::vectors::{self, PasswordString};
use hashmill_testkit::{size, skip};

fn decode(text: &str) -> Result<StoredHash, StoredError> {
    StoredHash::decode(text, Syntax::Strict, &Limits::RECOMMENDED)
}

fn name(stored: &StoredHash) -> &'static str {
    match (stored.argon2(), stored.foreign()) {
        (Some(hash), _) => hash.params().variant().name(),
        (_, Some(foreign)) => foreign.scheme().name(),
        (None, None) => unreachable!("one of both"),
    }
}

/// Each accepts its password and no other, alone and in a batch.
fn all_verify(strings: &[PasswordString]) {
    let passwords = Passwords::default().limits(Limits::RECOMMENDED);
    let stored: Vec<_> = strings
        .iter()
        .map(|string| decode(&string.stored).unwrap_or_else(|error| panic!("{error}: {string:?}")))
        .collect();
    let wrong: Vec<Vec<u8>> = strings
        .iter()
        .map(|string| {
            // Different within the bytes that bcrypt uses.
            let mut wrong = string.password.clone();
            wrong[0] ^= 1;
            wrong
        })
        .collect();
    let right = strings.iter().map(|string| &string.password[..]).zip(&stored).collect::<Vec<_>>();
    for ((result, string), stored) in passwords.verify_stored_many(&right).iter().zip(strings).zip(&stored) {
        assert_eq!(*result, Ok(()), "{string:?}");
        assert_eq!(name(stored), string.kind, "{string:?}");
        let prefix = match &*string.maker {
            "django" => HashPrefix::Django,
            _ if string.stored.starts_with('{') => HashPrefix::Ldap,
            _ => HashPrefix::Plain,
        };
        assert_eq!(stored.prefix(), prefix, "{string:?}");
    }
    let step = size::of(5, 1);
    let logins = wrong.iter().map(|wrong| &wrong[..]).zip(&stored).step_by(step).collect::<Vec<_>>();
    for (result, string) in passwords.verify_stored_many(&logins).iter().zip(strings.iter().step_by(step)) {
        assert_eq!(*result, Err(VerifyError::Mismatch), "{string:?}");
    }
    for (password, stored) in right.iter().step_by(7) {
        assert_eq!(passwords.verify_stored(password, stored), Ok(()));
        assert_eq!(passwords.verify_stored(&[], stored), Err(VerifyError::Mismatch));
    }
}

#[test]
fn strings_of_all_programs_verify() {
    let strings = vectors::passwords();
    assert!(strings.len() > 150);
    all_verify(&strings);
}

/// The programs themselves, with fresh salts, where they are installed.
#[test]
fn computed_strings_of_all_formats_verify() {
    let Some((strings, missing)) = vectors::fresh_passwords() else {
        skip("password strings of other programs, made afresh", "no python3 here");
        return;
    };
    all_verify(&strings);
    if !missing.is_empty() {
        let packages = "Debian: apt-get install apache2-utils php-cli python3-argon2 python3-bcrypt python3-django \
                        python3-passlib python3-werkzeug";
        let missing = missing.lines().collect::<Vec<_>>().join("; ");
        skip("password strings of some programs, made afresh", &format!("{missing}; {packages}"));
    }
}

/// RustCrypto's form of PBKDF2, which no program of the list writes.
#[test]
fn pbkdf2_strings_of_rustcrypto_verify() {
    let passwords = Passwords::default().limits(Limits::RECOMMENDED);
    let mut verified = 0;
    for string in vectors::passwords().iter().filter(|string| string.stored.starts_with("$pbkdf2-sha256$")) {
        let parts: Vec<_> = string.stored.split('$').collect();
        let (salt, tag) = (parts[3].replace('.', "+"), parts[4].replace('.', "+"));
        for len in ["", ",l=32"] {
            let stored = decode(&format!("$pbkdf2-sha256$i={}{len}${salt}${tag}", parts[2])).unwrap();
            assert_eq!(passwords.verify_stored(&string.password, &stored), Ok(()));
            verified += 1;
        }
        assert!(decode(&format!("$pbkdf2-sha256$i={},l=31${salt}${tag}", parts[2])).is_err());
    }
    assert!(verified > 0);
}

#[test]
fn bcrypt_ignores_bytes_after_72_and_after_a_zero() {
    let passwords = Passwords::default();
    let long =
        vectors::passwords().into_iter().find(|string| string.maker == "php" && string.password.len() > 72);
    let long = long.expect("such a string");
    let stored = decode(&long.stored).unwrap();
    assert_eq!(passwords.verify_stored(&long.password[..72], &stored), Ok(()));
    assert_eq!(passwords.verify_stored(&long.password[..71], &stored), Err(VerifyError::Mismatch));
    let foreign = stored.foreign().expect("bcrypt");
    assert!(foreign.ignores_part_of(&long.password) && !foreign.ignores_part_of(&long.password[..72]));
    let plain = vectors::passwords().into_iter().find(|string| string.maker == "php").expect("such a string");
    let stored = decode(&plain.stored).unwrap();
    let with_zero = [&plain.password[..], b"\0"].concat();
    assert_eq!(passwords.verify_stored(&with_zero, &stored), Err(VerifyError::Mismatch));
}

/// Any cost over these limits is refused before it is spent, and no tighter limits apply.
#[test]
fn hostile_costs_are_refused() {
    let tag = "h8FsN01Spn+KpyFdapdGaaYkr288lcPgPs2c0JfAdpw";
    let (salt22, tag31) = ("k1M4ToNEG5D44.p8S0oAOu", "8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue");
    let most = u64::from(u32::MAX);
    for (text, what, given) in [
        (format!("$2b$31${salt22}{tag31}"), Quantity::BcryptCost, 31),
        (format!("$2y$17${salt22}{tag31}"), Quantity::BcryptCost, 17),
        (format!("bcrypt_sha256$$2b$31${salt22}{tag31}"), Quantity::BcryptCost, 31),
        (format!("$bcrypt-sha256$v=2,t=2b,r=31${salt22}${tag31}"), Quantity::BcryptCost, 31),
        (format!("$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ${tag}"), Quantity::Memory, (1 << 30) + 1),
        (format!("$scrypt$ln=63,r=1,p=1$c2FsdHNhbHQ${tag}"), Quantity::Memory, u64::MAX.div_ceil(1024)),
        (format!("$scrypt$ln=1,r=1,p=1073741823$c2FsdHNhbHQ${tag}"), Quantity::Memory, 134_217_729),
        (format!("$scrypt$ln=14,r=8,p=513$c2FsdHNhbHQ${tag}"), Quantity::Work, 513 << 14),
        (format!("pbkdf2_sha256$2147483648$salt${tag}="), Quantity::Iterations, 1 << 31),
        (format!("$pbkdf2-sha256$4294967295$c2FsdHNhbHQ${tag}"), Quantity::Iterations, most),
        (format!("pbkdf2:sha1:5000001$salt${}", "00".repeat(40)), Quantity::Iterations, 10_000_002),
        (format!("pbkdf2:sha1:1$salt${}", "00".repeat(129)), Quantity::Tag, 129),
        (format!("pbkdf2:sha1:1$salt${}", "00".repeat(15)), Quantity::Tag, 15),
        (format!("pbkdf2:sha1:1${}${}", "s".repeat(65), "00".repeat(20)), Quantity::Salt, 65),
    ] {
        let Err(StoredError::OverLimit { error: OverLimit { what: quantity, given: value, .. }, .. }) =
            decode(&text)
        else {
            panic!("{text}: {:?}", decode(&text));
        };
        assert_eq!((quantity, value), (what, given), "{text}");
    }
    // A limit is exact, and applies to hashes that were decoded within others.
    let stored = decode(&format!("$2b$16${salt22}{tag31}")).unwrap();
    let tight = Passwords::default().limits(Limits::for_policy(&Policy::default()));
    let over = OverLimit { what: Quantity::BcryptCost, given: 16, bound: 0, is_least: false };
    assert_eq!(tight.verify_stored(b"x", &stored), Err(VerifyError::OverLimit(over)));
    assert_eq!(tight.verify_stored_many(&[(b"x", &stored)]), [Err(VerifyError::OverLimit(over))]);
    let scheme = Scheme::Pbkdf2 { digest: Digest::Sha256, iterations: 10_000_000 };
    let stored = decode(&format!("$pbkdf2-sha256$10000000$c2FsdHNhbHQ${tag}")).unwrap();
    assert_eq!(stored.foreign().map(|foreign| foreign.scheme()), Some(scheme));
}

#[test]
fn unsupported_and_malformed_strings_have_named_errors() {
    let tag = "yI5Pm1nMh5d5Dh5zNaTo.bQjm6TIGue2gLbmDesnPX0";
    for (text, words) in [
        ("$6$salt$tag", "SHA512-crypt, which is not verified here"),
        ("$y$j9T$salt$tag", "yescrypt, which is not verified here"),
        ("$apr1$salt$tag", "Apache's MD5-crypt, which is not verified here"),
        ("md5$salt$tag", "Django's MD5, which is not verified here"),
        ("{SSHA}abc=", "a salted digest of SHA, which is not verified here"),
        ("{CRYPT}ab1cdefghijkl", "DES-crypt, which is not verified here"),
        ("{CRYPT}$6$salt$tag", "SHA512-crypt, which is not verified here"),
        ("{other}x", "a scheme in braces, which is not verified here"),
        ("", "no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified"),
        ("secret", "no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified"),
        ("{ARGON2}$argon2id$", "password hash, byte 10: expected m="),
        ("$2b$12$abc", "bcrypt hash: expected 22 characters of salt and 31 of tag"),
        ("$2b$1$abc", "bcrypt hash: expected a cost of two digits and a $"),
        (
            "$2b$03$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue",
            "bcrypt hash: expected a cost from 04 to 31",
        ),
        (
            "$2b$+4$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue",
            "bcrypt hash: expected a cost of two digits",
        ),
        ("$scrypt$ln=5,r=8$c2FsdA$x", "scrypt hash: expected ln=N,r=N,p=N$SALT$TAG"),
        ("scrypt$15$salt$8$1$x", "scrypt hash: expected N to be a power of two, at least 2"),
        ("$7$CU", "scrypt hash: expected 11 characters of costs, then SALT$TAG"),
        ("pbkdf2_sha256$0$salt$x", "pbkdf2-sha256 hash: expected one iteration at least"),
        ("pbkdf2_sha256$-1$salt$x", "pbkdf2-sha256 hash: expected a decimal number of iterations"),
        ("pbkdf2_sha256$1$salt", "pbkdf2-sha256 hash: expected ITERATIONS$SALT$TAG"),
    ] {
        assert_eq!(decode(text).map(|_| ()).unwrap_err().to_string(), words, "{text}");
    }
    let unpadded = decode(&format!("pbkdf2_sha256$1$salt${tag}"));
    assert_eq!(unpadded.unwrap_err().to_string(), "pbkdf2-sha256 hash: expected a tag in base64");
    assert!(StoredHash::decode(b"pbkdf2_sha256$1$\xff$x", Syntax::Strict, &Limits::NONE).is_err());
}

/// Truncated strings, and strings with one changed byte, are errors or other hashes: nothing panics.
#[test]
fn damaged_strings_never_panic() {
    let limits = Limits::NONE;
    let mut refused = 0;
    for string in vectors::passwords().iter().step_by(3) {
        for at in 0..string.stored.len() {
            let truncated = StoredHash::decode(&string.stored[..at], Syntax::Strict, &Limits::RECOMMENDED);
            refused += u32::from(truncated.is_err());
            for byte in *b"$0=,:.~" {
                let mut text = string.stored.clone().into_bytes();
                text[at] = byte;
                let _ = StoredHash::decode(&text, Syntax::Lenient, &limits);
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn upgraded_hash_keeps_the_prefix() {
    let passwords = Passwords::default();
    let salt = [7; 16];
    let new = passwords.hash(b"x", &salt).unwrap();
    for (old, start) in [
        ("pbkdf2_sha256$1$salt$yI5Pm1nMh5d5Dh5zNaTo+bQjm6TIGue2gLbmDesnPX0=", "argon2$argon2id$v=19$"),
        ("{CRYPT}$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue", "{ARGON2}$argon2id$v=19$"),
        ("{bcrypt}$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue", "{argon2}$argon2id$v=19$"),
        (
            "{BLF-CRYPT}$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue",
            "{ARGON2ID}$argon2id$v=19$",
        ),
        ("$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue", "$argon2id$v=19$"),
    ] {
        let stored = decode(old).unwrap();
        assert!(passwords.wants_upgrade(&stored));
        let written = stored.prefix().write(&new);
        assert!(written.starts_with(start), "{written}");
        let again = decode(&written).unwrap();
        assert_eq!((again.prefix(), again.argon2()), (stored.prefix(), Some(&new)));
        assert!(!passwords.wants_upgrade(&again));
    }
}

#[test]
fn debug_omits_salt_and_tag() {
    let stored = decode("$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue").unwrap();
    let output = format!("{stored:?}");
    assert_eq!(
        output,
        "StoredHash { prefix: Plain, hash: Foreign(ForeignHash { scheme: Bcrypt { cost: 4 }, .. }) }"
    );
}
