//! Passwords: hashes to store, and checks.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, HM_SYSTEM, hm_error};
use super::pointers::{call, free, given, hm_bytes, hm_owner, hm_room, hm_span, hm_spans, slot, unused};
use super::pool::hm_pool;
use core::mem::MaybeUninit;
use core::ptr;
use hashmill_hash::argon2::{Params, Threads, Variant};
use hashmill_hash::blake3::hazmat::forgetting;
use hashmill_hash::engine::Stop;
use hashmill_hash::password::{Limits, Login, PasswordHash, Passwords, Policy, Preset, Syntax};
use zeroize::{Zeroize, Zeroizing};

/// The costs and lengths of new hashes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_policy {
    /// Variant: 0 for Argon2d, 1 for Argon2i, 2 for Argon2id.
    variant: u32,
    /// Memory in KiB.
    memory_kib: u32,
    /// Passes over it.
    passes: u32,
    /// Lanes, which threads may share.
    lanes: u32,
    /// Bytes of salt.
    salt_len: u32,
    /// Bytes of the tag.
    tag_len: u32,
}

/// How passwords are checked. All zeros are good defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_password_options {
    /// A key that is stored apart from the hashes and mixed into all of them ("pepper"). The library's copy is wiped.
    secret: hm_span,
    /// Maximum memory of all threads together, in KiB; 0 for no bound. Calls wait for their turn, each on its own thread, without
    /// a pool.
    memory_budget_kib: u64,
    /// Maximum memory that a stored string may need, in KiB. 0, as for the next three fields, means eight times the value of the
    /// policy.
    most_memory_kib: u32,
    /// Passes.
    most_passes: u32,
    /// Lanes.
    most_lanes: u32,
    /// Not 0: strings of some other implementations are read, too.
    lenient: u32,
    /// Memory times passes.
    most_work_kib: u64,
    /// Reserved for later versions: 0.
    reserved: [u64; 4],
}

/// The result of one of many logins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_verdict {
    /// NULL if the password matches. It is freed with the list.
    error: *const hm_error,
    /// Whether a new hash should be stored.
    upgrade: bool,
}

/// The results of many logins, in their order.
#[repr(C)]
#[derive(Debug)]
pub struct hm_verdicts {
    /// The first.
    items: *const hm_verdict,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// Makes and checks hashes of passwords. It reuses the wiped memory of earlier hashes. Several threads may use it at the same
/// time.
#[derive(Debug)]
pub struct hm_passwords {
    serial: Passwords,
    on_pool: Option<(hm_pool, Passwords)>,
    limits: Limits,
    syntax: Syntax,
}

impl hm_policy {
    fn from_policy(policy: &Policy) -> hm_policy {
        let params = policy.params();
        let variant = Variant::ALL.iter().position(|variant| *variant == params.variant());
        hm_policy {
            variant: variant.map_or(u32::MAX, |number| number as u32),
            memory_kib: params.memory_kib(),
            passes: params.passes(),
            lanes: params.lanes(),
            salt_len: policy.salt_len() as u32,
            tag_len: policy.tag_len() as u32,
        }
    }

    fn policy(&self) -> Result<Policy, hm_error> {
        let unknown = || {
            hm_error::new(
                HM_ARGUMENT,
                format!("policy.variant: {} is not a variant: 0, 1 or 2", self.variant),
            )
        };
        let variant = Variant::ALL.get(self.variant as usize).ok_or_else(unknown)?;
        let params = Params::new(self.memory_kib, self.passes, self.lanes)?.with_variant(*variant);
        let policy = Policy::new(params).with_salt_len(self.salt_len as usize)?;
        Ok(policy.with_tag_len(self.tag_len as usize)?)
    }
}

impl hm_passwords {
    /// Works on the threads of the pool, if there are some.
    fn work<T: Send>(&self, work: impl FnOnce(&Passwords) -> T + Send) -> T {
        match self.on_pool.as_ref().and_then(|(pool, passwords)| Some((pool.here()?, passwords))) {
            Some((pool, passwords)) => pool.install(|| work(passwords)),
            None => work(&self.serial),
        }
    }

    fn policy(&self) -> &Policy {
        self.serial.policy()
    }

    /// The salt that was given, or a random one.
    fn salt(&self, given: hm_span) -> Result<Vec<u8>, hm_error> {
        let mut salt = given.bytes("salt")?.to_vec();
        if salt.is_empty() {
            salt.resize(self.policy().salt_len(), 0);
            getrandom::fill(&mut salt).map_err(|error| hm_error::from_display(HM_SYSTEM, &error))?;
        }
        Ok(salt)
    }

