//! Column kernels: word i of every lane in register i, so that one instruction does the same step in all lanes.
//!
//! ```text
//! v[0..8] = chaining values            transposed once at the start, or the key in every lane
//! for each block:
//!     m[0..16] = transpose(lanes' blocks)     into memory, as operands of the additions
//!     v[8..16] = IV, counter, length, flags
//!     7 rounds: columns, then diagonals, four mixings side by side, one operation at a time
//!     v[i] = v[i] ^ v[i + 8]
//! chaining values = transpose(v[0..8])
//! ```
//!
//! With 32 registers the next block is transposed during the rounds of this one: shuffles and rotates use different ports, and
//! neither phase alone fills them. With 16 registers one state word (c of the first mixing) is spilled to memory whenever a
//! rotate needs a temporary, and is read back as an operand; until then its register holds the mask of a byte shuffle. If
//! vector operations take two cycles (Zen 5), a stream of sixteen lanes leaves half the ports idle, and two streams take all
//! registers. The next block is then copied through general registers, two words at a time; vectors only exchange
//! neighbours, between the blocks.
//!
//! Registers: `rdi` lanes, `rsi` blocks left, `rcx` offset of the block to transpose, `r8` its messages, `r9` those
//! of the current block, `r10` scratch, `r11` constants, `rdx` flags of this block, `rax` temporary. Where blocks do not
//! overlap, [`POINTERS`] are the lanes', and all else but `rdi` and `rcx` is in scratch.

mod xof;

pub(super) use xof::{xof, xof_direct};

use crate::assembly::isa::{Ahead, Isa, ROT8, ROT16};
use crate::assembly::{file, schedule, weave};

// `Lanes`, see kernel/table.rs in crates/hash/src/blake3.
const COUNTER_LOW: usize = 128;
const COUNTER_HIGH: usize = 192;
const FIRST: usize = 256;
const MIDDLE: usize = 320;
const LAST: usize = 384;
const LAST_LEN: usize = 448;
const CV: usize = 512;
const KEY: usize = 520;

// `Constants`, see x86_64/mod.rs: each broadcast to 64 bytes.
const IV: usize = 0;
const FULL_LEN: usize = 256;
pub(super) const IV_ROW: usize = 448;

/// The second sixteen lanes have a `Lanes` of their own, behind the first.
const GROUP: usize = 16;
const LANES_SIZE: usize = 576;

// Scratch: two sets of messages, then these.
const SPILL: usize = 2048;
const SAVED_CV: usize = 2112;
const LAST_FLAGS: usize = 2624;

// Scratch of `Ahead::Nothing`: values that differ between blocks.
const THIS_LEN: usize = 2688;
const THIS_FLAGS: usize = 2752;
const LEFT: usize = 2816;

/// Pointers to the lanes' blocks, of `Ahead::Nothing`: loaded once, not four times a block (3 % on Zen 3).
const POINTERS: [&str; 8] = ["r8", "r9", "rax", "rdx", "rsi", "r12", "r13", "r14"];

// Scratch of `Ahead::Paired`, whose sets may be twice as large: values that differ between blocks, for each stream.
const PAIRED_LEFT: usize = 4096;
const PAIRED_FULL: usize = 4160;
const PAIRED_LAST_LEN: usize = 4288;
const PAIRED_FIRST: usize = 4416;
const PAIRED_MIDDLE: usize = 4544;
const PAIRED_LAST: usize = 4672;

/// Prefetch distances of a lane that copies: two blocks, into the L1 cache, since copies wait for loads in order; and a pass
/// of sixteen chunks, into the L2 cache. All of it in L1 would evict the current pass.
const NEAR: usize = 128;
const FAR: usize = 16 * 1024;

fn at(base: &str, offset: usize) -> String {
    if offset == 0 { format!("[{base}]") } else { format!("[{base} + {offset}]") }
}

