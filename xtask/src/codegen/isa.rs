//! The instruction sets of the column kernels, and their instructions by meaning.

/// How the lanes of one kernel lie in registers.
pub(super) struct Isa {
    pub(super) name: &'static str,
    /// The letter of the registers: `x`, `y` or `z`.
    letter: char,
    /// Lanes in one register.
    pub(super) lanes: usize,
    /// Independent streams of registers. Two hide the latency of one where a register is half a machine wide.
    pub(super) streams: usize,
    evex: bool,
    vex: bool,
    /// Registers for the sixteen state words of each stream.
    pub(super) state: &'static [[u8; 16]],
    /// Registers that stay free while messages are loaded.
    pub(super) spare: &'static [u8],
    /// Whether `spare` is free during the rounds too, so that the next block can be loaded meanwhile.
    pub(super) pipelined: bool,
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
    state: &[LOW],
    spare: &[0, 1, 2, 3, 4, 5, 6, 7],
    pipelined: false,
};

pub(super) const AVX2: Isa = Isa { name: "AVX2", letter: 'y', lanes: 8, vex: true, ..SSE41 };

pub(super) const AVX512_YMM: Isa =
    Isa { name: "AVX-512VL", evex: true, spare: &HIGH, pipelined: true, ..AVX2 };

pub(super) const AVX512_ZMM: Isa = Isa { name: "AVX-512", letter: 'z', lanes: 16, ..AVX512_YMM };

pub(super) const AVX512_2YMM: Isa = Isa {
    streams: 2,
    state: &[LOW, HIGH],
    spare: &[8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31],
    pipelined: false,
    ..AVX512_YMM
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
        format!("{}mm{register}", self.letter)
    }

    /// Rotates without a spare register?
    pub(super) fn native_rotate(&self) -> bool {
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
        let suffix = if self.evex && matches!(op, "pxor" | "por") { "d" } else { "" };
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
        if self.evex {
            return vec![format!("vprord {r}, {r}, {count}")];
        }
        match count {
            16 => self.op_mem("pshufb", register, &format!("[r11 + {}]", super::column::ROT16)),
            8 => self.op_mem("pshufb", register, &format!("[r11 + {}]", super::column::ROT8)),
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

    /// The same instructions on 128-bit registers.
    pub(super) fn narrowed(&self) -> Isa {
        Isa { letter: 'x', lanes: 4, evex: false, streams: 1, pipelined: false, ..*self }
    }

    pub(super) fn is_vex(&self) -> bool {
        self.vex
    }

    /// Two words of `a`, then two of `b`.
    pub(super) fn pick(&self, to: u8, a: u8, b: u8, places: u8) -> Vec<String> {
        if self.vex {
            return vec![format!("vshufps {}, {}, {}, {places}", self.r(to), self.r(a), self.r(b))];
        }
        let to = self.r(to);
        vec![format!("movdqa {to}, {}", self.r(a)), format!("shufps {to}, {}, {places}", self.r(b))]
    }

    /// The words of `from` in another order.
    pub(super) fn turn(&self, to: u8, from: u8, places: u8) -> Vec<String> {
        let v = if self.vex { "v" } else { "" };
        vec![format!("{v}pshufd {}, {}, {places}", self.r(to), self.r(from))]
    }

    /// Words of `a`, where `mask` has a bit of `b`.
    pub(super) fn blend_words(&self, to: u8, a: u8, b: u8, mask: u8) -> Vec<String> {
        if self.vex {
            return vec![format!("vpblendd {}, {}, {}, {mask}", self.r(to), self.r(a), self.r(b))];
        }
        let halves = (0..4).filter(|i| mask >> i & 1 == 1).fold(0, |m, i| m | 3 << (2 * i));
        let to = self.r(to);
        vec![format!("movdqa {to}, {}", self.r(a)), format!("pblendw {to}, {}, {halves}", self.r(b))]
    }
}
