//! Work on Node's threads, and requests to stop it.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use napi::bindgen_prelude::{Either, ToNapiValue, TypeName};
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::failure::Failure;

/// A request to stop, which JavaScript makes when a signal aborts.
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

type Todo<T> = Box<dyn FnOnce() -> std::result::Result<T, Failure> + Send>;

/// Something to do on another thread. The promise is kept in any case: what goes wrong is a value too.
pub struct Work<T>(Option<Todo<T>>);

impl<T> Work<T> {
    pub(crate) fn new(todo: impl FnOnce() -> std::result::Result<T, Failure> + Send + 'static) -> Work<T> {
        Work(Some(Box::new(todo)))
    }
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Work<T> {
    type Output = std::result::Result<T, Failure>;
    type JsValue = Either<T, Failure>;

    fn compute(&mut self) -> Result<Self::Output> {
        let Some(todo) = self.0.take() else { return Ok(Err(Failure::ours("done before"))) };
        // Nothing that it leaves half done is used again.
        Ok(panic::catch_unwind(AssertUnwindSafe(todo))
            .unwrap_or_else(|panic| Err(Failure::ours(words(&*panic)))))
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output.map_or_else(Either::B, Either::A))
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}
