// BLAKE3 for NVIDIA cards: chunks to chaining values, the values of a tile to one value, messages of at most
// a chunk.
//
// The division of work and the parameters are those of ../wgpu/blake3.wgsl: a thread hashes a chunk, a block
// of threads reduces its 128 chunks to one value, and a second kernel with one block per tile reduces the
// values of the tile. Neighbours in a row are paired, and an odd one moves up unchanged; the result is
// BLAKE3's tree wherever a row begins at a multiple of its length.
//
// All additions are multiplications by one, which use another pipe than the rest: on an H200 that was the
// fastest of the alternatives (bench/journal/2026-11-26-devices-h200.md). Loading a block early, or through
// shared memory, was not faster.

#include "device.h"

namespace blake3 {

// Threads of a block, and so chunks that become one value.
constexpr u32 WIDTH = 128;

constexpr u32 CHUNK_START = 1;
constexpr u32 CHUNK_END = 2;
constexpr u32 PARENT = 4;

// Parameters common to all threads of a launch.
struct Params {
    u32 key[8];
    // The number of the first chunk in the whole input.
    u64 counter;
    // Chunks of the input; messages, for `messages`.
    u32 chunks;
    // Bytes of the last chunk.
    u32 tail;
    // The flag of the mode.
    u32 flags;
    // Chunks of a tile.
    u32 tile;
    // Values of a tile's row.
    u32 row;
    // The row that gets the first value of this launch.
    u32 first;
};
static_assert(sizeof(Params) == 64, "as the host writes it");

// A chaining value.
struct Value {
    u32 words[8];
};

// A value in memory.
struct Stored {
    uint4 low, high;
};

INLINE Stored stored(const Value &v) {
    const u32 *w = v.words;
    return {make_uint4(w[0], w[1], w[2], w[3]), make_uint4(w[4], w[5], w[6], w[7])};
}

INLINE void put(u32 *words, const uint4 &four) {
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
}

INLINE Value value(const Stored &s) {
    Value v;
    put(v.words, s.low);
    put(v.words + 4, s.high);
    return v;
}

// Was the value never written? Its memory was cleared before, and no value is zero.
INLINE bool empty(const Stored &s) {
    return (s.low.x | s.low.y | s.low.z | s.low.w | s.high.x | s.high.y | s.high.z | s.high.w) == 0;
}

struct Block {
    u32 words[16];
};

INLINE void quarter(u32 &a, u32 &b, u32 &c, u32 &d, u32 x, u32 y, u32 one) {
    a = add_by(one, add_by(one, x, a), b);
    d = turn(d ^ a, 16);
    c = add_by(one, d, c);
    b = turn(b ^ c, 12);
    a = add_by(one, add_by(one, y, a), b);
    d = turn(d ^ a, 8);
    c = add_by(one, d, c);
    b = turn(b ^ c, 7);
}

INLINE void round(u32 (&v)[16], const u32 (&m)[16], u32 one) {
    quarter(v[0], v[4], v[8], v[12], m[0], m[1], one);
    quarter(v[1], v[5], v[9], v[13], m[2], m[3], one);
    quarter(v[2], v[6], v[10], v[14], m[4], m[5], one);
    quarter(v[3], v[7], v[11], v[15], m[6], m[7], one);
    quarter(v[0], v[5], v[10], v[15], m[8], m[9], one);
    quarter(v[1], v[6], v[11], v[12], m[10], m[11], one);
    quarter(v[2], v[7], v[8], v[13], m[12], m[13], one);
    quarter(v[3], v[4], v[9], v[14], m[14], m[15], one);
}

// Rounds are unrolled, so a permutation only renames words.
INLINE Block permuted(const Block &block) {
    const u32 *m = block.words;
    return {{m[2], m[6], m[3], m[10], m[7], m[0], m[4], m[13], m[1], m[11], m[12], m[5], m[9], m[14], m[15], m[8]}};
}

INLINE Value compressed(const Value &cv, Block m, u64 counter, u32 len, u32 flags, u32 one) {
    const u32 *h = cv.words;
    u32 v[16] = {h[0],       h[1],       h[2],       h[3],       h[4],         h[5],                h[6], h[7],
                 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, u32(counter), u32(counter >> 32), len,  flags};
#pragma unroll
    for (u32 i = 0; i < 6; i++) {
        round(v, m.words, one);
        m = permuted(m);
    }
    round(v, m.words, one);
    Value out;
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        out.words[i] = v[i] ^ v[i + 8];
    }
    return out;
}

INLINE Block whole_block(const uint4 *from) {
    Block block;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        put(block.words + 4 * i, from[i]);
    }
    return block;
}

// The first `len` bytes of a block. It reads the 16-byte pieces that contain these, and no further: the
// memory behind them may not exist.
INLINE Block part_of_block(const uint4 *from, u32 len) {
    Block block;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        put(block.words + 4 * i, 16 * i < len ? from[i] : make_uint4(0, 0, 0, 0));
    }
