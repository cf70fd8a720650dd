//! Rules for Rust files that no lint has: a first line with the file's purpose, its length, no ignored tests, and where
//! the operating system is told apart.

use super::{Fault, TextFile};

/// Maximum lines of a file.
const LONG: usize = 800;

/// Files (and folders, with `/`) that may have code for single operating systems. Tests may too.
const SYSTEM: [&str; 22] = [
    "bindings/c/src/hashmill/pointers.rs",
    "crates/atomic-file/src/os.rs",
    "crates/cli/src/os/",
    "crates/doc/src/codec/parallel/pool.rs",
    "crates/files/src/os.rs",
    "crates/files/src/read/source/mmap/",
    "crates/gpu/src/cuda/driver/",
    "crates/gpu/src/wgpu/memory.rs",
    "crates/hash/src/argon2/memory/pages.rs",
    "crates/hash/src/isa.rs",
    "crates/hash/src/process.rs",
    "crates/lab/src/cmd/context/os.rs",
    "crates/machine/src/child.rs",
    "crates/machine/src/files.rs",
    "crates/machine/src/os.rs",
    "crates/machine/src/linux/mod.rs",
    "crates/testkit/src/lib.rs",
    "crates/testkit/src/memory/guard.rs",
    "crates/testkit/src/memory/stack_residue.rs",
    "crates/testkit/src/process/fork.rs",
    "crates/testkit/src/process/mod.rs",
    "crates/testkit/src/process/wait.rs",
];

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let path = file.path.as_str();
    let mut faults = Vec::new();
    let mut fault = |line, what: &str| faults.push(Fault::new(path, line, what));
    if !file.text.starts_with("//! ") {
        fault(1, "the first line is not `//!` with the purpose of the file");
    }
    if file.text.lines().count() > LONG {
        fault(0, "too long: split it");
    }
    // Tests stand at the end of their file.
    let mut test = path.contains("/tests/") || path.ends_with("/tests.rs") || allowed(path);
    for (index, line) in file.text.lines().enumerate() {
        test |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
        if line.trim_start().starts_with("#[ignore") {
            fault(index + 1, "an ignored test: run it, or report a skip for a reason found at run time");
        }
        if !test && tells_systems_apart(line) {
            fault(index + 1, "code for one operating system outside the files listed in `tidy/source.rs`");
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

/// Listed files without code for single operating systems.
pub(super) fn unused_places(files: &[TextFile]) -> Vec<Fault> {
    let used = |place: &str| {
        let mut there = files.iter().filter(|file| file.path.starts_with(place));
        there.any(|file| file.text.lines().any(tells_systems_apart))
    };
    let unused = SYSTEM.into_iter().filter(|place| !used(place));
    unused.map(|place| Fault::new(place, 0, "an unneeded entry in `tidy/source.rs`")).collect()
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
        assert_eq!(lines("crates/files/src/read/plan.rs", text), [2, 4]);
        assert_eq!(lines("crates/files/src/read/plan.rs", &format!("#[cfg(test)]\n{text}")), CLEAN);
        assert_eq!(lines("crates/files/src/read/source/mmap/mod.rs", text), CLEAN);
        assert_eq!(lines("crates/cli/tests/it/names.rs", text), CLEAN);
    }

    #[test]
    fn a_place_that_asks_for_no_system_is_a_fault() {
        assert_eq!(unused_places(&[]).len(), SYSTEM.len());
        let one = file("crates/files/src/os.rs", "#[cfg(unix)]\n");
        assert_eq!(unused_places(&[one]).len(), SYSTEM.len() - 1);
    }
}