/// `advance(lanes, blocks)`.
pub(super) fn advance(isa: &Isa) -> String {
    let mut code = Vec::new();
    if isa.ahead != Ahead::Nothing {
        code.extend(["mov r8, r10".into(), format!("lea r9, [r10 + {}]", 16 * isa.stride())]);
    }
    code.push("xor ecx, ecx".into());
    code.extend(match isa.ahead {
        Ahead::Nothing => advance_nothing(isa),
        Ahead::Shuffled => advance_shuffled(isa),
        Ahead::Copied => advance_copied(isa),
        Ahead::Paired => advance_paired(isa),
    });
    code.extend(finish(isa));
    if isa.r(0) != "xmm0" {
        code.push("vzeroupper".into());
    }
    let head = format!(
        "BLAKE3, {} lanes in columns, {}: rsi blocks in every lane of rdi.",
        isa.all_lanes(),
        isa.name
    );
    file(&head, &code)
}

/// One block after the other. Chaining values stay in their registers: messages are transposed in the other half.
fn advance_nothing(isa: &Isa) -> Vec<String> {
    let v = &isa.state[0];
    let copy = |from: String, to: usize| [isa.load(v[15], &from), isa.store(&at("r10", to), v[15])];
    let mut code = start(isa);
    code.extend(last_flags(isa));
    code.extend(copy(at("r11", FULL_LEN), THIS_LEN));
    code.extend(copy(at("rdi", FIRST), THIS_FLAGS));
    let blocks_left = format!("qword ptr {}", at("r10", LEFT));
    code.push(format!("mov {blocks_left}, rsi"));
    code.extend((0..isa.lanes).map(|lane| format!("mov {}, {}", POINTERS[lane], pointer(lane))));
    code.push("2:".into());
    code.push(format!("dec {blocks_left}"));
    code.push("jnz 3f".into());
    code.extend(copy(at("rdi", LAST_LEN), THIS_LEN));
    code.extend(copy(at("r10", LAST_FLAGS), THIS_FLAGS));
    code.push("3:".into());
    code.extend(transpose_block(isa));
    // Not behind the last block: it may be a parent's, see `advance_copied`.
    code.push(format!("cmp {blocks_left}, 0"));
    code.push("jz 4f".into());
    for (op, bytes) in [("prefetcht0", NEAR), ("prefetcht1", 1024 * isa.lanes)] {
        code.extend(POINTERS[..isa.lanes].iter().map(|lane| format!("{op} [{lane} + rcx + {}]", bytes - 64)));
    }
    code.push("4:".into());
    code.extend(lower_state(isa, |_| (at("r10", THIS_LEN), at("r10", THIS_FLAGS))));
    code.extend(rounds(isa, Messages::Transposed("r10")));
    code.extend(feed_forward(isa));
    code.extend(copy(at("rdi", MIDDLE), THIS_FLAGS));
    code.push(format!("cmp {blocks_left}, 0"));
    code.push("jnz 2b".into());
    code
}

/// The next block is transposed during the rounds of this one. The last has code of its own, as there is no next one.
fn advance_shuffled(isa: &Isa) -> Vec<String> {
    let block = |last: bool| {
        // The messages of this block are in `r8`; the next ones go where the previous ones were.
        let mut code = vec!["xchg r8, r9".into()];
        code.extend(lower_state(isa, |_| match last {
            true => (at("rdi", LAST_LEN), at("r10", LAST_FLAGS)),
            false => (at("r11", FULL_LEN), at("rdx", 0)),
        }));
        let side = if last { Vec::new() } else { transpose_block(isa) };
        code.extend(weave(rounds(isa, Messages::Transposed("r9")), side));
        code.extend(feed_forward(isa));
        code
    };
    let mut code = start(isa);
    code.extend(flags(isa));
    code.extend(transpose_block(isa));
    code.push("dec rsi".into());
    code.push("jz 3f".into());
    code.push("2:".into());
    code.extend(block(false));
    code.push(format!("lea rdx, {}", at("rdi", MIDDLE)));
    code.push("dec rsi".into());
    code.push("jnz 2b".into());
    code.push("3:".into());
    code.extend(block(true));
    code
}

