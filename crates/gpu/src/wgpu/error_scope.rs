//! wgpu calls with results: wgpu reports errors beside the calls, and panics on uncaught ones.

use crate::Error;
use ::wgpu::{Device, ErrorFilter};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

/// Polls a future to its end. Those of wgpu are ready at once, except in a browser.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::yield_now(),
        }
    }
}

/// Runs `calls`, which request `bytes` bytes of memory, and returns their value or the first error.
pub(super) fn guarded<T>(device: &Device, bytes: u64, calls: impl FnOnce() -> T) -> Result<T, Error> {
    let scopes = [ErrorFilter::Internal, ErrorFilter::Validation, ErrorFilter::OutOfMemory]
        .map(|filter| device.push_error_scope(filter));
    let value = calls();
    let errors: Vec<_> = scopes.into_iter().rev().filter_map(|scope| now(scope.pop())).collect();
    match errors.into_iter().next() {
        None => Ok(value),
        Some(error) => Err(meaning(error, bytes)),
    }
}

fn meaning(error: ::wgpu::Error, bytes: u64) -> Error {
    match error {
        ::wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { bytes },
        error => {
            let reason = deepest(&error);
            // wgpu has no error kind for this.
            if reason.contains("device is lost") || reason.contains("device was lost") {
                return Error::Lost;
            }
            Error::Driver { reason }
        }
    }
}

/// The root cause of a chain of errors.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validation(said: &'static str) -> ::wgpu::Error {
        ::wgpu::Error::Validation { source: said.into(), description: "where it was noticed".to_owned() }
    }

    #[test]
    fn maps_wgpu_errors_by_cause() {
        let memory = ::wgpu::Error::OutOfMemory { source: "none".into() };
        assert_eq!(meaning(memory, 77), Error::OutOfMemory { bytes: 77 });
        assert_eq!(meaning(validation("Parent device is lost"), 0), Error::Lost);
        assert_eq!(
            meaning(validation("no such thing"), 0),
            Error::Driver { reason: "no such thing".to_owned() }
        );
    }
}
