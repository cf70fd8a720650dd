// Simulated NVIDIA driver with our kernels, as far as crates/gpu/src/cuda calls it: a library that is opened
// in the driver's place, so that the code above runs without a card. Work in a stream runs only when a caller
// waits for it or queries it: a result that is read too early is an old one. Functions fail when tests
// request it (`shim_…`, below).

#include "simt.h"

#include "kernels.cu"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef unsigned Code;

enum : Code {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_TIMEOUT = 702,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    LAUNCH_FAILED = 719,
};

struct Words {
    Code code;
    const char *name, *text;
};

static const Words WORDS[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

// Memory

// Device memory; pinned host memory; other host memory, registered with devices.
enum class Kind { Device, Host, Registered };

struct Memory {
    void *mapped;
    size_t mapped_len;
    // The requested size.
    uint64_t len;
    Kind kind;
    // The device in whose context it was allocated.
    unsigned device;
};

// Kernels

typedef unsigned char *Bytes;

struct Kernel {
    const char *name;
    unsigned most_threads;
    size_t arguments;
    // The size of each argument.
    std::vector<size_t> sizes;
    void (*call)(void *const *);
    // The address of its checked output, if any.
    std::function<Bytes(void *const *)> output;
};

template <class T> static T argument(void *const *all, size_t which) {
    T value;
    memcpy(&value, all[which], sizeof value);
    return value;
}

template <auto CALL> struct Called;
template <class... A, void (*CALL)(A...)> struct Called<CALL> {
    static void call(void *const *all) {
        apply(all, std::index_sequence_for<A...>());
    }

    template <size_t... I> static void apply(void *const *all, std::index_sequence<I...>) {
        CALL(argument<A>(all, I)...);
    }

    static Kernel kernel(const char *name, unsigned most_threads, std::function<Bytes(void *const *)> output) {
        return {name, most_threads, sizeof...(A), {sizeof(A)...}, call, std::move(output)};
    }
};

static Bytes filled(void *const *all) {
    auto p = argument<argon2::Params>(all, 0);
    return argument<Bytes>(all, 1) + (uint64_t(p.slice) * p.segment + p.to - 1) * 1024;
}

static Bytes grown(void *const *all) {
    auto p = argument<argon2::Grow>(all, 0);
    auto pages = argument<const u32 *>(all, 2);
    auto strips = argument<const argon2::Strip *>(all, 4);
    for (u32 stream = 0; stream < p.streams; stream++) {
        u32 last = strips[stream].to - 1;
        if (strips[stream].from < strips[stream].to) {
            u64 granule = pages[u64(stream) * p.stride + (last >> p.shift)];
            return argument<Bytes>(all, 1) + (granule << p.shift | (last & ((1u << p.shift) - 1))) * 1024;
        }
    }
    return nullptr;
}

static const Kernel KERNELS[] = {
    Called<blake3_leaves>::kernel("blake3_leaves", 128,
                                  [](void *const *all) {
                                      return argument<Bytes>(all, 2) + argument<blake3::Params>(all, 0).first * 32ull;
                                  }),
    Called<blake3_tops>::kernel("blake3_tops", 128, [](void *const *all) { return argument<Bytes>(all, 2); }),
    Called<blake3_messages>::kernel("blake3_messages", 128, [](void *const *all) { return argument<Bytes>(all, 3); }),
    Called<argon2_first>::kernel("argon2_first", 32, [](void *const *all) { return argument<Bytes>(all, 2); }),
    Called<argon2_references>::kernel("argon2_references", 32,
                                      [](void *const *all) {
                                          auto p = argument<argon2::Params>(all, 0);
                                          return argument<Bytes>(all, 1) + (p.segment * u64(p.lanes) - 1) * 4;
                                      }),
    Called<argon2_fill>::kernel("argon2_fill", 128, filled),
    Called<argon2_fill_ahead>::kernel("argon2_fill_ahead", 128, filled),
    Called<argon2_last>::kernel("argon2_last", 32, [](void *const *all) { return argument<Bytes>(all, 2); }),
    Called<argon2_grow>::kernel("argon2_grow", 32, grown),
};

struct Launch {
    const Kernel *kernel;
    unsigned grid, block;
    size_t shared;
    std::vector<std::vector<unsigned char>> values;
    bool skip, lose;
    // Number of waits of its threads after which it is asked to stop, if any.
    int64_t stops;
    // Offset of the bit flip in the output, if any.
    int64_t flip;
};

// Streams

struct Event;

struct Stream {
    unsigned device;
    std::deque<std::function<Code()>> work;
};

struct Event {
    Stream *stream = nullptr;
    // Number of times it was recorded, and the last of these that was reached.
    unsigned recorded = 0, come = 0;
};

// A failure that a test planned: call number `nth` from then on.
struct Planned {
    unsigned nth;
    Code code;
};

struct Numbered {
    unsigned nth;
    uint64_t number;
};

constexpr unsigned MOST_DEVICES = 8;

// No launch of the self-tests has this many blocks.
constexpr unsigned MANY = 8;

// A device and the state of its context.
struct Open {
    unsigned contexts = 0;
    uint64_t taken = 0;
    // After a lost kernel, the whole context is lost.
    Code lost = SUCCESS;
};

struct State {
    bool initialized = false;
    unsigned devices = 1;
    std::map<int, int> attributes;
    uint64_t memory = 1 << 30;
    uint64_t order = 0;
    // Device memory comes from pools.
    bool pools = false;
    std::map<std::string, uint64_t> calls;
    std::multimap<std::string, Planned> fails;
    std::multimap<std::string, unsigned> skips;
    // Their numbers: the offset in the kernel's output; the waits of its threads.
    std::multimap<std::string, Numbered> flips, stops;
    // The launch that is lost; the one among launches with many blocks.
    int loses = -1, loses_of_many = -1;
    std::array<Open, MOST_DEVICES> open;

    std::map<uint64_t, Memory> allocated;
    std::set<Stream *> streams;
    uint64_t of_host = 0;
    // Bytes other than zero in freed host memory.
    uint64_t left = 0;
};

// Held while kernels run: a device does one thing at a time.
static std::recursive_mutex MUTEX;
static State STATE = [] {
    State state;
    // Settings for a program that tests cannot call into: the number of devices, and the launch that is lost,
    // of all launches or of those with many blocks.
    if (auto count = getenv("SHIM_DEVICES")) {
        state.devices = unsigned(atoi(count));
    }
    if (auto nth = getenv("SHIM_LOSES")) {
        state.loses = atoi(nth);
    }
    if (auto nth = getenv("SHIM_LOSES_OF_MANY")) {
        state.loses_of_many = atoi(nth);
    }
    return state;
}();
static thread_local std::vector<void *> CURRENT;

// A context is identified by its address, which gives its device.
static int CONTEXTS[MOST_DEVICES], MODULE;

static unsigned device_of(void *context) {
    return unsigned(static_cast<int *>(context) - CONTEXTS);
}

// The device whose context is current.
static unsigned here() {
    return device_of(CURRENT.back());
}

// Is a failure due that was planned for this name?
template <class Value, class Due> static void due(std::multimap<std::string, Value> &planned, const char *name, Due due) {
    auto range = planned.equal_range(name);
    for (auto it = range.first; it != range.second;) {
        it = due(it->second) ? planned.erase(it) : std::next(it);
    }
}

static bool due_now(std::multimap<std::string, unsigned> &planned, const char *name) {
    bool now = false;
    due(planned, name, [&](unsigned &nth) {
        bool is = nth-- == 0;
        now |= is;
        return is;
    });
    return now;
}

// The number planned for this launch of a kernel, or a negative one.
static int64_t number_now(std::multimap<std::string, Numbered> &planned, const char *name) {
    int64_t number = -1;
    due(planned, name, [&](Numbered &numbered) {
        bool is = numbered.nth-- == 0;
        number = is ? int64_t(numbered.number) : number;
        return is;
    });
    return number;
}

enum class Needs { Nothing, Driver, Context };

// Checks before each call.
static Code before(const char *name, Needs needs) {
    STATE.calls[name] += 1;
    Code code = SUCCESS;
    due(STATE.fails, name, [&](Planned &planned) {
        bool is = planned.nth-- == 0;
        code = is ? planned.code : code;
        return is;
    });
    if (code != SUCCESS) {
        return code;
    }
    if (needs != Needs::Nothing && !STATE.initialized) {
        return NOT_INITIALIZED;
    }
    if (needs == Needs::Context && (CURRENT.empty() || STATE.open[here()].contexts == 0)) {
        return INVALID_CONTEXT;
    }
    return needs == Needs::Context ? STATE.open[here()].lost : SUCCESS;
}

#define CALL(needs)                                                                                                                   \
    std::lock_guard<std::recursive_mutex> guard(MUTEX);                                                                               \
    if (Code code = before(__func__, Needs::needs)) {                                                                                 \
        return code;                                                                                                                  \
    }

// The allocation that contains all of these bytes.
static const Memory *memory_of(uint64_t at, uint64_t len) {
    auto next = STATE.allocated.upper_bound(at);
    if (next == STATE.allocated.begin()) {
        return nullptr;
    }
    auto here = std::prev(next);
    return at - here->first <= here->second.len && len <= here->second.len - (at - here->first) ? &here->second : nullptr;
}

static bool is_device(uint64_t at, uint64_t len) {
    const Memory *memory = memory_of(at, len);
    return memory && memory->kind == Kind::Device && memory->device == here();
}

static void *allocate(uint64_t len, Kind kind) {
    // As aligned as the driver's memory, with as little behind it as that allows.
    size_t page = size_t(sysconf(_SC_PAGESIZE)), aligned = (len + 255) / 256 * 256, whole = (aligned + page - 1) / page * page;
    void *mapped = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    mprotect(static_cast<Bytes>(mapped) + whole, page, PROT_NONE);
    Bytes at = static_cast<Bytes>(mapped) + (whole - aligned);
    memset(at, 0xa5, aligned);
    STATE.allocated[uint64_t(at)] = {mapped, whole + page, len, kind, here()};
    (kind == Kind::Device ? STATE.open[here()].taken : STATE.of_host) += len;
    return at;
}

// Runs the first `most` pieces of work of a stream. Its errors are permanent.
static Code drain(Stream *stream, size_t most) {
    Code &lost = STATE.open[stream->device].lost;
    for (; most > 0 && !stream->work.empty() && lost == SUCCESS; most--) {
        auto work = std::move(stream->work.front());
        stream->work.pop_front();
        lost = work();
    }
    return lost;
}

// Work in flight may use it, so that ends first.
static Code release(uint64_t at, Kind kind) {
    auto found = STATE.allocated.find(at);
    if (found == STATE.allocated.end() || found->second.kind != kind) {
        return kind == Kind::Registered ? NOT_REGISTERED : INVALID_VALUE;
    }
    for (Stream *stream : STATE.streams) {
        drain(stream, SIZE_MAX);
    }
    Memory memory = found->second;
    if (kind == Kind::Host) {
        auto bytes = reinterpret_cast<const unsigned char *>(at);
        STATE.left += memory.len - uint64_t(std::count(bytes, bytes + memory.len, 0));
    }
    STATE.allocated.erase(found);
    (kind == Kind::Device ? STATE.open[memory.device].taken : STATE.of_host) -= memory.len;
    if (memory.mapped) {
        munmap(memory.mapped, memory.mapped_len);
    }
    return SUCCESS;
}

static Code run(const Launch &launch) {
    if (launch.lose) {
        return LAUNCH_FAILED;
    }
    if (launch.skip) {
        return SUCCESS;
    }
    std::vector<void *> all;
    for (auto &value : launch.values) {
        all.push_back(const_cast<unsigned char *>(value.data()));
    }
    struct Body {
        const Kernel *kernel;
        void *const *all;
    } body = {launch.kernel, all.data()};
    auto call = [](void *with) {
        auto body = static_cast<Body *>(with);
        body->kernel->call(body->all);
    };
    if (launch.stops >= 0) {
        // The last argument of kernels that can be stopped.
        void *flag = argument<void *>(all.data(), launch.kernel->arguments - 1);
        simt::after(uint64_t(launch.stops), [](void *flag) { *static_cast<u32 *>(flag) = 1; }, flag);
    }
    const char *why = simt::launch(launch.grid, launch.block, launch.shared, STATE.order, call, &body);
    if (why) {
        fprintf(stderr, "%s: %s\n", launch.kernel->name, why);
        return LAUNCH_FAILED;
    }
    Bytes at = launch.flip >= 0 ? launch.kernel->output(all.data()) : nullptr;
    if (at) {
        at[launch.flip] ^= 1;
    }
    return SUCCESS;
}

// Frees everything made in it, and clears its errors.
static void end_context(unsigned device) {
    for (auto it = STATE.allocated.begin(); it != STATE.allocated.end();) {
        Memory memory = it->second;
        if (memory.device != device) {
            ++it;
            continue;
        }
        if (memory.mapped) {
            munmap(memory.mapped, memory.mapped_len);
        }
        if (memory.kind != Kind::Device) {
            STATE.of_host -= memory.len;
        }
        it = STATE.allocated.erase(it);
    }
    for (auto it = STATE.streams.begin(); it != STATE.streams.end();) {
        Stream *stream = *it;
        it = stream->device == device ? STATE.streams.erase(it) : std::next(it);
        if (stream->device == device) {
            delete stream;
        }
    }
    STATE.open[device] = Open();
}

// Controls for tests

// The `nth` call of a function from now on returns this code, and does nothing.
EXPORT void shim_fail(const char *function, unsigned nth, Code code) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.fails.emplace(function, Planned{nth, code});
}

