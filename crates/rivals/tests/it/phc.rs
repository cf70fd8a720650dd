//! Password strings compared with RustCrypto's crates, argon2-cffi and the reference program.

use std::io::Write as _;
use std::process::{Command, Stdio};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use hashmill_hash::argon2::{Params, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Passwords, Policy, Syntax, VerifyError};
use hashmill_testkit::{Rng, skip};

/// A random password and its hash by Hashmill, with lengths of salt and tag in the given ranges.
fn random_hash(rng: &mut Rng, salt: (usize, usize), tag: (usize, usize)) -> (Vec<u8>, PasswordHash) {
    let between = |rng: &mut Rng, (min, max): (usize, usize)| min + rng.below(max - min + 1);
    let lanes = 1 + rng.below(5) as u32;
    let params = Params::new(8 * lanes + rng.below(300) as u32, 1 + rng.below(3) as u32, lanes);
    let mut params = params.expect("good costs").with_variant(Variant::ALL[rng.below(3)]);
    if rng.below(4) == 0 {
        params = params.with_version(Version::V10);
    }
    let policy = Policy::new(params).with_tag_len(between(rng, tag)).expect("a length");
    let len = between(rng, salt);
    let (password_len, salt) = (rng.below(200), rng.bytes(len));
    let password = rng.bytes(password_len);
    let hash = Passwords::new(policy).hash(&password, &salt).expect("a hash");
    (password, hash)
}

#[test]
fn rustcrypto_and_hashmill_read_each_others_strings() {
    let mut rng = Rng::new(6);
    let (hashmill, rustcrypto) = (Passwords::default(), Argon2::default());
    for _ in 0..300 {
        let (password, hash) = random_hash(&mut rng, (8, 48), (16, 64));
        let text = hash.to_string();
        assert_eq!(rustcrypto.verify_password(&password, &*text), Ok(()), "{text}");
        let wrong = [&password[..], b"?"].concat();
        assert!(rustcrypto.verify_password(&wrong, &*text).is_err());
        assert_eq!(hashmill.verify(&wrong, &text), Err(VerifyError::Mismatch));

        let params = hash.params();
        let algorithm: argon2::Algorithm = params.variant().name().parse().expect("a name of both");
        let version = argon2::Version::try_from(params.version().number()).expect("a version of both");
        let costs =
            argon2::Params::new(params.memory_kib(), params.passes(), params.lanes(), Some(hash.tag_len()));
        let hasher = Argon2::new(algorithm, version, costs.expect("costs of both"));
        let rustcrypto_text =
            hasher.hash_password_with_salt(&password, hash.salt()).expect("a hash").to_string();
        assert_eq!(rustcrypto_text, text, "one canonical string");
    }
}

/// RustCrypto writes `keyid=` and `data=` of early drafts, and binds the tag to the data.
#[test]
fn data_of_early_drafts_is_computed_as_rustcrypto_does() {
    let mut rng = Rng::new(7);
    let lenient = Passwords::default().syntax(Syntax::Lenient);
    for _ in 0..60 {
        let len = 1 + rng.below(32);
        let data = rng.bytes(len);
        let mut builder = argon2::ParamsBuilder::new();
        builder.m_cost(64 + rng.below(100) as u32).t_cost(1).p_cost(1);
        builder.data(argon2::AssociatedData::new(&data).expect("at most 32 bytes"));
        if rng.below(2) == 0 {
            builder.keyid(argon2::KeyId::new(&data[..len.min(8)]).expect("at most 8 bytes"));
        }
        let costs = builder.build().expect("good costs");
        let hasher = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, costs);
        let text = hasher.hash_password_with_salt(b"password", b"somesalt").expect("a hash").to_string();
        assert_eq!(lenient.verify(b"password", &text), Ok(()), "{text}");
        assert_eq!(lenient.verify(b"Password", &text), Err(VerifyError::Mismatch));
        let hash = PasswordHash::decode(&text, Syntax::Lenient, &Limits::RECOMMENDED).expect("read before");
        assert_eq!((hash.associated_data(), hash.to_string()), (&data[..], text));
    }
}

