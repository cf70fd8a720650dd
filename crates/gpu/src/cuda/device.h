// Common parts of the kernels, which have two compilers: nvcc, and a C++ compiler for the processor with
// crates/gpu/tests/shim/simt.h included first, which runs them thread by thread. So everything specific to a
// card has an alternative here.

#pragma once

#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define INLINE_MEMBER __device__ __forceinline__
#define KERNEL extern "C" __global__ void
// Shared memory of a block, of the size that the launch requests.
#define SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 WARP = 32;
constexpr u32 ALL = 0xffffffff;

// x + y in the multiplication pipe: `one` is a kernel argument, so that the compiler does not know its value.
INLINE u32 add_by(u32 one, u32 x, u32 y) {
#ifdef __CUDACC__
    u32 sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(one), "r"(y));
    return sum;
#else
    return x * one + y;
#endif
}

// The same number, opaque to the compiler, which would otherwise recompute it at each use: it underestimates
// the number of registers.
INLINE u32 kept(u32 x) {
#ifdef __CUDACC__
    asm("mov.b32 %0, %0;" : "+r"(x));
#endif
    return x;
}

INLINE u32 turn(u32 x, u32 by) {
    return __funnelshift_r(x, x, by);
}

// A rotation of 64 bits: two instructions, and none for the swap of the halves.
INLINE u64 turn(u64 x, u32 by) {
    u32 low = u32(x), high = u32(x >> 32);
    if (by >= 32) {
        u32 other = low;
        low = high;
        high = other;
        by -= 32;
    }
    return u64(__funnelshift_r(high, low, by)) << 32 | __funnelshift_r(low, high, by);
}

// One bit per thread of a warp.
INLINE u32 votes(bool x) {
#ifdef __CUDACC__
    return __ballot_sync(ALL, x);
#else
    u32 bits = 0;
    for (u32 i = 0; i < WARP; i++) {
        bits |= __shfl_sync(ALL, u32(x), i) << i;
    }
    return bits;
#endif
}

// As `multiplied`, in a form that ptxas compiles to one instruction: it makes three of the other if the
// halves are in separate registers.
INLINE u64 multiplied_apart(u32 x, u32 y, u64 z) {
#ifdef __CUDACC__
    u32 low, high;
    asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
        : "=&r"(low), "=r"(high)
        : "r"(x), "r"(y), "r"(u32(z)), "r"(u32(z >> 32)));
    return u64(high) << 32 | low;
#else
    return u64(x) * y + z;
#endif
}

// x times y and z: one instruction.
INLINE u64 multiplied(u32 x, u32 y, u64 z) {
#ifdef __CUDACC__
    u64 sum;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(sum) : "r"(x), "r"(y), "l"(z));
    return sum;
#else
    return u64(x) * y + z;
#endif
}
