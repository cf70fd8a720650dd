//! Row kernels: the state of one message as four rows of four words, in one register each.
//!
//! ```text
//! a, b = chaining value    c = IV    d = counter, length, flags
//! 7 rounds:  mix rows with x, y;  turn a, c, d so that diagonals stand in columns;  mix;  turn back
//! a, b = a ^ c, b ^ d
//! ```
//!
//! This form is bound by latency: add, xor, rotate, add, xor, rotate, 28 times, 168 cycles at best. So everything
//! else must stay off that chain. Row b is never turned, because it is the last to be known and the first to be
//! needed; the message words of all seven rounds are put in order before the block begins, by permutes that run beside
//! the rounds of the block before, and wait in memory as operands of the additions.
//!
//! With wider registers each 128-bit part holds the rows of another message.
//!
//! Where a rotate takes two cycles (Zen 4), `Fused` takes it off the chain: `ror(d ^ a)` is
//! `ror(d) ^ (a >> n) ^ (a << (32 - n))`, whose first term is known early, and one ternary operation joins the three.

use super::isa::Isa;
use super::{file, weave};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rotate {
    Native,
    Fused,
}

// `RowConstants`, see x86_64/mod.rs.
const IV: usize = 0;
/// Seven permutations of one block.
const ONE: usize = 64;
/// Seven times two permutations of a pair of blocks.
const TWO: usize = 512;

// Scratch of `lanes`: two sets of messages, then the rows d.
const MESSAGES: usize = 1792;
const D_FIRST: usize = 3584;
const D_MIDDLE: usize = 3648;
const D_LAST: usize = 3712;

// `Lanes`, see kernel.rs.
const CV: usize = 512;
const KEY: usize = 520;

const TURN_A: u8 = 0x93;
const TURN_C: u8 = 0x39;
const TURN_D: u8 = 0x4e;

/// The letter of the registers that hold `lanes` messages.
fn letter(lanes: usize) -> char {
    match lanes {
        1 => 'x',
        2 => 'y',
        _ => 'z',
    }
}

/// Seven rounds on rows in registers 0..4; messages at `[messages]`, four vectors a round.
fn rounds(lanes: usize, rotate: Rotate, messages: &str) -> Vec<String> {
    let l = letter(lanes);
    let width = 16 * lanes;
    let r = |n: usize| format!("{l}mm{n}");
    let xor = if lanes == 4 { "vpxord" } else { "vpxor" };
    let mut code = Vec::new();
    // Where each row is now: fused rotates end in another register than they began.
    let (a, mut b, c, mut d) = (0, 1, 2, 3);
    let mut free = 4;
    for round in 0..7 {
        for half in 0..2 {
            for (step, (rot_d, rot_b)) in [(16, 12), (8, 7)].into_iter().enumerate() {
                let offset = (4 * round + 2 * half + step) * width;
                code.push(format!("vpaddd {0}, {0}, [{messages} + {offset}]", r(a)));
                code.push(format!("vpaddd {0}, {0}, {1}", r(a), r(b)));
                xor_rotate(&mut code, rotate, &r, xor, &mut d, a, rot_d, &mut free);
                code.push(format!("vpaddd {0}, {0}, {1}", r(c), r(d)));
                xor_rotate(&mut code, rotate, &r, xor, &mut b, c, rot_b, &mut free);
            }
            let [turn_a, turn_c] = if half == 0 { [TURN_A, TURN_C] } else { [TURN_C, TURN_A] };
            // Diagonals into columns, or back. Row a first: its next addition is waiting.
            code.push(format!("vpshufd {0}, {0}, {turn_a}", r(a)));
            code.push(format!("vpshufd {0}, {0}, {TURN_D}", r(d)));
            code.push(format!("vpshufd {0}, {0}, {turn_c}", r(c)));
        }
    }
    code.push(format!("{xor} {}, {}, {}", r(0), r(a), r(c)));
    code.push(format!("{xor} {}, {}, {}", r(1), r(b), r(d)));
    code
}