// After the `nth` launch of a kernel from now on, a bit of its output is flipped, at this offset.
EXPORT void shim_flip(const char *kernel, unsigned nth, uint64_t behind) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.flips.emplace(kernel, Numbered{nth, behind});
}

// The `nth` launch of a kernel from now on is asked to stop while it runs: when its threads have waited this
// many times.
EXPORT void shim_stop(const char *kernel, unsigned nth, uint64_t waits) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.stops.emplace(kernel, Numbered{nth, waits});
}

// That launch does nothing, and reports no error.
EXPORT void shim_skip(const char *kernel, unsigned nth) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.skips.emplace(kernel, nth);
}

// The device is lost in the `nth` launch from now on.
EXPORT void shim_lose(uint64_t nth) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.loses = int(nth);
}

// Bytes of the device.
EXPORT void shim_memory(uint64_t bytes) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.memory = bytes;
}

EXPORT void shim_devices(uint64_t count) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.devices = unsigned(count);
}

EXPORT void shim_attribute(int attribute, int value) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.attributes[attribute] = value;
}

EXPORT void shim_pools(uint64_t pools) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.pools = pools;
}

// The order of threads: 0 is that of their numbers.
EXPORT void shim_order(uint64_t seed) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    STATE.order = seed;
}

// Allocated bytes, on the device and pinned.
EXPORT uint64_t shim_allocated() {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    uint64_t all = STATE.of_host;
    for (const Open &open : STATE.open) {
        all += open.taken;
    }
    return all;
}

