//! No `Debug` output shows a key, a password or a tag: every public type is either shown with a secret inside, or named
//! here with the reason why none can be.

use hashmill_hash::argon2::hazmat::{Begun, Memory};
use hashmill_hash::argon2::{self, Arena, Input, PagePolicy, Params, Steps};
use hashmill_hash::blake3::hazmat::{Mode, State};
use hashmill_hash::blake3::{self, BufferedHasher, Context, Subtrees};
use hashmill_hash::engine::SubtreeEngine;
use hashmill_hash::password::{
    CreateError, Login, NewPassword, PasswordHash, Passwords, Policy, VerifyError,
};
use hashmill_testkit::secret::{leak, public_types};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

/// Given in every place that takes a secret.
const SECRET: &[u8; 32] = b"Tell nobody: \xf1\x00\x07 the cellar key!";

/// What cannot hold a secret, or is made to be shown.
const PLAIN: &[(&str, &str)] = &[
    ("argon2::Arenas", "shows nothing of its memory, which was wiped"),
    ("argon2::Batches", "a name, and settings of hashers"),
    ("argon2::HashError", "lengths and names"),
    ("argon2::Order", "a choice"),
    ("argon2::PageKind", "a choice"),
    ("argon2::PagePolicy", "a choice"),
    ("argon2::Params", "costs"),
    ("argon2::ParamsError", "costs"),
    ("argon2::Plan", "a kernel and its settings"),
    ("argon2::Pow", "a function, known to all who mine"),
    ("argon2::Recipe", "lengths"),
    ("argon2::Step", "numbers of pieces"),
    ("stop::Stop", "a flag"),
    ("argon2::Table", "has no `Debug`"),
    ("argon2::Variant", "a choice"),
    ("argon2::Version", "a choice"),
    ("argon2::Wipe", "a choice"),
    ("argon2::Block", "has no `Debug`"),
    ("argon2::SingleThread", "searches in what is public"),
    ("argon2::ThreadPool", "searches in what is public"),
    ("blake3::Choice", "names of kernels"),
    ("blake3::Hash", "an answer, made to be shown"),
    ("blake3::HexString", "an answer, made to be shown"),
    ("blake3::HexError", "a length or one byte of what was no digest"),
    ("blake3::Table", "has no `Debug`"),
    ("kernels::Kernel", "a name"),
    ("blake3::Plan", "a kernel and its settings"),
    ("blake3::Role", "a choice"),
    ("blake3::Tuning", "a kernel and its settings"),
    ("engine::BatchLimits", "sizes"),
    ("engine::EngineError", "lengths and names"),
    ("engine::Hit", "a nonce and its digest, to be shown to others"),
    ("engine::NonceJob", "a header and a target, known to all who mine"),
    ("engine::NonceLimits", "sizes"),
    ("engine::Searched", "counts"),
    ("engine::Share", "the name of an engine, how much it has done, and why it fell out"),
    ("engine::StagingPool", "shows nothing of its memory"),
    ("engine::Subtree", "a value of a tree, which is an answer"),
    ("engine::SubtreeLimits", "sizes"),
    ("engine::Together", "names of engines, and what became of them"),
    ("engine::Tile", "a place"),
    ("engine::Watch", "a flag and a count"),
    ("isa::Cpu", "facts of the processor"),
    ("isa::Feature", "facts of the processor"),
    ("isa::Features", "facts of the processor"),
    ("isa::Vendor", "facts of the processor"),
    ("password::Difference", "costs"),
    ("password::Digest", "a choice"),
    ("password::Form", "a choice"),
    ("password::Limits", "costs"),
    ("password::Malformed", "what was expected"),
    ("password::OverLimit", "costs"),
    ("password::PhcError", "offsets and costs"),
    ("password::Standing", "a comparison"),
    ("password::Policy", "costs"),
    ("password::PolicyError", "costs"),
    ("password::Prehash", "a choice"),
    ("password::Preset", "costs"),
    ("password::Quantity", "a choice"),
    ("password::Scheme", "costs"),
    ("password::StoredError", "offsets, costs and names of functions"),
    ("password::Syntax", "a choice"),
    ("process::PerProcess", "shows what it holds as that shows itself"),
    ("work_sharing::Threads", "a choice"),
];

/// What can hold one, with one inside.
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
        // Of less than a block, the message lies in the hasher as it is.
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
    // The tag is the caller's, and an answer; but one that must not be shown.
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
    let begun = Begun::new(argon2::Plan::host(), params, 0x13, &input, 32, memory).expect("memory");
    show("argon2::Begun", &begun);
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
    let made = passwords.hash(SECRET, SECRET).expect("a hash");
    show("password::Passwords", &passwords);
    let error: VerifyError = passwords.verify(b"another", made.to_string()).expect_err("another password");
    show("password::VerifyError", &error);
    show("password::VerifyError", &passwords.verify(SECRET, &text).expect_err("a keyid"));
    let error: CreateError = passwords.hash(SECRET, &SECRET.repeat(3)).expect_err("a long salt");
    show("password::CreateError", &error);
    let costlier = Passwords::new(policy(64)).secret(SECRET.to_vec());
    let upgraded = costlier.verify_and_upgrade(SECRET, made.to_string(), SECRET).expect("a match");
    show("password::Verified", &upgraded);
}

#[cfg(feature = "foreign")]
fn foreign(show: &mut dyn FnMut(&'static str, &dyn Debug)) {
    use base64ct::{Base64Unpadded, Encoding as _};
    use hashmill_hash::password::foreign::StoredHash;
    use hashmill_hash::password::{Limits, Syntax};

    // The salt and the tag.
    let mut room = [0; 64];
    let secret = Base64Unpadded::encode(SECRET, &mut room).expect("room").replace('+', ".");
    let text = format!("$pbkdf2-sha256$1000${secret}${secret}");
    let stored = StoredHash::decode(text, Syntax::Strict, &Limits::RECOMMENDED).expect("a string of passlib");
    show("password::StoredHash", &stored);
    show("password::ForeignHash", stored.foreign().expect("not of Argon2"));
}

/// They are not there, so nothing can show them.
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
fn every_public_type_is_looked_at() {
    let all = public_types(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let plain: Vec<_> = PLAIN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let seen: BTreeSet<String> = shown().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(plain.iter().all(|name| !seen.contains(name)), "of two minds");
    let named: BTreeSet<String> = seen.into_iter().chain(plain).collect();
    let missing: Vec<_> = all.difference(&named).collect();
    assert!(missing.is_empty(), "show each with a secret inside, or say why it holds none: {missing:?}");
    let gone: Vec<_> = named.difference(&all).collect();
    assert!(gone.is_empty(), "no such types: {gone:?}");
}
