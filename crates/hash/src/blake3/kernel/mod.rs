//! BLAKE3 kernels: a table of compiled inner loops for each instruction set.
//!
//! Tables hold coarse operations (up to a chunk, or up to sixteen of them), so the indirect call is paid once
//! per kilobyte, not once per block.

#[cfg(kernels = "aarch64")]
pub(super) mod aarch64;
#[cfg(any(kernels = "aarch64", kernels = "wasm32"))]
mod columns;
pub(super) mod portable;
mod table;
#[cfg(kernels = "wasm32")]
pub(super) mod wasm32;
#[cfg(kernels = "x86_64")]
pub(super) mod x86_64;

pub(crate) use table::Table;
pub(super) use table::{Cv, GROUP, Lanes, MAX_LANES, RunFlags, UniformLanes, Wide, Words, XofJob};

use crate::isa::Features;
use crate::kernels;

/// A kernel of BLAKE3 that runs on this CPU.
pub type Kernel = kernels::Kernel<Table>;

impl kernels::Table for Table {
    const ALL: &'static [&'static Table] = &[
        &portable::TABLE,
        #[cfg(kernels = "x86_64")]
        &x86_64::SSE41,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX2,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512_YMM,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512,
        #[cfg(kernels = "x86_64")]
        &x86_64::AVX512_TWIN,
        #[cfg(kernels = "aarch64")]
        &aarch64::NEON,
        #[cfg(kernels = "aarch64")]
        &aarch64::NEON_TWIN,
        #[cfg(kernels = "wasm32")]
        &wasm32::SIMD128,
    ];

    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Features {
        self.needs
    }
}

impl Kernel {
    /// The number of chunks that it hashes at once.
    pub fn lanes(self) -> usize {
        self.table().wide.last().map_or(1, |wide| wide.lanes)
    }
}
