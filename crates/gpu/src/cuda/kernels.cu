// All kernels, as one module. `cargo xtask fatbin` compiles it to kernels.fatbin.

#include "blake3.cu"
#include "argon2.cu"
