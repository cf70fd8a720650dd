// Argon2's memory, filled on an NVIDIA card: a warp for each lane of each hash.
//
// A block is a matrix of words, 8 rows of 16. Its compression permutes each row and then each column, where a
// column is two words wide; both are 4 mixings of 4 words, then 4 more along the diagonals. So the 32 threads
// of a warp have a mixing each: four of them, a quad, compute a row, and later a column. Between rows and
// columns words go through shared memory, along diagonals by shuffles.
//
// In the card's memory the words of a block are in the order in which threads hold them for rows. So within
// its own lane a thread reads only what it wrote itself, and needs no barrier for that.
//
// The host decides the order of the computation, as in ../argon2/schedule.rs: ranges, parts of a slice, of
// all lanes. Measurements of alternatives are in bench/journal/*-devices-h200.md.

#include "device.h"

namespace argon2 {

// Words of a block.
constexpr u32 WORDS = 128;

// Blocks that are fetched ahead.
constexpr u32 AHEAD = 8;

// A kernel checks for a stop once in this many blocks, and acts on the value of the check before, so that it
// never waits for the load. With 256, 1,248 lanes of an H100 took 1.3 ms to end: a block takes microseconds
// there.
constexpr u32 POLL = 64;

// Parameters common to all threads of a launch: `KernelParams` in schedule.rs.
struct Params {
    // Blocks of a segment, lanes of a hash, lanes of all hashes.
    u32 segment;
    u32 lanes;
    u32 streams;
    // Position of the computed blocks: pass, slice, range in the segment.
    u32 pass;
    u32 slice;
    u32 from;
    u32 to;
    // Finished blocks of other lanes, and the position of the oldest of them in a lane.
    u32 finished;
    u32 oldest;
    // Other lanes have no finished blocks yet.
    u32 alone;
    // References are in the table.
    u32 known;
    // A block is added to the one that it replaces.
    u32 adds;
    // The number of the range.
    u32 step;
    // Further input of address blocks.
    u32 blocks;
    u32 passes;
    u32 variant;
};
static_assert(sizeof(Params) == 64, "as the host writes it");

// Growing lanes, each at a position of its own.
struct Grow {
    u32 streams;
    // Blocks of a lane.
    u32 blocks;
    // Blocks before this one have their references in the table.
    u32 known;
    // Granules of a whole lane, and the logarithm of their blocks.
    u32 stride;
    u32 shift;
    u32 unused[3];
};
static_assert(sizeof(Grow) == 32, "as the host writes it");

// Work of one growing lane in a launch: a range.
struct Strip {
    u32 from;
    u32 to;
    u32 step;
    u32 unused;
};
static_assert(sizeof(Strip) == 16, "as the host writes it");

// Words of a block that one thread holds.
struct Quad {
    u64 a, b, c, d;
};

INLINE Quad operator^(const Quad &x, const Quad &y) {
    return {x.a ^ y.a, x.b ^ y.b, x.c ^ y.c, x.d ^ y.d};
}

// Index in the standard's order of a thread's first word of a block; each fourth word behind it is the
// thread's, too.
INLINE u32 first_word(u32 thread) {
    return 16 * (thread / 4) + thread % 4;
}

// Conversion from and to the order of the standard, once for each lane.
INLINE Quad in_order(const u64 *block, u32 thread) {
    const u64 *at = block + first_word(thread);
    return {at[0], at[4], at[8], at[12]};
}

INLINE void put_in_order(u64 *block, u32 thread, const Quad &q) {
    u64 *at = block + first_word(thread);
    at[0] = q.a;
    at[4] = q.b;
    at[8] = q.c;
    at[12] = q.d;
}

INLINE Quad load(u64 words) {
    Quad q;
#ifdef __CUDACC__
    asm volatile("ld.global.v2.u64 {%0, %1}, [%4];\n\tld.global.v2.u64 {%2, %3}, [%4 + 512];"
                 : "=&l"(q.a), "=&l"(q.b), "=l"(q.c), "=l"(q.d)
                 : "l"(words)
                 : "memory");
#else
    const ulonglong2 *at = reinterpret_cast<const ulonglong2 *>(words);
    q = {at[0].x, at[0].y, at[WARP].x, at[WARP].y};
#endif
    return q;
}

INLINE Quad load(const u64 *block, u32 thread) {
    return load(reinterpret_cast<u64>(block) + 16 * thread);
}

INLINE void store(u64 words, const Quad &q) {
#ifdef __CUDACC__
    asm volatile("st.global.v2.u64 [%4], {%0, %1};\n\tst.global.v2.u64 [%4 + 512], {%2, %3};" ::"l"(q.a), "l"(q.b), "l"(q.c), "l"(q.d),
                 "l"(words)
                 : "memory");
#else
    ulonglong2 *at = reinterpret_cast<ulonglong2 *>(words);
    at[0] = make_ulonglong2(q.a, q.b);
    at[WARP] = make_ulonglong2(q.c, q.d);
#endif
}

INLINE void store(u64 *block, u32 thread, const Quad &q) {
    store(reinterpret_cast<u64>(block) + 16 * thread, q);
}

// Index of a word of a block in shared memory: words that threads access together are in different banks, by
// rows and by columns.
INLINE u32 place(u32 row, u32 column) {
    return 16 * row + (column ^ ((row & 1) << 3 | (row & 2) << 1));
}

// A thread of a warp, and its partners and addresses for exchanging words.
struct Member {
    u32 thread;
    // Words of all warps of a block, 128 for each.
    u64 *words;
    // The threads that its words come from along diagonals.
    u32 one_on, two_on, three_on;
    // Offset of its words in a block, in bytes.
    u32 offset;
    // Byte offsets of its words, by rows and by columns, and the same while they are rotated along diagonals:
    // words are not rotated back, but stored at their own addresses.
    u32 row[4], column[4], row_turned[4], column_turned[4];