#pragma unroll
    for (u32 i = 0; i < 16; i++) {
        u32 left = len > 4 * i ? len - 4 * i : 0;
        block.words[i] = left >= 4 ? block.words[i] : block.words[i] & ((1u << (8 * left)) - 1);
    }
    return block;
}

INLINE Value key(const Params &p) {
    Value v;
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        v.words[i] = p.key[i];
    }
    return v;
}

// The value of `len` bytes of one chunk.
INLINE Value chunk(const Params &p, const uint4 *from, u32 len, u64 counter, u32 end, u32 one) {
    Value cv = key(p);
    u32 blocks = len > 64 ? (len + 63) / 64 : 1;
    u32 flags = p.flags | CHUNK_START;
    // The body is long, so it is compiled once.
#pragma unroll 1
    for (u32 i = 0; i < blocks; i++) {
        u32 here = len - 64 * i;
        if (i + 1 == blocks) {
            flags |= end;
        }
        Block m;
        if (here >= 64) {
            here = 64;
            m = whole_block(from + 4 * i);
        } else {
            m = part_of_block(from + 4 * i, here);
        }
        cv = compressed(cv, m, counter, here, flags, one);
        flags = p.flags;
    }
    return cv;
}

INLINE Value parent(const Params &p, const Stored &left, const Stored &right, u32 one) {
    Block m;
    put(m.words, left.low);
    put(m.words + 4, left.high);
    put(m.words + 8, right.low);
    put(m.words + 12, right.high);
    return compressed(key(p), m, 0, 64, p.flags | PARENT, one);
}

} // namespace blake3

// Reduces the chunks of a block of threads to one value in `rows`.
KERNEL __launch_bounds__(blake3::WIDTH) blake3_leaves(blake3::Params p, const uint4 *input, blake3::Stored *rows, u32 one) {
    using namespace blake3;
    // Padded, so that neighbours use different banks.
    __shared__ uint4 low[WIDTH], high[WIDTH];
    u32 thread = threadIdx.x;
    u32 first = blockIdx.x * WIDTH;
    u32 count = min(p.chunks - first, WIDTH);
    if (thread < count) {
        u32 number = first + thread;
        u32 len = number + 1 == p.chunks ? p.tail : 1024;
        Stored s = stored(chunk(p, input + u64(number) * 64, len, p.counter + number, CHUNK_END, one));
        low[thread] = s.low;
        high[thread] = s.high;
    }
#pragma unroll 1
    while (count > 1) {
        __syncthreads();
        Stored s = {};
        u32 left = 2 * thread;
        if (left < count) {
            s = {low[left], high[left]};
            if (left + 1 < count) {
                s = stored(parent(p, s, {low[left + 1], high[left + 1]}, one));
            }
        }
        __syncthreads();
        if (left < count) {
            low[thread] = s.low;
            high[thread] = s.high;
        }
        count = (count + 1) / 2;
    }
    if (thread == 0) {
        rows[u64(p.first) + blockIdx.x] = {low[0], high[0]};
    }
}

// Reduces the row of a tile to one value in `values`. It works in place: parents are written in front of the
// values that are still to be read. If a value is zero because its block was skipped, all values above it are
// zero.
KERNEL __launch_bounds__(blake3::WIDTH) blake3_tops(blake3::Params p, blake3::Stored *rows, blake3::Stored *values, u32 one) {
    using namespace blake3;
    u32 thread = threadIdx.x;
    Stored *row = rows + u64(blockIdx.x) * p.row;
    u32 chunks = min(p.chunks - blockIdx.x * p.tile, p.tile);
    u32 count = (chunks + WIDTH - 1) / WIDTH;
#pragma unroll 1
    while (count > 1) {
        u32 above = (count + 1) / 2;
#pragma unroll 1
        for (u32 first = 0; first < above; first += WIDTH) {
            u32 index = first + thread;
            Stored s = {};
            if (index < above) {
                s = row[2 * index];
                if (2 * index + 1 < count) {
                    Stored right = row[2 * index + 1];
                    s = empty(s) || empty(right) ? Stored{} : stored(parent(p, s, right, one));
                }
            }
            __syncthreads();
            if (index < above) {
                row[index] = s;
            }
            __syncthreads();
        }
        count = above;
    }
    if (thread == 0) {
        values[blockIdx.x] = row[0];
    }
}

// Hashes the chunks of many messages, one per thread: a message of one chunk becomes its digest, chunks of
// longer messages become values. `jobs` has for each its start in `input` in pieces of 16 bytes, its length,
// its chunk number, and flags besides those of the mode.
KERNEL __launch_bounds__(blake3::WIDTH)
    blake3_messages(blake3::Params p, const uint4 *input, const uint4 *jobs, blake3::Stored *values, u32 one) {
    using namespace blake3;
    u32 number = blockIdx.x * WIDTH + threadIdx.x;
    if (number < p.chunks) {
        uint4 job = jobs[number];
        values[number] = stored(chunk(p, input + job.x, job.y, job.z, job.w, one));
    }
}