/// The next block is copied word by word during the rounds of this one. Two bodies would not fit into the first level
/// of the instruction cache together with anything else, so the last block copies itself once more.
fn advance_copied(isa: &Isa) -> Vec<String> {
    let mut code = transpose_block(isa);
    code.extend(start(isa));
    code.extend(flags(isa));
    let blocks_left = format!("qword ptr {}", at("r10", SPILL));
    code.push(format!("mov {blocks_left}, rsi"));
    code.push("2:".into());
    code.push(format!("lea rax, {}", at("r11", FULL_LEN)));
    code.push(format!("lea rsi, [rcx + {FAR}]"));
    code.push(format!("dec {blocks_left}"));
    code.push("jnz 3f".into());
    code.push("sub rcx, 64".into());
    // A single block may be a parent's, and looking for memory far from it takes longer than the block.
    code.push("cmovz rsi, rcx".into());
    code.push(format!("lea rdx, {}", at("r10", LAST_FLAGS)));
    code.push(format!("lea rax, {}", at("rdi", LAST_LEN)));
    code.push("3:".into());
    code.push("xchg r8, r9".into());
    let offset = |stream| lane_offset(isa, stream);
    code.extend(lower_state(isa, |stream| (at("rax", offset(stream)), at("rdx", offset(stream)))));
    // Values stored in halves must have left the store queue when the next block loads them whole.
    let mut rounds = rounds(isa, Messages::Transposed("r9"));
    let end = rounds.split_off(rounds.len() * 85 / 100);
    code.extend(weave(rounds, copy_block(isa)));
    code.extend(end);
    code.extend(feed_forward(isa));
    code.push(format!("lea rdx, {}", at("rdi", MIDDLE)));
    code.push(format!("cmp {blocks_left}, 0"));
    code.push("jnz 2b".into());
    code
}

/// The next block is copied in pairs of words during the rounds of this one. As in [`advance_copied`] the last block
/// copies itself once more.
fn advance_paired(isa: &Isa) -> Vec<String> {
    let mut code = copy_pairs(isa);
    code.extend(start(isa));
    code.extend(paired_ends(isa));
    code.extend(pair_masks(["k1", "k2"]));
    let blocks_left = format!("qword ptr {}", at("r10", PAIRED_LEFT));
    code.push(format!("mov {blocks_left}, rsi"));
    code.push("2:".into());
    code.extend(exchange(isa));
    code.push(format!("lea rax, {}", at("r10", PAIRED_FULL)));
    code.push(format!("lea rsi, [rcx + {}]", 1024 * isa.all_lanes()));
    code.push(format!("dec {blocks_left}"));
    code.push("jnz 3f".into());
    code.push("sub rcx, 64".into());
    // See `advance_copied`.
    code.push("cmovz rsi, rcx".into());
    code.push(format!("lea rdx, {}", at("r10", PAIRED_LAST)));
    code.push(format!("lea rax, {}", at("r10", PAIRED_LAST_LEN)));
    code.push("3:".into());
    code.extend(lower_state(isa, |stream| (at("rax", 64 * stream), at("rdx", 64 * stream))));
    // As in `advance_copied`, and the exchange loads all of it at once.
    let mut rounds = rounds(isa, Messages::Transposed("r9"));
    let end = rounds.split_off(rounds.len() * 70 / 100);
    code.extend(weave(rounds, copy_pairs(isa)));
    code.extend(end);
    code.extend(feed_forward(isa));
    code.push(format!("lea rdx, {}", at("r10", PAIRED_MIDDLE)));
    code.push(format!("cmp {blocks_left}, 0"));
    code.push("jnz 2b".into());
    code
}

/// The odd places of a vector, and the even ones.
fn pair_masks(masks: [&str; 2]) -> impl Iterator<Item = String> {
    let set = |(mask, places)| [format!("mov eax, {places}"), format!("kmovw {mask}, eax")];
    masks.into_iter().zip([0xaaaa, 0x5555]).flat_map(set)
}