/// An implementation's result for a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Yes,
    Mismatch,
    No,
}

fn hashmill_verdict(text: &str) -> Verdict {
    // The reference has a minimum length of salts, and no other limit that these strings reach.
    let mut limits = Limits::NONE;
    limits.min_salt = 8;
    match Passwords::default().limits(limits).verify(b"password", text) {
        Ok(()) => Verdict::Yes,
        Err(VerifyError::Mismatch) => Verdict::Mismatch,
        Err(VerifyError::Phc(_)) => Verdict::No,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Strings for the password "password": valid ones, and invalid ones with one fault each.
fn probes() -> Vec<String> {
    let hash = |version, salt: &[u8], tag_len| {
        let params = Params::new(64, 2, 1).expect("good costs").with_version(version);
        let policy = Policy::new(params).with_tag_len(tag_len).expect("a length");
        Passwords::new(policy).hash(b"password", salt).expect("a hash").to_string()
    };
    let good = hash(Version::V13, b"somesalt", 32);
    let mut probes: Vec<String> = [4, 9, 16, 64, 128].map(|len| hash(Version::V13, b"somesalt", len)).into();
    probes.extend([8, 16, 48, 64].map(|len| hash(Version::V13, &vec![b's'; len], 32)));
    let old = hash(Version::V10, b"somesalt", 32);
    probes.extend([
        old.clone(),
        old.replace("$v=16", ""),
        good.replace("$v=19", ""),
        good.replace("19", "16"),
    ]);
    for (part, other) in [
        ("m=64,t=2,p=1", "t=2,m=64,p=1"),
        (",p=1", ""),
        ("m=64", "m=64,m=64"),
        ("p=1", "p=1,x=1"),
        ("p=1", "p=1,keyid=AAAA"),
        ("p=1", "p=1,data=AAAA"),
        ("m=64", "m=064"),
        ("m=64", "m=+64"),
        ("m=64", "m=-64"),
        ("m=64", "m= 64"),
        ("m=64", "m="),
        ("m=64", "m=4294967296"),
        ("m=64", "m=7"),
        ("t=2", "t=0"),
        ("p=1", "p=0"),
        ("p=1", "p=16777216"),
        ("v=19", "v="),
        ("v=19", "v=4294967296"),
        ("v=19$", "v=19,"),
        ("argon2id", "Argon2id"),
        ("argon2id", "argon2"),
        ("argon2id", "argon2i"),
        ("c29tZXNhbHQ", "c29tZXNhbHR"),
        ("c29tZXNhbHQ", "c29tZXNhbHQ="),
        ("c29tZXNhbHQ", "c29tZXNhbA"),
        ("c29tZXNhbHQ", ""),
        ("c29tZXNhbHQ", "c29t ZXNhbHQ"),
        ("c29tZXNhbHQ", "c29tZXNh-HQ"),
    ] {
        assert!(good.contains(part));
        probes.push(good.replacen(part, other, 1));
    }
    let (front, _) = good.rsplit_once('$').expect("a tag");
    probes.extend([format!("{good}$"), format!("{good} "), format!("{good}="), format!("{front}$")]);
    probes.extend([front.to_owned(), format!("x{good}"), good[..good.len() - 1].to_owned()]);
    probes
}

/// The reference's decoder, as argon2-cffi ships it, accepts exactly the strings of Hashmill's strict syntax.
#[test]
fn reference_decoder_accepts_the_same_strings() {
    const PROGRAM: &str = "
import sys
from argon2 import PasswordHasher
from argon2.exceptions import *
for line in sys.stdin.read().split('\\0'):
    try:
        print('Yes' if PasswordHasher().verify(line, 'password') else 'No')
    except VerifyMismatchError:
        print('Mismatch')
    except (VerificationError, InvalidHashError):
        print('No')
";
    let probes = probes();
    let Some(answers) = python(PROGRAM, &probes.join("\0")) else {
        skip("argon2-cffi's view of password strings", "no argon2-cffi: pip install argon2-cffi");
        return;
    };
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), probes.len());
    let mut yes = 0;
    for (probe, expected) in probes.iter().zip(answers) {
        let verdict = hashmill_verdict(probe);
        assert_eq!(format!("{verdict:?}"), expected, "{probe}");
        yes += usize::from(verdict == Verdict::Yes);
    }
    assert!(yes >= 11, "only {yes} good strings: the test proves little");
}

