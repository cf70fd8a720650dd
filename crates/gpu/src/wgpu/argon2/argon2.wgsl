// Argon2's memory, filled on a device: a workgroup for each lane of each hash, all in the same slice.
//
// A block is a matrix of words, 8 rows of 16. Its compression permutes each row and then each column, where a
// column is two words wide; both are 4 mixings of 4 words, then 4 more along the diagonals. So 32 threads
// have a mixing each: four of them, a quad, compute a row, and later a column. Between rows and columns words
// go through workgroup memory. The source before this one defines arithmetic on words (words32.wgsl,
// words64.wgsl); the source behind it defines how a quad exchanges words (quads_shared.wgsl,
// quads_subgroups.wgsl).
//
// In the device's memory the words of a block are in the order in which threads hold them for rows. So within
// its own lane a thread reads only what it wrote itself, and needs no barrier for that.

const THREADS: u32 = 32u;

// Workgroups in a row of the grid, if there are several rows.
const ROW: u32 = 32768u;

// Words of a block that one thread holds.
struct Quad {
    a: Word,
    b: Word,
    c: Word,
    d: Word,
}

// Positions of a thread's words in `words`: by rows or columns, and along the diagonals.
struct WordPositions {
    own: vec4<u32>,
    turned: vec4<u32>,
}

// Parameters common to all threads of a dispatch, in the layout of `KernelParams` in schedule.rs.
struct Params {
    // Blocks of a segment, lanes of a hash, lanes of all hashes.
    segment: u32,
    lanes: u32,
    lane_count: u32,
    // Position of the computed blocks: pass, slice, range in the segment.
    pass_number: u32,
    slice: u32,
    from_block: u32,
    to_block: u32,
    // Finished blocks of other lanes, and the position of the oldest of them in a lane.
    finished: u32,
    oldest: u32,
    // Other lanes have no finished blocks yet.
    alone: u32,
    // References are in `table`.
    known: u32,
    // A block is added to the one that it replaces.
    adds: u32,
    // The number of the dispatch.
    step: u32,
    // Further input of address blocks.
    blocks: u32,
    passes: u32,
    variant: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Each buffer has one slice of all lanes. A block has 64 elements.
@group(0) @binding(1) var<storage, read_write> slice_0: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> slice_1: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> slice_2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> slice_3: array<vec4<u32>>;
// For each lane and block of the current slice, the block that it refers to; see `reference`.
@group(0) @binding(5) var<storage, read_write> table: array<u32>;
// For each lane of each hash, the number of finished dispatches.
@group(0) @binding(6) var<storage, read_write> progress: array<u32>;

// Two blocks in turn: a thread may write the next block while others still read the first word of the previous one.
var<workgroup> words: array<Word, 256>;
// A pending addition to the first word of a block.
var<workgroup> firsts: array<Word, 2>;

// Rows and columns are placed so that threads that access memory together use different banks.
fn place(row: u32, column: u32) -> u32 {
    return row * 16u + (column ^ (((row & 1u) << 3u) | ((row & 2u) << 1u)));
}

fn turned(k: u32) -> vec4<u32> {
    return vec4<u32>(k, 4u + ((k + 1u) & 3u), 8u + ((k + 2u) & 3u), 12u + ((k + 3u) & 3u));
}

fn in_row(row: u32, at: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(place(row, at.x), place(row, at.y), place(row, at.z), place(row, at.w));
}

fn in_column_at(column: u32, at: u32) -> u32 {
    return place(at >> 1u, 2u * column + (at & 1u));
}

fn in_column(column: u32, at: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        in_column_at(column, at.x),
        in_column_at(column, at.y),
        in_column_at(column, at.z),
        in_column_at(column, at.w),
    );
}

fn row_positions(thread: u32) -> WordPositions {
    let k = thread & 3u;
    return WordPositions(in_row(thread >> 2u, vec4<u32>(k, 4u + k, 8u + k, 12u + k)), in_row(thread >> 2u, turned(k)));
}

fn column_positions(thread: u32) -> WordPositions {
    let k = thread & 3u;
    let own = in_column(thread >> 2u, vec4<u32>(k, 4u + k, 8u + k, 12u + k));
    return WordPositions(own, in_column(thread >> 2u, turned(k)));
}