/// Copies lengths and flags to scratch, where the distance between the streams is always the same.
fn paired_ends(isa: &Isa) -> Vec<String> {
    let mut code = vec![format!("lea rdx, {}", at("r10", PAIRED_FIRST))];
    for (stream, v) in isa.state.iter().enumerate() {
        let mut copy = |from: String, to: usize| {
            code.push(isa.load(v[15], &from));
            code.push(isa.store(&at("r10", to + 64 * stream), v[15]));
        };
        copy(at("r11", FULL_LEN), PAIRED_FULL);
        for (from, to) in [(LAST_LEN, PAIRED_LAST_LEN), (FIRST, PAIRED_FIRST), (MIDDLE, PAIRED_MIDDLE)] {
            copy(at("rdi", from + lane_offset(isa, stream)), to);
        }
        code.push(isa.load(v[15], &at("rdi", LAST + lane_offset(isa, stream))));
        code.push("cmp rsi, 1".into());
        code.push(format!("jne {}f", 6 + stream));
        code.extend(isa.op_mem("por", v[15], &at("rdi", FIRST + lane_offset(isa, stream))));
        code.push(format!("{}:", 6 + stream));
        code.push(isa.store(&at("r10", PAIRED_LAST + 64 * stream), v[15]));
    }
    code
}

/// Offset of the words of a stream's lanes in a field of `Lanes`.
fn lane_offset(isa: &Isa, stream: usize) -> usize {
    let lane = stream * isa.lanes;
    lane / GROUP * LANES_SIZE + lane % GROUP * 4
}

/// Location of the pointer of a lane.
fn pointer(lane: usize) -> String {
    at("rdi", lane / GROUP * LANES_SIZE + lane % GROUP * 8)
}

/// Chaining values into v[0..8].
fn start(isa: &Isa) -> Vec<String> {
    let mut code = vec![format!("mov rax, {}", at("rdi", KEY)), "test rax, rax".into(), "jz 4f".into()];
    for word in 0..8 {
        code.extend(isa.broadcast(isa.state[0][word], &at("rax", 4 * word)));
        for state in &isa.state[1..] {
            code.push(format!("vmovdqa32 {}, {}", isa.r(state[word]), isa.r(isa.state[0][word])));
        }
    }
    code.push("jmp 5f".into());
    code.push("4:".into());
    code.push(format!("mov rax, {}", at("rdi", CV)));
    for stream in 0..isa.streams {
        let base = stream * isa.lanes * 32;
        for half in 0..2 {
            let address = |lane: usize| format!("[rax + {}]", base + 32 * lane + 16 * half);
            let to: Vec<u8> = (0..4).map(|word| isa.state[stream][4 * half + word]).collect();
            code.extend(gather_four(isa, address, &to, [8, 9, 10, 11].map(|word| isa.state[stream][word])));
        }
    }
    code.push("5:".into());
    code
}

/// Four consecutive words of each lane, transposed: `to[j]` gets word j of all lanes.
fn gather_four(isa: &Isa, address: impl Fn(usize) -> String, to: &[u8], temp: [u8; 4]) -> Vec<String> {
    let mut code = Vec::new();
    for row in 0..4 {
        code.extend(isa.load_quads(to[row], |quad| address(row + 4 * quad)));
    }
    code.extend(transpose_quads(isa, to, temp));
    code
}

/// 4x4 words within each sixteen bytes: `rows[j]` becomes column j.
fn transpose_quads(isa: &Isa, rows: &[u8], temp: [u8; 4]) -> Vec<String> {
    let [a, b, c, d] = [rows[0], rows[1], rows[2], rows[3]];
    let mut code = Vec::new();
    code.extend(isa.unpack("ldq", temp[0], a, b));
    code.extend(isa.unpack("hdq", temp[1], a, b));
    code.extend(isa.unpack("ldq", temp[2], c, d));
    code.extend(isa.unpack("hdq", temp[3], c, d));
    code.extend(isa.unpack("lqdq", a, temp[0], temp[2]));
    code.extend(isa.unpack("hqdq", b, temp[0], temp[2]));
    code.extend(isa.unpack("lqdq", c, temp[1], temp[3]));
    code.extend(isa.unpack("hqdq", d, temp[1], temp[3]));
    code
}

/// The flags of blocks: `rdx` points at those of the next block, scratch holds those of the last one.
fn flags(isa: &Isa) -> Vec<String> {
    let mut code = vec![format!("lea rdx, {}", at("rdi", FIRST))];
    code.extend(last_flags(isa));
    code
}

