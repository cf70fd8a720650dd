//! BLAKE3 and the CPU kernels under it. No I/O.
