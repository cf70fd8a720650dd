//! One message in general registers, for processors whose vector operations take two cycles (Zen 5): a row kernel's chain
//! of 168 operations a block is then 336 cycles long, while additions, exclusive ors and rotates of general registers
//! take one.
//!
//! ```text
//! fifteen words of the state in registers, the sixteenth in its slot of the frame
//! seven rounds: columns, then diagonals; each half:
//!     three mixings in lockstep; the fourth waits for the word in memory
//!     after the first mixing's last use of its word a, that word and the one in memory are exchanged
//!     the fourth mixing, interleaved with the rest of the three
//! ```
//!
//! All sixteen registers are taken. The only one left for addresses is the stack pointer, so message and slots are in the
//! body's own frame. The choice of the exchanged word matters by 7 %: a word c is free three operations later, and the
//! scheduler holds at most half a round of waiting operations. All four mixings in lockstep, with two exchanges in each
//! half, are as fast and take more instructions.

use crate::assembly::{file, schedule};

/// Offsets in the frame: message, slots of the sixteen words of the state, then values kept between blocks.
const SLOTS: usize = 64;
const INPUT: usize = 128;
const LEFT: usize = 136;
const OUT: usize = 144;
const LAST: usize = 152;
const COUNTER: usize = 160;
const FLAGS: usize = 168;
const LAST_LEN: usize = 176;
const CALLER: usize = 184;
pub(super) const FRAME: usize = 192;

const REGISTERS: [&str; 15] = [
    "eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
    "r15d",
];

const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];

/// Instructions that set up a body's own frame, and those that remove it.
pub(super) fn frame() -> ([String; 6], [String; 3]) {
    let enter = [
        "push rbx".into(),
        "push rbp".into(),
        "mov rbp, rsp".into(),
        format!("sub rsp, {FRAME}"),
        "and rsp, -64".into(),
        format!("mov {}, rbp", at(CALLER)),
    ];
    (enter, [format!("mov rsp, {}", at(CALLER)), "pop rbp".into(), "pop rbx".into()])
}

fn at(offset: usize) -> String {
    if offset == 0 { "[rsp]".into() } else { format!("[rsp + {offset}]") }
}

fn slot(word: usize) -> String {
    format!("dword ptr {}", at(SLOTS + 4 * word))
}

/// `run(key, input, blocks, counter, flags, out, last, last_len)`: one message of up to a chunk; registers as in row.rs,
/// but for `rax`, from where the chaining value of the next block comes.
pub(super) fn run() -> String {
    let (enter, leave) = frame();
    let mut code = Vec::from(enter);
    let keep =
        [(INPUT, "rsi"), (LEFT, "rdx"), (OUT, "r9"), (LAST, "r10"), (LAST_LEN, "rax"), (COUNTER, "rcx")];
    code.extend(keep.map(|(offset, register)| format!("mov {}, {register}", at(offset))));
    code.push(format!("mov {}, r8", at(FLAGS)));
    code.push("mov rax, rdi".into());
    code.extend(["movzx edi, r8b", "movzx ecx, r8w", "shr ecx, 8", "or edi, ecx", "2:"].map(String::from));
    code.push("mov ecx, 64".into());
    code.push(format!("mov rsi, {}", at(INPUT)));
    code.push(format!("dec qword ptr {}", at(LEFT)));
    code.push("jz 3f".into());
    code.extend(["vmovdqu32 zmm0, [rsi]", "add rsi, 64"].map(String::from));
    code.push(format!("mov {}, rsi", at(INPUT)));
    code.push("jmp 4f".into());
    // Masked loads neither read nor fault on bytes past the end.
    code.push("3:".into());
    code.push(format!("movzx edx, byte ptr {}", at(FLAGS + 2)));
    code.push("or edi, edx".into());
    code.push(format!("mov rcx, {}", at(LAST_LEN)));
    code.push(format!("mov rsi, {}", at(LAST)));
    code.extend(["mov rdx, -1", "bzhi rdx, rdx, rcx", "kmovq k1, rdx"].map(String::from));
    code.push("vmovdqu8 zmm0{k1}{z}, [rsi]".into());
    code.push("4:".into());
    code.push(format!("vmovdqa32 {}, zmm0", at(0)));
    let mut state = State::start(&mut code);
    state.rounds(&mut code);
    state.feed_forward(&mut code);
    code.push(format!("cmp qword ptr {}, 0", at(LEFT)));
    code.push("jz 5f".into());
    state.keep(&mut code);
    code.push(format!("movzx edi, byte ptr {}", at(FLAGS)));
    code.push(format!("lea rax, {}", at(SLOTS)));
    code.push("jmp 2b".into());
    code.push("5:".into());
    state.finish(&mut code);
    code.push("vzeroupper".into());
    code.extend(leave);
    file("BLAKE3, one message of up to a chunk in general registers, AVX-512 for its blocks.", &code)
}

