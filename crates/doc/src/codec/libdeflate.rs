//! libdeflate, and behind the same face zlib-rs where its C code cannot be compiled. Both read what the other writes;
//! what they write is not the same bytes.

#[cfg(not(target_family = "wasm"))]
pub(super) use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

#[cfg(target_family = "wasm")]
pub(super) use pure::{CompressionLvl, Compressor, DecompressionError, Decompressor};

/// No C compiler for these targets comes with Rust, nor a C library.
#[cfg(target_family = "wasm")]
mod pure {
    use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

    /// From 0 to 9.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct CompressionLvl(Compression);

    /// No such level.
    #[derive(Debug)]
    pub(crate) struct LevelError;

    impl CompressionLvl {
        pub(crate) fn new(level: i32) -> Result<Self, LevelError> {
            let level = u32::try_from(level).map_err(|_| LevelError)?;
            if level > 12 {
                return Err(LevelError);
            }
            Ok(Self(Compression::new(level.min(9))))
        }
    }

    pub(crate) struct Compressor(Compress);

    /// The output is too short.
    #[derive(Debug)]
    pub(crate) struct CompressionError;

    impl Compressor {
        pub(crate) fn new(level: CompressionLvl) -> Self {
            Self(Compress::new(level.0, false))
        }

        /// The quickest levels write nine bits for some bytes and never store any.
        pub(crate) fn deflate_compress_bound(&self, len: usize) -> usize {
            len + len / 8 + len / 64 + 64
        }

        pub(crate) fn deflate_compress(
            &mut self,
            bytes: &[u8],
            out: &mut [u8],
        ) -> Result<usize, CompressionError> {
            self.0.reset();
            match self.0.compress(bytes, out, FlushCompress::Finish) {
                // Not longer than `out`.
                Ok(Status::StreamEnd) => Ok(self.0.total_out() as usize),
                _ => Err(CompressionError),
            }
        }
    }

    #[derive(Debug)]
    pub(crate) enum DecompressionError {
        BadData,
        InsufficientSpace,
    }

    pub(crate) struct Decompressor(Decompress);

    impl Decompressor {
        pub(crate) fn new() -> Self {
            Self(Decompress::new(false))
        }

        pub(crate) fn deflate_decompress(
            &mut self,
            bytes: &[u8],
            out: &mut [u8],
        ) -> Result<usize, DecompressionError> {
            self.0.reset(false);
            match self.0.decompress(bytes, out, FlushDecompress::Finish) {
                Ok(Status::StreamEnd) => Ok(self.0.total_out() as usize),
                Ok(_) if self.0.total_out() == out.len() as u64 => Err(DecompressionError::InsufficientSpace),
                _ => Err(DecompressionError::BadData),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deflate(bytes: &[u8], level: i32) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
        let mut out = vec![0; compressor.deflate_compress_bound(bytes.len())];
        let len = compressor.deflate_compress(bytes, &mut out).unwrap();
        out.truncate(len);
        out
    }

    fn inflate(deflated: &[u8], room: usize) -> Result<Vec<u8>, DecompressionError> {
        let mut out = vec![0; room];
        let len = Decompressor::new().deflate_decompress(deflated, &mut out)?;
        out.truncate(len);
        Ok(out)
    }

    /// Nothing in it repeats, and no byte is rarer than others.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn what_is_deflated_fits_the_bound_and_comes_back() {
        for bytes in [Vec::new(), b"a".to_vec(), vec![0xff; 100_000], noise(1 << 17), b"abcde".repeat(9000)] {
            for level in 0..=12 {
                let deflated = deflate(&bytes, level);
                assert_eq!(inflate(&deflated, bytes.len()).unwrap(), bytes, "level {level}");
                assert_eq!(inflate(&deflated, 2 * bytes.len() + 9).unwrap(), bytes, "level {level}");
            }
        }
        assert!(CompressionLvl::new(13).is_err() && CompressionLvl::new(-1).is_err());
    }

    #[test]
    fn what_is_wrong_with_deflated_bytes_is_told_apart() {
        let bytes = b"abcde".repeat(9000);
        let mut deflated = deflate(&bytes, 5);
        assert!(matches!(inflate(&deflated, bytes.len() - 1), Err(DecompressionError::InsufficientSpace)));
        assert!(matches!(inflate(&deflated, 0), Err(DecompressionError::InsufficientSpace)));
        let short = &deflated[..deflated.len() - 2];
        assert!(matches!(inflate(short, 2 * bytes.len()), Err(DecompressionError::BadData)));
        assert!(matches!(inflate(&[0xff; 8], 100), Err(DecompressionError::BadData)));
        deflated.extend(b"what follows the end");
        assert_eq!(inflate(&deflated, bytes.len()).unwrap(), bytes);
    }
}
