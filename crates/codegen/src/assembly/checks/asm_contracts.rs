//! Contracts of generated assembly: the operands of each `asm!` that includes it, found through the macros around it. For tests
//! only.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::assembly::checks::operands::{register, split};

/// Inputs of an assembly body, and what it may change.
#[derive(Debug)]
pub(super) struct Contract {
    /// Registers that hold something at the beginning.
    pub(super) inputs: BTreeSet<String>,
    /// Registers that may be written.
    pub(super) writes: BTreeSet<String>,
    /// Whether flags may be changed.
    pub(super) flags: bool,
    /// Whether a body that wrote more than 128 bits of a register must clear the upper halves at its end. Otherwise the
    /// compiled code around it uses them further, and clears them itself.
    pub(super) clears: bool,
}

/// Parses the operands of an `asm!`.
pub(super) fn operands(text: &str, clears: bool) -> Contract {
    let mut contract = Contract { inputs: BTreeSet::new(), writes: BTreeSet::new(), flags: true, clears };
    for operand in split(text) {
        // Optional operands of a macro are taken from its call.
        let operand = operand.rsplit(")?").next().unwrap_or("").trim();
        if operand.starts_with("include_str!") {
            continue;
        }
        let (kind, rest) = operand.split_once('(').expect("an operand of `asm!`");
        let inside = rest.split_once(')').expect("an operand of `asm!`").0.trim_matches('"');
        let name = || register(inside).expect("a register with a name").0;
        match kind {
            "in" => _ = contract.inputs.insert(name()),
            "out" | "lateout" => _ = contract.writes.insert(name()),
            "inout" | "inlateout" => {
                contract.inputs.insert(name());
                contract.writes.insert(name());
            }
            "clobber_abi" => {
                assert_eq!(inside, "sysv64", "another ABI clobbers other registers");
                let general = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"];
                contract.writes.extend(general.map(str::to_owned));
                contract.writes.extend((0..32).map(|number| format!("v{number}")));
                contract.writes.extend((0..8).map(|number| format!("k{number}")));
            }
            "options" => contract.flags &= !inside.contains("preserves_flags"),
            other => panic!("unknown operand `{other}`"),
        }
    }
    contract
}

/// The contract of each `asm!` that includes a generated file.
pub(super) fn contracts_of(file: &Path) -> Vec<Contract> {
    let root = crate::root();
    let generated = file.ancestors().find(|folder| folder.ends_with("generated")).expect("a generated file");
    let parent = generated.parent().expect("the folder of the wrappers");
    let folder = root.join(parent);
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder of the wrappers") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|it| it == "rs") {
            sources.push(Source::read(&path));
        }
    }
    let literal = format!("\"{}\"", file.strip_prefix(parent).expect("below the wrappers").display());
    // A body of BLAKE3 is called once for many blocks; a body of Argon2 is inside a loop of compiled vector code.
    let clears = file.starts_with("crates/hash/src/blake3");
    let mut contracts = Vec::new();
    for source in &sources {
        for (at, _) in source.text.match_indices(&literal) {
            contracts.push(operands(&source.asm(at, &literal, &sources), clears));
        }
    }
    contracts
}

