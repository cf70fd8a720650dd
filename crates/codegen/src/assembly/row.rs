//! Row kernels: the state of one message as four rows of four words, in one register each.
//!
//! ```text
//! a, b = chaining value    c = IV    d = counter, length, flags
//! x, y, dx, dy = message words that the columns (x, then y) and the diagonals (dx, dy) take
//! 7 rounds:  mix rows with x, y;  turn a, c, d so that diagonals stand in columns;  mix with dx, dy;  turn back
//!            x, y, dx, dy = the same of the next round
//! a, b = a ^ c, b ^ d
//! ```
//!
//! Latency is the limit: add, xor, rotate, add, xor, rotate, 28 times, 168 cycles at best where a rotate takes one.
//! Everything else must stay off that chain. Row b is never turned, because it is computed last and used first. With wider registers each 128-bit part holds the rows of another message.
//!
//! Where a rotate takes two cycles (Zen 4), `Fused` takes it off the chain: `ror(d ^ a)` is
//! `ror(d) ^ (a >> n) ^ (a << (32 - n))`, whose first term is known early, and one ternary operation joins the three.
//!
//! Tried and lost on Intel: all words of a block put in order by full permutes one block ahead and kept in memory
//! (fewer instructions, but 182 to 224 cycles a block instead of 174).

use super::isa::{Isa, Rotate};
use super::{file, isa, weave};

// Rows.
const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;
const D: u8 = 3;
/// Message words of this round, and of the next.
const WORDS: [u8; 4] = [4, 5, 6, 7];
const NEXT: [u8; 4] = [8, 9, 10, 11];
const TEMP: u8 = 12;
const ROTATE_TEMP: u8 = 13;
/// Carried from block to block: the counter (of one message) or row d, and the IV.
const CARRIED_D: u8 = 14;
const CARRIED_IV: u8 = 15;

// `LaterRows`, see kernel/x86_64/avx512.rs in crates/hash/src/blake3.
const D_MIDDLE: usize = 0;
const D_LAST: usize = 64;

// Shuffles of each row that move diagonals to columns.
const TURN_A: u8 = imm([3, 0, 1, 2]);
const TURN_C: u8 = imm([1, 2, 3, 0]);
const TURN_D: u8 = imm([2, 3, 0, 1]);

/// The immediate of a shuffle that takes these four places.
const fn imm(places: [u8; 4]) -> u8 {
    places[0] | places[1] << 2 | places[2] << 4 | places[3] << 6
}

/// Seven rounds; message words in `NEXT` as they came from memory. Leaves the chaining value in `A` and `B`.
fn rounds(isa: &Isa) -> Vec<String> {
    let mut code = first_words(isa);
    let ([mut x, mut y, mut dx, mut dy], mut next) = (WORDS, NEXT);
    for round in 0..7 {
        for (half, [first, second]) in [[x, y], [dx, dy]].into_iter().enumerate() {
            for (words, rot_d, rot_b) in [(first, 16, 12), (second, 8, 7)] {
                code.extend(isa.op("paddd", A, words));
                code.extend(isa.op("paddd", A, B));
                code.extend(isa.xor_rotate(D, A, rot_d, ROTATE_TEMP));
                code.extend(isa.op("paddd", C, D));
                code.extend(isa.xor_rotate(B, C, rot_b, ROTATE_TEMP));
            }
            let [turn_a, turn_c] = if half == 0 { [TURN_A, TURN_C] } else { [TURN_C, TURN_A] };
            code.extend(isa.turn(A, A, turn_a));
            code.extend(isa.turn(D, D, TURN_D));
            code.extend(isa.turn(C, C, turn_c));
        }
        if round < 6 {
            code.extend(carry_words(isa, [x, y, dx, dy], next));
            ([x, y, dx, dy], next) = (next, [x, y, dx, dy]);
        }
    }
    code.extend(isa.op("pxor", A, C));
    code.extend(isa.op("pxor", B, D));
    code
}

/// The words of the first round from the block in four registers.
fn first_words(isa: &Isa) -> Vec<String> {
    let [m0, m1, m2, m3] = NEXT;
    let [x, y, dx, dy] = WORDS;
    let (even, odd) = (imm([0, 2, 0, 2]), imm([1, 3, 1, 3]));
    let mut code = Vec::new();
    code.extend(isa.pick(x, m0, m1, even));
    code.extend(isa.pick(y, m0, m1, odd));
    code.extend(isa.pick(dx, m2, m3, even));
    code.extend(isa.pick(dy, m2, m3, odd));
    // On the diagonals, position p continues column p - 1.
    code.extend(isa.turn(dx, dx, TURN_A));
    code.extend(isa.turn(dy, dy, TURN_A));
    code
}