    INLINE_MEMBER Member(u64 *words) : thread(threadIdx.x % WARP), words(words) {
        u32 line = thread / 4, k = thread % 4, first = threadIdx.x / WARP * WORDS;
        offset = 16 * thread;
        one_on = 4 * line + (k + 1) % 4;
        two_on = 4 * line + (k + 2) % 4;
        three_on = 4 * line + (k + 3) % 4;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            // Those of b stay.
            u32 turned = (k + i + 3) % 4;
            row[i] = kept(8 * (first + place(line, 4 * i + k)));
            row_turned[i] = kept(8 * (first + place(line, 4 * i + turned)));
            column[i] = kept(8 * (first + place(2 * i + k / 2, 2 * line + k % 2)));
            column_turned[i] = kept(8 * (first + place(2 * i + turned / 2, 2 * line + turned % 2)));
        }
    }

    INLINE_MEMBER u64 &word(u32 byte) const {
        return *reinterpret_cast<u64 *>(reinterpret_cast<char *>(words) + byte);
    }

    // Stores words at some addresses and loads from others. Threads synchronise twice: for words that
    // others store, and before the next words replace those that others load. The second barrier could be
    // omitted, since each word stored then depends on all words that its quad loaded; but it costs nothing on
    // an H200, and with it race checkers have nothing to report.
    INLINE_MEMBER Quad exchanged(const u32 (&to)[4], const u32 (&from)[4], const Quad &q) const {
        word(to[0]) = q.a;
        word(to[3]) = q.d;
        word(to[2]) = q.c;
        word(to[1]) = q.b;
        __syncwarp();
        Quad r;
        r.b = word(from[1]);
        r.a = word(from[0]);
        r.d = word(from[3]);
        r.c = word(from[2]);
        __syncwarp();
        return r;
    }
};

