//! Checks of the registers and stack that generated assembly reads and writes. For tests only.
//!
//! A body is inside of `asm!`, so it has no return: it must not write registers that are no outputs or clobbers, must not use the
//! stack, and must end at its last line. `asm_contracts` reads the operands from the source. One body needs every register: it
//! begins and ends with the lines of `scalar_kernel::frame`, and in between it owns the frame and the registers saved in it.

use std::collections::BTreeSet;

use crate::assembly::checks::asm_contracts::Contract;
use crate::assembly::checks::operands::{register, split};
use crate::assembly::scalar_kernel;
use crate::assembly::scalar_kernel::FRAME;

/// Vector instructions that write their first operand and do not read it.
const VECTOR: [&str; 50] = [
    "kmovq",
    "kmovw",
    "vbroadcasti128",
    "vbroadcasti32x4",
    "vextracti128",
    "vextracti32x4",
    "vextracti64x4",
    "vinserti128",
    "vinserti32x4",
    "vinserti64x4",
    "vmovdqa",
    "vmovdqa32",
    "vmovdqa64",
    "vmovdqu",
    "vmovdqu32",
    "vmovdqu8",
    "vmovntdq",
    "vmovq",
    "vmovshdup",
    "vmovsldup",
    "vpaddd",
    "vpaddq",
    "vpblendd",
    "vpblendmd",
    "vpbroadcastd",
    "vpcmpltud",
    "vperm2i128",
    "vpermq",
    "vpinsrq",
    "vpmuludq",
    "vpor",
    "vpord",
    "vprord",
    "vprorq",
    "vpshufb",
    "vpshufd",
    "vpslld",
    "vpsllq",
    "vpsrld",
    "vpsrlq",
    "vpunpckhdq",
    "vpunpckhqdq",
    "vpunpckldq",
    "vpunpcklqdq",
    "vpxor",
    "vpxord",
    "vpxorq",
    "vshufi32x4",
    "vshufpd",
    "vshufps",
];

/// Vector instructions that also read their first operand.
const VECTOR_AND_READ: [&str; 2] = ["vpternlogd", "vpternlogq"];

/// SSE instructions that copy, and those that compute.
const SSE: [&str; 5] = ["movd", "movdqa", "movdqu", "movq", "pshufd"];
const SSE_AND_READ: [&str; 12] = [
    "paddd",
    "pblendw",
    "por",
    "pshufb",
    "pslld",
    "psrld",
    "punpckhdq",
    "punpckhqdq",
    "punpckldq",
    "punpcklqdq",
    "pxor",
    "shufps",
];

/// Instructions on general registers.
const GENERAL: [&str; 4] = ["bzhi", "lea", "mov", "movzx"];
const GENERAL_AND_READ: [&str; 9] = ["add", "cmovz", "dec", "or", "ror", "shl", "shr", "sub", "xor"];

/// Instructions that write no operand.
const NOTHING: [&str; 4] = ["cmp", "prefetcht0", "prefetcht1", "test"];
const JUMPS: [&str; 5] = ["jae", "jmp", "jne", "jnz", "jz"];

const SETS_FLAGS: [&str; 11] = ["add", "bzhi", "cmp", "dec", "or", "ror", "shl", "shr", "sub", "test", "xor"];
const READS_FLAGS: [&str; 5] = ["cmovz", "jae", "jne", "jnz", "jz"];

/// Faults of a body, by line.
pub(super) fn faults(text: &str, contract: &Contract) -> Vec<String> {
    let mut lines: Vec<&str> = text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).collect();
    let mut body = Body::new(contract);
    if take_frame(&mut lines) {
        body.frame = FRAME;
    }
    for (index, line) in lines.iter().enumerate() {
        body.line = index + 1;
        if let Some(label) = line.strip_suffix(':') {
            if label.parse::<u32>().is_err() {
                body.fault("a label that other code can see");
            }
        } else if !line.is_empty() {
            let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
            body.instruction(name, operands, &lines);
        }
    }
    body.end();
    body.faults
}

/// Whether a body begins and ends with the lines of a frame; blanks them.
fn take_frame(lines: &mut [&str]) -> bool {
    let (enter, leave) = scalar_kernel::frame();
    let is_code = |line: &&str| !line.is_empty();
    let Some(first) = lines.iter().position(is_code) else { return false };
    let end = lines.iter().rposition(is_code).map_or(0, |last| last + 1);
    let (begin, finish) = (first..first + enter.len(), end.saturating_sub(leave.len())..end);
    if begin.end > finish.start || lines[begin.clone()] != enter || lines[finish.clone()] != leave {
        return false;
    }
    lines[begin].fill("");
    lines[finish].fill("");
    true
}