/// The words of the next round from those of this one. With `s[i]` the word at position i of the schedule,
/// `x = s[0 2 4 6]`, `y = s[1 3 5 7]`, `dx = s[14 8 10 12]`, `dy = s[15 9 11 13]`, and the next `s[i]` is `s[P[i]]`.
fn carry_words(isa: &Isa, [x, y, dx, dy]: [u8; 4], [nx, ny, ndx, ndy]: [u8; 4]) -> Vec<String> {
    let mut code = Vec::new();
    // Next x = s[2 3 7 4] = x1 y1 y3 x2.
    code.extend(isa.pick(nx, x, y, imm([1, 2, 1, 3])));
    code.extend(isa.turn(nx, nx, imm([0, 2, 3, 1])));
    // Next y = s[6 10 0 13] = x3 dx2 x0 dy3.
    code.extend(isa.blend_last(TEMP, dx, dy));
    code.extend(isa.pick(ny, x, TEMP, imm([3, 0, 2, 3])));
    code.extend(isa.turn(ny, ny, imm([0, 2, 1, 3])));
    // Next dx = s[15 1 12 9] = dy0 y0 dx3 dy1.
    code.extend(isa.blend_last(TEMP, y, dx));
    code.extend(isa.pick(ndx, dy, TEMP, imm([0, 1, 0, 3])));
    code.extend(isa.turn(ndx, ndx, imm([0, 2, 3, 1])));
    // Next dy = s[8 11 5 14] = dx1 dy2 y2 dx0.
    code.extend(isa.unpack("hdq", TEMP, dy, y));
    code.extend(isa.pick(ndy, dx, TEMP, imm([1, 0, 0, 1])));
    code.extend(isa.turn(ndy, ndy, imm([0, 2, 3, 1])));
    code
}

/// `run(key, input, blocks, counter, flags, out, last, last_len)`: one message of up to a chunk.
///
/// Registers: `rdi` key, later the flags of this block; `rsi` input; `rdx` blocks left; `rcx` counter, later the length
/// of this block; `r8` flags; `r9` out; `r10` the last block; `r11` constants; `rax` the length of the last block.
/// Without masked loads the last block is a padded copy if it is short.
pub(super) fn run(isa: &Isa) -> String {
    let mut code = vec![
        isa.load_any(A, "[rdi]"),
        isa.load_any(B, "[rdi + 16]"),
        isa.from_general(CARRIED_D, "rcx"),
        isa.load_any(CARRIED_IV, &format!("[r11 + {}]", crate::assembly::column::IV_ROW)),
    ];
    code.extend(
        [
            "movzx edi, r8b",
            "movzx ecx, r8w",
            "shr ecx, 8",
            "or edi, ecx",
            "mov ecx, 64",
            "dec rdx",
            "jz 3f",
            "2:",
        ]
        .map(String::from),
    );
    for (i, register) in NEXT.into_iter().enumerate() {
        code.push(isa.load_any(register, &format!("[rsi + {}]", 16 * i)));
    }
    code.extend(rows_c_d(isa));
    code.extend(rounds(isa));
    code.extend(["add rsi, 64", "movzx edi, r8b", "dec rdx", "jnz 2b", "3:"].map(String::from));
    code.extend(["shr r8d, 16", "or edi, r8d", "mov ecx, eax"].map(String::from));
    code.extend(last_block(isa));
    code.extend(rows_c_d(isa));
    code.extend(rounds(isa));
    code.push(isa.store_any("[r9]", A));
    code.push(isa.store_any("[r9 + 16]", B));
    let head = format!("BLAKE3, one message of up to a chunk in rows, {}.", isa.name);
    file(&head, &code)
}

