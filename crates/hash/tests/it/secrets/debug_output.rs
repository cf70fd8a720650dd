//! `Debug` output without keys, passwords or tags: every public type is either shown with a secret inside, or
//! listed here with the reason why it holds none.

use hashmill_hash::argon2::hazmat::{Memory, PreparedHash};
use hashmill_hash::argon2::{self, Arena, Input, PagePolicy, Params, Steps};
use hashmill_hash::blake3::hazmat::{Mode, State};
use hashmill_hash::blake3::{self, BufferedHasher, Context, Subtrees};
use hashmill_hash::engine::SubtreeEngine;
use hashmill_hash::password::{
    CreateError, Login, NewPassword, PasswordHash, Passwords, Policy, VerifyError,
};
use hashmill_testkit::secret_scan::{leak, public_types};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

/// Passed wherever a secret is taken.
const SECRET: &[u8; 32] = b"Tell nobody: \xf1\x00\x07 the cellar key!";

/// Types that cannot hold a secret, or that are meant to be shown.
const PLAIN: &[(&str, &str)] = &[
    ("argon2::Arenas", "omits its memory, which is wiped"),
    ("argon2::Batches", "a name, and settings of hashers"),
    ("argon2::HashError", "lengths and names"),
    ("argon2::HitChecker", "a function and memory of hashes that are not secret"),
    ("argon2::HitQueue", "a count"),
    ("argon2::InFlightRate", "a count and a rate"),
    ("argon2::PageKind", "a choice"),
    ("argon2::PagePolicy", "a choice"),
    ("argon2::Params", "costs"),
    ("argon2::ParamsError", "costs"),
    ("argon2::Plan", "a kernel and its settings"),
    ("argon2::Pow", "a public function"),
    ("argon2::Recipe", "lengths"),
    ("argon2::Step", "counts"),
    ("stop::Stop", "a flag"),
    ("argon2::Table", "has no `Debug`"),
    ("argon2::Variant", "a choice"),
    ("argon2::Version", "a choice"),
    ("argon2::Wipe", "a choice"),
    ("argon2::Block", "has no `Debug`"),
    ("argon2::SingleThread", "searches public headers"),
    ("argon2::ThreadPool", "searches public headers"),
    ("blake3::Choice", "names of kernels"),
    ("blake3::Hash", "a digest, which is public"),
    ("blake3::HexString", "a digest, which is public"),
    ("blake3::HexError", "a length or one byte of malformed input"),
    ("blake3::Table", "has no `Debug`"),
    ("kernels::Kernel", "a name"),
    ("blake3::Plan", "a kernel and its settings"),
    ("blake3::Role", "a choice"),
    ("blake3::Tuning", "a kernel and its settings"),
    ("engine::BatchLimits", "sizes"),
    ("engine::EngineError", "lengths and names"),
    ("engine::Hit", "a nonce and its digest, which are public"),
    ("engine::NonceJob", "a header and a target, which are public"),
    ("engine::NonceLimits", "sizes"),
    ("engine::SearchProgress", "counts"),
    ("engine::EngineShare", "the name, the counts and the error of an engine"),
    ("engine::StagingPool", "omits its memory"),
    ("engine::Subtree", "a chaining value, which is a result"),
    ("engine::SubtreeLimits", "sizes"),
    ("engine::EngineGroup", "names and errors of engines"),
    ("engine::Lease", "a header and nonces, which are public"),
    ("engine::OpenLease", "a lease and a count"),
    ("engine::Order", "a choice"),
    ("engine::RangeSearch", "a header and a count"),
    ("engine::Tile", "an offset and a length"),
    ("engine::SearchMonitor", "a flag and a count"),
    ("engine::Work", "a header and a bound, which are public"),
    ("isa::Cpu", "facts of the processor"),
    ("isa::Feature", "facts of the processor"),
    ("isa::Features", "facts of the processor"),
    ("isa::Vendor", "facts of the processor"),
    ("password::Difference", "costs"),
    ("password::Digest", "a choice"),
    ("password::HashPrefix", "a choice"),
    ("password::Limits", "costs"),
    ("password::Malformed", "the expected syntax"),
    ("password::OverLimit", "costs"),
    ("password::PhcError", "offsets and costs"),
    ("password::PolicyComparison", "a comparison"),
    ("password::Policy", "costs"),
    ("password::PolicyError", "costs"),
    ("password::Prehash", "a choice"),
    ("password::Preset", "costs"),
    ("password::Quantity", "a choice"),
    ("password::Scheme", "costs"),
    ("password::StoredError", "offsets, costs and names of functions"),
    ("password::Syntax", "a choice"),
    ("process::PerProcess", "uses the `Debug` of its value"),
    ("work_sharing::Threads", "a choice"),
];

/// Types that can hold a secret, with one inside.
fn shown() -> Vec<(&'static str, String)> {
    let mut shown = Vec::new();
    let mut show = |name: &'static str, value: &dyn Debug| {
        shown.push((name, format!("{value:?} {value:#?} {value:x?}")));
    };
    keyed(&mut show);
    memory(&mut show);
    passwords(&mut show);
    foreign(&mut show);
    shown
}

