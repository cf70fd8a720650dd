//! Creation and verification of password hashes, one by one and in batches.

use hashmill_hash::argon2::{HashError, Params, Step, Threads, Variant, Version};
use hashmill_hash::password::{
    CreateError, Difference, Limits, Login, NewPassword, PasswordHash, Passwords, PhcError, Policy, Preset,
    Syntax, Verified, VerifyError,
};
use std::ops::ControlFlow;

const SALT: &[u8; 16] = b"sixteen bytes ok";

fn policy(m: u32, t: u32, p: u32) -> Policy {
    Policy::new(Params::new(m, t, p).expect("good costs"))
}

fn cheap() -> Passwords {
    Passwords::new(policy(64, 1, 1))
}

/// `src/test.c` of the reference implementation (phc-winner-argon2, CC0).
#[test]
fn strings_of_the_reference_implementation_verify() {
    let passwords = Passwords::default();
    for (password, text) in [
        ("password", "$argon2i$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"),
        ("password", "$argon2i$m=256,t=2,p=2$c29tZXNhbHQ$tsEVYKap1h6scGt5ovl9aLRGOqOth+AMB+KwHpDFZPs"),
        ("password", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8"),
        ("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
        ("password", "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"),
    ] {
        assert_eq!(passwords.verify(password.as_bytes(), text), Ok(()), "{text}");
        assert_eq!(passwords.verify(b"Password", text), Err(VerifyError::Mismatch));
    }
}

#[test]
fn accepts_exactly_generated_strings() {
    let passwords = cheap();
    let stored = passwords.hash(b"secret", SALT).expect("a hash").to_string();
    assert!(stored.starts_with("$argon2id$v=19$m=64,t=1,p=1$c2l4dGVlbiBieXRlcyBvaw$"), "{stored}");
    assert_eq!(passwords.verify(b"secret", &stored), Ok(()));
    for other in [&b""[..], b"secre", b"secret\n", b"secret\0", b"Secret"] {
        assert_eq!(passwords.verify(other, &stored), Err(VerifyError::Mismatch));
    }
    for password in [&b""[..], &[0; 3], &[255; 100_000]] {
        let stored = passwords.hash(password, SALT).expect("a hash");
        assert_eq!(passwords.verify_decoded(password, &stored), Ok(()));
    }
}

/// Watching changes no hash, reports every quarter of a pass, and can cancel it.
#[test]
fn watched_hashes_are_equal_and_can_be_cancelled() {
    for (lanes, threads) in [(1, Threads::Auto), (4, Threads::AtMost(2)), (4, Threads::Serial)] {
        let passwords = Passwords::new(policy(4096, 3, lanes)).threads(threads).memory_budget(8192);
        let mut reported = Vec::new();
        let mut watch = |step: Step| {
            reported.push((step.done, step.of));
            ControlFlow::Continue(())
        };
        let hash = passwords.hash_watched(b"secret", SALT, &mut watch).expect("a hash");
        assert_eq!(Ok(&hash), passwords.hash(b"secret", SALT).as_ref());
        assert_eq!(passwords.verify_decoded_watched(b"secret", &hash, &mut watch), Ok(()));
        let other = passwords.verify_decoded_watched(b"Secret", &hash, &mut watch);
        assert_eq!(other, Err(VerifyError::Mismatch));
        let once: Vec<_> = (1..=12).map(|done| (done, 12)).collect();
        assert_eq!(reported, once.repeat(3));
        let mut calls = 0;
        let mut cancel_at_third = |step: Step| {
            calls += 1;
            if step.done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let cancelled = passwords.verify_decoded_watched(b"secret", &hash, &mut cancel_at_third);
        assert_eq!((cancelled, calls), (Err(VerifyError::Hash(HashError::Stopped)), 3));
        assert_eq!(passwords.verify_decoded(b"secret", &hash), Ok(()), "the memory works on");
    }
}

#[test]
fn one_changed_bit_of_the_tag_is_a_mismatch() {
    let passwords = cheap();
    let hash = passwords.hash(b"secret", SALT).expect("a hash");
    for bit in 0..8 * hash.tag_len() {
        let mut tag = hash.tag().to_vec();
        tag[bit / 8] ^= 1 << (bit % 8);
        assert!(!hash.matches(&tag));
    }
    assert!(!hash.matches(&hash.tag()[..31]) && !hash.matches(&[]));
    let mut last = hash.tag().to_vec();
    *last.last_mut().expect("bytes") ^= 128;
    let forged = PasswordHash::new(hash.params(), hash.salt().to_vec(), last);
    assert_eq!(passwords.verify_decoded(b"secret", &forged), Err(VerifyError::Mismatch));
    assert_ne!(forged, hash);
}

#[test]
fn hostile_costs_are_refused_before_any_work() {
    let passwords = cheap();
    for costs in ["m=4294967295,t=1,p=1", "m=8,t=4294967295,p=1", "m=134217720,t=1,p=16777215"] {
        let text = format!("$argon2id$v=19${costs}$c29tZXNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA");
        let result = passwords.verify(b"x", &text);
        assert!(matches!(result, Err(VerifyError::Phc(PhcError::OverLimit { .. }))), "{costs}: {result:?}");
    }
    let stored = cheap().hash(b"x", SALT).expect("a hash").to_string();
    let tight = Passwords::new(policy(32, 1, 1)).limits(Limits::for_policy(&policy(32, 1, 1)));
    assert!(matches!(tight.verify(b"x", &stored), Err(VerifyError::Phc(PhcError::OverLimit { .. }))));
    assert!(matches!(tight.verify(b"x", "nonsense"), Err(VerifyError::Phc(PhcError::Malformed { .. }))));
}

/// Decoding has limits of its own, independent of a policy: costs are checked against the current limits
/// again.
#[test]
fn decoded_hash_is_checked_against_limits_again() {
    let text = "$argon2id$v=19$m=2097152,t=4,p=1$c29tZXNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA";
    let read: PasswordHash = text.parse().expect("within what is recommended");
    for passwords in [cheap(), Passwords::default()] {
        let refused = passwords.verify_decoded(b"x", &read);
        assert!(matches!(refused, Err(VerifyError::OverLimit(over)) if over.given == 2 << 20), "{refused:?}");
        assert!(matches!(passwords.verify(b"x", text), Err(VerifyError::Phc(PhcError::OverLimit { .. }))));
    }
    let tight = Passwords::new(policy(64, 1, 1)).limits(Limits::for_policy(&policy(8, 1, 1)));
    assert_eq!(tight.verify_dummy(b"x"), Err(VerifyError::Mismatch), "whatever the limits");
}

#[test]
fn salt_length_is_bounded() {
    for len in [0, 7, 65] {
        assert_eq!(cheap().hash(b"x", &vec![1; len]), Err(CreateError::SaltLen { given: len }));
    }
    assert!(cheap().hash(b"x", &[1; 8]).is_ok() && cheap().hash(b"x", &[1; 64]).is_ok());
}

#[test]
fn secret_is_part_of_every_hash() {
    let with = |secret: &[u8]| cheap().secret(secret.to_vec());
    let stored = with(b"pepper").hash(b"x", SALT).expect("a hash").to_string();
    assert_eq!(with(b"pepper").verify(b"x", &stored), Ok(()));
    assert_eq!(with(b"salt").verify(b"x", &stored), Err(VerifyError::Mismatch));
    assert_eq!(cheap().verify(b"x", &stored), Err(VerifyError::Mismatch));
}

#[test]
fn associated_data_of_the_draft_is_part_of_the_hash() {
    // `argon2` 0.6.0 of RustCrypto with `data` set; crates/rivals compares more of them.
    let plain = cheap().hash(b"x", SALT).expect("a hash").to_string();
    let with_data = plain.replacen("p=1", "p=1,data=aGVsbG8", 1);
    let lenient = cheap().syntax(Syntax::Lenient);
    assert_eq!(lenient.verify(b"x", &plain), Ok(()));
    assert_eq!(lenient.verify(b"x", &with_data), Err(VerifyError::Mismatch), "the data is part of the hash");
    assert!(matches!(cheap().verify(b"x", &with_data), Err(VerifyError::Phc(_))), "strictly it is malformed");
}

#[test]
fn weak_hashes_are_replaced_after_verification() {
    let old = cheap().hash(b"x", SALT).expect("a hash").to_string();
    let now = Passwords::new(policy(128, 2, 1));
    assert_eq!(now.verify_and_upgrade(b"y", &old, SALT).unwrap_err(), VerifyError::Mismatch);
    let Verified::Outdated { reasons, replacement } =
        now.verify_and_upgrade(b"x", &old, SALT).expect("a match")
    else {
        panic!("it is weak")
    };
    assert_eq!(reasons.len(), 2);
    assert!(matches!(reasons[0], Difference::Less { have: 64, want: 128, .. }));
    let new = replacement.expect("a hash").to_string();
    assert!(matches!(now.verify_and_upgrade(b"x", &new, SALT), Ok(Verified::Current)));
    let no_salt = now.verify_and_upgrade(b"x", &old, b"").expect("the password matches");
    let Verified::Outdated { replacement, .. } = no_salt else { panic!("it is weak") };
    assert_eq!(replacement, Err(CreateError::SaltLen { given: 0 }));
}

#[test]
fn dummy_verification_never_succeeds() {
    assert_eq!(cheap().verify_dummy(b""), Err(VerifyError::Mismatch));
    assert_eq!(cheap().verify_dummy(b"x"), Err(VerifyError::Mismatch));
}

/// Passwords of various costs, some of them wrong or malformed.
fn logins(count: usize) -> (Vec<Vec<u8>>, Vec<String>) {
    let costs = [(64, 1, 1), (64, 2, 1), (100, 1, 3), (64, 1, 1), (4096, 1, 2)];
    let make = |at: usize| {
        let (m, t, p) = costs[at % costs.len()];
        let variant = Variant::ALL[at / costs.len() % 3];
        let version = if at.is_multiple_of(11) { Version::V10 } else { Version::V13 };
        let params = Params::new(m, t, p).expect("good costs").with_variant(variant).with_version(version);
        let passwords = Passwords::new(Policy::new(params).with_tag_len(16 + at % 50).expect("a length"));
        let password = vec![at as u8; at];
        let stored = passwords.hash(&password, SALT).expect("a hash").to_string();
        match at % 7 {
            5 => (b"wrong".to_vec(), stored),
            6 => (password, stored + "?"),
            _ => (password, stored),
        }
    };
    (0..count).map(make).unzip()
}

#[test]
fn verify_many_equals_single_verifications() {
    let (given, stored) = logins(60);
    let logins: Vec<_> =
        given.iter().zip(&stored).map(|(password, stored)| Login { password, stored }).collect();
    // Their costs vary, unlike those of one policy.
    let any = || cheap().limits(Limits::RECOMMENDED);
    let single = any();
    let expected: Vec<_> = logins.iter().map(|login| single.verify(login.password, login.stored)).collect();
    assert!(expected.iter().filter(|result| result.is_ok()).count() > 40);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    for passwords in [
        any(),
        any().threads(Threads::Serial),
        any().threads(Threads::AtMost(2)),
        any().memory_budget(70),
        any().memory_budget(200),
    ] {
        assert_eq!(passwords.verify_many(&logins), expected);
        // On a thread of the pool too, where a deadlock would be easy.
        assert_eq!(pool.install(|| passwords.verify_many(&logins)), expected);
    }
    for count in 0..4 {
        assert_eq!(any().verify_many(&logins[..count]), expected[..count]);
    }
}

#[test]
fn hash_many_equals_single_hashes() {
    let salts: Vec<[u8; 16]> = (0..20).map(|at| [at; 16]).collect();
    let mut new: Vec<_> =
        salts.iter().map(|salt| NewPassword { password: &salt[..3], salt: &salt[..] }).collect();
    new[7].salt = b"short";
    for policy in [policy(64, 1, 1), policy(3000, 1, 1), policy(64, 1, 4)] {
        let passwords = Passwords::new(policy);
        let expected: Vec<_> = new.iter().map(|new| passwords.hash(new.password, new.salt)).collect();
        assert_eq!(passwords.hash_many(&new), expected);
        assert_eq!(expected[7], Err(CreateError::SaltLen { given: 5 }));
    }
}

#[test]
fn threads_share_passwords_within_the_budget() {
    let passwords = Passwords::new(policy(256, 1, 2)).memory_budget(300);
    let stored = passwords.hash(b"x", SALT).expect("a hash").to_string();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert_eq!(passwords.verify(b"x", &stored), Ok(()));
                    assert_eq!(passwords.verify(b"y", &stored), Err(VerifyError::Mismatch));
                }
            });
        }
    });
}

#[test]
fn presets_have_the_published_costs() {
    let costs = |name: &str| {
        let policy = Preset::by_name(name).expect("a preset").policy();
        let params = policy.params();
        (params.memory_kib(), params.passes(), params.lanes(), policy.tag_len())
    };
    assert_eq!(costs("owasp"), (19 * 1024, 2, 1, 32));
    assert_eq!(costs("rfc9106-first"), (2 * 1024 * 1024, 1, 4, 32));
    assert_eq!(costs("rfc9106-second"), (64 * 1024, 3, 4, 32));
    assert_eq!(costs("libsodium-moderate"), (256 * 1024, 3, 1, 32));
    // The costs that Argon2Sharp computes, and those that its benchmark's table claims.
    assert_eq!(costs("argon2sharp-test"), (32, 3, 4, 32));
    assert_eq!(costs("argon2sharp-test-labelled"), (1024, 1, 1, 32));
    assert_eq!(costs("argon2sharp-high-labelled"), (256 * 1024, 6, 4, 64));
}