/// The last block into `NEXT`. Masked loads neither read nor fault on bytes past its end.
fn last_block(isa: &Isa) -> Vec<String> {
    let whole = NEXT.into_iter().enumerate();
    let whole = whole.map(|(i, register)| isa.load_any(register, &format!("[r10 + {}]", 16 * i)));
    if !isa.masks() {
        return whole.collect();
    }
    let mut code = vec!["cmp eax, 64".into(), "jne 4f".into()];
    code.extend(whole);
    code.extend(["jmp 5f", "4:", "mov rdx, -1", "bzhi rdx, rdx, rax"].map(String::from));
    for (i, register) in NEXT.into_iter().enumerate() {
        code.push(format!("kmovw k{}, edx", i + 1));
        code.push(format!("vmovdqu8 xmm{register}{{k{}}}{{z}}, [r10 + {}]", i + 1, 16 * i));
        if i < 3 {
            code.push("shr rdx, 16".into());
        }
    }
    code.push("5:".into());
    code
}

/// Rows c and d of the next block: counter, length in `rcx`, flags in `rdi`.
fn rows_c_d(isa: &Isa) -> Vec<String> {
    let mut code = vec!["shl rdi, 32".into(), "or rdi, rcx".into(), isa.from_general(TEMP, "rdi")];
    code.extend(isa.op3("punpcklqdq", D, CARRIED_D, &format!("xmm{TEMP}")));
    code.push(isa.copy(C, CARRIED_IV));
    code
}

/// Two or four messages, block after block: in one stream of registers, or four messages in two streams of two.
///
/// Registers: `rax`, `rdx`, `rcx`, `r8` inputs; `rsi` blocks; `rdi` chaining values; `r9` the key or null, later the
/// offset of the block; `r10` the rows d of later blocks; `r11` constants; `zmm14` the rows d of the first block
/// (through memory they would come too late for the first operation that waits for them).
pub(super) fn lanes(streams: &[Isa]) -> String {
    let code: Vec<_> = streams.iter().enumerate().map(|(index, &isa)| Stream { isa, index }).collect();
    let each = |part: &dyn Fn(&Stream) -> Vec<String>| code.iter().flat_map(part).collect::<Vec<_>>();
    let in_turns = |part: &dyn Fn(&Stream) -> Vec<String>| {
        code.iter().map(part).reduce(weave).expect("at least one stream")
    };
    let mut lines = vec!["test r9, r9".into(), "jz 4f".into()];
    lines.extend(each(&Stream::start_from_key));
    lines.extend(["jmp 5f", "4:"].map(String::from));
    lines.extend(each(&Stream::go_on));
    lines.push("5:".into());
    lines.extend(streams.last().expect("at least one stream").blend_setup("r9"));
    lines.push("xor r9d, r9d".into());
    lines.extend(each(&Stream::keep));
    lines.extend(["dec rsi", "jz 3f", "2:"].map(String::from));
    lines.extend(in_turns(&Stream::block));
    lines.extend(each(&|stream| stream.later_row(D_MIDDLE)));
    lines.extend(["add r9, 64", "dec rsi", "jnz 2b"].map(String::from));
    lines.extend(each(&|stream| stream.later_row(D_LAST)));
    lines.push("3:".into());
    lines.extend(in_turns(&Stream::block));
    lines.extend(each(&Stream::finish));
    lines.push("vzeroupper".into());
    let messages: usize = streams.iter().map(|isa| isa.lanes / 4).sum();
    file(
        &format!("BLAKE3, {messages} messages in rows, {}: rsi blocks in every lane.", streams[0].name),
        &lines,
    )
}

/// One of the streams of [`lanes`].
struct Stream {
    isa: Isa,
    index: usize,
}

impl Stream {
    /// Address of this stream's part of each row: `quad` counts 16 bytes.
    fn lane(&self, quad: usize) -> usize {
        self.index * self.isa.lanes / 4 + quad
    }

    fn start_from_key(&self) -> Vec<String> {
        vec![self.isa.repeat_quad(A, "[r9]"), self.isa.repeat_quad(B, "[r9 + 16]")]
    }

    fn go_on(&self) -> Vec<String> {
        let row = |row: u8| {
            self.isa
                .load_quads(row, |quad| format!("[rdi + {}]", 32 * self.lane(quad) + 16 * usize::from(row)))
        };
        [A, B].into_iter().flat_map(row).collect()
    }

    fn keep(&self) -> Vec<String> {
        let mut code =
            vec![self.isa.repeat_quad(CARRIED_IV, &format!("[r11 + {}]", crate::assembly::column::IV_ROW))];
        if self.index > 0 {
            code.push(format!("vextracti64x4 {}, zmm14, 1", self.isa.r(CARRIED_D)));
        }
        code
    }