/// The flags of the last block into scratch.
fn last_flags(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for stream in 0..isa.streams {
        let offset = lane_offset(isa, stream);
        // Not in use before the first block.
        let temp = isa.state[0][15];
        code.push(isa.load(temp, &at("rdi", LAST + offset)));
        code.push("cmp rsi, 1".into());
        code.push(format!("jne {}f", 6 + stream));
        code.extend(isa.op_mem("por", temp, &at("rdi", FIRST + offset)));
        code.push(format!("{}:", 6 + stream));
        code.push(isa.store(&at("r10", LAST_FLAGS + offset), temp));
    }
    code
}

/// The block at offset `rcx` of every lane, transposed to `[r8]`, or to scratch where blocks do not overlap. Advances
/// `rcx`.
fn transpose_block(isa: &Isa) -> Vec<String> {
    let mut code = match isa.all_lanes() {
        16 => transpose_sixteen(isa),
        _ => transpose_fours(isa),
    };
    code.push("add rcx, 64".into());
    code
}

/// Sixteen lanes, half a block (32 bytes) at a time: the first exchange is done by loads.
fn transpose_sixteen(isa: &Isa) -> Vec<String> {
    let t = isa.spare;
    let mut code = Vec::new();
    for half in 0..2 {
        // Lanes [i | i + 4] in t[0..4], lanes [i + 8 | i + 12] in t[4..8], each with eight words.
        for i in 0..4 {
            for group in 0..2 {
                let (register, lane) = (t[4 * group + i], 8 * group + i);
                code.push(format!("mov rax, {}", at("rdi", 8 * lane)));
                code.push(format!("vmovdqu32 ymm{register}, [rax + rcx + {}]", 32 * half));
                if half == 1 {
                    code.push("prefetcht0 [rax + rcx + 16384]".into());
                }
                code.push(format!("mov rax, {}", at("rdi", 8 * (lane + 4))));
                code.push(format!(
                    "vinserti64x4 zmm{register}, zmm{register}, [rax + rcx + {}], 1",
                    32 * half
                ));
                if half == 1 {
                    code.push("prefetcht0 [rax + rcx + 16384]".into());
                }
            }
        }
        let z = |kind: &str, to: u8, a: u8, b: u8| format!("vpunpck{kind} zmm{to}, zmm{a}, zmm{b}");
        for group in 0..2 {
            let g = 4 * group;
            let u = 8 + g;
            code.push(z("ldq", t[u], t[g], t[g + 1]));
            code.push(z("hdq", t[u + 1], t[g], t[g + 1]));
            code.push(z("ldq", t[u + 2], t[g + 2], t[g + 3]));
            code.push(z("hdq", t[u + 3], t[g + 2], t[g + 3]));
            code.push(z("lqdq", t[g], t[u], t[u + 2]));
            code.push(z("hqdq", t[g + 1], t[u], t[u + 2]));
            code.push(z("lqdq", t[g + 2], t[u + 1], t[u + 3]));
            code.push(z("hqdq", t[g + 3], t[u + 1], t[u + 3]));
        }
        // Even sixteen bytes hold the first four words, odd ones the other four.
        for word in 0..4 {
            for (part, order) in [(0, 0x88), (1, 0xdd)] {
                let to = t[8 + 2 * word + part];
                code.push(format!("vshufi32x4 zmm{to}, zmm{}, zmm{}, {order}", t[word], t[4 + word]));
                code.push(format!("vmovdqa32 [r8 + {}], zmm{to}", 64 * (8 * half + 4 * part + word)));
            }
        }
    }
    code
}

/// Four or eight lanes, a quarter of a block (16 bytes) at a time.
fn transpose_fours(isa: &Isa) -> Vec<String> {
    let t = isa.spare;
    let messages = if isa.ahead == Ahead::Nothing { "r10" } else { "r8" };
    let mut code = Vec::new();
    for quarter in 0..4 {
        let t = if quarter % 2 == 1 && t.len() >= 16 { &t[8..] } else { t };
        for row in 0..4 {
            let register = t[row];
            for quad in 0..isa.lanes / 4 {
                let lane = row + 4 * quad;
                let base = match isa.ahead {
                    Ahead::Nothing => POINTERS[lane],
                    _ => {
                        code.push(format!("mov rax, {}", pointer(lane)));
                        "rax"
                    }
                };
                code.push(isa.load_quad(register, &format!("[{base} + rcx + {}]", 16 * quarter), quad));
            }
        }
        code.extend(transpose_quads(isa, &t[..4], [t[4], t[5], t[6], t[7]]));
        for (word, &register) in t[..4].iter().enumerate() {
            code.push(isa.store(&at(messages, isa.stride() * (4 * quarter + word)), register));
        }
    }
    code
}