// x + y + 2xy, where xy is the product of the low halves; `y` is known last. With m = 2x + 1, which has 33
// bits, that is x plus y's low half times m. y's high half, and the product with m's top bit, only go to the
// high half: no carry is waited for.
INLINE u64 added(u64 x, u64 y) {
    u32 low = u32(y), m = 2 * u32(x) + 1, top = u32(x) >> 31;
    u64 sum = multiplied_apart(low, m, x);
    u32 high = u32(sum >> 32) + (u32(y >> 32) + top * low);
    return u64(high) << 32 | u32(sum);
}

INLINE void mix_until_first(Quad &q) {
    q.a = added(q.a, q.b);
    q.d = turn(q.d ^ q.a, 32);
    q.c = added(q.c, q.d);
    q.b = turn(q.b ^ q.c, 24);
    q.a = added(q.a, q.b);
}

INLINE void mix_rest(Quad &q) {
    q.d = turn(q.d ^ q.a, 16);
    q.c = added(q.c, q.d);
    q.b = turn(q.b ^ q.c, 63);
}

INLINE void mix(Quad &q) {
    mix_until_first(q);
    mix_rest(q);
}

// As above, with words moved to the diagonals: b, which is ready last, stays, and the others move when they
// are ready.
INLINE void mix_and_turn(const Member &me, Quad &q) {
    mix_until_first(q);
    u64 a = __shfl_sync(ALL, q.a, me.three_on);
    q.d = turn(q.d ^ q.a, 16);
    q.a = a;
    q.c = added(q.c, q.d);
    q.d = __shfl_sync(ALL, q.d, me.two_on);
    u64 c = q.c;
    q.c = __shfl_sync(ALL, q.c, me.one_on);
    q.b = turn(q.b ^ c, 63);
}

// Rows, then columns. `early` gets the first word of each thread half a mixing before the end: that of thread
// 1 is the block's.
template <class Early> INLINE Quad permuted(const Member &me, Quad q, const Early &early) {
    mix_and_turn(me, q);
    mix(q);
    q = me.exchanged(me.row_turned, me.column, q);
    mix_and_turn(me, q);
    mix_until_first(q);
    early(q.a);
    mix_rest(q);
    return me.exchanged(me.column_turned, me.row, q);
}

struct Nothing {
    INLINE_MEMBER void operator()(u64) const {}
};

// The number of a block in its hash, lanes one after another, that a pseudo-random word selects.
struct Window {
    const Params &p;
    u32 lane;

    // For block `index` of the segment.
    template <class High> INLINE_MEMBER u32 operator()(u32 word, u32 index, const High &high) const {
        u32 whose = lane;
        if (p.lanes > 1 && !p.alone) {
            whose = high() % p.lanes;
        }
        // Of its own lane all blocks but the last; of others, that one is missing only where it was the last of a segment.
        u32 area = whose == lane ? p.finished + index - 1 : p.finished - (index == 0);
        // Squaring prefers recent blocks.
        u32 back = __umulhi(area, __umulhi(word, word));
        u32 position = p.oldest + (area - 1 - back);
        if (position >= 4 * p.segment) {
            position -= 4 * p.segment;
        }
        return whose * 4 * p.segment + position;
    }
};

// The same for a single lane in its first pass.
struct Alone {
    u32 finished;

    template <class High> INLINE_MEMBER u32 operator()(u32 word, u32 index, const High &high) const {
        u32 area = finished + index - 1;
        return area - 1 - __umulhi(area, __umulhi(word, word));
    }
};

// The block of memory that holds a block of a hash. `one` does so for neighbouring blocks, after each thread
// has looked up its own.
struct Fixed {
    INLINE_MEMBER u32 operator()(u32 block) const {
        return block;
    }

    INLINE_MEMBER u32 one(u32 block, u32, u32) const {
        return block;
    }
};

// Pages are in shared memory, whose latency would delay a block.
struct Granules {
    const u32 *pages;
    u32 shift;

    INLINE_MEMBER u32 operator()(u32 block) const {
        return pages[block >> shift] << shift | (block & ((1u << shift) - 1));
    }