/// `row = ror(row ^ with, count)`.
fn xor_rotate(
    code: &mut Vec<String>,
    rotate: Rotate,
    r: &dyn Fn(usize) -> String,
    xor: &str,
    row: &mut usize,
    with: usize,
    count: u32,
    free: &mut usize,
) {
    match rotate {
        Rotate::Native => {
            code.push(format!("{xor} {0}, {0}, {1}", r(*row), r(with)));
            code.push(format!("vprord {0}, {0}, {count}", r(*row)));
        }
        Rotate::Fused => {
            let (left, right) = (r(5), r(6));
            // The old row's rotate does not wait for `with`; out-of-order execution hoists it.
            code.push(format!("vprord {}, {}, {count}", r(*free), r(*row)));
            code.push(format!("vpsrld {right}, {}, {count}", r(with)));
            code.push(format!("vpslld {left}, {}, {}", r(with), 32 - count));
            code.push(format!("vpternlogd {}, {left}, {right}, 0x96", r(*free)));
            std::mem::swap(row, free);
        }
    }
}

/// `run(key, input, len, counter, flags, out)`: one message of up to a chunk.
///
/// Registers: `rdi` key, later the flags of this block; `rsi` input; `rdx` bytes left; `rcx` counter; `r8` flags;
/// `r9` out; `r10` messages of this block; `r11` constants, later messages of the next block.
pub(super) fn run(rotate: Rotate) -> String {
    let mut code: Vec<String> = Vec::new();
    let mut push = |line: &str| code.push(line.into());
    push("vmovdqu xmm0, [rdi]");
    push("vmovdqu xmm1, [rdi + 16]");
    push("vmovq xmm30, rcx");
    push("movzx edi, r8b");
    push("mov eax, r8d");
    push("shr eax, 8");
    push("movzx eax, al");
    push("or edi, eax");
    code.extend(load_block());
    for round in 0..7 {
        code.push(format!("vmovdqa32 zmm{}, [r11 + {}]", 23 + round, ONE + 64 * round));
    }
    code.push(format!("vmovdqa32 xmm31, [r11 + {IV}]"));
    code.extend(permute_block("r10"));
    code.push("cmp rdx, 64".into());
    code.push("jbe 3f".into());
    code.push("lea r11, [r10 + 448]".into());
    code.push("2:".into());
    code.push("mov eax, 64".into());
    code.extend(row_d());
    let mut next = vec!["add rsi, 64".into(), "sub rdx, 64".into()];
    next.extend(load_block());
    next.extend(permute_block("r11"));
    code.extend(weave(rounds(1, rotate, "r10"), next));
    code.push("movzx edi, r8b".into());
    code.push("xchg r10, r11".into());
    code.push("cmp rdx, 64".into());
    code.push("ja 2b".into());
    code.push("3:".into());
    code.push("shr r8d, 16".into());
    code.push("or edi, r8d".into());
    code.push("mov rax, rdx".into());
    code.extend(row_d());
    code.extend(rounds(1, rotate, "r10"));
    code.push("vmovdqu [r9], xmm0".into());
    code.push("vmovdqu [r9 + 16], xmm1".into());
    code.push("vzeroupper".into());
    let head = "BLAKE3, one message of up to a chunk in rows, AVX-512: rdx bytes at rsi.";
    file(head, &code)
}

/// The next 64 bytes, or as many as there are, into zmm16. Bytes past the end are neither read nor faulted on.
fn load_block() -> Vec<String> {
    [
        "mov eax, 64",
        "cmp rdx, 64",
        "cmovb rax, rdx",
        "mov rcx, -1",
        "bzhi rcx, rcx, rax",
        "kmovq k1, rcx",
        "vmovdqu8 zmm16{k1}{z}, [rsi]",
    ]
    .map(String::from)
    .into()
}

fn permute_block(to: &str) -> Vec<String> {
    let mut code = Vec::new();
    for round in 0..7 {
        code.push(format!("vpermd zmm17, zmm{}, zmm16", 23 + round));
        code.push(format!("vmovdqa32 [{to} + {}], zmm17", 64 * round));
    }
    code
}