// Bytes other than zero in freed host memory.
EXPORT uint64_t shim_left() {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    return STATE.left;
}

// Calls of a function since the last reset.
EXPORT uint64_t shim_calls(const char *function) {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    return STATE.calls[function];
}

// Removes all plans and losses. Allocated memory stays; registrations of a program's own memory are
// forgotten.
EXPORT void shim_reset() {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    for (auto it = STATE.allocated.begin(); it != STATE.allocated.end();) {
        bool registered = it->second.kind == Kind::Registered;
        STATE.of_host -= registered ? it->second.len : 0;
        it = registered ? STATE.allocated.erase(it) : std::next(it);
    }
    State fresh;
    fresh.initialized = STATE.initialized;
    fresh.allocated = std::move(STATE.allocated);
    fresh.streams = std::move(STATE.streams);
    fresh.of_host = STATE.of_host;
    for (unsigned device = 0; device < MOST_DEVICES; device++) {
        fresh.open[device] = {STATE.open[device].contexts, STATE.open[device].taken, SUCCESS};
    }
    STATE = std::move(fresh);
}

// The end of a process with leaks: no context is open afterwards.
EXPORT void shim_end() {
    std::lock_guard<std::recursive_mutex> guard(MUTEX);
    for (unsigned device = 0; device < MOST_DEVICES; device++) {
        end_context(device);
    }
    CURRENT.clear();
}

