//! Password strings of other programs: theirs are verified, hostile ones cost nothing, and what is not verified has a name.

use hashmill_hash::password::foreign::{Digest, Form, Scheme, StoredError, StoredHash};
use hashmill_hash::password::{Limits, OverLimit, Passwords, Policy, Quantity, Syntax, VerifyError};
use hashmill_testkit::skip;
use hashmill_testkit::vectors::{self, PasswordString};

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

/// Each accepts its password and no other, alone and together.
fn all_verify(strings: &[PasswordString]) {
    let passwords = Passwords::default().limits(Limits::RECOMMENDED);
    let stored: Vec<_> = strings
        .iter()
        .map(|string| decode(&string.stored).unwrap_or_else(|error| panic!("{error}: {string:?}")))
        .collect();
    let wrong: Vec<Vec<u8>> = strings
        .iter()
        .map(|string| {
            // Different within what bcrypt looks at.
            let mut wrong = string.password.clone();
            wrong[0] ^= 1;
            wrong
        })
        .collect();
    let right = strings.iter().map(|string| &string.password[..]).zip(&stored).collect::<Vec<_>>();
    for ((result, string), stored) in passwords.verify_stored_many(&right).iter().zip(strings).zip(&stored) {
        assert_eq!(*result, Ok(()), "{string:?}");
        assert_eq!(name(stored), string.kind, "{string:?}");
        let form = match &*string.maker {
            "django" => Form::Django,
            _ if string.stored.starts_with('{') => Form::Ldap,
            _ => Form::Plain,
        };
        assert_eq!(stored.form(), form, "{string:?}");
    }
    let logins = wrong.iter().map(|wrong| &wrong[..]).zip(&stored).collect::<Vec<_>>();
    for (result, string) in passwords.verify_stored_many(&logins).iter().zip(strings) {
        assert_eq!(*result, Err(VerifyError::Mismatch), "{string:?}");
    }
    for (password, stored) in right.iter().step_by(7) {
        assert_eq!(passwords.verify_stored(password, stored), Ok(()));
        assert_eq!(passwords.verify_stored(&[], stored), Err(VerifyError::Mismatch));
    }
}

#[test]
fn strings_of_all_makers_verify() {
    let strings = vectors::passwords();
    assert!(strings.len() > 150);
    all_verify(&strings);
}

/// The programs themselves, with fresh salts, where they are installed.
#[test]
fn fresh_strings_of_all_makers_verify() {
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

/// What no program of the list writes: RustCrypto's way to say PBKDF2.
#[test]
fn pbkdf2_as_rustcrypto_writes_it() {
    let passwords = Passwords::default().limits(Limits::RECOMMENDED);
    let mut seen = 0;
    for string in vectors::passwords().iter().filter(|string| string.stored.starts_with("$pbkdf2-sha256$")) {
        let parts: Vec<_> = string.stored.split('$').collect();
        let (salt, tag) = (parts[3].replace('.', "+"), parts[4].replace('.', "+"));
        for len in ["", ",l=32"] {
            let stored = decode(&format!("$pbkdf2-sha256$i={}{len}${salt}${tag}", parts[2])).unwrap();
            assert_eq!(passwords.verify_stored(&string.password, &stored), Ok(()));
            seen += 1;
        }
        assert!(decode(&format!("$pbkdf2-sha256$i={},l=31${salt}${tag}", parts[2])).is_err());
    }
    assert!(seen > 0);
}

#[test]
fn bcrypt_takes_72_bytes_and_none_after_a_zero() {
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

/// Whatever a string asks for, it is refused before it costs anything, by those limits and no tighter ones.
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
        let Err(StoredError::OverLimit { error: OverLimit { what: said, given: much, .. }, .. }) =
            decode(&text)
        else {
            panic!("{text}: {:?}", decode(&text));
        };
        assert_eq!((said, much), (what, given), "{text}");
    }
    // A limit is exact, and holds for what was read within others.
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
fn what_is_not_verified_has_a_name_and_what_is_wrong_a_reason() {
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

/// Strings cut anywhere, and strings with one byte changed, are mistakes or other hashes: nothing panics.
#[test]
fn damaged_strings_are_taken_or_refused() {
    let limits = Limits::NONE;
    let mut refused = 0;
    for string in vectors::passwords().iter().step_by(3) {
        for at in 0..string.stored.len() {
            let cut = StoredHash::decode(&string.stored[..at], Syntax::Strict, &Limits::RECOMMENDED);
            refused += u32::from(cut.is_err());
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
fn a_new_hash_is_written_as_the_old_one_was() {
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
        let written = stored.form().write(&new);
        assert!(written.starts_with(start), "{written}");
        let again = decode(&written).unwrap();
        assert_eq!((again.form(), again.argon2()), (stored.form(), Some(&new)));
        assert!(!passwords.wants_upgrade(&again));
    }
}

#[test]
fn secrets_stay_out_of_debug() {
    let stored = decode("$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue").unwrap();
    let shown = format!("{stored:?}");
    assert_eq!(
        shown,
        "StoredHash { form: Plain, hash: Foreign(ForeignHash { scheme: Bcrypt { cost: 4 }, .. }) }"
    );
}
