//! The instruction sets of the column and row kernels, and their instructions by meaning.

/// Offsets of the masks for `pshufb` in the table of constants, in bytes.
pub(super) const ROT16: usize = 320;
pub(super) const ROT8: usize = 384;

/// Method to rotate a word right.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rotate {
    /// Whole bytes by a shuffle, other counts by two shifts and an or.
    Shifts,
    /// By one instruction.
    Native,
    /// In row kernels `ror(d ^ a)` as three terms, see row.rs.
    Fused,
}

/// Method to prepare the next block during the rounds of this one.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ahead {
    /// Not at all: every register is busy.
    Nothing,
    /// It is transposed in the registers that the rounds leave free.
    Shuffled,
    /// It is copied word by word through general registers into transposed order. Takes ten times as many instructions, but
    /// no vector unit.
    Copied,
    /// It is copied in pairs of words; vectors only exchange neighbours. Takes half the instructions of `Copied`.
    Paired,
}

/// An instruction set, and the layout of a kernel's lanes in its registers.
#[derive(Clone, Copy)]
pub(super) struct Isa {
    pub(super) name: &'static str,
    /// The letter of the registers: `x`, `y` or `z`.
    pub(super) letter: char,
    /// Lanes in one register.
    pub(super) lanes: usize,
    /// Independent streams of registers. With two, one stream computes while the other waits for its results.
    pub(super) streams: usize,
    /// AVX-512: 32 registers, masks.
    pub(super) evex: bool,
    /// AVX: three operands.
    pub(super) vex: bool,
    pub(super) rotate: Rotate,
    /// Registers for the sixteen state words of each stream.
    pub(super) state: &'static [[u8; 16]],
    /// Registers that stay free while messages are loaded.
    pub(super) spare: &'static [u8],
    /// `Shuffled` needs `spare` to be free during the rounds too.
    pub(super) ahead: Ahead,
    /// Number of the first register. 16 for the second stream of a row kernel, whose first stream has registers 0 to 15.
    pub(super) first: u8,
}

const LOW: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const HIGH: [u8; 16] = [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31];

pub(super) const SSE41: Isa = Isa {
    name: "SSE4.1",
    letter: 'x',
    lanes: 4,
    streams: 1,
    evex: false,
    vex: false,
    rotate: Rotate::Shifts,
    state: &[LOW],
    spare: &[8, 9, 10, 11, 12, 13, 14, 15],
    ahead: Ahead::Nothing,
    first: 0,
};

pub(super) const AVX2: Isa = Isa { name: "AVX2", letter: 'y', lanes: 8, vex: true, ..SSE41 };

pub(super) const AVX512_LANES8: Isa =
    Isa { name: "AVX-512", evex: true, rotate: Rotate::Native, spare: &HIGH, ahead: Ahead::Shuffled, ..AVX2 };

pub(super) const AVX512_LANES16: Isa = Isa { letter: 'z', lanes: 16, ..AVX512_LANES8 };

/// For processors whose vector operations take two cycles. One stream alone gains nothing by pairs: its chain is as long.
pub(super) const AVX512_LANES2X16: Isa =
    Isa { streams: 2, state: &[LOW, HIGH], ahead: Ahead::Paired, ..AVX512_LANES16 };

pub(super) const AVX512_ROW: Isa = Isa { letter: 'x', lanes: 4, ..AVX512_LANES8 };

pub(super) const AVX512_LANES2X8: Isa = Isa {
    streams: 2,
    state: &[LOW, HIGH],
    spare: &[8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31],
    ahead: Ahead::Copied,
    ..AVX512_LANES8
};

impl Isa {
    /// Bytes in a register.
    pub(super) fn width(&self) -> usize {
        4 * self.lanes
    }

    /// Bytes between two words of a transposed message.
    pub(super) fn stride(&self) -> usize {
        self.width() * self.streams
    }

    pub(super) fn all_lanes(&self) -> usize {
        self.lanes * self.streams
    }

    pub(super) fn r(&self, register: u8) -> String {
        format!("{}mm{}", self.letter, self.first + register)
    }

    /// The lowest 16 bytes of a register.
    fn x(&self, register: u8) -> String {
        format!("xmm{}", self.first + register)
    }

    /// Whether a rotate needs a spare register.
    pub(super) fn rotates_by_shifts(&self) -> bool {
        self.rotate == Rotate::Shifts
    }

    pub(super) fn masks(&self) -> bool {
        self.evex
    }

