//! Work on Node's threads, and requests to stop it.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use napi::bindgen_prelude::{Either, ToNapiValue, TypeName};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::Failure;

/// A request to stop, which JavaScript sets when a signal aborts.
#[napi]
#[derive(Default)]
pub struct Stop(pub(crate) Arc<hashmill_hash::argon2::Stop>);

#[napi]
impl Stop {
    #[napi(constructor)]
    pub fn new() -> Stop {
        Stop::default()
    }

    #[napi(catch_unwind)]
    pub fn set(&self) {
        self.0.set();
    }
}

type Job<T> = Box<dyn FnOnce() -> std::result::Result<T, Failure> + Send>;

/// Work on another thread. The promise is always fulfilled: errors are values, too.
pub struct Work<T>(Option<Job<T>>);

impl<T> Work<T> {
    pub(crate) fn new(job: impl FnOnce() -> std::result::Result<T, Failure> + Send + 'static) -> Work<T> {
        Work(Some(Box::new(job)))
    }
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Work<T> {
    type Output = std::result::Result<T, Failure>;
    type JsValue = Either<T, Failure>;

    fn compute(&mut self) -> Result<Self::Output> {
        let Some(job) = self.0.take() else { return Ok(Err(Failure::bug("done before"))) };
        // State that it leaves incomplete is never used again.
        Ok(panic::catch_unwind(AssertUnwindSafe(job))
            .unwrap_or_else(|panic| Err(Failure::bug(panic_message(&*panic)))))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output.map_or_else(Either::B, Either::A))
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}