    INLINE_MEMBER u32 one(u32, u32 each, u32 which) const {
        return __shfl_sync(ALL, each, which);
    }
};

// References in order: each thread holds one of 32, and the next 32 are being loaded.
struct References {
    const u32 *table;
    u32 thread, next, end;
    u32 now, then;

    INLINE_MEMBER References(const u32 *table, u32 from, u32 to, u32 thread)
        : table(table), thread(thread), next(0), end(to - from - 1) {
        this->table += from;
        now = read(0);
        then = read(WARP);
    }

    // Behind the end the last one is repeated.
    INLINE_MEMBER u32 read(u32 first) const {
        return table[min(first + thread, end)];
    }

    INLINE_MEMBER u32 take() {
        u32 which = next % WARP;
        if (which == 0 && next > 0) {
            now = then;
            then = read(next + WARP);
        }
        next += 1;
        return __shfl_sync(ALL, now, which);
    }
};

// Has the host requested a stop?
struct Stop {
    const volatile u32 *flag;
    u32 seen;

    INLINE_MEMBER Stop(const u32 *flag) : flag(flag), seen(0) {}

    // One thread loads the flag, so that all see the same value.
    INLINE_MEMBER void look(u32 thread) {
        if (thread == 0) {
            seen = *flag;
        }
    }

    INLINE_MEMBER bool asked() const {
        return __shfl_sync(ALL, seen, 0) != 0;
    }

    INLINE_MEMBER bool asked_meanwhile(u32 blocks, u32 thread) {
        if (blocks % POLL != 0) {
            return false;
        }
        bool was = asked();
        look(thread);
        return was;
    }
};

// Blocks in transfer to shared memory: each thread fetches only words that it loads itself, and in its own
// lane only words that it stored itself, at least nine blocks before. Nearer blocks are loaded when they are
// needed.
struct Ring {
    ulonglong2 *mine;

    INLINE_MEMBER Ring(u64 *words, const Member &me) : mine(reinterpret_cast<ulonglong2 *>(words) + me.thread) {}

    INLINE_MEMBER ulonglong2 *place(u32 number) const {
        return mine + number % AHEAD * 2 * WARP;
    }

    INLINE_MEMBER void fetch(u32 number, u64 words) const {
        ulonglong2 *to = place(number);
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
        u32 at = u32(__cvta_generic_to_shared(to));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.cg.shared.global [%0 + 512], [%1 + 512], 16;\n\t"
                     "cp.async.commit_group;" ::"r"(at), "l"(words)
                     : "memory");
#else
        Quad q = load(words);
        to[0] = make_ulonglong2(q.a, q.b);
        to[WARP] = make_ulonglong2(q.c, q.d);
#endif
    }

    // The first fetched block that was not taken yet.
    INLINE_MEMBER Quad take(u32 number) const {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
#endif
        const ulonglong2 *from = place(number);
        ulonglong2 x = from[0], y = from[WARP];
        return {x.x, x.y, y.x, y.y};
    }

    INLINE_MEMBER void settle() const {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    }
};