    /// Whether a new hash should be stored instead.
    fn is_outdated(&self, stored: &[u8]) -> Result<bool, hm_error> {
        let stored = PasswordHash::decode(stored, self.syntax, &self.limits)?;
        Ok(self.policy().wants_rehash(&stored))
    }
}

/// Does the work of a call that gets a password or a secret. It is wiped from the stack of this thread, but not from those of a
/// pool's threads.
fn wiping_stack(work: impl FnOnce() -> Result<(), hm_error>) -> Option<Box<hm_error>> {
    forgetting(|| call(work))
}

/// A recommended policy by its name: "owasp-19m", "rfc9106-second", "libsodium-interactive" and others.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_policy_preset(
    name: hm_span,
    policy: Option<&mut MaybeUninit<hm_policy>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let none = hm_policy { variant: 0, memory_kib: 0, passes: 0, lanes: 0, salt_len: 0, tag_len: 0 };
        let (out, name) = (slot(policy, none, "policy")?, name.text("name")?);
        let unknown = || {
            let names = Preset::ALL.iter().map(Preset::name).collect::<Vec<_>>().join(", ");
            hm_error::new(HM_ARGUMENT, format!("there is no policy {name}: choose one of {names}"))
        };
        *out = hm_policy::from_policy(&Preset::by_name(name).ok_or_else(unknown)?.policy());
        Ok(())
    })
}

/// Creates the object. `options` may be NULL. `pool` may be NULL: then the calling thread does the work alone.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_create(
    policy: Option<&hm_policy>,
    options: Option<&hm_password_options>,
    pool: Option<&hm_pool>,
    passwords: Option<&mut MaybeUninit<Option<Box<hm_passwords>>>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let out = slot(passwords, None, "passwords")?;
        let policy = given(policy, "policy")?.policy()?;
        let (mut limits, mut syntax) = (Limits::around(&policy), Syntax::Strict);
        let (mut secret, mut budget) = (Zeroizing::default(), 0);
        if let Some(options) = options {
            unused(&options.reserved, "options")?;
            let or = |given: u32, default| if given == 0 { default } else { given };
            limits.memory_kib = or(options.most_memory_kib, limits.memory_kib);
            limits.passes = or(options.most_passes, limits.passes);
            limits.lanes = or(options.most_lanes, limits.lanes);
            limits.work_kib =
                if options.most_work_kib == 0 { limits.work_kib } else { options.most_work_kib };
            syntax = if options.lenient == 0 { Syntax::Strict } else { Syntax::Lenient };
            secret = Zeroizing::new(options.secret.bytes("options.secret")?.to_vec());
            budget = options.memory_budget_kib;
        }
        let ready = |threads| {
            let passwords = Passwords::new(policy).limits(limits).syntax(syntax).threads(threads);
            let passwords = passwords.secret(secret.to_vec());
            if budget == 0 { passwords } else { passwords.memory_budget(budget) }
        };
        // A thread of a pool that waits for memory would block tasks that will release some.
        let on_pool = pool.filter(|_| budget == 0).map(|pool| (pool.clone(), ready(Threads::Auto)));
        *out = Some(Box::new(hm_passwords { serial: ready(Threads::Serial), on_pool, limits, syntax }));
        Ok(())
    })
}

/// The string to store for a new password. An empty `salt` means random bytes of the system, with the length of the policy.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_hash(
    passwords: Option<&hm_passwords>,
    password: hm_span,
    salt: hm_span,
    stored: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let (out, passwords) = (slot(stored, None, "stored")?, given(passwords, "passwords")?);
        let (password, salt) = (password.bytes("password")?, passwords.salt(salt)?);
        let hash = passwords.work(|passwords| passwords.hash(password, &salt))?;
        *out = Some(hm_bytes::new(hash.to_string()));
        Ok(())
    })
}

/// A request to stop. Any number of threads may use it at the same time.
#[derive(Debug, Default)]
pub struct hm_stop(Stop);

/// Creates a request that is not set.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_stop_create(
    stop: Option<&mut MaybeUninit<Option<Box<hm_stop>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        *slot(stop, None, "stop")? = Some(Box::default());
        Ok(())
    })
}

/// Asks the calls that use this request to end, from another thread or a signal handler. They end after a quarter of a pass at
/// most, with `HM_STOPPED`. So do later calls. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_stop_set(stop: Option<&hm_stop>) {
    if let Some(hm_stop(stop)) = stop {
        stop.set();
    }
}

/// Withdraws the request.
#[unsafe(no_mangle)]
pub extern "C" fn hm_stop_clear(stop: Option<&hm_stop>) {
    if let Some(hm_stop(stop)) = stop {
        stop.clear();
    }
}

/// Frees a request that no call uses any more, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_stop_free(stop: Option<Box<hm_stop>>) {
    free(stop);
}

