//! Rules for Rust files that no lint has: a first line with the file's purpose, its length, no ignored tests, and where
//! the operating system is told apart.

use super::{Fault, TextFile};

/// Above this a reader looks for a seam.
const LONG: usize = 800;

/// What differs by operating system sits in one small file per room, or in a folder (it ends with `/`). Tests may look at
/// the system that they run on.
const SYSTEM: [&str; 19] = [
    "bindings/c/src/hashmill/pointers.rs",
    "crates/atomic-file/src/os.rs",
    "crates/cli/src/os/",
    "crates/doc/src/threads/pool.rs",
    "crates/files/src/os.rs",
    "crates/files/src/source/mmap/",
    "crates/gpu/src/cuda/driver/",
    "crates/gpu/src/wgpu/memory.rs",
    "crates/hash/src/argon2/pages.rs",
    "crates/hash/src/isa.rs",
    "crates/hash/src/process.rs",
    "crates/machine/src/child.rs",
    "crates/machine/src/files.rs",
    "crates/machine/src/os.rs",
    "crates/machine/src/system.rs",
    "crates/testkit/src/fork.rs",
    "crates/testkit/src/guard.rs",
    "crates/testkit/src/lib.rs",
    "crates/testkit/src/stack.rs",
];

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let path = file.path.as_str();
    let mut faults = Vec::new();
    let mut fault = |line, what: &str| faults.push(Fault::new(path, line, what));
    if !file.text.starts_with("//! ") {
        fault(1, "the first line is not `//!` with what the file is for");
    }
    if file.text.lines().count() > LONG {
        fault(0, "too long: split it");
    }
    // Tests stand at the end of their file.
    let mut test = path.contains("/tests/") || path.ends_with("/tests.rs") || allowed(path);
    for (index, line) in file.text.lines().enumerate() {
        test |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
        if line.trim_start().starts_with("#[ignore") {
            fault(
                index + 1,
                "an ignored test is nobody's: run it, or skip aloud for a reason found at run time",
            );
        }
        if !test && tells_systems_apart(line) {
            fault(index + 1, "the operating system is asked for outside the places in `tidy/source.rs`");
        }
    }
    faults
}

fn allowed(path: &str) -> bool {
    SYSTEM.iter().any(|place| path == *place || place.ends_with('/') && path.starts_with(place))
}

/// Whether a line of code says `cfg` of an operating system.
fn tells_systems_apart(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    !line.trim_start().starts_with("//")
        && ["cfg(", "cfg!(", "cfg_attr("].iter().any(|cfg| line.contains(cfg))
        && words.any(|word| ["target_os", "target_family", "unix", "windows"].contains(&word))
}

/// Places that no longer tell systems apart.
pub(super) fn unused_places(files: &[TextFile]) -> Vec<Fault> {
    let used = |place: &str| {
        let mut there = files.iter().filter(|file| file.path.starts_with(place));
        there.any(|file| file.text.lines().any(tells_systems_apart))
    };
    let unused = SYSTEM.into_iter().filter(|place| !used(place));
    unused.map(|place| Fault::new(place, 0, "a place in `tidy/source.rs` that needs none")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [usize; 0] = [];

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&file(path, &format!("//! A file.\n{text}"))).into_iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn a_file_says_what_it_is_for() {
        assert!(check(&file("crates/x/src/a.rs", "//! A file.\n")).is_empty());
        assert_eq!(check(&file("crates/x/src/a.rs", "use b;\n")).len(), 1);
        assert_eq!(check(&file("crates/x/src/a.rs", "//!\n")).len(), 1);
    }

    #[test]
    fn long_files_are_split() {
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(LONG - 1)), CLEAN);
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(LONG)), [0]);
    }

    #[test]
    fn ignored_tests_are_refused() {
        let text = ["#[test]\n#[", "ignore]"].concat();
        assert_eq!(lines("crates/x/tests/it/a.rs", &text), [3]);
    }

    #[test]
    fn systems_are_told_apart_in_one_file() {
        let text =
            "#[cfg(unix)]\nfn f() {}\n#[cfg(all(feature = \"x\", target_os = \"linux\"))]\n// cfg(unix)\n";
        assert_eq!(lines("crates/files/src/plan.rs", text), [2, 4]);
        assert_eq!(lines("crates/files/src/plan.rs", &format!("#[cfg(test)]\n{text}")), CLEAN);
        assert_eq!(lines("crates/files/src/source/mmap/mod.rs", text), CLEAN);
        assert_eq!(lines("crates/cli/tests/it/names.rs", text), CLEAN);
    }

    #[test]
    fn a_place_that_asks_for_no_system_is_a_fault() {
        assert_eq!(unused_places(&[]).len(), SYSTEM.len());
        let one = file("crates/files/src/os.rs", "#[cfg(unix)]\n");
        assert_eq!(unused_places(&[one]).len(), SYSTEM.len() - 1);
    }
}