// Some blocks of one lane: from `from` to `to`, counted from block `own` of the hash.
template <class Where> struct Lane {
    const Member &me;
    Where where;
    // Address of a thread's words in the first block of memory.
    u64 first;
    u32 own;
    // The block before.
    Quad last;

    // The same for any block of memory.
    INLINE_MEMBER u64 words(u32 place) const {
        return multiplied(place, 1024, first);
    }

    INLINE_MEMBER Quad at(u32 block) const {
        return load(words(where(block)));
    }

    // Returns false if stopped. The reference of a block is known only when the block before is computed,
    // except for half a mixing; the referenced block is then loaded while the rest is computed.
    template <bool ADDS, class Reference>
    INLINE_MEMBER bool depend(const Reference &reference, u32 from, u32 to, Stop &stop) {
        u64 first = last.a;
        Quad shown = at(reference(__shfl_sync(ALL, u32(first), 0), from, [&] { return __shfl_sync(ALL, u32(first >> 32), 0); }));
        Quad old = {}, next_old = {};
        if (ADDS) {
            next_old = at(own + from);
        }
#pragma unroll 1
        for (u32 index = from; index < to; index++) {
            if (stop.asked_meanwhile(index - from, me.thread)) {
                return false;
            }
            if (ADDS) {
                old = next_old;
                next_old = at(own + min(index + 1, to - 1));
            }
            Quad input = last ^ shown;
            Quad rest = ADDS ? input ^ old : input;
            u32 low = __shfl_sync(ALL, u32(rest.a), 0);
            // The block behind the last would also refer to an existing block.
            Quad mixed = permuted(me, input, [&](u64 first) {
                u32 word = __shfl_sync(ALL, u32(first), 1) ^ low;
                shown = at(reference(word, index + 1, [&] {
                    return __shfl_sync(ALL, u32(first >> 32), 1) ^ __shfl_sync(ALL, u32(rest.a >> 32), 0);
                }));
            });
            last = mixed ^ rest;
            store(words(where(own + index)), last);
        }
        return true;
    }

    // The same with known references, block by block: for many lanes, which saturate the memory by
    // themselves.
    template <bool ADDS> INLINE_MEMBER bool follow(const u32 *table, u32 from, u32 to, Stop &stop) {
        References references(table, from, to, me.thread);
#pragma unroll 1
        for (u32 index = from; index < to; index++) {
            if (stop.asked_meanwhile(index - from, me.thread)) {
                return false;
            }
            Quad shown = at(references.take());
            Quad old = {};
            if (ADDS) {
                old = at(own + index);
            }
            Quad input = last ^ shown;
            Quad rest = ADDS ? input ^ old : input;
            last = permuted(me, input, Nothing()) ^ rest;
            store(words(where(own + index)), last);
        }
        return true;
    }

    // The same, with blocks fetched ahead into `ring`. Threads look up 32 references and their addresses
    // together, one each, long before they are needed.
    template <bool ADDS> INLINE_MEMBER bool follow_ahead(const u32 *table, u32 from, u32 to, Stop &stop, const Ring &ring) {
        u32 end = to - 1;
        u32 now = table[min(from + me.thread, end)], then = table[min(from + WARP + me.thread, end)];
        u32 later = table[min(from + 2 * WARP + me.thread, end)];
        u32 now_at = where(now), then_at = where(then);
#pragma unroll 1
        for (u32 i = 0; i < AHEAD; i++) {
            ring.fetch(i, words(__shfl_sync(ALL, now_at, i)));
        }
#pragma unroll 1
        for (u32 index = from; index < to; index += WARP) {
            if (stop.asked_meanwhile(index - from, me.thread)) {
                ring.settle();
                return false;
            }
            // References to blocks that are not yet stored when they are fetched.
            u32 near = votes(own + index + me.thread - now <= AHEAD);
            u32 next = __shfl_sync(ALL, now_at, AHEAD), each = where(min(own + index + me.thread, own + end));
            Quad shown = ring.take(0);
            u32 count = min(to - index, WARP);
#pragma unroll 1
            for (u32 i = 0; i < count; i++) {
                if (near >> i & 1) {
                    shown = load(words(__shfl_sync(ALL, now_at, i)));
                }
                u32 here = where.one(own + index + i, each, i);
                // Behind the end the last one is fetched repeatedly.
                ring.fetch(i, words(next));
                next = __shfl_sync(ALL, i + 1 + AHEAD < WARP ? now_at : then_at, (i + 1 + AHEAD) % WARP);
                Quad input = last ^ shown, old = {};
                if (ADDS) {
                    old = load(words(here));
                }
                shown = ring.take(i + 1);
                Quad rest = ADDS ? input ^ old : input;
                last = permuted(me, input, Nothing()) ^ rest;
                store(words(here), last);
            }
            now = then;
            now_at = then_at;
            then = later;
            then_at = where(then);
            later = table[min(index + 3 * WARP + me.thread, end)];
        }
        ring.settle();
        return true;
    }
};