/// argon2-cffi's own hashes, with its defaults and its profiles.
#[test]
fn hashes_of_argon2_cffi_verify() {
    const PROGRAM: &str = "
from argon2 import PasswordHasher, Type
for args in [{}, dict(time_cost=1, memory_cost=1024, parallelism=8), dict(memory_cost=8, time_cost=1, parallelism=1, hash_len=16),
             dict(type=Type.I, salt_len=8), dict(type=Type.D, salt_len=64, hash_len=100)]:
    print(PasswordHasher(**args).hash('password'))
";
    let Some(answers) = python(PROGRAM, "") else {
        skip("argon2-cffi's hashes", "no argon2-cffi: pip install argon2-cffi");
        return;
    };
    assert_eq!(answers.lines().count(), 5);
    for text in answers.lines() {
        assert_eq!(Passwords::default().verify(b"password", text), Ok(()), "{text}");
        assert_eq!(Passwords::default().verify(b"Password", text), Err(VerifyError::Mismatch));
        let hash: PasswordHash = text.parse().expect("read before");
        assert_eq!(hash.to_string(), text, "one canonical string");
    }
}

/// The output of a Python program, if Python and argon2-cffi are installed.
fn python(program: &str, input: &str) -> Option<String> {
    let works = Command::new("python3").args(["-c", "import argon2.exceptions"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return None;
    }
    Some(run_with_input(Command::new("python3").args(["-c", program]), input.as_bytes()))
}

fn run_with_input(command: &mut Command, input: &[u8]) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("an installed program");
    child.stdin.take().expect("a pipe").write_all(input).expect("a reader");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The program of the reference implementation, as Debian packages it.
#[test]
fn strings_of_the_reference_program_verify() {
    let installed = Command::new("argon2").arg("-h").output();
    if !installed.is_ok_and(|output| output.stdout.starts_with(b"Usage:")) {
        skip("strings of the reference implementation's program", "no `argon2`: apt-get install argon2");
        return;
    }
    let mut rng = Rng::new(8);
    for round in 0..40 {
        let lanes = 1 + rng.below(6);
        let costs = [1 + rng.below(4), 8 * lanes + rng.below(500), lanes, 16 + rng.below(100)];
        let [passes, memory, lanes, len] = costs.map(|cost| cost.to_string());
        let salt: String = (0..8 + rng.below(30)).map(|_| char::from(b'!' + rng.below(90) as u8)).collect();
        let salt = salt.replace('-', "_");
        let mut command = Command::new("argon2");
        command.args([&salt, ["-d", "-i", "-id"][round % 3], "-e", "-t", &passes, "-k", &memory]);
        command.args(["-p", &lanes, "-l", &len, "-v", if round % 4 == 0 { "10" } else { "13" }]);
        let password_len = 1 + rng.below(126);
        let password = rng.bytes(password_len);
        let text = run_with_input(&mut command, &password);
        let text = text.trim_end();
        assert_eq!(Passwords::default().verify(&password, text), Ok(()), "{text}");
        assert_eq!(text.parse::<PasswordHash>().map(|hash| hash.to_string()).as_deref(), Ok(text));
    }
}