// The driver's functions

EXPORT Code cuInit(unsigned) {
    CALL(Nothing)
    STATE.initialized = true;
    return SUCCESS;
}

EXPORT Code cuDriverGetVersion(int *version) {
    CALL(Nothing)
    *version = 13000;
    return SUCCESS;
}

static Code words(Code code, const char *Words::*which, const char **out) {
    for (const Words &words : WORDS) {
        if (words.code == code) {
            *out = words.*which;
            return SUCCESS;
        }
    }
    *out = nullptr;
    return INVALID_VALUE;
}

EXPORT Code cuGetErrorName(Code code, const char **name) {
    CALL(Nothing)
    return words(code, &Words::name, name);
}

EXPORT Code cuGetErrorString(Code code, const char **text) {
    CALL(Nothing)
    return words(code, &Words::text, text);
}

EXPORT Code cuDeviceGetCount(int *count) {
    CALL(Driver)
    *count = int(STATE.devices);
    return SUCCESS;
}

EXPORT Code cuDeviceGet(int *device, int number) {
    CALL(Driver)
    *device = number;
    return number >= 0 && unsigned(number) < STATE.devices ? SUCCESS : INVALID_DEVICE;
}

EXPORT Code cuDeviceGetName(char *name, int len, int device) {
    CALL(Driver)
    snprintf(name, size_t(len), "Shim %d", device);
    return SUCCESS;
}