// A lane that the range before skipped gets no mark.
INLINE void mark(u32 *mark, u32 step, u32 thread) {
    if (thread == 0 && *mark == step) {
        *mark = step + 1;
    }
}

template <bool MANY> INLINE void fill(const Params &p, u64 *memory, const u32 *table, u32 *marks, const u32 *flag, u64 *words) {
    u32 stream = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (stream >= p.streams) {
        return;
    }
    Member me(words);
    Stop stop(flag);
    stop.look(me.thread);
    if (stop.asked()) {
        return;
    }
    u32 lane = stream % p.lanes, length = 4 * p.segment;
    u32 start = lane * length, own = start + p.slice * p.segment;
    u64 *hash = memory + u64(stream - lane) * length * WORDS;
    // The first block of a lane follows its last.
    u32 before = p.slice * p.segment + p.from;
    before = start + (before == 0 ? length : before) - 1;
    Lane<Fixed> here = {me, Fixed(), reinterpret_cast<u64>(hash) + me.offset, own, load(hash + u64(before) * WORDS, me.thread)};
    const u32 *known = table + u64(lane) * p.segment;
    // Behind the words of all warps.
    Ring ring(words + blockDim.x / WARP * WORDS + threadIdx.x / WARP * AHEAD * WORDS, me);
    bool done;
    if (!p.known && p.lanes == 1 && p.pass == 0) {
        done = here.template depend<false>(Alone{p.finished}, p.from, p.to, stop);
    } else if (!p.known) {
        Window window = {p, lane};
        done = p.adds ? here.template depend<true>(window, p.from, p.to, stop)
                      : here.template depend<false>(window, p.from, p.to, stop);
    } else if (MANY) {
        done = p.adds ? here.template follow<true>(known, p.from, p.to, stop)
                      : here.template follow<false>(known, p.from, p.to, stop);
    } else {
        done = p.adds ? here.template follow_ahead<true>(known, p.from, p.to, stop, ring)
                      : here.template follow_ahead<false>(known, p.from, p.to, stop, ring);
    }
    if (done) {
        mark(marks + stream, p.step, me.thread);
    }
}

} // namespace argon2

// Stores the first two blocks of each lane, which come in the order of the standard; marks that no lane has
// finished a range.
KERNEL __launch_bounds__(WARP) argon2_first(argon2::Params p, const u64 *blocks, u64 *memory, u32 *marks) {
    using namespace argon2;
    u32 stream = blockIdx.x, thread = threadIdx.x;
    for (u32 i = 0; i < 2; i++) {
        Quad q = in_order(blocks + (2 * u64(stream) + i) * WORDS, thread);
        store(memory + (u64(stream) * 4 * p.segment + i) * WORDS, thread, q);
    }
    if (thread == 0) {
        marks[stream] = 0;
    }
}

// Computes references of a slice that depend on no data, and so on no input either: for each lane of one
// hash, 128 per warp.
KERNEL __launch_bounds__(WARP) argon2_references(argon2::Params p, u32 *table) {
    using namespace argon2;
    SHARED(u64, words);
    Member me(words);
    u32 groups = (p.segment + WORDS - 1) / WORDS;
    u32 lane = blockIdx.x / groups, counter = blockIdx.x % groups;
    Quad q = {};
    switch (me.thread) {
    case 0:
        q.a = p.pass;
        q.b = p.passes;
        break;
    case 1:
        q.a = lane;
        q.b = p.variant;
        break;
    case 2:
        q.a = p.slice;
        q.b = counter + 1;
        break;
    case 3:
        q.a = p.blocks;
        break;
    }
    q = q ^ permuted(me, q, Nothing());
    q = q ^ permuted(me, q, Nothing());
    Window window = {p, lane};
    u32 *here = table + u64(lane) * p.segment;
    u32 first = counter * WORDS + first_word(me.thread);
    u64 drawn[4] = {q.a, q.b, q.c, q.d};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 index = first + 4 * i;
        // The first two blocks of a lane refer to none.
        if (index < p.segment) {
            here[index] = index < 2 && p.alone ? 0 : window(u32(drawn[i]), index, [&] { return u32(drawn[i] >> 32); });
        }
    }
}

