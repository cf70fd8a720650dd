//! The traits of `password-hash`: the same results through that crate's interface.

use hashmill_hash::argon2::{Params, Variant, Version};
use hashmill_hash::password::{Passwords, Policy};
use password_hash::phc::PasswordHash;
use password_hash::{CustomizedPasswordHasher, Error, PasswordHasher, PasswordVerifier};

const SALT: &[u8; 16] = b"sixteen bytes ok";

fn cheap() -> Passwords {
    Passwords::new(Policy::new(Params::new(64, 1, 1).expect("good costs")))
}

#[test]
fn trait_hashes_equal_native_hashes() {
    let stored: PasswordHash = cheap().hash_password_with_salt(b"x", SALT).expect("a hash");
    assert_eq!(stored.to_string(), cheap().hash(b"x", SALT).expect("a hash").to_string());
    assert_eq!(cheap().verify_password(b"x", &stored), Ok(()));
    assert_eq!(cheap().verify_password(b"y", &stored), Err(Error::PasswordInvalid));
    assert_eq!(cheap().verify_password(b"x", &*stored.to_string()), Ok(()));
    assert_eq!(cheap().verify_password(b"y", &*stored.to_string()), Err(Error::PasswordInvalid));
}

#[test]
fn custom_costs_and_variants() {
    let params = Params::new(80, 2, 2).expect("good costs");
    let policy = Policy::new(params).with_tag_len(24).expect("a length");
    let stored =
        cheap().hash_password_customized(b"x", SALT, Some("argon2d"), Some(16), policy).expect("a hash");
    assert!(stored.to_string().starts_with("$argon2d$v=16$m=80,t=2,p=2$"), "{stored}");
    assert_eq!(cheap().verify_password(b"x", &stored), Ok(()));
    let read = Policy::try_from(&stored).expect("a policy");
    assert_eq!(read.params(), params.with_variant(Variant::D).with_version(Version::V10));
    assert_eq!(read.tag_len(), 24);
    let bad =
        |name, version| cheap().hash_password_customized(b"x", SALT, name, version, policy).unwrap_err();
    assert_eq!(bad(Some("scrypt"), None), Error::Algorithm);
    assert_eq!(bad(None, Some(18)), Error::Version);
}

#[test]
fn missing_version_is_version_1_0() {
    let old = Policy::new(Params::new(64, 1, 1).expect("good costs").with_version(Version::V10));
    let stored = Passwords::new(old).hash(b"x", SALT).expect("a hash").to_string();
    let unversioned = stored.replacen("$v=16", "", 1);
    assert_eq!(cheap().verify_password(b"x", &*unversioned), Ok(()));
    assert_eq!(cheap().verify_password(b"x", &PasswordHash::new(&unversioned).expect("PHC")), Ok(()));
}

#[test]
fn limits_apply_to_every_entry_point() {
    for (costs, error) in [
        ("m=4294967295,t=1,p=1", Error::ParamInvalid { name: "m" }),
        ("m=64,t=4294967295,p=1", Error::ParamInvalid { name: "t" }),
        ("m=64,t=0,p=1", Error::ParamInvalid { name: "t" }),
        ("m=64,t=1,p=9", Error::ParamInvalid { name: "m" }),
        ("m=256,t=1000,p=1", Error::ParamsInvalid),
    ] {
        let text = format!("$argon2id$v=19${costs}$c29tZXNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA");
        assert_eq!(cheap().verify_password(b"x", &*text), Err(error), "{costs}");
        assert_eq!(
            cheap().verify_password(b"x", &PasswordHash::new(&text).expect("PHC")),
            Err(error),
            "{costs}"
        );
    }
    let data = "$argon2id$v=19$m=64,t=1,p=1,data=AAAA$c29tZXNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA";
    let result = cheap().verify_password(b"x", &PasswordHash::new(data).expect("PHC"));
    assert_eq!(result, Err(Error::ParamInvalid { name: "data" }));
    assert_eq!(cheap().verify_password(b"x", "nonsense"), Err(Error::Algorithm));
}