// Sixteen bytes of unique id; the bus address.
EXPORT Code cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    CALL(Driver)
    for (int i = 0; i < 16; i++) {
        uuid[i] = (unsigned char)(0x10 * device + i);
    }
    return SUCCESS;
}

EXPORT Code cuDeviceGetPCIBusId(char *bus, int len, int device) {
    CALL(Driver)
    snprintf(bus, size_t(len), "0000:%02X:00.0", 10 + device);
    return SUCCESS;
}

EXPORT Code cuDeviceGetAttribute(int *value, int attribute, int) {
    CALL(Driver)
    // By number: threads and shared memory of a block, threads of a warp, multiprocessors, integrated memory,
    // kernel time limit, mappable host memory, threads of a multiprocessor, copies beside kernels, unified
    // addresses, and compute capability.
    static const std::map<int, int> known = {{1, 1024}, {8, 49152}, {10, 32}, {16, 4},  {18, 0}, {17, 0},
                                             {19, 1},   {39, 2048}, {40, 2},  {41, 1}, {75, 9}, {76, 0}};
    for (auto map : {&STATE.attributes, const_cast<std::map<int, int> *>(&known)}) {
        auto found = map->find(attribute);
        if (found != map->end()) {
            *value = found->second;
            return SUCCESS;
        }
    }
    return INVALID_VALUE;
}

EXPORT Code cuDeviceTotalMem_v2(size_t *bytes, int) {
    CALL(Driver)
    *bytes = STATE.memory;
    return SUCCESS;
}

EXPORT Code cuDevicePrimaryCtxRetain(void **context, int device) {
    CALL(Driver)
    STATE.open[device].contexts += 1;
    *context = &CONTEXTS[device];
    return SUCCESS;
}

EXPORT Code cuDevicePrimaryCtxRelease_v2(int device) {
    CALL(Driver)
    if (STATE.open[device].contexts == 0) {
        return INVALID_CONTEXT;
    }
    STATE.open[device].contexts -= 1;
    if (STATE.open[device].contexts == 0) {
        end_context(unsigned(device));
    }
    return SUCCESS;
}

EXPORT Code cuCtxPushCurrent_v2(void *context) {
    CALL(Driver)
    unsigned device = device_of(context);
    if (device >= MOST_DEVICES || STATE.open[device].contexts == 0) {
        return INVALID_CONTEXT;
    }
    CURRENT.push_back(context);
    return SUCCESS;
}

EXPORT Code cuCtxPopCurrent_v2(void **context) {
    CALL(Driver)
    if (CURRENT.empty()) {
        return INVALID_CONTEXT;
    }
    *context = CURRENT.back();
    CURRENT.pop_back();
    return SUCCESS;
}

EXPORT Code cuMemGetInfo_v2(size_t *free, size_t *total) {
    CALL(Context)
    *free = STATE.memory - std::min(STATE.memory, STATE.open[here()].taken);
    *total = STATE.memory;
    return SUCCESS;
}

