// Device features that kernels use, on the processor: included before their source. The scheduler of threads
// is in simt.cpp.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>

#define INLINE static inline
#define INLINE_MEMBER inline
#define KERNEL extern "C" void
#define SHARED(type, name) type *name = static_cast<type *>(simt::shared())
// Blocks run one after another, so they can share one static variable.
#define __shared__ static
#define __launch_bounds__(...)

struct Index {
    unsigned x;
};
extern Index threadIdx, blockIdx, blockDim;

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) {
    return {x, y};
}

using std::min;

static inline unsigned __umulhi(unsigned x, unsigned y) {
    return unsigned(uint64_t(x) * y >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return unsigned((uint64_t(high) << 32 | low) >> (by & 31));
}

namespace simt {

// Points where threads wait for each other. All threads of a warp must come to the same one.
enum class Wait { Nothing, Shuffle, Warp, Block };

void wait(Wait what);
// Returns the value of another thread of the same warp.
uint64_t exchange(uint64_t mine, unsigned whose);
// Shared memory of the size that the launch requested, with nothing behind it.
void *shared();

// In the next launch, `call` runs after threads have waited `waits` times.
void after(uint64_t waits, void (*call)(void *), void *with);

// Runs a kernel. Returns null, or why it cannot end.
const char *launch(unsigned grid, unsigned threads, size_t shared_bytes, uint64_t order, void (*kernel)(void *), void *arguments);

} // namespace simt

static inline void __syncthreads() {
    simt::wait(simt::Wait::Block);
}
static inline void __syncwarp() {
    simt::wait(simt::Wait::Warp);
}
// The mask is ignored: kernels only use shuffles of whole warps.
template <class T> static inline T __shfl_sync(unsigned, T mine, unsigned whose) {
    return T(simt::exchange(mine, whose));
}