struct Body<'a> {
    contract: &'a Contract,
    /// Bytes of the frame of its own, 0 without one.
    frame: usize,
    line: usize,
    /// The registers that hold something.
    known: BTreeSet<String>,
    flags_set: bool,
    /// Lines of the last write to registers of more than 128 bits, and of the clearing of their upper halves.
    wide: Option<usize>,
    cleared: Option<usize>,
    last: usize,
    sse: bool,
    vex: bool,
    faults: Vec<String>,
}

impl<'a> Body<'a> {
    fn new(contract: &'a Contract) -> Self {
        Self {
            contract,
            frame: 0,
            line: 0,
            known: contract.inputs.clone(),
            flags_set: false,
            wide: None,
            cleared: None,
            last: 0,
            sse: false,
            vex: false,
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, what: &str) {
        self.faults.push(format!("line {}: {what}", self.line));
    }

    fn instruction(&mut self, name: &str, operands: &str, lines: &[&str]) {
        self.last = self.line;
        let is = |list: &[&str]| list.contains(&name);
        let moves = is(&VECTOR) || is(&SSE) || is(&GENERAL);
        let computes = is(&VECTOR_AND_READ) || is(&SSE_AND_READ) || is(&GENERAL_AND_READ);
        match name {
            "call" => return self.fault("calls: nothing here is a function"),
            "push" | "pop" | "ret" | "enter" | "leave" => return self.fault("uses the stack"),
            "std" | "cld" => return self.fault("touches the direction flag"),
            "vzeroupper" => self.cleared = Some(self.line),
            "xchg" => {}
            _ if moves || computes || is(&NOTHING) || is(&JUMPS) => {}
            _ => return self.fault(&format!("`{name}` is an instruction that these checks do not know")),
        }
        self.sse |= is(&SSE) || is(&SSE_AND_READ);
        self.vex |= is(&VECTOR) || is(&VECTOR_AND_READ);
        if is(&READS_FLAGS) && !self.flags_set {
            self.fault("reads flags that nothing has set");
        }
        if is(&SETS_FLAGS) {
            self.flags_set = true;
            if !self.contract.flags {
                self.fault("changes flags, which its wrapper promises to preserve");
            }
        }
        if is(&JUMPS) {
            return self.jump(operands, lines);
        }
        let operands: Vec<Operand> = split(operands).iter().map(|text| Operand::read(text)).collect();
        // A register combined with itself does not depend on its old value.
        let zeroes = ["xor", "pxor", "vpxor", "vpxord", "vpxorq"].contains(&name)
            && operands.len() > 1
            && operands[operands.len() - 1] == operands[operands.len() - 2];
        for (index, operand) in operands.iter().enumerate() {
            let written = index == 0 && (moves || computes) || name == "xchg";
            let merges = operand.masked && !operand.zeroes && name != "vpblendmd";
            let read = !written || computes || merges || name == "xchg";
            self.operand(operand, read && !zeroes, written);
        }
    }

    fn operand(&mut self, operand: &Operand, read: bool, written: bool) {
        for mask in &operand.masks {
            self.read(mask);
        }
        match &operand.what {
            What::Number => {}
            What::Unknown(text) => self.fault(&format!("`{text}` is neither a register nor a number")),
            What::Register { name, wide } => {
                if read {
                    self.read(name);
                }
                if written {
                    self.write(name);
                    if *wide {
                        self.wide = Some(self.line);
                    }
                }
            }
            What::Memory(terms, offset) => {
                if terms.is_empty() {
                    self.fault("an absolute address");
                }
                // The last eight bytes of a frame hold the old stack pointer.
                let own_bytes = 0..=self.frame as i64 - 16;
                if terms == &["rsp"] && own_bytes.contains(offset) {
                    return;
                }
                terms.iter().for_each(|name| self.read(name));
            }
        }
    }

    fn read(&mut self, name: &str) {
        if self.is_stack(name) {
            self.fault("uses the stack");
        } else if !self.known.contains(name) {
            self.fault(&format!("reads {name}, which was not written"));
        }
    }

    /// Whether a register is the stack's: in a frame of its own a body may do with `rbp` what it likes.
    fn is_stack(&self, name: &str) -> bool {
        name == "rsp" || name == "rbp" && self.frame == 0
    }

    fn write(&mut self, name: &str) {
        let saved = self.frame > 0 && ["rbx", "rbp"].contains(&name);
        if self.is_stack(name) {
            self.fault("uses the stack");
        } else if !saved && !self.contract.writes.contains(name) {
            self.fault(&format!("writes {name}, which its wrapper does not give away"));
        }
        self.known.insert(name.to_owned());
    }

    fn jump(&mut self, to: &str, lines: &[&str]) {
        let label = to.get(..to.len().saturating_sub(1)).unwrap_or("");
        let ways = match to.chars().last() {
            Some('f') => &lines[self.line..],
            Some('b') => &lines[..self.line - 1],
            _ => &[],
        };
        if !ways.iter().any(|line| line.strip_suffix(':') == Some(label)) {
            self.fault(&format!("jumps out, to `{to}`"));
        }
    }

    fn end(&mut self) {
        if self.sse && self.vex {
            self.fault("mixes SSE with AVX, which costs a transition each time");
        }
        let (wide, cleared) = (self.wide.is_some(), self.cleared.is_some());
        if self.contract.clears && wide && self.cleared != Some(self.last) {
            self.fault("ends without `vzeroupper`");
        }
        if !self.contract.clears && cleared {
            self.fault("clears upper halves, which its wrapper takes over");
        }
    }
}

#[derive(Debug, PartialEq)]
struct Operand {
    what: What,
    masks: Vec<String>,
    masked: bool,
    zeroes: bool,
}

#[derive(Debug, PartialEq)]
enum What {
    Register {
        name: String,
        wide: bool,
    },
    /// The registers of the address, and what is added to them.
    Memory(Vec<String>, i64),
    Number,
    Unknown(String),
}

impl Operand {
    fn read(text: &str) -> Self {
        let (main, braces) = text.split_at(text.find('{').unwrap_or(text.len()));
        let words: Vec<&str> = braces.split(['{', '}']).filter(|word| !word.is_empty()).collect();
        let masks: Vec<String> =
            words.iter().filter_map(|word| register(word)).map(|(name, _)| name).collect();
        let masked = !masks.is_empty();
        let what = match main.find('[') {
            Some(open) => address(main[open..].trim_matches(['[', ']', ' '])),
            None => match register(main.trim()) {
                Some((name, wide)) => What::Register { name, wide },
                None if number(main.trim()).is_some() => What::Number,
                None => What::Unknown(main.trim().to_owned()),
            },
        };
        Self { what, masks, masked, zeroes: words.contains(&"z") }
    }
}

fn address(inside: &str) -> What {
    let mut registers = Vec::new();
    let (mut offset, mut rest) = (0, inside);
    while let Some(at) = rest.find(|c: char| !c.is_whitespace()) {
        let minus = rest[at..].starts_with('-');
        let term = rest[at..].trim_start_matches(['+', '-', '*', ' ']);
        let end = term.find(['+', '-', '*']).unwrap_or(term.len());
        rest = &term[end..];
        let term = term[..end].trim();
        match (register(term), number(term)) {
            (Some((name, _)), _) => registers.push(name),
            (None, Some(value)) => offset += if minus { -value } else { value },
            (None, None) => return What::Unknown(term.to_owned()),
        }
    }
    What::Memory(registers, offset)
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

mod tests {
    use super::*;
    use crate::assembly::checks::asm_contracts;
    use crate::assembly::files;

    /// A contract like that of a BLAKE3 body: the ABI's clobbered registers, and three inputs.
    fn contract() -> Contract {
        asm_contracts::operands(
            "in(\"rdi\") a, inout(\"rsi\") b => _, in(\"zmm3\") c, clobber_abi(\"sysv64\"), options(raw)",
            true,
        )
    }

    #[test]
    fn every_body_keeps_its_contract() {
        let mut bodies = 0;
        for (path, text) in files() {
            let contracts = asm_contracts::contracts_of(&path);
            assert!(!contracts.is_empty(), "{} has no wrapper", path.display());
            for contract in contracts {
                let faults = faults(&text, &contract);
                assert!(faults.is_empty(), "{}:\n{}", path.display(), faults.join("\n"));
                bodies += 1;
            }
        }
        assert!(bodies >= files().len());
    }

    #[test]
    fn each_rule_is_broken_by_one_line() {
        let good = "mov rax, [rdi + 8]\n2:\nvpaddd ymm0, ymm3, [rax]\nvmovdqu [rsi], ymm0\nadd rsi, 32\ndec rax\njnz 2b\nvzeroupper";
        assert_eq!(faults(good, &contract()), [""; 0]);
        let lines: Vec<&str> = good.lines().collect();
        for (at, line, what) in [
            (1, "call 2f", "line 2: calls"),
            (1, "push rax", "line 2: uses the stack"),
            (1, "pop rax", "line 2: uses the stack"),
            (1, "ret", "line 2: uses the stack"),
            (1, "mov [rsp - 8], rax", "line 2: uses the stack"),
            (1, "sub rsp, 64", "line 2: uses the stack"),
            (1, "std", "line 2: touches the direction flag"),
            (1, "cpuid", "line 2: `cpuid` is an instruction"),
            (1, "mov ebx, 1", "line 2: writes rbx, which"),
            (1, "lea r12, [rax]", "line 2: writes r12, which"),
            (1, "mov r15b, 1", "line 2: writes r15, which"),
            (1, "vmovdqu ymm1, [r9]", "line 2: reads r9, which"),
            (1, "vpaddd ymm1, ymm2, ymm3", "line 2: reads v2, which"),
            (1, "vmovdqu8 zmm1{k2}{z}, [rdi]", "line 2: reads k2, which"),
            (1, "vpternlogd ymm9, ymm3, ymm3, 150", "line 2: reads v9, which"),
            (1, "mov rcx, [4096]", "line 2: an absolute address"),
            (1, "mov rcx, [rip + TABLE]", "line 2: `rip` is neither"),
            (1, "jmp memcpy", "line 2: jumps out, to `memcpy`"),
            (1, "jnz 2b", "line 2: reads flags"),
            (1, "jmp 9f", "line 2: jumps out, to `9f`"),
            (1, "kernel:", "line 2: a label that other code"),
            (1, "movdqa xmm1, xmm3", "mixes SSE with AVX"),
            (8, "vpxor ymm0, ymm0, ymm0", "ends without `vzeroupper`"),
        ] {
            let mut bad = lines.clone();
            bad.insert(at, line);
            let found = faults(&bad.join("\n"), &contract());
            assert!(found.iter().any(|fault| fault.contains(what)), "{line}: {found:?}");
        }
    }

    #[test]
    fn preserved_registers_are_not_written() {
        let wrapper = "in(\"rdi\") a, out(\"r8\") b, out(\"zmm0\") c, options(raw, nostack, preserves_flags)";
        let contract = asm_contracts::operands(wrapper, false);
        assert_eq!(faults("vmovdqa64 zmm0, [rdi]\nvmovq r8, xmm0", &contract), [""; 0]);
        for (line, what) in [
            ("xor r8d, r8d", "changes flags"),
            ("lea rdi, [rdi + 64]", "writes rdi, which"),
            ("vmovdqa64 zmm1, [rdi]", "writes v1, which"),
            ("kmovq k1, rdi", "writes k1, which"),
            ("vzeroupper", "clears upper halves"),
        ] {
            let found = faults(line, &contract);
            assert!(found.iter().any(|fault| fault.contains(what)), "{line}: {found:?}");
        }
    }

    #[test]
    fn body_uses_only_its_own_frame() {
        let (enter, leave) = scalar_kernel::frame();
        let framed = |line: &str| [&enter.join("\n"), line, &leave.join("\n")].join("\n");
        for line in ["mov rbx, [rsp + 8]", "mov dword ptr [rsp], esi", "xor ebp, ebp", "lea rax, [rsp + 176]"]
        {
            assert_eq!(faults(&framed(line), &contract()), [""; 0], "{line}");
        }
        for (line, what) in [
            (format!("mov [rsp + {}], rdi", FRAME - 8), "uses the stack"),
            (format!("mov [rsp + {FRAME}], rdi"), "uses the stack"),
            ("mov [rsp - 8], rdi".into(), "uses the stack"),
            ("mov [rsp + rdi], rdi".into(), "uses the stack"),
            ("mov rsp, rdi".into(), "uses the stack"),
            ("push rdi".into(), "uses the stack"),
            ("mov r12, rdi".into(), "writes r12, which"),
        ] {
            let found = faults(&framed(&line), &contract());
            assert!(found.iter().any(|fault| fault.contains(what)), "{line}: {found:?}");
        }
        let unfinished = [&enter.join("\n"), "mov rbx, rdi", &leave[..2].join("\n")].join("\n");
        assert!(!faults(&unfinished, &contract()).is_empty());
    }

    /// The bodies are long: lines that break rules are found in the middle of each.
    #[test]
    fn bad_lines_are_found_in_every_body() {
        let bad = ["call memcpy", "push rax", "mov rbx, rdi", "mov rsp, rdi", "std", "vmovdqu ymm0, [r15]"];
        for (path, text) in files() {
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
            let (before, after) = lines.split_at(lines.len() / 2);
            let mutant = [before, &bad, after].concat().join("\n");
            for contract in asm_contracts::contracts_of(&path) {
                let found = faults(&mutant, &contract);
                // A body with its own frame may use these registers.
                let framed = take_frame(&mut lines.clone());
                let is_allowed = |bad: &str| framed && (bad.contains("rbx") || bad.contains("r15"));
                for (line, bad) in (before.len() + 1..).zip(bad).filter(|(_, bad)| !is_allowed(bad)) {
                    let prefix = format!("line {line}: ");
                    assert!(found.iter().any(|it| it.starts_with(&prefix)), "{}: {bad}", path.display());
                }
            }
        }
    }
}