EXPORT Code cuMemAlloc_v2(uint64_t *at, size_t len) {
    CALL(Context)
    if (len == 0) {
        return INVALID_VALUE;
    }
    uint64_t taken = STATE.open[here()].taken;
    if (taken > STATE.memory || len > STATE.memory - taken) {
        return OUT_OF_MEMORY;
    }
    *at = uint64_t(allocate(len, Kind::Device));
    return *at ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT Code cuMemFree_v2(uint64_t at) {
    CALL(Context)
    return release(at, Kind::Device);
}

EXPORT Code cuMemHostAlloc(void **at, size_t len, unsigned) {
    CALL(Context)
    if (len == 0) {
        return INVALID_VALUE;
    }
    *at = allocate(len, Kind::Host);
    return *at ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT Code cuMemFreeHost(void *at) {
    CALL(Context)
    return release(uint64_t(at), Kind::Host);
}

EXPORT Code cuMemHostRegister_v2(void *at, size_t len, unsigned) {
    CALL(Context)
    uint64_t first = uint64_t(at), end = first + len;
    auto next = STATE.allocated.lower_bound(end);
    if (len == 0) {
        return INVALID_VALUE;
    }
    if (next != STATE.allocated.begin() && std::prev(next)->first + std::prev(next)->second.len > first) {
        return ALREADY_REGISTERED;
    }
    STATE.allocated[first] = {nullptr, 0, len, Kind::Registered, here()};
    STATE.of_host += len;
    return SUCCESS;
}

EXPORT Code cuMemHostUnregister(void *at) {
    CALL(Context)
    return release(uint64_t(at), Kind::Registered);
}

EXPORT Code cuMemHostGetDevicePointer_v2(uint64_t *device, void *at, unsigned) {
    CALL(Context)
    const Memory *memory = memory_of(uint64_t(at), 1);
    if (!memory || memory->kind == Kind::Device) {
        return INVALID_VALUE;
    }
    *device = uint64_t(at);
    return SUCCESS;
}

EXPORT Code cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t len, Stream *stream) {
    CALL(Context)
    if (!is_device(to, len) || !stream) {
        return INVALID_VALUE;
    }
    if (memory_of(uint64_t(from), len)) {
        stream->work.push_back([=] {
            memcpy(reinterpret_cast<void *>(to), from, len);
            return SUCCESS;
        });
    } else {
        // Memory that is not pinned has been read when this returns.
        auto bytes = static_cast<const unsigned char *>(from);
        std::vector<unsigned char> read(bytes, bytes + len);
        stream->work.push_back([to, read = std::move(read)] {
            memcpy(reinterpret_cast<void *>(to), read.data(), read.size());
            return SUCCESS;
        });
    }
    return SUCCESS;
}

EXPORT Code cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t len, Stream *stream) {
    CALL(Context)
    if (!is_device(from, len) || !stream) {
        return INVALID_VALUE;
    }
    stream->work.push_back([=] {
        memcpy(to, reinterpret_cast<const void *>(from), len);
        return SUCCESS;
    });
    // Memory that is not pinned has been written when this returns.
    return memory_of(uint64_t(to), len) ? SUCCESS : drain(stream, SIZE_MAX);
}

EXPORT Code cuMemsetD8Async(uint64_t at, unsigned char value, size_t len, Stream *stream) {
    CALL(Context)
    if (!is_device(at, len) || !stream) {
        return INVALID_VALUE;
    }
    stream->work.push_back([=] {
        memset(reinterpret_cast<void *>(at), value, len);
        return SUCCESS;
    });
    return SUCCESS;
}

EXPORT Code cuPointerGetAttribute(void *value, int attribute, uint64_t at) {
    CALL(Context)
    const Memory *memory = memory_of(at, 1);
    if (!memory) {
        return INVALID_VALUE;
    }
    auto begin = std::prev(STATE.allocated.upper_bound(at))->first;
    switch (attribute) {
    case 1: // context
        // Memory of a pool has none.
        *static_cast<void **>(value) = STATE.pools ? nullptr : &CONTEXTS[memory->device];
        return SUCCESS;
    case 2: // memory type
        *static_cast<unsigned *>(value) = memory->kind == Kind::Device ? 2 : 1;
        return SUCCESS;
    case 9: // device number
        *static_cast<int *>(value) = int(memory->device);
        return SUCCESS;
    case 11: // start and length of the allocation
        *static_cast<uint64_t *>(value) = begin;
        return SUCCESS;
    case 12:
        *static_cast<size_t *>(value) = memory->len;
        return SUCCESS;
    default:
        return INVALID_VALUE;
    }
}