// The same positions in one of the two blocks in `words`.
fn positions_in(positions: WordPositions, slot: u32) -> WordPositions {
    return WordPositions(positions.own + slot * 128u, positions.turned + slot * 128u);
}

fn mixed(q: Quad) -> Quad {
    var a = added(q.a, q.b);
    var d = turned_by_32(q.d ^ a);
    var c = added(q.c, d);
    var b = turned_by_24(q.b ^ c);
    a = added(a, b);
    d = turned_by_16(d ^ a);
    c = added(c, d);
    b = turned_by_63(b ^ c);
    return Quad(a, b, c, d);
}

// Permutes rows, or columns, and leaves the result in `words`.
fn permute(q: Quad, positions: WordPositions, invocation: Invocation) {
    let v = mixed(diagonals(mixed(q), positions, invocation));
    words[positions.turned.x] = v.a;
    words[positions.turned.y] = v.b;
    words[positions.turned.z] = v.c;
    words[positions.turned.w] = v.d;
    workgroupBarrier();
}

fn load_words(at: vec4<u32>) -> Quad {
    return Quad(words[at.x], words[at.y], words[at.z], words[at.w]);
}

// Rows, then columns.
fn permuted(q: Quad, rows: WordPositions, columns: WordPositions, invocation: Invocation) -> Quad {
    permute(q, rows, invocation);
    permute(load_words(columns.own), columns, invocation);
    return load_words(rows.own);
}

fn sum(x: Quad, y: Quad) -> Quad {
    return Quad(x.a ^ y.a, x.b ^ y.b, x.c ^ y.c, x.d ^ y.d);
}

// A thread's words of a block of a slice.
fn load(slice: u32, block: u32, thread: u32) -> Quad {
    let at = block * 64u + thread;
    var x: vec4<u32>;
    var y: vec4<u32>;
    switch slice {
        case 0u: {
            x = slice_0[at];
            y = slice_0[at + THREADS];
        }
        case 1u: {
            x = slice_1[at];
            y = slice_1[at + THREADS];
        }
        case 2u: {
            x = slice_2[at];
            y = slice_2[at + THREADS];
        }
        default: {
            x = slice_3[at];
            y = slice_3[at + THREADS];
        }
    }
    return Quad(joined(x.xy), joined(x.zw), joined(y.xy), joined(y.zw));
}

// A thread's words of the block `reference`, of the hash whose lanes begin at `hash_at`.
fn load_at(reference: u32, hash_at: u32, thread: u32) -> Quad {
    return load(reference >> 30u, hash_at + (reference & 0x3fffffffu), thread);
}

fn store(slice: u32, block: u32, thread: u32, q: Quad) {
    let at = block * 64u + thread;
    let x = vec4<u32>(halves(q.a), halves(q.b));
    let y = vec4<u32>(halves(q.c), halves(q.d));
    switch slice {
        case 0u: {
            slice_0[at] = x;
            slice_0[at + THREADS] = y;
        }
        case 1u: {
            slice_1[at] = x;
            slice_1[at + THREADS] = y;
        }
        case 2u: {
            slice_2[at] = x;
            slice_2[at + THREADS] = y;
        }
        default: {
            slice_3[at] = x;
            slice_3[at + THREADS] = y;
        }
    }
}

// The block that a pseudo-random word selects, for block `index` of the segment of a lane: its slice in the
// two highest bits, and below them its number in the slice, lanes of a hash one after another.
fn reference(word: vec2<u32>, lane: u32, index: u32) -> u32 {
    var whose = lane;
    if params.alone == 0u && params.lanes > 1u {
        whose = word.y % params.lanes;
    }
    // Of its own lane all blocks but the last; of others, that one is missing only where it was the last of a
    // segment.
    let own = params.finished + index - 1u;
    let other = params.finished - u32(index == 0u);
    let area = select(other, own, whose == lane);
    // Squaring prefers recent blocks.
    let back = high_of_product(area, high_of_product(word.x, word.x));
    var position = params.oldest + (area - 1u - back);
    if position >= 4u * params.segment {
        position -= 4u * params.segment;
    }
    // This is on the critical path of a block: three comparisons are faster than a division.
    let slice = u32(position >= params.segment) + u32(position >= 2u * params.segment)
        + u32(position >= 3u * params.segment);
    return (slice << 30u) | (whose * params.segment + (position - slice * params.segment));
}

