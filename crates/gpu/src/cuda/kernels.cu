// All kernels, as one module. `cargo xtask kernels` makes kernels.fatbin of it.

#include "blake3.cu"
#include "argon2.cu"
