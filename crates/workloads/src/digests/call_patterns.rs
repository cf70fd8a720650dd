//! Call patterns: each call waits for the one before (latency), or follows a pause in which the pool falls asleep.

use crate::input::Bytes;
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec};
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// Dependent calls: each needs the digest before it, so the processor cannot overlap them. Measures latency.
///
/// The digest goes into the message through a mask of zeros that the compiler does not know. So each message depends on it
/// without changing.
pub struct Chain<C, Init, Name, Hash> {
    init: Init,
    name: Name,
    hash: Hash,
    context: PhantomData<fn(&mut C)>,
}

impl<C, Init, Name, Hash> Chain<C, Init, Name, Hash>
where
    Init: Fn(&Spec) -> Result<C, CaseError>,
    Name: Fn(&C) -> String,
    Hash: Fn(&mut C, &[u8]) -> [u8; 32],
{
    /// Chains calls of `hash`; `name` names the kernel that will run.
    pub fn new(init: Init, name: Name, hash: Hash) -> Self {
        Chain { init, name, hash, context: PhantomData }
    }
}

impl<C, Init, Name, Hash> Engine for Chain<C, Init, Name, Hash>
where
    C: 'static,
    Init: Fn(&Spec) -> Result<C, CaseError> + 'static,
    Name: Fn(&C) -> String + 'static,
    Hash: Fn(&mut C, &[u8]) -> [u8; 32] + 'static,
{
    type Input = Bytes;
    type Context = C;
    type Buffer = Vec<u8>;
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<C, CaseError> {
        if spec.size == 0 {
            return Err(CaseError::unavailable("an empty message depends on nothing"));
        }
        (self.init)(spec)
    }

    fn kernel(&self, context: &C) -> String {
        (self.name)(context)
    }

    fn reserve(&self, _: &mut C, message: &Bytes) -> Result<Vec<u8>, CaseError> {
        Ok(message.to_vec())
    }

    fn run(&self, context: &mut C, message: &mut Vec<u8>, _: &Bytes) -> Result<[u8; 32], CaseError> {
        let digest = (self.hash)(context, black_box(message));
        let nothing = black_box(0_u8);
        match message.first_chunk_mut::<32>() {
            Some(head) => head.iter_mut().zip(&digest).for_each(|(byte, new)| *byte ^= new & nothing),
            None => message[0] ^= digest[0] & nothing,
        }
        Ok(digest)
    }

    fn digest(&self, output: &[u8; 32]) -> Digest {
        Digest::new(output)
    }
}

/// Long enough for idle workers to stop polling and sleep, also in a virtual machine.
const REST: Duration = Duration::from_micros(300);

/// An engine whose worker threads fall asleep before each call. This thread stays busy, so its clock frequency stays up.
pub struct IdlePoolEngine<E>(pub E);

impl<E: Engine> Engine for IdlePoolEngine<E> {
    type Input = E::Input;
    type Context = E::Context;
    type Buffer = E::Buffer;
    type Output = E::Output;

    fn init(&self, spec: &Spec) -> Result<E::Context, CaseError> {
        self.0.init(spec)
    }

    fn kernel(&self, context: &E::Context) -> String {
        self.0.kernel(context)
    }

    fn reserve(&self, context: &mut E::Context, input: &E::Input) -> Result<E::Buffer, CaseError> {
        self.0.reserve(context, input)
    }

    fn stage(
        &self,
        context: &mut E::Context,
        buffer: &mut E::Buffer,
        input: &E::Input,
    ) -> Result<(), CaseError> {
        let start = Instant::now();
        while start.elapsed() < REST {
            std::hint::spin_loop();
        }
        self.0.stage(context, buffer, input)
    }

    fn run(
        &self,
        context: &mut E::Context,
        buffer: &mut E::Buffer,
        input: &E::Input,
    ) -> Result<E::Output, CaseError> {
        self.0.run(context, buffer, input)
    }

    fn read(&self, context: &mut E::Context, output: &mut E::Output) -> Result<(), CaseError> {
        self.0.read(context, output)
    }

    fn digest(&self, output: &E::Output) -> Digest {
        self.0.digest(output)
    }

    /// Each call needs its own pause.
    fn consumes(&self) -> bool {
        true
    }
}