/// The block at offset `rcx` of every lane to where [`transpose_block`] would put it, eight bytes at a time by way of
/// `rdx`; prefetches at offset `rsi`. Advances `rcx`.
fn copy_block(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..isa.all_lanes() {
        code.push(format!("mov rax, {}", at("rdi", 8 * lane)));
        code.push(format!("prefetcht0 [rax + rcx + {NEAR}]"));
        code.push("prefetcht1 [rax + rsi]".into());
        for pair in 0..8 {
            let address = |word: usize| at("r8", isa.stride() * word + 4 * lane);
            code.push(format!("mov rdx, qword ptr [rax + rcx + {}]", 8 * pair));
            code.push(format!("mov dword ptr {}, edx", address(2 * pair)));
            code.push("shr rdx, 32".into());
            code.push(format!("mov dword ptr {}, edx", address(2 * pair + 1)));
        }
    }
    code.push("add rcx, 64".into());
    code
}

/// The block at offset `rcx` of every lane in pairs of words to `[r8]`, by way of `rdx`: of each pair of words first the
/// even lanes, then the odd ones. Prefetches at offset `rsi`. Advances `rcx`.
fn copy_pairs(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..isa.all_lanes() {
        code.push(format!("mov rax, {}", pointer(lane)));
        code.push(format!("prefetcht0 [rax + rcx + {NEAR}]"));
        code.push("prefetcht1 [rax + rsi]".into());
        let (stream, lane) = (lane / isa.lanes, lane % isa.lanes);
        for pair in 0..8 {
            code.push(format!("mov rdx, qword ptr [rax + rcx + {}]", 8 * pair));
            code.push(format!(
                "mov qword ptr {}, rdx",
                at("r8", pairs(isa, stream, pair, lane % 2) + lane / 2 * 8)
            ));
        }
    }
    code.push("add rcx, 64".into());
    code
}

/// Offset of the even (0) or odd (1) lanes of a pair of words.
fn pairs(isa: &Isa, stream: usize, pair: usize, odd: usize) -> usize {
    isa.width() * (16 * stream + 2 * pair + odd)
}

/// Moves the output of [`copy_pairs`] at `[r8]` to where [`transpose_block`] would put it at `[r9]`: of two neighbouring
/// words, the first goes to one vector and the second to the other.
fn exchange(isa: &Isa) -> Vec<String> {
    let free: Vec<u8> = isa.state.iter().flat_map(|v| v[8..].iter().copied()).collect();
    let all: Vec<(usize, usize)> =
        (0..isa.streams).flat_map(|stream| (0..8).map(move |pair| (stream, pair))).collect();
    let mut code = Vec::new();
    for some in all.chunks(free.len() / 2) {
        let lines = some.iter().zip(free.chunks(2)).map(|(&(stream, pair), to)| {
            let [even, odd] = [0, 1].map(|odd| at("r8", pairs(isa, stream, pair, odd)));
            let word = |word: usize| at("r9", isa.stride() * (2 * pair + word) + stream * isa.width());
            [
                isa.load(to[0], &even),
                isa.load(to[1], &odd),
                format!("vmovsldup {}{{k1}}, {odd}", isa.r(to[0])),
                format!("vmovshdup {}{{k2}}, {even}", isa.r(to[1])),
                isa.store(&word(0), to[0]),
                isa.store(&word(1), to[1]),
            ]
        });
        let lines: Vec<[String; 6]> = lines.collect();
        code.extend((0..6).flat_map(|step| lines.iter().map(move |lines| lines[step].clone())));
    }
    code
}