// `XofJob`, see kernel/table.rs in crates/hash/src/blake3; the block comes first.
const JOB_CV: usize = 64;
const JOB_LEN: usize = 96;
const JOB_FLAGS: usize = 100;

/// `xof(job, counter, out)`: one output block. `rdi` job, `rsi` counter, `rdx` output.
pub(super) fn xof() -> String {
    let (enter, leave) = frame();
    let mut code = Vec::from(enter);
    let keep = [(INPUT, "rdi"), (COUNTER, "rsi"), (OUT, "rdx")];
    code.extend(keep.map(|(offset, register)| format!("mov {}, {register}", at(offset))));
    // By quarters, as the job was probably stored: a load across several stores waits until all have left the store queue.
    for quarter in 0..4 {
        code.push(format!("vmovdqu xmm{quarter}, [rdi + {}]", 16 * quarter));
        code.push(format!("vmovdqa {}, xmm{quarter}", at(16 * quarter)));
    }
    code.push(format!("lea rax, [rdi + {JOB_CV}]"));
    code.push(format!("mov ecx, dword ptr [rdi + {JOB_LEN}]"));
    code.push(format!("mov edi, dword ptr [rdi + {JOB_FLAGS}]"));
    let mut state = State::start(&mut code);
    state.rounds(&mut code);
    state.feed_forward(&mut code);
    state.finish_output(&mut code);
    code.extend(leave);
    file("BLAKE3 output, one block in general registers.", &code)
}

