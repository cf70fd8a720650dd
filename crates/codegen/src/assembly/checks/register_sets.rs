//! Check that a generated body names only registers of its instruction set. For tests only.
//!
//! The set is the first part of the file's name. The wrapper's file has the same name, and its table requires the CPU
//! feature: a body with wider or more registers would be an illegal instruction on a CPU that has no more than that.

use crate::assembly::checks::operands::register;

/// Registers, masks, broadcasts and instructions in `text` that `set` does not have.
fn foreign_names<'a>(set: &str, text: &'a str) -> Vec<&'a str> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
    let words = lines.flat_map(|line| {
        let mnemonic = line.split_whitespace().next().unwrap_or("");
        line.split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(move |word| (word, word == mnemonic))
    });
    words
        .filter(|(word, is_mnemonic)| level(word, *is_mnemonic) > allowed(set))
        .map(|(word, _)| word)
        .collect()
}

/// The instruction sets in ascending order, by number.
fn allowed(set: &str) -> usize {
    let sets = ["sse41", "avx2", "avx512"];
    sets.iter().position(|known| *known == set).unwrap_or_else(|| panic!("`{set}` is no instruction set"))
}

/// The lowest set that has this name, as far as a name tells.
fn level(word: &str, is_mnemonic: bool) -> usize {
    let Some((whole, _)) = register(word) else {
        return match is_mnemonic {
            true => usize::from(word.starts_with('v')),
            false => 2 * usize::from(word.starts_with("1to")),
        };
    };
    let upper = whole
        .strip_prefix('v')
        .and_then(|number| number.parse::<u32>().ok())
        .is_some_and(|number| number >= 16);
    match word.get(..3) {
        _ if upper || whole.starts_with('k') => 2,
        Some("zmm") => 2,
        Some("ymm") => 1,
        _ => 0,
    }
}

mod tests {
    use super::*;
    use crate::assembly::files;
    use std::path::Path;

    /// The first part of a file's name.
    fn set_of(path: &Path) -> &str {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        stem.split('_').next().unwrap_or_default()
    }

    #[test]
    fn bodies_name_registers_of_their_instruction_set() {
        for (path, text) in files() {
            let foreign = foreign_names(set_of(&path), &text);
            assert!(foreign.is_empty(), "{}: {foreign:?}", path.display());
        }
    }

    #[test]
    fn wrappers_include_bodies_of_their_instruction_set() {
        let mut included = 0;
        for function in ["blake3", "argon2"] {
            let folder = crate::root().join(format!("crates/hash/src/{function}/kernel/x86_64"));
            for entry in std::fs::read_dir(folder).expect("the folder of the wrappers") {
                let wrapper = entry.expect("an entry").path();
                let Ok(text) = std::fs::read_to_string(&wrapper) else { continue };
                for body in text.split('"').filter(|text| text.starts_with("generated/")) {
                    assert_eq!(set_of(Path::new(body)), set_of(&wrapper), "{}: {body}", wrapper.display());
                    included += 1;
                }
            }
        }
        assert!(included >= files().len(), "{included} inclusions");
    }

    #[test]
    fn names_of_wider_sets_are_found() {
        for (line, names, sets) in [
            ("movdqa xmm15, [r11 + 320]", &[][..], &["sse41", "avx2", "avx512"][..]),
            ("vpaddd ymm0, ymm15, [rax]", &[], &["avx2", "avx512"]),
            ("vpaddd zmm0, zmm1, zmm2 # k1", &[], &["avx512"]),
            ("vpaddd xmm0, xmm1, xmm2", &["vpaddd"], &["sse41"]),
            ("vpaddd ymm0, ymm1, ymm2", &["vpaddd", "ymm0", "ymm1", "ymm2"], &["sse41"]),
            ("    vpaddd ymm0, ymm1, zmm2", &["zmm2"], &["avx2"]),
            ("vpxord ymm0, ymm16, ymm1", &["ymm16"], &["avx2"]),
            ("vmovdqu xmm31, [rsi]", &["xmm31"], &["avx2"]),
            ("vpblendmd ymm0{k1}, ymm1, ymm2", &["k1"], &["avx2"]),
            ("vpaddd ymm0, ymm1, dword ptr [rsi]{1to8}", &["1to8"], &["avx2"]),
        ] {
            for set in sets {
                assert_eq!(foreign_names(set, line), names, "{set}: {line}");
            }
        }
    }
}
