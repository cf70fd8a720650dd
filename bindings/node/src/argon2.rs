//! Argon2 with explicit parameters, as in the package `argon2`.

use std::mem;
use std::sync::{Arc, LazyLock};

use hashmill_hash::argon2::{Arenas, Hasher, Input, Params, Stop as StopFlag, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax};
use napi::bindgen_prelude::{AsyncTask, Buffer};
use napi_derive::napi;
use zeroize::Zeroizing;

use crate::error::Failure;
use crate::work::{Stop, Work};

/// Maximum memory kept for the next hash: 256 MiB.
static ARENAS: LazyLock<Arenas> = LazyLock::new(|| Arenas::new(256 << 10));

/// Minimum length of a salt in the reference implementation.
const MIN_SALT: usize = 8;

/// Costs and kind of a hash, with the names and numbers of the original package.
#[napi(object)]
pub struct Costs {
    pub memory_cost: u32,
    pub time_cost: u32,
    pub parallelism: u32,
    /// 0, 1, 2: d, i, id.
    #[napi(js_name = "type")]
    pub kind: u32,
    pub version: u32,
    pub hash_length: u32,
}

/// Limits of stored hashes.
#[napi(object)]
pub struct LimitsJs {
    pub memory_cost: u32,
    /// KiB times passes.
    pub work: f64,
}

/// The parameters of a stored hash.
#[napi(object, object_from_js = false)]
pub struct Stored {
    pub memory_cost: u32,
    pub time_cost: u32,
    pub parallelism: u32,
    pub version: u32,
}

/// The inputs of a hash besides its costs. Copies, which are wiped.
struct Inputs {
    password: Zeroizing<Vec<u8>>,
    secret: Zeroizing<Vec<u8>>,
    salt: Vec<u8>,
    associated_data: Vec<u8>,
}

#[napi(catch_unwind)]
pub fn argon2_hash(
    costs: Costs,
    password: &[u8],
    salt: &[u8],
    secret: &[u8],
    associated_data: &[u8],
    stop: &Stop,
) -> AsyncTask<Work<Buffer>> {
    let inputs = Inputs {
        password: Zeroizing::new(password.to_vec()),
        secret: Zeroizing::new(secret.to_vec()),
        salt: salt.to_vec(),
        associated_data: associated_data.to_vec(),
    };
    let stop = Arc::clone(&stop.0);
    AsyncTask::new(Work::new(move || {
        if inputs.salt.len() < MIN_SALT {
            let given = inputs.salt.len();
            return Err(Failure::range(&format!("a salt of {given} bytes: at least {MIN_SALT} are needed")));
        }
        let params = Params::new(costs.memory_cost, costs.time_cost, costs.parallelism)?;
        let params =
            params.with_variant(variant(costs.kind)?).with_version(Version::from_number(costs.version)?);
        let mut tag = tag(params, &inputs, costs.hash_length as usize, &stop)?;
        Ok(Buffer::from(mem::take(&mut *tag)))
    }))
}

/// Whether a password matches a stored hash.
#[napi(catch_unwind)]
pub fn argon2_verify(
    digest: String,
    password: &[u8],
    secret: &[u8],
    bounds: LimitsJs,
    stop: &Stop,
) -> AsyncTask<Work<bool>> {
    let (password, secret) = (Zeroizing::new(password.to_vec()), Zeroizing::new(secret.to_vec()));
    let stop = Arc::clone(&stop.0);
    AsyncTask::new(Work::new(move || {
        let stored = decode(&digest, &bounds)?;
        let (salt, associated_data) = (stored.salt().to_vec(), stored.associated_data().to_vec());
        let inputs = Inputs { password, secret, salt, associated_data };
        let tag = tag(stored.params(), &inputs, stored.tag_len(), &stop)?;
        Ok(stored.matches(&tag))
    }))
}

/// The costs in a stored hash, without limits.
#[napi(catch_unwind)]
pub fn argon2_stored(digest: String) -> napi::Either<Stored, Failure> {
    match PasswordHash::decode(&digest, Syntax::Lenient, &Limits::NONE) {
        Ok(hash) => {
            let params = hash.params();
            napi::Either::A(Stored {
                memory_cost: params.memory_kib(),
                time_cost: params.passes(),
                parallelism: params.lanes(),
                version: params.version().number(),
            })
        }
        Err(error) => napi::Either::B(error.into()),
    }
}

/// The original package wrote `m`, `p` and `t` in this order, and `data` after them, so the lenient syntax is used.
fn decode(digest: &str, bounds: &LimitsJs) -> Result<PasswordHash, Failure> {
    let mut limits = Limits::RECOMMENDED;
    limits.memory_kib = bounds.memory_cost;
    limits.work_kib = bounds.work as u64;
    limits.passes = u32::MAX;
    limits.lanes = Params::MAX_LANES;
    // Short tags are accepted; long ones cost no more than their strings.
    limits.min_tag = Params::MIN_TAG_LEN;
    (limits.max_salt, limits.max_tag) = (digest.len(), digest.len());
    Ok(PasswordHash::decode(digest, Syntax::Lenient, &limits)?)
}

pub(crate) fn variant(number: u32) -> Result<Variant, Failure> {
    match number {
        0 => Ok(Variant::D),
        1 => Ok(Variant::I),
        2 => Ok(Variant::Id),
        _ => Err(Failure::range(&format!("type {number}: 0, 1 and 2 exist"))),
    }
}

/// The tag, computed in memory that is kept for the next call.
fn tag(params: Params, inputs: &Inputs, len: usize, stop: &StopFlag) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if stop.is_set() {
        return Err(Failure::stopped());
    }
    let mut tag = Zeroizing::new(Vec::new());
    let room = tag.try_reserve_exact(len);
    room.map_err(|_| Failure::range(&format!("no memory for a hash of {len} bytes")))?;
    tag.resize(len, 0);
    let input = Input::new(&inputs.password, &inputs.salt);
    let input = input.with_secret(&inputs.secret).with_associated_data(&inputs.associated_data);
    ARENAS.lend(Hasher::new(params), |hasher| hasher.hash_until(&input, &mut tag, stop))?;
    Ok(tag)
}