// Computes references that depend on no data: 128 per workgroup in each lane.
@compute @workgroup_size(THREADS)
fn references(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let group_number = group.y * ROW + group.x;
    let groups = (params.segment + 127u) / 128u;
    let lane = group_number / groups;
    if lane >= params.lanes {
        return;
    }
    let counter = group_number % groups;
    let thread = thread_number(invocation);
    let rows = row_positions(thread);
    let columns = column_positions(thread);
    var a = 0u;
    var b = 0u;
    switch thread {
        case 0u: {
            a = params.pass_number;
            b = params.passes;
        }
        case 1u: {
            a = lane;
            b = params.variant;
        }
        case 2u: {
            a = params.slice;
            b = counter + 1u;
        }
        case 3u: {
            a = params.blocks;
        }
        default: {}
    }
    let nothing = joined(vec2<u32>(0u, 0u));
    var q = Quad(joined(vec2<u32>(a, 0u)), joined(vec2<u32>(b, 0u)), nothing, nothing);
    q = sum(q, permuted(q, rows, columns, invocation));
    q = sum(q, permuted(q, positions_in(rows, 1u), positions_in(columns, 1u), invocation));
    let first = counter * 128u + 16u * (thread >> 2u) + (thread & 3u);
    store_reference(q.a, lane, first);
    store_reference(q.b, lane, first + 4u);
    store_reference(q.c, lane, first + 8u);
    store_reference(q.d, lane, first + 12u);
}

fn store_reference(word: Word, lane: u32, index: u32) {
    if index < params.segment {
        // The first two blocks of a lane have no references.
        var which = 0u;
        if index >= 2u || params.alone == 0u {
            which = reference(halves(word), lane, index);
        }
        table[lane * params.segment + index] = which;
    }
}

// Computes some blocks of the segments of all lanes, after those of the previous dispatch.
@compute @workgroup_size(THREADS)
fn fill(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let global_lane = group.y * ROW + group.x;
    if global_lane >= params.lane_count {
        return;
    }
    let thread = thread_number(invocation);
    let rows = row_positions(thread);
    let columns = column_positions(thread);
    let lane = global_lane % params.lanes;
    let hash_at = (global_lane - lane) * params.segment;
    let lane_at = global_lane * params.segment;
    var last: Quad;
    if params.from_block == 0u {
        last = load((params.slice + 3u) & 3u, lane_at + params.segment - 1u, thread);
    } else {
        last = load(params.slice, lane_at + params.from_block - 1u, thread);
    }
    if thread == 0u {
        firsts[(params.from_block + 1u) & 1u] = last.a;
    }
    workgroupBarrier();
    var first = firsts[(params.from_block + 1u) & 1u];
    // Where references are known, the block that the next one refers to is loaded while this one is computed,
    // and so is the reference of the block after that. It is never the current block: no block refers to its
    // predecessor.
    let known = lane * params.segment;
    var ahead: Quad;
    var behind: u32;
    if params.known != 0u {
        ahead = load_at(table[known + params.from_block], hash_at, thread);
        behind = table[known + min(params.from_block + 1u, params.to_block - 1u)];
    }
    for (var index = params.from_block; index < params.to_block; index += 1u) {
        // Loaded first, since this depends on nothing.
        var old: Quad;
        if params.adds != 0u {
            old = load(params.slice, lane_at + index, thread);
        }
        var referenced: Quad;
        if params.known != 0u {
            referenced = ahead;
            ahead = load_at(behind, hash_at, thread);
            behind = table[known + min(index + 2u, params.to_block - 1u)];
        } else {
            referenced = load_at(reference(halves(first), lane, index), hash_at, thread);
        }
        let input = sum(last, referenced);
        let rest = sum(input, old);
        let slot = index & 1u;
        if thread == 0u {
            firsts[slot] = rest.a;
        }
        last = sum(rest, permuted(input, positions_in(rows, slot), positions_in(columns, slot), invocation));
        first = firsts[slot] ^ words[slot * 128u];
        store(params.slice, lane_at + index, thread, last);
    }
    workgroupBarrier();
    if thread == 0u && progress[global_lane] == params.step {
        progress[global_lane] = params.step + 1u;
    }
}