fn keyed(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    for mode in [Mode::KeyedHash(SECRET), Mode::DeriveKeyMaterial(SECRET)] {
        show("blake3::Mode", &mode);
        let mut hasher = blake3::Hasher::with_mode(&mode);
        show("blake3::Hasher", &hasher);
        show("blake3::OutputReader", &hasher.finalize_xof());
        // With less than a block, the hasher contains the message itself.
        hasher.update(SECRET);
        show("blake3::Hasher", &hasher);
        show("blake3::OutputReader", &hasher.finalize_xof());
        let mut buffered = BufferedHasher::new(hasher);
        buffered.update(SECRET);
        show("blake3::BufferedHasher", &buffered);
        let mut context = Context::with(blake3::Plan::host(), &mode, 1).expect("no threads");
        context.hash(SECRET, blake3::Threads::Serial);
        show("blake3::Context", &context);
        let mut state = State::new(&mode);
        show("blake3::State", &state);
        state.update(SECRET);
        show("blake3::State", &state);
        let engine = Subtrees::new(blake3::Plan::host(), &mode, 1024, 1).expect("a tile");
        show("blake3::Subtrees", &engine);
        let mut staging = engine.stage().expect("this process's").expect("memory");
        staging[..SECRET.len()].copy_from_slice(SECRET);
        show("engine::Staging", &staging);
    }
}

fn memory(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    let input = Input::new(SECRET, SECRET);
    show("argon2::Input", &input);
    // The tag belongs to the caller, but must not be shown.
    show("argon2::Job", &argon2::Job { input, tag: &mut SECRET.clone() });
    let params = Params::new(8, 1, 1).expect("within the limits");
    let mut hasher = argon2::Hasher::new(params).wipe(argon2::Wipe::OnDrop);
    hasher.hash::<32>(&input).expect("a tag");
    show("argon2::Hasher", &hasher);
    let arena: &mut Arena = hasher.arena();
    show("argon2::Arena", arena);
    let steps: Steps = hasher.steps(&input, 32).expect("memory");
    show("argon2::Steps", &steps);
    let mut arena = Arena::new(PagePolicy::Plain);
    let memory = Memory::Arena(&mut arena);
    show("argon2::Memory", &memory);
    let prepared = PreparedHash::new(argon2::Plan::host(), params, 0x13, &input, 32, memory).expect("memory");
    show("argon2::PreparedHash", &prepared);
}

fn passwords(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    let stored = PasswordHash::new(Params::new(8, 1, 1).expect("costs"), SECRET.to_vec(), SECRET.to_vec());
    let stored = stored.with_draft_parts(SECRET.to_vec(), SECRET.to_vec());
    show("password::PasswordHash", &stored);
    let text = stored.to_string();
    show("password::Login", &Login { password: SECRET, stored: &text });
    show("password::NewPassword", &NewPassword { password: SECRET, salt: SECRET });
    let policy = |memory| Policy::new(Params::new(memory, 1, 1).expect("within the limits"));
    let passwords = Passwords::new(policy(8)).secret(SECRET.to_vec());
    let stored = passwords.hash(SECRET, SECRET).expect("a hash");
    show("password::Passwords", &passwords);
    let error: VerifyError = passwords.verify(b"another", stored.to_string()).expect_err("another password");
    show("password::VerifyError", &error);
    show("password::VerifyError", &passwords.verify(SECRET, &text).expect_err("a keyid"));
    let error: CreateError = passwords.hash(SECRET, &SECRET.repeat(3)).expect_err("a long salt");
    show("password::CreateError", &error);
    let costlier = Passwords::new(policy(64)).secret(SECRET.to_vec());
    let upgraded = costlier.verify_and_upgrade(SECRET, stored.to_string(), SECRET).expect("a match");
    show("password::Verified", &upgraded);
}

#[cfg(feature = "foreign")]
fn foreign(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    use base64ct::{Base64Unpadded, Encoding as _};
    use hashmill_hash::password::foreign::StoredHash;
    use hashmill_hash::password::{Limits, Syntax};

    // The salt and the tag.
    let mut buffer = [0; 64];
    let secret =
        Base64Unpadded::encode(SECRET, &mut buffer).expect("64 characters suffice").replace('+', ".");
    let text = format!("$pbkdf2-sha256$1000${secret}${secret}");
    let stored = StoredHash::decode(text, Syntax::Strict, &Limits::RECOMMENDED).expect("a string of passlib");
    show("password::StoredHash", &stored);
    show("password::ForeignHash", stored.foreign().expect("not of Argon2"));
}

/// The types do not exist, so nothing can show them.
#[cfg(not(feature = "foreign"))]
fn foreign(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    show("password::StoredHash", &());
    show("password::ForeignHash", &());
}

#[test]
fn no_debug_output_shows_a_secret() {
    for (name, text) in shown() {
        if let Some(shape) = leak(&text, SECRET) {
            panic!("{name} shows {shape:?}: {text}");
        }
    }
}

#[test]
fn every_public_type_is_covered() {
    let all = public_types(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let plain: Vec<_> = PLAIN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let covered: BTreeSet<String> = shown().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(plain.iter().all(|name| !covered.contains(name)), "listed as plain and shown with a secret");
    let named: BTreeSet<String> = covered.into_iter().chain(plain).collect();
    let missing: Vec<_> = all.difference(&named).collect();
    assert!(missing.is_empty(), "show each with a secret inside, or say why it holds none: {missing:?}");
    let gone: Vec<_> = named.difference(&all).collect();
    assert!(gone.is_empty(), "no such types: {gone:?}");
}