    fn later_row(&self, which: usize) -> Vec<String> {
        vec![self.isa.load(CARRIED_D, &format!("[r10 + {}]", which + self.index * self.isa.width()))]
    }

    fn block(&self) -> Vec<String> {
        let pointers = ["rax", "rdx", "rcx", "r8"];
        let mut code = Vec::new();
        for (i, register) in NEXT.into_iter().enumerate() {
            let address = |quad: usize| format!("[{} + r9 + {}]", pointers[self.lane(quad)], 16 * i);
            code.extend(self.isa.load_quads(register, address));
        }
        code.push(self.isa.copy(C, CARRIED_IV));
        code.push(self.isa.copy(D, CARRIED_D));
        code.extend(rounds(&self.isa));
        code
    }

    fn finish(&self) -> Vec<String> {
        let mut code = Vec::new();
        for row in [A, B] {
            for quad in 0..self.isa.lanes / 4 {
                let address = format!("[rdi + {}]", 32 * self.lane(quad) + 16 * usize::from(row));
                code.push(self.isa.store_quad(&address, row, quad));
            }
        }
        code
    }
}

/// Offsets of the message words of [`four`], behind the rows d of later blocks, and of the number of turns that are left.
const FOUR_WORDS: usize = 128;
const FOUR_TURNS: usize = 640;

/// Four messages in two streams of two, for AVX2.
///
/// Sixteen registers hold the rows of both streams and little else, so message words are in memory. Each round adds them
/// from there, and meanwhile orders and stores those of the next round, in two buffers by turns. Six rounds are therefore a
/// loop of three passes, which is 1 % faster than unrolled code on Zen 3, and 4 % while another thread uses the core. Four
/// messages in columns take a third longer: they have only the four mixings of one block to interleave.
///
/// Registers as those of [`lanes`], but for `ymm14` and `ymm15`, the rows d of the first block.
pub(super) fn four(isa: &Isa) -> String {
    let streams = [
        Quarters { isa: *isa, rows: [0, 1, 2, 3], temps: [10, 11, 12], rotate_temp: 8, index: 0 },
        Quarters { isa: *isa, rows: [4, 5, 6, 7], temps: [13, 14, 15], rotate_temp: 9, index: 1 },
    ];
    let each = |part: &dyn Fn(&Quarters) -> Vec<String>| streams.iter().flat_map(part).collect::<Vec<_>>();
    let later = |which: usize| each(&|stream| vec![stream.later_row(which)]);
    let first = ["vmovdqa ymm3, ymm14", "vmovdqa ymm7, ymm15", "test r9, r9", "jz 4f"];
    let mut lines: Vec<String> = first.map(String::from).into();
    lines.extend(each(&|stream| (0..2).map(|row| stream.repeat(row, "r9", 16 * row)).collect()));
    lines.extend(["jmp 5f", "4:"].map(String::from));
    lines.extend(each(&Quarters::go_on));
    lines.extend(["5:", "xor r9d, r9d", "2:"].map(String::from));
    let both = |part: &dyn Fn(&Quarters) -> Vec<String>| weave(part(&streams[0]), part(&streams[1]));
    let turns = format!("dword ptr [r10 + {FOUR_TURNS}]");
    lines.extend(both(&Quarters::begin));
    lines.extend([format!("mov {turns}, 3"), "6:".into()]);
    lines.extend(both(&|stream| stream.round(0)));
    lines.extend(both(&|stream| stream.round(1)));
    lines.extend([format!("dec {turns}"), "jnz 6b".into()]);
    lines.extend(both(&|stream| stream.round(6)));
    lines.extend(both(&Quarters::end));
    lines.extend(["add r9, 64", "dec rsi", "jz 3f"].map(String::from));
    lines.extend(later(D_MIDDLE));
    lines.extend(["cmp rsi, 1", "jne 2b"].map(String::from));
    lines.extend(later(D_LAST));
    lines.extend(["jmp 2b", "3:"].map(String::from));
    lines.extend(each(&Quarters::finish));
    lines.push("vzeroupper".into());
    file(&format!("BLAKE3, 4 messages in rows, {}: rsi blocks in every lane.", isa.name), &lines)
}

/// One of the streams of [`four`].
struct Quarters {
    isa: Isa,
    rows: [u8; 4],
    temps: [u8; 3],
    rotate_temp: u8,
    index: usize,
}