    pub(super) fn load(&self, to: u8, from: &str) -> String {
        let op = match (self.vex, self.evex) {
            (false, _) => "movdqa",
            (_, false) => "vmovdqa",
            _ => "vmovdqa32",
        };
        format!("{op} {}, {from}", self.r(to))
    }

    pub(super) fn store(&self, to: &str, from: u8) -> String {
        let op = match (self.vex, self.evex) {
            (false, _) => "movdqa",
            (_, false) => "vmovdqa",
            _ => "vmovdqa32",
        };
        format!("{op} {to}, {}", self.r(from))
    }

    /// `to = a OP b` where `b` is a register or memory.
    pub(super) fn op3(&self, op: &str, to: u8, a: u8, b: &str) -> Vec<String> {
        // The older encoding is shorter but has neither 512 bits nor the upper registers nor broadcast operands.
        let short = self.letter != 'z' && self.streams == 1 && self.first == 0 && !b.contains('{');
        let suffix = if self.evex && !short && matches!(op, "pxor" | "por") { "d" } else { "" };
        if self.vex {
            return vec![format!("v{op}{suffix} {}, {}, {b}", self.r(to), self.r(a))];
        }
        let mut lines = Vec::new();
        if to != a {
            lines.push(format!("movdqa {}, {}", self.r(to), self.r(a)));
        }
        lines.push(format!("{op} {}, {b}", self.r(to)));
        lines
    }

    pub(super) fn op(&self, op: &str, to: u8, b: u8) -> Vec<String> {
        self.op3(op, to, to, &self.r(b))
    }

    pub(super) fn op_mem(&self, op: &str, to: u8, b: &str) -> Vec<String> {
        self.op3(op, to, to, b)
    }

    /// Rotates right. Without a rotate instruction, whole bytes go by a shuffle with a mask at `[r11]`, other counts
    /// by two shifts through `temp`.
    pub(super) fn rotate(&self, register: u8, count: u32, temp: u8) -> Vec<String> {
        let r = self.r(register);
        if !self.rotates_by_shifts() {
            return vec![format!("vprord {r}, {r}, {count}")];
        }
        match count {
            16 => self.op_mem("pshufb", register, &format!("[r11 + {}]", ROT16)),
            8 => self.op_mem("pshufb", register, &format!("[r11 + {}]", ROT8)),
            _ => {
                let t = self.r(temp);
                let left = 32 - count;
                let mut lines = if self.vex {
                    vec![format!("vpslld {t}, {r}, {left}"), format!("vpsrld {r}, {r}, {count}")]
                } else {
                    vec![
                        format!("movdqa {t}, {r}"),
                        format!("pslld {t}, {left}"),
                        format!("psrld {r}, {count}"),
                    ]
                };
                lines.extend(self.op("por", register, temp));
                lines
            }
        }
    }

    /// One 32-bit word of memory as an operand in every lane (AVX-512).
    pub(super) fn broadcast_operand(&self, from: &str) -> String {
        format!("dword ptr {from}{{1to{}}}", self.lanes)
    }

    /// A vector of one 32-bit word.
    pub(super) fn broadcast(&self, to: u8, from: &str) -> Vec<String> {
        if self.vex {
            return vec![format!("vpbroadcastd {}, dword ptr {from}", self.r(to))];
        }
        let r = self.r(to);
        vec![format!("movd {r}, dword ptr {from}"), format!("pshufd {r}, {r}, 0")]
    }

    pub(super) fn unpack(&self, kind: &str, to: u8, a: u8, b: u8) -> Vec<String> {
        self.op3(&format!("punpck{kind}"), to, a, &self.r(b))
    }

    /// `row = ror(row ^ with, count)`.
    pub(super) fn xor_rotate(&self, row: u8, with: u8, count: u32, temp: u8) -> Vec<String> {
        if self.rotate != Rotate::Fused {
            let mut lines = self.op("pxor", row, with);
            lines.extend(self.rotate(row, count, temp));
            return lines;
        }
        // The rotate of the old row does not depend on `with`, so out-of-order execution takes it off the chain. It is done by
        // shifts as well: two-cycle operations delay the one-cycle operations behind them.
        let left_count = 32 - count;
        let [row, with, old_left, old_right, left, right] =
            [row, with, temp, 16, 17, 18].map(|register| self.r(register));
        vec![
            format!("vpsrld {old_right}, {row}, {count}"),
            format!("vpslld {old_left}, {row}, {left_count}"),
            format!("vpsrld {right}, {with}, {count}"),
            format!("vpslld {left}, {with}, {left_count}"),
            format!("vpord {row}, {old_left}, {old_right}"),
            format!("vpternlogd {row}, {left}, {right}, 0x96"),
        ]
    }