/// Rows c and d: length in `rax`, flags in `rdi`.
fn row_d() -> Vec<String> {
    [
        "shl rdi, 32",
        "or rdi, rax",
        "vmovq xmm3, rdi",
        "vpunpcklqdq xmm3, xmm30, xmm3",
        "vmovdqa32 xmm2, xmm31",
    ]
    .map(String::from)
    .into()
}

/// `advance(lanes, blocks)` for two or four messages; the rows d are in scratch.
///
/// Registers: `rdi` lanes; `rsi` blocks left; `rax`, `rdx`, `rcx`, `r8` inputs; `r9` their offset; `r10` scratch;
/// `r11` constants; `r12`, `r13` messages of this block and the next.
pub(super) fn lanes(lanes: usize, rotate: Rotate) -> String {
    let l = letter(lanes);
    let pointers = ["rax", "rdx", "rcx", "r8"];
    let mut code = vec![
        format!("mov rax, [rdi + {KEY}]"),
        "test rax, rax".into(),
        "jz 4f".into(),
        format!("vbroadcasti32x4 {l}mm0, [rax]"),
        format!("vbroadcasti32x4 {l}mm1, [rax + 16]"),
        "jmp 5f".into(),
        "4:".into(),
        format!("mov rax, [rdi + {CV}]"),
    ];
    for row in 0..2 {
        code.push(format!("vmovdqu32 xmm{row}, [rax + {}]", 16 * row));
        for lane in 1..lanes {
            let source = 32 * lane + 16 * row;
            code.push(format!("vinserti32x4 {l}mm{row}, {l}mm{row}, [rax + {source}], {lane}"));
        }
    }
    code.push("5:".into());
    for (lane, pointer) in pointers[..lanes].iter().enumerate() {
        code.push(format!("mov {pointer}, [rdi + {}]", 8 * lane));
    }
    code.push("xor r9d, r9d".into());
    code.push("mov r12, r10".into());
    code.push(format!("lea r13, [r10 + {MESSAGES}]"));
    code.push(format!("vbroadcasti32x4 {l}mm31, [r11 + {IV}]"));
    code.push(format!("vmovdqa32 {l}mm30, [r10 + {D_FIRST}]"));
    code.extend(permute_lanes(lanes, &pointers, "r12"));
    code.push("dec rsi".into());
    code.push("jz 3f".into());
    code.push("2:".into());
    code.push(format!("vmovdqa32 {l}mm2, {l}mm31"));
    code.push(format!("vmovdqa32 {l}mm3, {l}mm30"));
    let mut next = vec!["add r9, 64".to_string()];
    next.extend(permute_lanes(lanes, &pointers, "r13"));
    code.extend(weave(rounds(lanes, rotate, "r12"), next));
    code.push(format!("vmovdqa32 {l}mm30, [r10 + {D_MIDDLE}]"));
    code.push("xchg r12, r13".into());
    code.push("dec rsi".into());
    code.push("jnz 2b".into());
    code.push("3:".into());
    code.push(format!("vmovdqa32 {l}mm2, {l}mm31"));
    code.push(format!("vmovdqa32 {l}mm3, [r10 + {D_LAST}]"));
    code.extend(rounds(lanes, rotate, "r12"));
    code.push(format!("mov rax, [rdi + {CV}]"));
    for row in 0..2 {
        code.push(format!("vmovdqu [rax + {}], xmm{row}", 16 * row));
        for lane in 1..lanes {
            code.push(format!("vextracti32x4 [rax + {}], {l}mm{row}, {lane}", 32 * lane + 16 * row));
        }
    }
    code.push("vzeroupper".into());
    let head = format!("BLAKE3, {lanes} messages in rows, AVX-512: rsi blocks in every lane of rdi.");
    file(&head, &code)
}

