//! Argon2 implementations of other projects as engines of the lab.

use argon2_rust::params::{Memory, TagLen};
use hashmill_hash::argon2::{Params, Variant};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_workloads::{ARGON2_SALT, Tagged, all_threads, argon2_params, argon2_tag_len, thread_counts};

use crate::reference;

/// Input of the engines: a password.
type Password = [u8; 8];

const WORKLOAD: &str = "argon2id";

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        EngineOffer::classes(&["kernel", "backend", "oneshot"])
            .threads(thread_counts())
            .knob("passes", ["1", "2", "3", "4"])
            .knob("lanes", ["1", "2", "4"])
            .knob("tag", ["32", "64"])
            // Only for Hashmill: these engines have no choice of kernels.
            .kernels(["avx2"])
    };
    registry
        .more_engines::<Password>(WORKLOAD)
        .engine("argon2-rust", Pooled, offer())
        .engine("rustcrypto", allocating(rustcrypto), offer())
        .engine("reference-c", allocating(reference_c), offer());
}

/// The crate `argon2-rust` with its pooled hasher, which keeps its memory between calls.
struct Pooled;

impl Engine for Pooled {
    type Input = Password;
    type Context = PooledContext;
    type Buffer = argon2_rust::Hasher;
    type Output = Tagged;

    fn init(&self, spec: &Spec) -> Result<Self::Context, CaseError> {
        let (params, tag_len) = (argon2_params(spec, Variant::Id)?, argon2_tag_len(spec)?);
        let argon2 = argon2_rust(params, tag_len, params.lanes().min(spec.threads))?;
        Ok(PooledContext { argon2, tag_len })
    }

    fn kernel(&self, _: &Self::Context) -> String {
        OWN_CHOICE.to_owned()
    }

    fn reserve(&self, context: &mut PooledContext, _: &Password) -> Result<Self::Buffer, CaseError> {
        Ok(context.argon2.hasher())
    }

    fn run(
        &self,
        context: &mut PooledContext,
        hasher: &mut Self::Buffer,
        password: &Password,
    ) -> Result<Tagged, CaseError> {
        Tagged::by(context.tag_len, |tag| {
            hasher
                .hash_into(password, ARGON2_SALT, tag)
                .map_err(|error| CaseError::failed(format!("{error}")))
        })
    }

    fn digest(&self, tag: &Tagged) -> Digest {
        tag.digest()
    }
}

struct PooledContext {
    argon2: argon2_rust::Argon2,
    tag_len: usize,
}

pub(super) const OWN_CHOICE: &str = "own choice";

/// An engine that allocates memory for each tag, with a thread for each lane.
fn allocating(
    compute: impl Fn(Params, &Password, &mut [u8]) -> Result<(), CaseError> + 'static,
) -> impl Engine<Input = Password> {
    let init = |spec: &Spec| {
        let params = argon2_params(spec, Variant::Id)?;
        let threads = params.lanes().min(all_threads());
        match spec.threads == threads {
            true => Ok((params, argon2_tag_len(spec)?)),
            false => Err(CaseError::unavailable(format!(
                "this engine uses a thread for each lane: measure {} lanes with t{threads} on this machine",
                params.lanes()
            ))),
        }
    };
    let run = move |(params, tag_len): &mut (Params, usize), password: &Password| {
        Tagged::by(*tag_len, |tag| compute(*params, password, tag))
    };
    Routine::new(init, |_: &(Params, usize)| OWN_CHOICE.to_owned(), run, Tagged::digest)
}

fn rustcrypto(params: Params, password: &Password, tag: &mut [u8]) -> Result<(), CaseError> {
    let params = argon2::Params::new(params.memory_kib(), params.passes(), params.lanes(), Some(tag.len()));
    let params = params.map_err(CaseError::failed)?;
    let hasher = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    hasher.hash_password_into(password, ARGON2_SALT, tag).map_err(CaseError::failed)
}

fn reference_c(params: Params, password: &Password, tag: &mut [u8]) -> Result<(), CaseError> {
    reference::hash(&reference_job(params, password, ARGON2_SALT), tag).map_err(CaseError::failed)
}

/// The job for the reference implementation.
pub(super) fn reference_job<'a>(params: Params, password: &'a [u8], salt: &'a [u8]) -> reference::Job<'a> {
    reference::Job {
        variant: 2,
        version: 0x13,
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        password,
        salt,
        secret: &[],
        associated_data: &[],
    }
}

/// The crate `argon2-rust` at the same costs.
pub(super) fn argon2_rust(
    params: Params,
    tag_len: usize,
    threads: u32,
) -> Result<argon2_rust::Argon2, CaseError> {
    let params = argon2_rust::Params::builder()
        .tag_len(TagLen::bytes(tag_len as u64))
        .memory(Memory::kib(params.memory_kib().into()))
        .passes(params.passes())
        .lanes(params.lanes())
        .threads(threads)
        .build()
        .map_err(|error| CaseError::failed(format!("argon2-rust refuses the parameters: {error}")))?;
    let (algorithm, version) = (argon2_rust::Algorithm::Argon2id, argon2_rust::Version::V0x13);
    Ok(argon2_rust::Argon2::new(algorithm, version, params))
}
