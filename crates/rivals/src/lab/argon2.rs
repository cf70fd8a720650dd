//! Other people's Argon2 as engines of the lab.

use argon2_rust::params::Memory;
use hashmill_hash::argon2::{Params, Variant};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec};
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_workloads::{ARGON2_SALT, all_threads, argon2_params, thread_counts};

use crate::reference;

/// What the engines read: a password.
type Password = [u8; 8];

const WORKLOAD: &str = "argon2id";

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        Offer::classes(&["kernel", "backend", "oneshot"])
            .threads(thread_counts())
            .knob("passes", ["1", "2", "3", "4"])
            .knob("lanes", ["1", "2", "4"])
            // It holds our side alone: these let nobody choose.
            .kernels(["avx2"])
    };
    registry
        .more_engines::<Password>(WORKLOAD)
        .engine("argon2-rust", Pooled, offer())
        .engine("rustcrypto", each_anew(rustcrypto), offer())
        .engine("reference-c", each_anew(reference_c), offer());
}

/// The crate `argon2-rust` with its pooled hasher: who keeps it, keeps the memory.
struct Pooled;

impl Engine for Pooled {
    type Input = Password;
    type Context = argon2_rust::Argon2;
    type Buffer = argon2_rust::Hasher;
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<Self::Context, Fault> {
        let params = argon2_params(spec, Variant::Id)?;
        let params = argon2_rust::Params::builder()
            .memory(Memory::kib(params.memory_kib().into()))
            .passes(params.passes())
            .lanes(params.lanes())
            .threads(params.lanes().min(spec.threads))
            .build()
            .map_err(|error| Fault::failed(format!("argon2-rust refuses them: {error}")))?;
        let (algorithm, version) = (argon2_rust::Algorithm::Argon2id, argon2_rust::Version::V0x13);
        Ok(argon2_rust::Argon2::new(algorithm, version, params))
    }

    fn kernel(&self, _: &Self::Context) -> String {
        OWN_CHOICE.to_owned()
    }

    fn reserve(&self, argon2: &mut Self::Context, _: &Password) -> Result<Self::Buffer, Fault> {
        Ok(argon2.hasher())
    }

    fn stage(&self, _: &mut Self::Context, _: &mut Self::Buffer, _: &Password) -> Result<(), Fault> {
        Ok(())
    }

    fn run(
        &self,
        _: &mut Self::Context,
        kept: &mut Self::Buffer,
        password: &Password,
    ) -> Result<[u8; 32], Fault> {
        let mut tag = [0; 32];
        kept.hash_into(password, ARGON2_SALT, &mut tag).map_err(|error| Fault::failed(format!("{error}")))?;
        Ok(tag)
    }

    fn digest(&self, tag: &[u8; 32]) -> Digest {
        Digest::new(tag)
    }
}

const OWN_CHOICE: &str = "own choice";

/// Tags by code that takes its memory anew for each, and a thread for each lane as far as there are some.
fn each_anew(
    compute: impl Fn(Params, &Password) -> Result<[u8; 32], Fault> + 'static,
) -> impl Engine<Input = Password> {
    let init = |spec: &Spec| {
        let params = argon2_params(spec, Variant::Id)?;
        let threads = params.lanes().min(all_threads());
        match spec.threads == threads {
            true => Ok(params),
            false => Err(Fault::unavailable(format!(
                "this engine takes a thread for each lane: of {} lanes measure t{threads} here",
                params.lanes()
            ))),
        }
    };
    let run = move |params: &mut Params, password: &Password| compute(*params, password);
    Routine::new(init, |_: &Params| OWN_CHOICE.to_owned(), run, |tag: &[u8; 32]| Digest::new(tag))
}

fn rustcrypto(params: Params, password: &Password) -> Result<[u8; 32], Fault> {
    let theirs = argon2::Params::new(params.memory_kib(), params.passes(), params.lanes(), Some(32));
    let theirs = theirs.map_err(Fault::failed)?;
    let hasher = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, theirs);
    let mut tag = [0; 32];
    hasher.hash_password_into(password, ARGON2_SALT, &mut tag).map_err(Fault::failed)?;
    Ok(tag)
}

fn reference_c(params: Params, password: &Password) -> Result<[u8; 32], Fault> {
    let job = reference::Job {
        variant: 2,
        version: 0x13,
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        password,
        salt: ARGON2_SALT,
        secret: &[],
        associated_data: &[],
    };
    let mut tag = [0; 32];
    reference::hash(&job, &mut tag).map_err(Fault::failed)?;
    Ok(tag)
}