/// v[8..16] of every stream; `len_flags` says where the lengths and the flags of a stream are.
fn lower_state(isa: &Isa, len_flags: impl Fn(usize) -> (String, String)) -> Vec<String> {
    let mut code = Vec::new();
    for (stream, v) in isa.state.iter().enumerate() {
        let offset = lane_offset(isa, stream);
        for word in 0..4 {
            code.push(isa.load(v[8 + word], &at("r11", IV + 64 * word)));
        }
        code.push(isa.load(v[12], &at("rdi", COUNTER_LOW + offset)));
        code.push(isa.load(v[13], &at("rdi", COUNTER_HIGH + offset)));
        let (len, flags) = len_flags(stream);
        code.push(isa.load(v[14], &len));
        code.push(isa.load(v[15], &flags));
    }
    code
}

/// v[0..8] of every stream becomes its chaining value.
fn feed_forward(isa: &Isa) -> Vec<String> {
    let words = (0..8).flat_map(|word| isa.state.iter().map(move |v| (v[word], v[word + 8])));
    words.flat_map(|(low, high)| isa.op("pxor", low, high)).collect()
}

/// Location of the message words.
#[derive(Clone, Copy)]
enum Messages<'a> {
    /// A register of lanes for each word.
    Transposed(&'a str),
    /// The same block for all lanes, as it is.
    Broadcast(&'a str),
}

/// Seven rounds in every stream, one operation of each in turns.
fn rounds(isa: &Isa, messages: Messages<'_>) -> Vec<String> {
    (0..isa.streams).map(|stream| steps(isa, stream, messages)).reduce(weave).expect("at least one stream")
}

/// Seven rounds of one stream, one operation in four mixings at a time.
fn steps(isa: &Isa, stream: usize, messages: Messages<'_>) -> Vec<String> {
    let mut code = Vec::new();
    // The register whose word is spilled, if a rotate needs one.
    let mut aside = None;
    for order in schedule() {
        for half in 0..2 {
            // Mixing i takes word i of each row; on the diagonals each row is turned once more than the one above.
            let word = |i: usize, row: usize| 4 * row + if half == 0 { i } else { (i + row) % 4 };
            for (step, (rot_d, rot_b)) in [(16, 12), (8, 7)].into_iter().enumerate() {
                let m = |i: usize| order[8 * half + 2 * i + step];
                if isa.rotates_by_shifts() {
                    let pairs = if half == 0 { [[0, 1], [2, 3]] } else { [[3, 0], [1, 2]] };
                    let (lines, now) = half_mix_by_shifts(isa, messages, m, word, rot_d, rot_b, pairs, aside);
                    code.extend(lines);
                    aside = Some(now);
                } else {
                    code.extend(half_mix(isa, stream, messages, m, word, rot_d, rot_b));
                }
            }
        }
    }
    code.extend(aside.map(|register| isa.load(register, &at("r10", SPILL))));
    code
}

/// Half of four mixings, one operation at a time.
fn half_mix(
    isa: &Isa,
    stream: usize,
    messages: Messages<'_>,
    m: impl Fn(usize) -> usize,
    word: impl Fn(usize, usize) -> usize,
    rot_d: u32,
    rot_b: u32,
) -> Vec<String> {
    let v = &isa.state[stream];
    let each = |op: &dyn Fn(usize) -> Vec<String>| (0..4).flat_map(op).collect::<Vec<_>>();
    let [a, b, c, d] = [0, 1, 2, 3].map(|row| {
        let word = &word;
        move |i: usize| v[word(i, row)]
    });
    let message = |i: usize| match messages {
        Messages::Transposed(base) => at(base, isa.stride() * m(i) + stream * isa.width()),
        Messages::Broadcast(base) => isa.broadcast_operand(&at(base, 4 * m(i))),
    };
    if isa.ahead == Ahead::Paired {
        // Both operations of a mixing side by side: measured 1 to 2 % faster than one operation of all four at a time.
        return [
            each(&|i| [isa.op_mem("paddd", a(i), &message(i)), isa.op("paddd", a(i), b(i))].concat()),
            each(&|i| isa.xor_rotate(d(i), a(i), rot_d, 0)),
            each(&|i| isa.op("paddd", c(i), d(i))),
            each(&|i| isa.xor_rotate(b(i), c(i), rot_b, 0)),
        ]
        .concat();
    }
    [
        each(&|i| isa.op_mem("paddd", a(i), &message(i))),
        each(&|i| isa.op("paddd", a(i), b(i))),
        each(&|i| isa.op("pxor", d(i), a(i))),
        each(&|i| isa.rotate(d(i), rot_d, 0)),
        each(&|i| isa.op("paddd", c(i), d(i))),
        each(&|i| isa.op("pxor", b(i), c(i))),
        each(&|i| isa.rotate(b(i), rot_b, 0)),
    ]
    .concat()
}

/// [`half_mix`] with sixteen registers. Returns the register whose word it spilled to `SPILL`; `aside` is the one spilled
/// before.
///
/// Two mixings are a step ahead of the other two, so that their rotates, which only half of the ports execute, do not
/// coincide. On the diagonals, the two whose words b were ready first lead.
fn half_mix_by_shifts(
    isa: &Isa,
    messages: Messages<'_>,
    m: impl Fn(usize) -> usize,
    word: impl Fn(usize, usize) -> usize,
    rot_d: u32,
    rot_b: u32,
    [early, late]: [[usize; 2]; 2],
    aside: Option<u8>,
) -> (Vec<String>, u8) {
    let Messages::Transposed(base) = messages else { panic!("no operand is broadcast without masks") };
    let [a, b, c, d] = [0, 1, 2, 3].map(|row| {
        let word = &word;
        move |i: usize| isa.state[0][word(i, row)]
    });
    let spill = at("r10", SPILL);
    let mask = at("r11", if rot_d == 16 { ROT16 } else { ROT8 });
    let add_message = |i: usize| isa.op_mem("paddd", a(i), &at(base, isa.stride() * m(i)));
    let add_b = |i: usize| isa.op("paddd", a(i), b(i));
    let xor_d = |i: usize| isa.op("pxor", d(i), a(i));
    let rotate_d = |i: usize| isa.op3("pshufb", d(i), d(i), &aside.map_or(mask.clone(), |it| isa.r(it)));
    let add_c = |i: usize| match aside {
        Some(register) if register == c(i) => isa.op3("paddd", c(i), d(i), &spill),
        _ => isa.op("paddd", c(i), d(i)),
    };
    let xor_b = |i: usize| isa.op("pxor", b(i), c(i));
    let rotate_b = |i: usize| isa.rotate(b(i), rot_b, c(0));
    let two = |op: &dyn Fn(usize) -> Vec<String>, pair: [usize; 2]| -> Vec<String> {
        pair.into_iter().flat_map(op).collect()
    };
    let lines: [Vec<String>; 15] = [
        two(&add_message, early),
        two(&add_b, early),
        two(&add_message, late),
        two(&xor_d, early),
        two(&add_b, late),
        aside.map(|register| isa.load(register, &mask)).into_iter().collect(),
        two(&rotate_d, early),
        two(&xor_d, late),
        two(&rotate_d, late),
        two(&add_c, early),
        two(&xor_b, early),
        two(&add_c, late),
        [two(&xor_b, late), vec![isa.store(&spill, c(0))]].concat(),
        two(&rotate_b, early),
        two(&rotate_b, late),
    ];
    (lines.concat(), c(0))
}

/// Chaining values back to memory, lane after lane.
fn finish(isa: &Isa) -> Vec<String> {
    let mut code = vec![format!("mov rax, {}", at("rdi", CV))];
    for (stream, v) in isa.state.iter().enumerate() {
        for half in 0..2 {
            let rows: Vec<u8> = (0..4).map(|word| v[4 * half + word]).collect();
            code.extend(transpose_quads(isa, &rows, [v[8], v[9], v[10], v[11]]));
            // Sixteen bytes of each lane: stores that pick them out of a register need no shuffle.
            for (row, &register) in rows.iter().enumerate() {
                for quad in 0..isa.lanes / 4 {
                    let lane = stream * isa.lanes + row + 4 * quad;
                    code.push(isa.store_quad(&at("rax", 32 * lane + 16 * half), register, quad));
                }
            }
        }
    }
    code
}
