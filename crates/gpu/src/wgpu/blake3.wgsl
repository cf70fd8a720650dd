// BLAKE3 for devices: chunks to chaining values, the values of a tile to one value, messages of at most a
// chunk.
//
// A thread hashes a chunk, a workgroup reduces its 128 chunks to one value, and a second kernel with one
// workgroup per tile reduces the values of the tile. Both reduce rows: neighbours are paired, and an odd one
// moves up unchanged. The result is BLAKE3's tree wherever a row begins at a multiple of its length.

// Threads of a workgroup, and so chunks that become one value.
const WIDTH: u32 = 128u;

const CHUNK_START: u32 = 1u;
const CHUNK_END: u32 = 2u;
const PARENT: u32 = 4u;

const IV_LOW = vec4<u32>(0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au);

// Parameters common to all threads of a dispatch, in the layout of `Params` in blake3.rs.
struct Params {
    key_low: vec4<u32>,
    key_high: vec4<u32>,
    // The number of the first chunk in the whole input.
    counter_low: u32,
    counter_high: u32,
    // Chunks of the bound input for `leaves`, of the whole input for `tops`; messages for `messages`.
    chunks: u32,
    // Bytes of the last chunk.
    tail: u32,
    // The flag of the mode.
    flags: u32,
    // Chunks of a tile.
    tile: u32,
    // Values of a tile's row.
    row: u32,
    // The row that gets the first value of this dispatch.
    first: u32,
}

// A chaining value.
struct Value {
    low: vec4<u32>,
    high: vec4<u32>,
}