/// Text of a Rust file without comments.
struct Source {
    text: String,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a source");
        let text: String =
            text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
        Self { text }
    }

    /// The operands of the `asm!` around a word, which is a file name or the parameter of a macro.
    fn asm(&self, at: usize, word: &str, sources: &[Source]) -> String {
        let call = self.call_around(at);
        if call.name == "include_str" {
            let asm = self.call_around(call.start);
            assert_eq!(asm.name, "asm", "a body is included by `asm!`");
            return asm.inside.to_owned();
        }
        let arguments = split(call.inside);
        let index = arguments.iter().position(|argument| argument == word).expect("an argument");
        let (source, from, parameter) = [self]
            .into_iter()
            .chain(sources)
            .find_map(|source| source.parameter(call.name, index).map(|(from, name)| (source, from, name)))
            .unwrap_or_else(|| panic!("the macro `{}` with an argument {index}", call.name));
        let mut operands = source.asm(from, &parameter, sources);
        for argument in arguments.iter().filter(|it| it.starts_with("in(") || it.starts_with("out(")) {
            operands += ", ";
            operands += argument;
        }
        operands
    }

    /// The first use of a macro's parameter, by index, and the parameter's name.
    fn parameter(&self, name: &str, index: usize) -> Option<(usize, String)> {
        let start = self.text.find(&format!("macro_rules! {name} {{"))?;
        let open = start + self.text[start..].find('(')?;
        let pattern = inside(&self.text[open..]);
        let parameter = split(pattern).get(index)?.split(':').next()?.to_owned();
        let body = open + pattern.len();
        let used = self.text[body..].find(&parameter).map(|at| body + at)?;
        Some((used, parameter))
    }

    /// The innermost `name!(…)` around a position.
    fn call_around(&self, at: usize) -> Call<'_> {
        let mut depth = 0;
        let open = self.text[..at]
            .char_indices()
            .rev()
            .find(|(_, c)| {
                depth += match c {
                    ')' => 1,
                    '(' => -1,
                    _ => 0,
                };
                depth < 0
            })
            .map(|(index, _)| index)
            .expect("a call around the name of a file");
        let before = self.text[..open].strip_suffix('!').expect("a call of a macro");
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |index| index + 1);
        Call { name: &before[start..], start, inside: inside(&self.text[open..]) }
    }
}

struct Call<'a> {
    name: &'a str,
    start: usize,
    inside: &'a str,
}

/// The text inside the bracket at the start of `text`.
fn inside(text: &str) -> &str {
    let mut depth = 0;
    let close = text.char_indices().find(|(_, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    &text[1..close.expect("brackets have two ends").0]
}

mod tests {
    use super::*;

    fn assert_preserved(file: &str, names: &[&str]) {
        for contract in contracts_of(Path::new(file)) {
            for name in names {
                assert!(!contract.writes.contains(*name), "{file}: {name} in {contract:?}");
            }
        }
    }

    #[test]
    fn contracts_are_found_through_every_macro() {
        let folder = "crates/hash/src/blake3/kernel/x86_64/generated";
        for (file, inputs) in [
            ("lanes/columns/sse41_lanes4.s", 4),
            ("lanes/rows/avx2_lanes2.s", 8),
            ("run/avx512_run.s", 9),
            ("lanes/rows/avx512_lanes4.s", 10),
            ("xof/many/avx512_xof16.s", 6),
            ("xof/few/avx512_xof1.s", 4),
        ] {
            let contracts = contracts_of(Path::new(&format!("{folder}/{file}")));
            assert!(
                !contracts.is_empty() && contracts.iter().all(|it| it.inputs.len() == inputs),
                "{file}: {contracts:?}"
            );
            assert_preserved(&format!("{folder}/{file}"), &["rbx", "rbp", "rsp", "r12", "r15"]);
        }
    }

    #[test]
    fn inputs_are_preserved_unless_declared() {
        let folder = "crates/hash/src/argon2/kernel/x86_64/generated";
        assert_preserved(
            &format!("{folder}/avx512_head.s"),
            &["rdi", "rsi", "rdx", "rax", "v20", "v28", "k1"],
        );
        assert_preserved(&format!("{folder}/avx2_tail.s"), &["rdi", "rsi", "rdx", "rax", "r8", "r9", "v16"]);
        let [tail] = &contracts_of(Path::new(&format!("{folder}/avx512_tail.s")))[..] else {
            panic!("one wrapper")
        };
        assert!(tail.inputs.contains("v31") && !tail.inputs.contains("rax") && !tail.flags && !tail.clears);
    }

    #[test]
    #[should_panic(expected = "another ABI")]
    fn another_abi_is_refused() {
        operands("clobber_abi(\"C\")", true);
    }
}