/// The register of each word of the state; `None` for the word in its slot.
struct State([Option<&'static str>; 16]);

impl State {
    /// The words before the first round: length in `ecx`, flags in `edi`, the chaining value at `rax`.
    fn start(code: &mut Vec<String>) -> State {
        let mut places = [None; 16];
        for (word, register) in REGISTERS.into_iter().enumerate() {
            places[word] = Some(register);
        }
        let state = State(places);
        code.push(format!("mov {}, edi", slot(15)));
        code.push(format!("mov {}, ecx", state.register(14)));
        for (word, iv) in (8..).zip(IV) {
            code.push(format!("mov {}, {iv}", state.register(word)));
        }
        for (word, offset) in [(12, 0), (13, 4)] {
            code.push(format!("mov {}, dword ptr {}", state.register(word), at(COUNTER + offset)));
        }
        for word in (0..8).rev() {
            code.push(format!("mov {}, dword ptr [rax + {}]", state.register(word), 4 * word));
        }
        state
    }

    fn register(&self, word: usize) -> &'static str {
        self.0[word].expect("a word in a register")
    }

    fn rounds(&mut self, code: &mut Vec<String>) {
        for order in schedule() {
            for half in 0..2 {
                self.half_round(code, half, &order[8 * half..]);
            }
        }
    }

    /// Four mixings that do not depend on each other; `messages` has two words for each.
    fn half_round(&mut self, code: &mut Vec<String>, half: usize, messages: &[usize]) {
        let words = |i: usize| [0, 1, 2, 3].map(|row| 4 * row + if half == 0 { i } else { (i + row) % 4 });
        let absent = (0..16).find(|&word| self.0[word].is_none()).expect("one word is in its slot");
        let (late, early): (Vec<_>, Vec<_>) = (0..4).partition(|&i| words(i).contains(&absent));
        let steps = |i: usize, state: &State| state.mixing(words(i), [messages[2 * i], messages[2 * i + 1]]);
        // The first mixing reads its word a for the last time in the tenth operation.
        const DONE: usize = 10;
        let lines: Vec<[String; 14]> = early.iter().map(|&i| steps(i, self)).collect();
        let in_turns = (0..14).flat_map(|step| lines.iter().map(move |lines| lines[step].clone()));
        let lines: Vec<String> = in_turns.collect();
        let (before, after) = lines.split_at((DONE - 1) * early.len() + 1);
        code.extend_from_slice(before);
        let leaves = words(early[0])[0];
        code.push(format!("mov {}, {}", slot(leaves), self.register(leaves)));
        self.0[absent] = self.0[leaves].take();
        code.push(format!("mov {}, {}", self.register(absent), slot(absent)));
        let mut fourth = steps(late[0], self).into_iter();
        for line in after {
            code.push(line.clone());
            code.extend(fourth.next());
        }
        code.extend(fourth);
    }

    fn mixing(&self, words: [usize; 4], messages: [usize; 2]) -> [String; 14] {
        let [a, b, c, d] = words.map(|word| self.register(word));
        let half = |message: usize, rot_d: u32, rot_b: u32| {
            [
                format!("add {a}, dword ptr {}", at(4 * message)),
                format!("add {a}, {b}"),
                format!("xor {d}, {a}"),
                format!("ror {d}, {rot_d}"),
                format!("add {c}, {d}"),
                format!("xor {b}, {c}"),
                format!("ror {b}, {rot_b}"),
            ]
        };
        let mut lines = half(messages[0], 16, 12).into_iter().chain(half(messages[1], 8, 7));
        std::array::from_fn(|_| lines.next().expect("fourteen operations"))
    }

    /// The chaining value, each word where its first half is.
    fn feed_forward(&self, code: &mut Vec<String>) {
        let operand = |word: usize| self.0[word].map_or_else(|| slot(word), str::to_owned);
        code.extend((0..8).map(|word| format!("xor {}, {}", operand(word), operand(word + 8))));
    }

    /// The chaining value into its slots.
    fn keep(&self, code: &mut Vec<String>) {
        let words = (0..8).filter_map(|word| Some((word, self.0[word]?)));
        code.extend(words.map(|(word, register)| format!("mov {}, {register}", slot(word))));
    }

    /// All sixteen words to the caller, joined as in [`finish`](State::finish): the chaining value, then what a chaining value
    /// throws away, with the one before it in the job.
    fn finish_output(&self, code: &mut Vec<String>) {
        let mut free = Vec::new();
        for half in 0..2 {
            let job = (half == 1).then(|| whole(free.pop().expect("half of the words have left")));
            code.extend(job.iter().map(|job| format!("mov {job}, {}", at(INPUT))));
            // A register is free when its word has been joined: the word in the slot goes last.
            let mut pairs: Vec<usize> = (4 * half..4 * half + 4).collect();
            pairs.sort_by_key(|pair| self.0[2 * pair].is_none() || self.0[2 * pair + 1].is_none());
            let mut joined = [""; 8];
            for pair in pairs {
                let [low, high] = [2 * pair, 2 * pair + 1].map(|word| {
                    let register = self.0[word].unwrap_or_else(|| {
                        let register = free.pop().expect("the pair with this word is not the first");
                        code.push(format!("mov {register}, {}", slot(word)));
                        register
                    });
                    let cv = |job| format!("xor {register}, dword ptr [{job} + {}]", JOB_CV + 4 * (word - 8));
                    code.extend(job.as_ref().map(cv));
                    register
                });
                code.push(format!("shl {}, 32", whole(high)));
                code.push(format!("or {}, {}", whole(low), whole(high)));
                joined[pair] = low;
                free.push(high);
            }
            let out = whole(free.pop().expect("four words have left"));
            code.push(format!("mov {out}, {}", at(OUT)));
            for quad in 2 * half..2 * half + 2 {
                code.push(format!("vmovq xmm{quad}, {}", whole(joined[2 * quad])));
                code.push(format!("vpinsrq xmm{quad}, xmm{quad}, {}, 1", whole(joined[2 * quad + 1])));
                code.push(format!("vmovdqu [{out} + {}], xmm{quad}", 16 * quad));
            }
        }
    }

    /// The chaining value to the caller: joined in vectors, as the caller loads it so, and a load of what was stored in
    /// parts waits until all of them have left.
    fn finish(&mut self, code: &mut Vec<String>) {
        let mut free = self.0[8..].iter().flatten();
        let mut take = || *free.next().expect("the other half is over");
        let words: Vec<String> = (0..8)
            .map(|word| match self.0[word] {
                Some(register) => whole(register),
                None => {
                    let register = take();
                    code.push(format!("mov {register}, {}", slot(word)));
                    whole(register)
                }
            })
            .collect();
        for pair in words.chunks(2) {
            code.push(format!("shl {}, 32", pair[1]));
            code.push(format!("or {}, {}", pair[0], pair[1]));
        }
        let out = whole(take());
        code.push(format!("mov {out}, {}", at(OUT)));
        for (i, four) in words.chunks(4).enumerate() {
            code.push(format!("vmovq xmm{i}, {}", four[0]));
            code.push(format!("vpinsrq xmm{i}, xmm{i}, {}, 1", four[2]));
            code.push(format!("vmovdqu [{out} + {}], xmm{i}", 16 * i));
        }
    }
}

/// All 64 bits of a register.
fn whole(register: &str) -> String {
    match register.strip_prefix('e') {
        Some(rest) => format!("r{rest}"),
        None => register.trim_end_matches('d').to_owned(),
    }
}