impl Quarters {
    fn row(&self, row: usize) -> String {
        self.isa.r(self.rows[row])
    }

    fn repeat(&self, row: usize, base: &str, offset: usize) -> String {
        format!("vbroadcasti128 {}, [{base} + {offset}]", self.row(row))
    }

    fn later_row(&self, which: usize) -> String {
        self.isa.load(self.rows[3], &format!("[r10 + {}]", which + self.index * self.isa.width()))
    }

    /// Address of the chaining value of a lane.
    fn cv(&self, row: usize, lane: usize) -> String {
        format!("[rdi + {}]", 64 * self.index + 32 * lane + 16 * row)
    }

    fn go_on(&self) -> Vec<String> {
        (0..2).flat_map(|row| self.isa.load_quads(self.rows[row], |lane| self.cv(row, lane))).collect()
    }

    fn finish(&self) -> Vec<String> {
        let places = (0..2).flat_map(|row| (0..2).map(move |lane| (row, lane)));
        places.map(|(row, lane)| self.isa.store_quad(&self.cv(row, lane), self.rows[row], lane)).collect()
    }

    /// Message words x, y, dx, dy of this round, or of the next one, in turns.
    fn words(&self, round: usize) -> [String; 4] {
        let set = FOUR_WORDS + 256 * self.index + 128 * (round % 2);
        [0, 1, 2, 3].map(|which| format!("[r10 + {}]", set + self.isa.width() * which))
    }

    fn begin(&self) -> Vec<String> {
        let mut code = self.first_words();
        code.push(self.repeat(2, "r11", crate::assembly::column::IV_ROW));
        code
    }

    fn round(&self, round: usize) -> Vec<String> {
        let [a, b, c, d] = self.rows;
        let words = self.words(round);
        let carried = if round < 6 { self.carry_words(round) } else { Default::default() };
        let mut carried = carried.into_iter();
        let mut code = Vec::new();
        for half in 0..2 {
            for (step, (rot_d, rot_b)) in [(16, 12), (8, 7)].into_iter().enumerate() {
                let mut lines = self.isa.op_mem("paddd", a, &words[2 * half + step]);
                lines.extend(self.isa.op("paddd", a, b));
                lines.extend(self.isa.xor_rotate(d, a, rot_d, self.rotate_temp));
                lines.extend(self.isa.op("paddd", c, d));
                lines.extend(self.isa.xor_rotate(b, c, rot_b, self.rotate_temp));
                if step == 1 {
                    let [turn_a, turn_c] = if half == 0 { [TURN_A, TURN_C] } else { [TURN_C, TURN_A] };
                    for (row, turn) in [(a, turn_a), (d, TURN_D), (c, turn_c)] {
                        lines.extend(self.isa.turn(row, row, turn));
                    }
                }
                code.extend(weave(lines, carried.next().expect("four of them")));
            }
        }
        code
    }

    fn end(&self) -> Vec<String> {
        let [a, b, c, d] = self.rows;
        [self.isa.op("pxor", a, c), self.isa.op("pxor", b, d)].concat()
    }

    /// See [`first_words`].
    fn first_words(&self) -> Vec<String> {
        let pointers = ["rax", "rdx", "rcx", "r8"];
        let [left, right, picked] = self.temps;
        let words = self.words(0);
        let mut code = Vec::new();
        for half in 0..2 {
            for (register, quarter) in [(left, 2 * half), (right, 2 * half + 1)] {
                let address =
                    |lane: usize| format!("[{} + r9 + {}]", pointers[2 * self.index + lane], 16 * quarter);
                code.extend(self.isa.load_quads(register, address));
            }
            for (which, to, places) in [(0, picked, imm([0, 2, 0, 2])), (1, left, imm([1, 3, 1, 3]))] {
                code.extend(self.isa.pick(to, left, right, places));
                if half == 1 {
                    code.extend(self.isa.turn(to, to, TURN_A));
                }
                code.push(self.isa.store(&words[2 * half + which], to));
            }
        }
        code
    }

