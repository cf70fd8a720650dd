//! Error scopes around wgpu calls: wgpu reports errors separately from the calls, and panics on uncaught ones.

use crate::Error;
use ::wgpu::{Device, ErrorFilter};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

/// Polls a future to its end. Futures of wgpu are ready immediately, except in a browser.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
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
    let errors: Vec<_> = scopes.into_iter().rev().filter_map(|scope| block_on(scope.pop())).collect();
    match errors.into_iter().next() {
        None => Ok(value),
        Some(error) => Err(convert_error(error, bytes)),
    }
}

fn convert_error(error: ::wgpu::Error, bytes: u64) -> Error {
    match error {
        ::wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { bytes },
        error => {
            let reason = root_cause(&error);
            // wgpu has no error kind for this.
            if reason.contains("device is lost") || reason.contains("device was lost") {
                return Error::Lost;
            }
            Error::Driver { reason }
        }
    }
}

/// The message of the last error of a chain.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validation(message: &'static str) -> ::wgpu::Error {
        ::wgpu::Error::Validation { source: message.into(), description: "the failing call".to_owned() }
    }

    #[test]
    fn maps_wgpu_errors_by_cause() {
        let memory = ::wgpu::Error::OutOfMemory { source: "none".into() };
        assert_eq!(convert_error(memory, 77), Error::OutOfMemory { bytes: 77 });
        assert_eq!(convert_error(validation("Parent device is lost"), 0), Error::Lost);
        assert_eq!(
            convert_error(validation("no such thing"), 0),
            Error::Driver { reason: "no such thing".to_owned() }
        );
    }
}
