// Simulated threads of a card, on the processor: one runs at a time, until it waits for others. The next is
// chosen at random, so that dependence on an order shows: between two waits, threads of a warp run in any
// order, and warps of a block drift apart.

#include "simt.h"

#include <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

Index threadIdx, blockIdx, blockDim;

namespace simt {

static constexpr unsigned WARP = 32;
static constexpr unsigned MOST = 1024;
static constexpr size_t STACK = 64 << 10;

struct Thread {
    // Used for the first start; after that a jump suffices, which needs no system call.
    ucontext_t start;
    jmp_buf here;
    bool begun, ended;
    Wait waits;
    // Two, in turn: a thread may be at the next exchange while others have yet to read from this one.
    uint64_t given[2];
    unsigned exchanges;
};

static Thread threads[MOST];
static unsigned count, current;
static jmp_buf scheduler;
static void (*body)(void *);
static void *arguments;
static unsigned char *shared_memory;
// A callback during a kernel, and its time.
static uint64_t waits_left;
static void (*call_then)(void *);
static void *then_with;

static unsigned char *stacks() {
    static void *memory =
        mmap(nullptr, MOST * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return static_cast<unsigned char *>(memory);
}

static uint64_t draw(uint64_t &state) {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void shuffle(std::vector<unsigned> &numbers, uint64_t &state) {
    for (size_t i = numbers.size(); i > 1; i--) {
        std::swap(numbers[i - 1], numbers[draw(state) % i]);
    }
}

static void begin() {
    body(arguments);
    threads[current].ended = true;
    _longjmp(scheduler, 1);
}

__attribute__((noinline)) static void run(unsigned thread) {
    Thread &t = threads[thread];
    current = thread;
    threadIdx.x = thread;
    if (_setjmp(scheduler)) {
        return;
    }
    if (t.begun) {
        _longjmp(t.here, 1);
    }
    t.begun = true;
    setcontext(&t.start);
}

void after(uint64_t waits, void (*call)(void *), void *with) {
    waits_left = waits;
    call_then = call;
    then_with = with;
}

void wait(Wait what) {
    Thread &t = threads[current];
    if (call_then && waits_left-- == 0) {
        call_then(then_with);
        call_then = nullptr;
    }
    t.waits = what;
    if (!_setjmp(t.here)) {
        _longjmp(scheduler, 1);
    }
}

uint64_t exchange(uint64_t mine, unsigned whose) {
    unsigned me = current, turn = threads[me].exchanges++ % 2;
    threads[me].given[turn] = mine;
    wait(Wait::Shuffle);
    return threads[me / WARP * WARP + whose % WARP].given[turn];
}

void *shared() {
    return shared_memory;
}

// Releases threads that have all come to their common wait. Returns null, or why they never will.
static const char *release() {
    unsigned ended = 0, at_block = 0;
    bool any = false;
    for (unsigned first = 0; first < count; first += WARP) {
        unsigned last = std::min(first + WARP, count), waiting = 0, gone = 0, block = 0, shuffles = 0;
        for (unsigned i = first; i < last; i++) {
            waiting += threads[i].waits != Wait::Nothing;
            gone += threads[i].ended;
            block += threads[i].waits == Wait::Block;
            shuffles += threads[i].waits == Wait::Shuffle;
        }
        ended += gone;
        at_block += block;
        if (waiting == last - first && block == 0) {
            if (shuffles != 0 && shuffles != waiting) {
                return "threads of a warp wait in different places";
            }
            for (unsigned i = first; i < last; i++) {
                threads[i].waits = Wait::Nothing;
            }
            any = true;
        } else {
            any |= waiting + gone < last - first;
        }
    }
    if (at_block > 0 && at_block + ended == count) {
        for (unsigned i = 0; i < count; i++) {
            threads[i].waits = Wait::Nothing;
        }
        any = true;
    }
    return any || ended == count ? nullptr : "a thread waits for others that never come";
}

__attribute__((noinline)) static void prepare(unsigned thread) {
    Thread &t = threads[thread];
    t.begun = t.ended = false;
    t.waits = Wait::Nothing;
    t.exchanges = 0;
    getcontext(&t.start);
    t.start.uc_stack.ss_sp = stacks() + thread * STACK;
    t.start.uc_stack.ss_size = STACK;
    t.start.uc_link = nullptr;
    makecontext(&t.start, begin, 0);
}

static const char *run_block(uint64_t &state, bool in_order) {
    for (unsigned i = 0; i < count; i++) {
        prepare(i);
    }
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; i++) {
        order[i] = i;
    }
    for (;;) {
        // Some warps pause for a while, unless there is only one.
        uint64_t resting = in_order || count <= WARP ? 0 : draw(state);
        if (!in_order) {
            shuffle(order, state);
        }
        bool all_ended = true;
        for (unsigned i : order) {
            Thread &t = threads[i];
            all_ended &= t.ended;
            if (!t.ended && t.waits == Wait::Nothing && !(resting >> (i / WARP) & 1)) {
                run(i);
            }
        }
        if (all_ended) {
            return nullptr;
        }
        if (const char *why = release()) {
            return why;
        }
    }
}

const char *launch(unsigned grid, unsigned block, size_t shared_bytes, uint64_t order, void (*kernel)(void *), void *with) {
    // Shared memory ends at an inaccessible page.
    size_t page = size_t(sysconf(_SC_PAGESIZE)), whole = (shared_bytes + page - 1) / page * page;
    void *memory = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<unsigned char *>(memory) + whole, page, PROT_NONE);
    // Its first byte is aligned to 16.
    shared_memory = static_cast<unsigned char *>(memory) + (whole - (shared_bytes + 15) / 16 * 16);
    body = kernel;
    arguments = with;
    count = block;
    blockDim.x = block;
    uint64_t state = order;
    std::vector<unsigned> blocks(grid);
    for (unsigned i = 0; i < grid; i++) {
        blocks[i] = i;
    }
    if (order) {
        shuffle(blocks, state);
    }
    const char *why = nullptr;
    for (unsigned i : blocks) {
        blockIdx.x = i;
        // Shared memory starts with arbitrary contents.
        memset(shared_memory, 0xa5, shared_bytes);
        why = run_block(state, order == 0);
        if (why) {
            break;
        }
    }
    munmap(memory, whole + page);
    call_then = nullptr;
    return why;
}

} // namespace simt