// The number of thread blocks per multiprocessor is given for these three kernels: it determines the
// registers of each thread, and without it ptxas sometimes assigns too few and spills.

// A range of all lanes of all hashes, a warp for each lane: for many lanes, 28 per multiprocessor.
KERNEL __launch_bounds__(4 * WARP, 7)
    argon2_fill(argon2::Params p, u64 *memory, const u32 *table, u32 *marks, const u32 *stop) {
    SHARED(u64, words);
    argon2::fill<true>(p, memory, table, marks, stop, words);
}

// The same for fewer lanes.
KERNEL __launch_bounds__(4 * WARP, 4)
    argon2_fill_ahead(argon2::Params p, u64 *memory, const u32 *table, u32 *marks, const u32 *stop) {
    SHARED(u64, words);
    argon2::fill<false>(p, memory, table, marks, stop, words);
}

// Loads the last block of each lane, in the order of the standard.
KERNEL __launch_bounds__(WARP) argon2_last(argon2::Params p, const u64 *memory, u64 *out) {
    using namespace argon2;
    u64 stream = blockIdx.x;
    Quad q = load(memory + ((stream + 1) * 4 * p.segment - 1) * WORDS, threadIdx.x);
    put_in_order(out + stream * WORDS, threadIdx.x, q);
}

// Growing lanes, of hashes with one lane and one pass, which get memory granule by granule as they advance.
// Each is at its own position and has its own range; first and last blocks are in the order of the standard.
KERNEL __launch_bounds__(WARP, 8) argon2_grow(argon2::Grow p, u64 *pool, const u32 *pages, const u32 *table, const argon2::Strip *strips,
                                           const u64 *first, u64 *last, u32 *marks, const u32 *flag) {
    using namespace argon2;
    SHARED(u64, words);
    u32 stream = blockIdx.x;
    Strip strip = strips[stream];
    if (strip.from == strip.to) {
        return;
    }
    Member me(words);
    Stop stop(flag);
    stop.look(me.thread);
    if (stop.asked()) {
        return;
    }
    u32 *mine = reinterpret_cast<u32 *>(words + WORDS + AHEAD * WORDS);
    Ring ring(words + WORDS, me);
    u32 granules = ((strip.to - 1) >> p.shift) + 1;
    for (u32 i = me.thread; i < granules; i += WARP) {
        mine[i] = pages[u64(stream) * p.stride + i];
    }
    __syncwarp();
    Granules where = {mine, p.shift};
    u32 from = strip.from, to = strip.to;
    Lane<Granules> here = {me, where, reinterpret_cast<u64>(pool) + me.offset, 0, {}};
    if (from == 0) {
        const u64 *blocks = first + u64(stream) * 2 * WORDS;
        store(here.words(where(0)), in_order(blocks, me.thread));
        here.last = in_order(blocks + WORDS, me.thread);
        store(here.words(where(1)), here.last);
        if (me.thread == 0) {
            marks[stream] = 0;
        }
        from = 2;
    } else {
        here.last = here.at(from - 1);
    }
    if (from < min(to, p.known)) {
        u32 until = min(to, p.known);
        if (!here.template follow_ahead<false>(table, from, until, stop, ring)) {
            return;
        }
        from = until;
    }
    if (from < to && !here.template depend<false>(Alone{0}, from, to, stop)) {
        return;
    }
    if (to == p.blocks) {
        put_in_order(last + u64(stream) * WORDS, me.thread, here.last);
    }
    mark(marks + stream, strip.step, me.thread);
}