EXPORT Code cuStreamCreate(Stream **stream, unsigned) {
    CALL(Context)
    *stream = new Stream{here(), {}};
    STATE.streams.insert(*stream);
    return SUCCESS;
}

EXPORT Code cuStreamDestroy_v2(Stream *stream) {
    CALL(Context)
    Code code = drain(stream, SIZE_MAX);
    STATE.streams.erase(stream);
    delete stream;
    return code;
}

EXPORT Code cuStreamSynchronize(Stream *stream) {
    CALL(Context)
    return drain(stream, SIZE_MAX);
}

EXPORT Code cuStreamQuery(Stream *stream) {
    CALL(Context)
    Code code = drain(stream, 1);
    return code != SUCCESS || stream->work.empty() ? code : Code(NOT_READY);
}

EXPORT Code cuEventCreate(Event **event, unsigned) {
    CALL(Context)
    *event = new Event;
    return SUCCESS;
}

EXPORT Code cuEventDestroy_v2(Event *event) {
    CALL(Context)
    // Work that is to record it holds its address.
    if (event->come < event->recorded) {
        drain(event->stream, SIZE_MAX);
    }
    delete event;
    return SUCCESS;
}

EXPORT Code cuEventRecord(Event *event, Stream *stream) {
    CALL(Context)
    event->stream = stream;
    unsigned which = ++event->recorded;
    stream->work.push_back([=] {
        event->come = which;
        return SUCCESS;
    });
    return SUCCESS;
}

EXPORT Code cuEventQuery(Event *event) {
    CALL(Context)
    Code code = event->come < event->recorded ? drain(event->stream, 1) : Code(SUCCESS);
    return code != SUCCESS || event->come == event->recorded ? code : Code(NOT_READY);
}

static Code until(Event *event, unsigned which) {
    while (event->come < which) {
        if (Code code = drain(event->stream, 1)) {
            return code;
        }
    }
    return SUCCESS;
}

EXPORT Code cuEventSynchronize(Event *event) {
    CALL(Context)
    return until(event, event->recorded);
}

EXPORT Code cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
    CALL(Context)
    unsigned which = event->recorded;
    stream->work.push_back([=] { return until(event, which); });
    return SUCCESS;
}

EXPORT Code cuModuleLoadData(void **module, const void *image) {
    CALL(Context)
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    // It begins with a structure that has words of 64 bits.
    if (magic != 0xba55ed50 || uintptr_t(image) % alignof(uint64_t)) {
        return INVALID_IMAGE;
    }
    *module = &MODULE;
    return SUCCESS;
}

EXPORT Code cuModuleUnload(void *module) {
    CALL(Context)
    return module == &MODULE ? SUCCESS : INVALID_HANDLE;
}

EXPORT Code cuModuleGetFunction(const Kernel **function, void *module, const char *name) {
    CALL(Context)
    if (module != &MODULE) {
        return INVALID_HANDLE;
    }
    for (const Kernel &kernel : KERNELS) {
        if (!strcmp(kernel.name, name)) {
            *function = &kernel;
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

EXPORT Code cuLaunchKernel(const Kernel *kernel, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block, unsigned block_y,
                           unsigned block_z, unsigned shared, Stream *stream, void **arguments, void **extra) {
    CALL(Context)
    bool flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
    if (!flat || grid == 0 || grid > 0x7fffffff || block == 0 || block % 32 || block > kernel->most_threads || shared > 49152 ||
        !stream || extra) {
        return INVALID_VALUE;
    }
    bool lose = STATE.loses >= 0 && STATE.loses-- == 0;
    lose |= grid >= MANY && STATE.loses_of_many >= 0 && STATE.loses_of_many-- == 0;
    Launch launch = {kernel, grid, block, shared, {}, due_now(STATE.skips, kernel->name), lose,
                     number_now(STATE.stops, kernel->name), number_now(STATE.flips, kernel->name)};
    for (size_t i = 0; i < kernel->arguments; i++) {
        auto bytes = static_cast<const unsigned char *>(arguments[i]);
        launch.values.emplace_back(bytes, bytes + kernel->sizes[i]);
    }
    stream->work.push_back([launch = std::move(launch)] { return run(launch); });
    return SUCCESS;
}