// Sixteen words of a message.
struct Block {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

// The rows of the state.
struct State {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<vec4<u32>>;
// A value has two elements.
@group(0) @binding(2) var<storage, read_write> rows: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> values: array<vec4<u32>>;
// For each message: its start in `input`, its length, its chunk number, and flags besides those of the mode.
@group(0) @binding(4) var<storage, read> jobs: array<vec4<u32>>;

var<workgroup> low: array<vec4<u32>, WIDTH>;
var<workgroup> high: array<vec4<u32>, WIDTH>;

fn rotate(x: vec4<u32>, by: u32) -> vec4<u32> {
    return (x >> vec4<u32>(by)) | (x << vec4<u32>(32u - by));
}

// Four quarter-rounds side by side.
fn quarters(s: State, x: vec4<u32>, y: vec4<u32>) -> State {
    var a = s.a + s.b + x;
    var d = rotate(s.d ^ a, 16u);
    var c = s.c + d;
    var b = rotate(s.b ^ c, 12u);
    a = a + b + y;
    d = rotate(d ^ a, 8u);
    c = c + d;
    b = rotate(b ^ c, 7u);
    return State(a, b, c, d);
}

// One round.
fn mixed(before: State, m: Block) -> State {
    var s = quarters(before, vec4<u32>(m.a.xz, m.b.xz), vec4<u32>(m.a.yw, m.b.yw));
    s = State(s.a, s.b.yzwx, s.c.zwxy, s.d.wxyz);
    s = quarters(s, vec4<u32>(m.c.xz, m.d.xz), vec4<u32>(m.c.yw, m.d.yw));
    return State(s.a, s.b.wxyz, s.c.zwxy, s.d.yzwx);
}

fn permute(m: Block) -> Block {
    return Block(
        vec4<u32>(m.a.z, m.b.z, m.a.w, m.c.z),
        vec4<u32>(m.b.w, m.a.x, m.b.x, m.d.y),
        vec4<u32>(m.a.y, m.c.w, m.d.x, m.b.y),
        vec4<u32>(m.c.y, m.d.z, m.d.w, m.c.x),
    );
}

fn compress(cv: Value, block: Block, counter: vec2<u32>, len: u32, flags: u32) -> Value {
    var m = block;
    var s = State(cv.low, cv.high, IV_LOW, vec4<u32>(counter, len, flags));
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    m = permute(m);
    s = mixed(s, m);
    return Value(s.a ^ s.c, s.b ^ s.d);
}

// Those bytes of four words, `at` bytes into a block, that are before its end. The bytes behind it are
// arbitrary.
fn cut(words: vec4<u32>, at: u32, len: u32) -> vec4<u32> {
    let left = vec4<i32>(i32(len)) - vec4<i32>(i32(at)) - vec4<i32>(0, 4, 8, 12);
    let bits = vec4<u32>(clamp(left, vec4<i32>(0), vec4<i32>(3))) * 8u;
    let some = words & ((vec4<u32>(1u) << bits) - vec4<u32>(1u));
    return select(some, words, left >= vec4<i32>(4));
}

// The value of `len` bytes of one chunk, from `start` in `input` on.
fn chunk(start: u32, len: u32, counter: vec2<u32>, flags: u32, end: u32) -> Value {
    var cv = Value(params.key_low, params.key_high);
    let blocks = max(1u, (len + 63u) >> 6u);
    for (var i = 0u; i < blocks; i += 1u) {
        let here = min(len - i * 64u, 64u);
        let at = start + i * 4u;
        var m = Block(input[at], input[at + 1u], input[at + 2u], input[at + 3u]);
        var marks = flags;
        if i == 0u {
            marks |= CHUNK_START;
        }
        if i + 1u == blocks {
            marks |= end;
            m = Block(cut(m.a, 0u, here), cut(m.b, 16u, here), cut(m.c, 32u, here), cut(m.d, 48u, here));
        }
        cv = compress(cv, m, counter, here, marks);
    }
    return cv;
}

fn parent(left: Value, right: Value) -> Value {
    let key = Value(params.key_low, params.key_high);
    let m = Block(left.low, left.high, right.low, right.high);
    return compress(key, m, vec2<u32>(0u), 64u, params.flags | PARENT);
}

fn empty(value: Value) -> bool {
    return all((value.low | value.high) == vec4<u32>(0u));
}

// Reduces the chunks of a workgroup to one value in `rows`.
@compute @workgroup_size(WIDTH)
fn leaves(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first = group.x * WIDTH;
    var count = min(params.chunks - first, WIDTH);
    if thread < count {
        let number = first + thread;
        // A subtree begins at a multiple of its length, so there is no carry.
        let counter = vec2<u32>(params.counter_low + number, params.counter_high);
        let len = select(1024u, params.tail, number + 1u == params.chunks);
        let value = chunk(number * 64u, len, counter, params.flags, CHUNK_END);
        low[thread] = value.low;
        high[thread] = value.high;
    }
    while count > 1u {
        workgroupBarrier();
        var value: Value;
        let left = 2u * thread;
        if left < count {
            value = Value(low[left], high[left]);
            if left + 1u < count {
                value = parent(value, Value(low[left + 1u], high[left + 1u]));
            }
        }
        workgroupBarrier();
        if left < count {
            low[thread] = value.low;
            high[thread] = value.high;
        }
        count = (count + 1u) / 2u;
    }
    if thread == 0u {
        let at = 2u * (params.first + group.x);
        rows[at] = low[0];
        rows[at + 1u] = high[0];
    }
}

// Reduces the row of a tile to one value in `values`. It works in place: parents are written in front of the
// values that are still to be read. If a value is zero because its group was skipped, all values above it are
// zero.
@compute @workgroup_size(WIDTH)
fn tops(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let base = group.x * params.row;
    let chunks = min(params.chunks - group.x * params.tile, params.tile);
    var count = (chunks + WIDTH - 1u) / WIDTH;
    while count > 1u {
        let above = (count + 1u) / 2u;
        for (var first = 0u; first < above; first += WIDTH) {
            let index = first + thread;
            var value: Value;
            if index < above {
                let left = 2u * (base + 2u * index);
                value = Value(rows[left], rows[left + 1u]);
                if 2u * index + 1u < count {
                    let right = Value(rows[left + 2u], rows[left + 3u]);
                    if empty(value) || empty(right) {
                        value = Value();
                    } else {
                        value = parent(value, right);
                    }
                }
            }
            storageBarrier();
            if index < above {
                rows[2u * (base + index)] = value.low;
                rows[2u * (base + index) + 1u] = value.high;
            }
            storageBarrier();
        }
        count = above;
    }
    if thread == 0u {
        values[2u * group.x] = rows[2u * base];
        values[2u * group.x + 1u] = rows[2u * base + 1u];
    }
}

// Hashes the chunks of many messages, one per thread: a message of one chunk becomes its digest, chunks of
// longer messages become values.
@compute @workgroup_size(WIDTH)
fn messages(@builtin(global_invocation_id) id: vec3<u32>) {
    let number = id.x;
    if number < params.chunks {
        let job = jobs[number];
        let value = chunk(job.x, job.y, vec2<u32>(job.z, 0u), params.flags, job.w);
        values[2u * number] = value.low;
        values[2u * number + 1u] = value.high;
    }
}