/// The words of the next block of each lane in the order of the rounds. A permute takes them from two blocks at once
/// and leaves x of both, then y of both.
fn permute_lanes(lanes: usize, pointers: &[&str], to: &str) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..lanes {
        code.push(format!("vmovdqu32 zmm{}, [{} + r9]", 16 + lane, pointers[lane]));
    }
    for round in 0..7 {
        for half in 0..2 {
            let order = TWO + 64 * (2 * round + half);
            let place = 16 * lanes * (4 * round + 2 * half);
            for pair in 0..lanes / 2 {
                let (t, first) = (20 + pair, 16 + 2 * pair);
                code.push(format!("vmovdqa32 zmm{t}, [r11 + {order}]"));
                code.push(format!("vpermi2d zmm{t}, zmm{first}, zmm{}", first + 1));
                if lanes == 2 {
                    code.push(format!("vmovdqa32 [{to} + {place}], zmm{t}"));
                } else {
                    code.push(format!("vmovdqa32 [{to} + {}], ymm{t}", place + 32 * pair));
                    code.push(format!("vextracti64x4 [{to} + {}], zmm{t}, 1", place + 64 + 32 * pair));
                }
            }
        }
    }
    code
}

/// `run` without AVX-512: rotates by shuffles and shifts, message words carried from round to round.
///
/// Registers: `rdi` key; `rsi` input; `rdx` blocks; `rcx` counter; `r8` flags; `r9` out; `r10` last block; `r11`
/// constants; `rax` length of the last block.
pub(super) fn run_narrow(isa: &Isa) -> String {
    let isa = isa.narrowed();
    let mut code: Vec<String> = Vec::new();
    let mov = if isa.is_vex() { "vmovdqu" } else { "movdqu" };
    let movq = if isa.is_vex() { "vmovq" } else { "movq" };
    code.push(format!("{mov} xmm0, [rdi]"));
    code.push(format!("{mov} xmm1, [rdi + 16]"));
    code.push(format!("{movq} xmm14, rcx"));
    code.push(format!("{mov} xmm15, [r11 + {}]", super::column::IV_ROW));
    code.push("movzx edi, r8b".into());
    code.push("mov ecx, r8d".into());
    code.push("shr ecx, 8".into());
    code.push("movzx ecx, cl".into());
    code.push("or edi, ecx".into());
    code.push("mov ecx, 64".into());
    code.push("2:".into());
    code.push("dec rdx".into());
    code.push("jnz 3f".into());
    code.push("mov rsi, r10".into());
    code.push("mov ecx, eax".into());
    code.push("shr r8d, 16".into());
    code.push("or edi, r8d".into());
    code.push("3:".into());
    code.push("shl rdi, 32".into());
    code.push("or rdi, rcx".into());
    code.push(format!("{movq} xmm12, rdi"));
    code.extend(isa.op3("punpcklqdq", 3, 14, "xmm12"));
    code.push(if isa.is_vex() { "vmovdqa xmm2, xmm15".into() } else { "movdqa xmm2, xmm15".to_string() });
    code.extend(rounds_narrow(&isa, mov));
    code.push("add rsi, 64".into());
    code.push("movzx edi, r8b".into());
    code.push("test rdx, rdx".into());
    code.push("jnz 2b".into());
    code.push(format!("{mov} [r9], xmm0"));
    code.push(format!("{mov} [r9 + 16], xmm1"));
    let head = format!("BLAKE3, one message of up to a chunk in rows, {}: rdx blocks at rsi.", isa.name);
    file(&head, &code)
}

