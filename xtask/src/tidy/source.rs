//! Rules for Rust files that no lint has: a first line with the file's purpose, a length, no ignored tests, and code for single
//! operating systems only in listed files.

use super::{Fault, TextFile};

/// Maximum lines of a file.
const MAX_LINES: usize = 800;

/// Files (and folders, with `/`) that may have code for single operating systems. Tests may too.
const SYSTEM_FILES: [&str; 22] = [
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
    let mut fault = |line, message: &str| faults.push(Fault::new(path, line, message));
    if !file.text.starts_with("//! ") {
        fault(1, "the first line is not `//!` with the purpose of the file");
    }
    if file.text.lines().count() > MAX_LINES {
        fault(0, "too long: split it");
    }
    // Tests stand at the end of their file.
    let mut is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || may_be_system_specific(path);
    for (index, line) in file.text.lines().enumerate() {
        is_test |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
        if line.trim_start().starts_with("#[ignore") {
            fault(index + 1, "an ignored test: run it, or report a skip for a reason found at run time");
        }
        if !is_test && is_system_specific(line) {
            fault(index + 1, "code for one operating system outside the files listed in `tidy/source.rs`");
        }
    }
    faults
}

fn may_be_system_specific(path: &str) -> bool {
    SYSTEM_FILES.iter().any(|entry| path == *entry || entry.ends_with('/') && path.starts_with(entry))
}

/// Whether a line of code has a `cfg` with an operating system.
fn is_system_specific(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    !line.trim_start().starts_with("//")
        && ["cfg(", "cfg!(", "cfg_attr("].iter().any(|cfg| line.contains(cfg))
        && words.any(|word| ["target_os", "target_family", "unix", "windows"].contains(&word))
}

/// Listed files without code for single operating systems.
pub(super) fn unused_entries(files: &[TextFile]) -> Vec<Fault> {
    let is_used = |entry: &str| {
        let mut matching = files.iter().filter(|file| file.path.starts_with(entry));
        matching.any(|file| file.text.lines().any(is_system_specific))
    };
    let unused = SYSTEM_FILES.into_iter().filter(|entry| !is_used(entry));
    unused.map(|entry| Fault::new(entry, 0, "an unneeded entry in `tidy/source.rs`")).collect()
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
    fn a_file_starts_with_its_purpose() {
        assert!(check(&file("crates/x/src/a.rs", "//! A file.\n")).is_empty());
        assert_eq!(check(&file("crates/x/src/a.rs", "use b;\n")).len(), 1);
        assert_eq!(check(&file("crates/x/src/a.rs", "//!\n")).len(), 1);
    }

    #[test]
    fn long_files_are_split() {
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(MAX_LINES - 1)), CLEAN);
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(MAX_LINES)), [0]);
    }

    #[test]
    fn ignored_tests_are_refused() {
        let text = ["#[test]\n#[", "ignore]"].concat();
        assert_eq!(lines("crates/x/tests/it/a.rs", &text), [3]);
    }

    #[test]
    fn code_for_one_system_is_allowed_in_listed_files_only() {
        let text =
            "#[cfg(unix)]\nfn f() {}\n#[cfg(all(feature = \"x\", target_os = \"linux\"))]\n// cfg(unix)\n";
        assert_eq!(lines("crates/files/src/read/plan.rs", text), [2, 4]);
        assert_eq!(lines("crates/files/src/read/plan.rs", &format!("#[cfg(test)]\n{text}")), CLEAN);
        assert_eq!(lines("crates/files/src/read/source/mmap/mod.rs", text), CLEAN);
        assert_eq!(lines("crates/cli/tests/it/names.rs", text), CLEAN);
    }

    #[test]
    fn a_listed_file_without_code_for_one_system_is_a_fault() {
        assert_eq!(unused_entries(&[]).len(), SYSTEM_FILES.len());
        let one = file("crates/files/src/os.rs", "#[cfg(unix)]\n");
        assert_eq!(unused_entries(&[one]).len(), SYSTEM_FILES.len() - 1);
    }
}