    /// 16 bytes from any address.
    pub(super) fn load_any(&self, to: u8, from: &str) -> String {
        self.move_any(&self.x(to), from)
    }

    fn move_any(&self, to: &str, from: &str) -> String {
        let kind = if self.evex && self.first > 0 { "32" } else { "" };
        format!("{}movdqu{kind} {to}, {from}", self.v())
    }

    pub(super) fn store_any(&self, to: &str, from: u8) -> String {
        self.move_any(to, &self.x(from))
    }

    /// The low half of a 128-bit register from a general one.
    pub(super) fn from_general(&self, to: u8, from: &str) -> String {
        format!("{}movq {}, {from}", self.v(), self.x(to))
    }

    pub(super) fn copy(&self, to: u8, from: u8) -> String {
        self.load(to, &self.r(from))
    }

    fn v(&self) -> &'static str {
        if self.vex { "v" } else { "" }
    }

    /// 16 bytes in every 128-bit part.
    pub(super) fn repeat_quad(&self, to: u8, from: &str) -> String {
        match self.letter {
            'x' => self.load_any(to, from),
            'y' if !self.evex => format!("vbroadcasti128 {}, {from}", self.r(to)),
            _ => format!("vbroadcasti32x4 {}, {from}", self.r(to)),
        }
    }

    /// 16 bytes from each of several addresses, one in each 128-bit part.
    pub(super) fn load_quads(&self, to: u8, address: impl Fn(usize) -> String) -> Vec<String> {
        (0..self.lanes / 4).map(|quad| self.load_quad(to, &address(quad), quad)).collect()
    }

    /// One of these; the first clears the others.
    pub(super) fn load_quad(&self, to: u8, address: &str, quad: usize) -> String {
        let r = self.r(to);
        match (quad, self.evex) {
            (0, true) => format!("vmovdqu32 {}, {address}", self.x(to)),
            (0, false) => self.load_any(to, address),
            (_, true) => format!("vinserti32x4 {r}, {r}, {address}, {quad}"),
            (_, false) => format!("vinserti128 {r}, {r}, {address}, {quad}"),
        }
    }

    pub(super) fn store_quad(&self, to: &str, from: u8, quad: usize) -> String {
        let r = self.r(from);
        match (quad, self.evex) {
            (0, true) => format!("vmovdqu32 {to}, {}", self.x(from)),
            (0, false) => self.store_any(to, from),
            (_, true) => format!("vextracti32x4 {to}, {r}, {quad}"),
            (_, false) => format!("vextracti128 {to}, {r}, {quad}"),
        }
    }

    /// Two words of `a`, then two of `b`.
    pub(super) fn pick(&self, to: u8, a: u8, b: u8, places: u8) -> Vec<String> {
        if self.vex {
            return vec![format!("vshufps {}, {}, {}, {places}", self.r(to), self.r(a), self.r(b))];
        }
        let to = self.r(to);
        vec![format!("movdqa {to}, {}", self.r(a)), format!("shufps {to}, {}, {places}", self.r(b))]
    }

    /// Permutes the words of `from`.
    pub(super) fn turn(&self, to: u8, from: u8, places: u8) -> Vec<String> {
        let v = if self.vex { "v" } else { "" };
        vec![format!("{v}pshufd {}, {}, {places}", self.r(to), self.r(from))]
    }

    /// The words of `a`, but the last of each four from `b`. 512-bit and upper registers take their mask from `k1`.
    pub(super) fn blend_last(&self, to: u8, a: u8, b: u8) -> Vec<String> {
        let (to, a, b) = (self.r(to), self.r(a), self.r(b));
        match self.letter {
            _ if self.blends_by_mask() => vec![format!("vpblendmd {to}{{k1}}, {a}, {b}")],
            'y' => vec![format!("vpblendd {to}, {a}, {b}, 0x88")],
            _ if self.vex => vec![format!("vpblendd {to}, {a}, {b}, 0x8")],
            _ => vec![format!("movdqa {to}, {a}"), format!("pblendw {to}, {b}, 0xc0")],
        }
    }

    fn blends_by_mask(&self) -> bool {
        self.letter == 'z' || self.first > 0
    }

    /// The mask for `blend_last`, by way of a free general register.
    pub(super) fn blend_setup(&self, free: &str) -> Vec<String> {
        match self.blends_by_mask() {
            true => vec![
                format!("mov {free}, 0x8888"),
                format!("kmovq k1, {free}"),
                format!("xor {free}, {free}"),
            ],
            false => Vec::new(),
        }
    }
}