/// As `hm_passwords_hash`, until `stop` is set.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_hash_until(
    passwords: Option<&hm_passwords>,
    password: hm_span,
    salt: hm_span,
    stop: Option<&hm_stop>,
    stored: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let (out, passwords) = (slot(stored, None, "stored")?, given(passwords, "passwords")?);
        let (password, salt) = (password.bytes("password")?, passwords.salt(salt)?);
        let hm_stop(stop) = given(stop, "stop")?;
        let hash = passwords.work(|passwords| passwords.hash_until(password, &salt, stop))?;
        *out = Some(hm_bytes::new(hash.to_string()));
        Ok(())
    })
}

/// As `hm_passwords_verify`, until `stop` is set.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_verify_until(
    passwords: Option<&hm_passwords>,
    password: hm_span,
    stored: hm_span,
    stop: Option<&hm_stop>,
    upgrade: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let upgrade = upgrade.map(|out| out.write(false));
        let (passwords, stored) = (given(passwords, "passwords")?, stored.bytes("stored")?);
        let (password, hm_stop(stop)) = (password.bytes("password")?, given(stop, "stop")?);
        let stored = PasswordHash::decode(stored, passwords.syntax, &passwords.limits)?;
        passwords.work(|passwords| passwords.verify_decoded_until(password, &stored, stop))?;
        if let Some(upgrade) = upgrade {
            *upgrade = passwords.policy().wants_rehash(&stored);
        }
        Ok(())
    })
}

/// NULL if a password matches a stored string; `HM_MISMATCH` if it does not. After a match `upgrade`, unless it is NULL, is true
/// if a new hash should be stored because the policy is stricter than the stored costs.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_verify(
    passwords: Option<&hm_passwords>,
    password: hm_span,
    stored: hm_span,
    upgrade: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let upgrade = upgrade.map(|out| out.write(false));
        let (passwords, stored) = (given(passwords, "passwords")?, stored.bytes("stored")?);
        let password = password.bytes("password")?;
        passwords.work(|passwords| passwords.verify(password, stored))?;
        if let Some(upgrade) = upgrade {
            *upgrade = passwords.is_outdated(stored)?;
        }
        Ok(())
    })
}

/// Takes the time of a check and never returns NULL: for a user name that does not exist.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_verify_dummy(
    passwords: Option<&hm_passwords>,
    password: hm_span,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let (passwords, password) = (given(passwords, "passwords")?, password.bytes("password")?);
        Ok(passwords.work(|passwords| passwords.verify_dummy(password))?)
    })
}

/// Many checks side by side: each password with its stored string.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_verify_many(
    passwords: Option<&hm_passwords>,
    given_passwords: hm_spans,
    stored: hm_spans,
    verdicts: Option<&mut MaybeUninit<Option<Box<hm_verdicts>>>>,
) -> Option<Box<hm_error>> {
    wiping_stack(|| {
        let (out, passwords) = (slot(verdicts, None, "verdicts")?, given(passwords, "passwords")?);
        let (words, strings) = (given_passwords.bytes("given_passwords")?, stored.spans("stored")?);
        if words.len() != strings.len() {
            let text = format!("{} passwords and {} stored strings", words.len(), strings.len());
            return Err(hm_error::new(HM_ARGUMENT, text));
        }
        let mut errors: Vec<Option<hm_error>> = Vec::with_capacity(words.len());
        let (mut logins, mut indices) = (Vec::with_capacity(words.len()), Vec::with_capacity(words.len()));
        for (index, (password, stored)) in words.iter().zip(strings).enumerate() {
            match stored.text(&format!("stored[{index}]")) {
                Ok(stored) => {
                    logins.push(Login { password, stored });
                    indices.push(index);
                    errors.push(None);
                }
                Err(error) => errors.push(Some(error)),
            }
        }
        let results = passwords.work(|passwords| passwords.verify_many(&logins));
        let mut items = vec![hm_verdict { error: ptr::null(), upgrade: false }; words.len()];
        for ((result, login), index) in results.into_iter().zip(&logins).zip(indices) {
            match result {
                Ok(()) => items[index].upgrade = passwords.is_outdated(login.stored.as_bytes())?,
                Err(error) => errors[index] = Some(error.into()),
            }
        }
        for (item, error) in items.iter_mut().zip(&errors) {
            item.error = error.as_ref().map_or(ptr::null(), ptr::from_ref);
        }
        let (first, len) = (items.as_ptr(), items.len());
        let owner = hm_owner::new((items, errors));
        *out = Some(Box::new(hm_verdicts { items: first, len, owner }));
        Ok(())
    })
}

/// Frees a list with its errors, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_verdicts_free(verdicts: Option<Box<hm_verdicts>>) {
    free(verdicts);
}

/// Frees the object, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_passwords_free(passwords: Option<Box<hm_passwords>>) {
    free(passwords);
}

/// Overwrites a password of the caller with zeros. The compiler cannot optimize this away.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_wipe(mut room: hm_room) -> Option<Box<hm_error>> {
    call(|| {
        room.bytes("room")?.zeroize();
        Ok(())
    })
}