fn rounds_narrow(isa: &Isa, mov: &str) -> Vec<String> {
    let mut code = Vec::new();
    // x, y: registers of the words that the columns take; dx, dy: of those that the diagonals take.
    let [mut x, mut y, mut dx, mut dy] = [4, 5, 6, 7];
    let mut next = [8, 9, 10, 11];
    const TEMP: u8 = 12;
    for (register, offset) in [(8, 0), (9, 16), (10, 32), (11, 48)] {
        code.push(format!("{mov} xmm{register}, [rsi + {offset}]"));
    }
    for (to, low, high, pick) in [(4, 8, 9, 0x88), (5, 8, 9, 0xdd), (6, 10, 11, 0x88), (7, 10, 11, 0xdd)] {
        code.extend(isa.pick(to, low, high, pick));
    }
    // On the diagonals place p mixes what column p - 1 began.
    code.extend(isa.turn(6, 6, TURN_A));
    code.extend(isa.turn(7, 7, TURN_A));
    for round in 0..7 {
        for (half, [first, second]) in [[x, y], [dx, dy]].into_iter().enumerate() {
            for (words, rot_d, rot_b) in [(first, 16, 12), (second, 8, 7)] {
                code.extend(isa.op("paddd", 0, words));
                code.extend(isa.op("paddd", 0, 1));
                code.extend(isa.op("pxor", 3, 0));
                code.extend(isa.rotate(3, rot_d, 13));
                code.extend(isa.op("paddd", 2, 3));
                code.extend(isa.op("pxor", 1, 2));
                code.extend(isa.rotate(1, rot_b, 13));
            }
            let [turn_a, turn_c] = if half == 0 { [TURN_A, TURN_C] } else { [TURN_C, TURN_A] };
            code.extend(isa.turn(0, 0, turn_a));
            code.extend(isa.turn(3, 3, TURN_D));
            code.extend(isa.turn(2, 2, turn_c));
        }
        if round < 6 {
            code.extend(carry_words(isa, [x, y, dx, dy], next, TEMP));
            ([x, y, dx, dy], next) = (next, [x, y, dx, dy]);
        }
    }
    code.extend(isa.op("pxor", 0, 2));
    code.extend(isa.op("pxor", 1, 3));
    code
}

/// The words of the next round from those of this one. With `s[i]` the word in place i of the schedule,
/// `x = s[0 2 4 6]`, `y = s[1 3 5 7]`, `dx = s[14 8 10 12]`, `dy = s[15 9 11 13]`, and the next `s[i]` is `s[P[i]]`.
fn carry_words(isa: &Isa, [x, y, dx, dy]: [u8; 4], [nx, ny, ndx, ndy]: [u8; 4], temp: u8) -> Vec<String> {
    let mut code = Vec::new();
    // Next x = s[2 3 7 4] = x1 y1 y3 x2.
    code.extend(isa.pick(nx, x, y, imm([1, 2, 1, 3])));
    code.extend(isa.turn(nx, nx, imm([0, 2, 3, 1])));
    // Next y = s[6 10 0 13] = x3 dx2 x0 dy3.
    code.extend(isa.blend_words(temp, dx, dy, 0b1000));
    code.extend(isa.pick(ny, x, temp, imm([3, 0, 2, 3])));
    code.extend(isa.turn(ny, ny, imm([0, 2, 1, 3])));
    // Next dx = s[15 1 12 9] = dy0 y0 dx3 dy1.
    code.extend(isa.blend_words(temp, y, dx, 0b1000));
    code.extend(isa.pick(ndx, dy, temp, imm([0, 1, 0, 3])));
    code.extend(isa.turn(ndx, ndx, imm([0, 2, 3, 1])));
    // Next dy = s[8 11 5 14] = dx1 dy2 y2 dx0.
    code.extend(isa.unpack("hdq", temp, dy, y));
    code.extend(isa.pick(ndy, dx, temp, imm([1, 0, 0, 1])));
    code.extend(isa.turn(ndy, ndy, imm([0, 2, 3, 1])));
    code
}

/// The immediate of a shuffle that takes these four places.
fn imm(places: [u8; 4]) -> u8 {
    places[0] | places[1] << 2 | places[2] << 4 | places[3] << 6
}

#[cfg(test)]
mod tests {
    use crate::codegen::schedule;

    /// The comments in `carry_words` against the permutation.
    #[test]
    fn places_carried_are_those_of_the_schedule() {
        let next = schedule()[1];
        assert_eq!([next[0], next[2], next[4], next[6]], [2, 3, 7, 4]);
        assert_eq!([next[1], next[3], next[5], next[7]], [6, 10, 0, 13]);
        assert_eq!([next[14], next[8], next[10], next[12]], [15, 1, 12, 9]);
        assert_eq!([next[15], next[9], next[11], next[13]], [8, 11, 5, 14]);
    }
}