    /// See [`carry_words`]: the lines of each of the four.
    fn carry_words(&self, round: usize) -> [Vec<String>; 4] {
        let [x, y, dx, dy] = self.words(round);
        let next = self.words(round + 1);
        let [to, temp, _] = self.temps;
        let (t, r) = (self.isa.r(temp), self.isa.r(to));
        let joined = |first: &str, op: &str, second: &str, rest: &str| {
            vec![self.isa.load(temp, first), format!("{op} {t}, {t}, {second}{rest}")]
        };
        let picked = |from: &str, with: &str, places: [u8; 4], order: [u8; 4]| {
            let mut code =
                vec![self.isa.load(to, from), format!("vshufps {r}, {r}, {with}, {}", imm(places))];
            code.extend(self.isa.turn(to, to, imm(order)));
            code
        };
        let lines = [
            picked(&x, &y, [1, 2, 1, 3], [0, 2, 3, 1]),
            [joined(&dx, "vpblendd", &dy, ", 0x88"), picked(&x, &t, [3, 0, 2, 3], [0, 2, 1, 3])].concat(),
            [joined(&y, "vpblendd", &dx, ", 0x88"), picked(&dy, &t, [0, 1, 0, 3], [0, 2, 3, 1])].concat(),
            [joined(&dy, "vpunpckhdq", &y, ""), picked(&dx, &t, [1, 0, 0, 1], [0, 2, 3, 1])].concat(),
        ];
        let mut next = next.into_iter();
        lines.map(|mut lines| {
            lines.push(self.isa.store(&next.next().expect("four places"), to));
            lines
        })
    }
}

/// `xof(job, out)`: one output block per lane, in one stream of registers, or four blocks in two streams of two.
///
/// Registers: `rdi` job (block, cv, len, flags), `rcx` output, `r11` constants, register 3 row d of all lanes.
pub(super) fn xof(streams: &[Isa]) -> String {
    let each = |part: &dyn Fn(usize, &Isa) -> Vec<String>| {
        streams.iter().enumerate().flat_map(|(index, isa)| part(index, isa)).collect::<Vec<_>>()
    };
    let mut code = each(&xof_rows);
    code.extend(streams.last().expect("at least one stream").blend_setup("rax"));
    code.extend(each(&xof_block));
    code.extend(streams.iter().map(rounds).reduce(weave).expect("at least one stream"));
    code.extend(each(&xof_end));
    if streams[0].letter != 'x' {
        code.push("vzeroupper".into());
    }
    let blocks: usize = streams.iter().map(|isa| isa.lanes / 4).sum();
    file(&format!("BLAKE3 output, {blocks} blocks in rows, {}.", streams[0].name), &code)
}

/// Offsets of rows a and b of the chaining value of [`xof`].
const XOF_CV: [usize; 2] = [64, 80];

fn xof_rows(index: usize, isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    if index > 0 {
        code.push(format!("vextracti64x4 {}, zmm{D}, 1", isa.r(D)));
    }
    for (row, cv) in [A, B].into_iter().zip(XOF_CV) {
        code.push(isa.repeat_quad(row, &format!("[rdi + {cv}]")));
    }
    code.push(isa.repeat_quad(C, &format!("[r11 + {}]", crate::assembly::column::IV_ROW)));
    code
}

fn xof_block(_: usize, isa: &Isa) -> Vec<String> {
    let quads = NEXT.into_iter().enumerate();
    quads.map(|(i, register)| isa.repeat_quad(register, &format!("[rdi + {}]", 16 * i))).collect()
}

fn xof_end(index: usize, isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    // What a chaining value throws away.
    for (row, cv) in [C, D].into_iter().zip(XOF_CV) {
        code.push(isa.repeat_quad(TEMP, &format!("[rdi + {cv}]")));
        code.extend(isa.op("pxor", row, TEMP));
    }
    let first = index * isa.lanes / 4;
    for row in [A, B, C, D] {
        for lane in 0..isa.lanes / 4 {
            let address = format!("[rcx + {}]", 64 * (first + lane) + 16 * usize::from(row));
            code.push(isa.store_quad(&address, row, lane));
        }
    }
    code
}

/// The row forms: a file name's middle, and the instruction set.
pub(super) const RUNS: [(&str, Isa); 4] = [
    ("sse41_run", isa::SSE41),
    ("avx2_run", Isa { letter: 'x', lanes: 4, ..isa::AVX2 }),
    ("avx512_run", isa::AVX512_ROW),
    ("avx512_run_fused", Isa { rotate: Rotate::Fused, ..isa::AVX512_ROW }),
];

#[cfg(test)]
mod tests {
    use crate::assembly::schedule;

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
