//! Calls that a bench times: by reference, by mutable reference or by value.

use crate::model::engine::Digest;
use std::any::Any;
use std::fmt::Debug;
use std::hint::black_box;

/// A call that is timed.
pub(super) trait Call<I: 'static>: 'static {
    type Output: Debug + 'static;
    const CONSUMES: bool;

    /// Calls once per input and appends the results to `outputs`, which has room for them. If it consumes inputs,
    /// those left in `inputs` must not be used again.
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<Self::Output>);

    /// One call on a shared input; `None` if calls consume their inputs.
    fn shared(&self, input: &I) -> Option<Self::Output>;
}

/// Reads its input.
pub(super) struct ByRef<F>(pub(super) F);
/// Changes its input.
pub(super) struct ByMut<F>(pub(super) F);
/// Takes its input.
pub(super) struct ByValue<F>(pub(super) F);

impl<I: 'static, O: Debug + 'static, F: Fn(&I) -> O + 'static> Call<I> for ByRef<F> {
    type Output = O;
    const CONSUMES: bool = false;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.iter() {
            outputs.push(black_box((self.0)(black_box(input))));
        }
    }

    #[inline(always)]
    fn shared(&self, input: &I) -> Option<O> {
        Some(black_box((self.0)(black_box(input))))
    }
}

impl<I: 'static, O: Debug + 'static, F: Fn(&mut I) -> O + 'static> Call<I> for ByMut<F> {
    type Output = O;
    const CONSUMES: bool = true;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.iter_mut() {
            let output = black_box((self.0)(black_box(&mut *input)));
            // What it wrote into its input is a result too.
            black_box(input);
            outputs.push(output);
        }
    }

    fn shared(&self, _: &I) -> Option<O> {
        None
    }
}

impl<I: 'static, O: Debug + 'static, F: Fn(I) -> O + 'static> Call<I> for ByValue<F> {
    type Output = O;
    const CONSUMES: bool = true;

    #[inline]
    fn batch(&self, inputs: &mut Vec<I>, outputs: &mut Vec<O>) {
        for input in inputs.drain(..) {
            outputs.push(black_box((self.0)(black_box(input))));
        }
    }

    fn shared(&self, _: &I) -> Option<O> {
        None
    }
}

/// Fingerprint of a result: bytes and text themselves, everything else by its `Debug` text.
pub(super) fn fingerprint<O: Debug + 'static>(output: &O) -> Digest {
    let any: &dyn Any = output;
    if let Some(bytes) = any.downcast_ref::<Vec<u8>>() {
        Digest::new(bytes)
    } else if let Some(text) = any.downcast_ref::<String>() {
        Digest::new(text.as_bytes())
    } else {
        Digest::from_debug(output)
    }
}
