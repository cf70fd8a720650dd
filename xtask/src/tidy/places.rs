//! The exceptions to the rules for Rust files: which place may do what, and why.

/// A file, or a folder when it ends with `/`, that may do what others may not.
pub(super) struct Place {
    pub(super) path: &'static str,
}

impl Place {
    /// The reason is for the reader of this list.
    const fn new(path: &'static str, _reason: &'static str) -> Self {
        Self { path }
    }

    pub(super) fn covers(&self, path: &str) -> bool {
        if self.path.ends_with('/') { path.starts_with(self.path) } else { path == self.path }
    }
}

/// Where `unsafe` may stand. Each block there says why it is sound; clippy sees to that.
pub(super) const UNSAFE: &[Place] = &[
    Place::new("crates/hash/src/isa.rs", "asks the CPU which registers the system saves"),
    Place::new("crates/hash/src/blake3/x86_64/", "vector loads and stores, and assembly"),
    Place::new("crates/hash/src/blake3/aarch64/", "vector loads and stores"),
    Place::new("crates/hash/src/blake3/kernel.rs", "the types of the functions in kernel tables"),
    Place::new("crates/hash/src/blake3/lanes.rs", "calls into the kernel tables"),
    Place::new("crates/hash/src/work_sharing.rs", "work on the caller's stack, lent to the workers"),
    Place::new("crates/hash/src/argon2/x86_64/", "vector loads and stores"),
    Place::new("crates/hash/src/argon2/aarch64/", "vector loads and stores"),
    Place::new("crates/hash/src/argon2/memory.rs", "blocks that several lanes write at once"),
    Place::new("crates/hash/src/argon2/pages.rs", "pages from the system, huge where it grants them"),
    Place::new("crates/hash/src/argon2/kernel.rs", "the kernel tables"),
    Place::new("crates/hash/src/argon2/fill.rs", "calls into the kernel tables"),
    Place::new("crates/hash/src/argon2/segment.rs", "the loop over blocks, inlined into each kernel"),
    Place::new("crates/hash/src/argon2/pair.rs", "the compression of all 128-bit kernels"),
    Place::new("crates/hash/src/argon2/portable.rs", "blocks by pointer, as for every other kernel"),
    Place::new("crates/hash/src/argon2/chain.rs", "calls into BLAKE2b's vectors"),
    Place::new("crates/hash/src/blake2b.rs", "digests side by side in vectors"),
    Place::new("crates/cli/src/os/signals.rs", "asks which signals are ignored"),
    Place::new(
        "crates/cli/src/os/streams.rs",
        "looks at the standard streams before the runtime replaces closed ones",
    ),
    Place::new("crates/files/src/source/mmap/", "the one mapping of files into memory"),
    Place::new("crates/rivals/src/reference.rs", "calls the reference implementation, which is C"),
    Place::new("crates/testkit/src/alloc.rs", "an allocator that counts"),
    Place::new("crates/testkit/src/fork.rs", "a child process that is a copy"),
    Place::new("crates/testkit/src/guard.rs", "memory that faults when a kernel reads past its input"),
    Place::new("crates/testkit/src/signal.rs", "a handler for a signal"),
    Place::new("crates/testkit/src/stack.rs", "the stack of a thread that has ended"),
    Place::new("xtask/probes/no_std.rs", "an exported symbol keeps the probe's code"),
    Place::new("xtask/probes/bare.rs", "a program without a library starts and ends by itself"),
    Place::new("xtask/probes/wasm.rs", "what a module exports to JavaScript and takes from it"),
    Place::new("xtask/probes/bcryptprimitives.rs", "a library of Windows"),
];

/// Whether a crate has a place in [`UNSAFE`]. The root of every other says `#![forbid(unsafe_code)]`.
pub(super) fn has_unsafe(crate_folder: &str) -> bool {
    UNSAFE.iter().any(|place| place.path.starts_with(&format!("{crate_folder}/src/")))
}

/// What differs by operating system sits in one small file per room. Tests may look at the system that they run on.
pub(super) const SYSTEM: &[Place] = &[
    Place::new("crates/files/src/os.rs", "positioned reads, hints to the system, names"),
    Place::new("crates/files/src/source/mmap/", "mapping files"),
    Place::new("crates/hash/src/argon2/pages.rs", "huge pages"),
    Place::new("crates/doc/src/threads/pool.rs", "whether processes fork, and which one this is"),
    Place::new("crates/hash/src/process.rs", "whether processes fork, and which one this is"),
    Place::new("crates/cli/src/os/", "the terminal, signals, standard streams"),
    Place::new("crates/testkit/src/fork.rs", "processes that fork"),
    Place::new("crates/testkit/src/guard.rs", "guard pages"),
    Place::new("crates/testkit/src/lib.rs", "signals exist on Unix only"),
    Place::new("crates/testkit/src/stack.rs", "threads on memory of the caller's"),
    Place::new("crates/machine/src/os.rs", "sizes of pages, processor time, huge pages"),
    Place::new("crates/machine/src/system.rs", "says why there are no counters"),
];

/// Where a library may read the environment, or is no library.
pub(super) const ENVIRONMENT: &[Place] = &[
    Place::new("crates/lab/src/cmd/", "the commands: arguments, the terminal, the program to run again"),
    Place::new("crates/machine/src/system.rs", "names of the system and the architecture"),
];

/// Files of more than [`super::source::LONG`] lines that a reader accepts.
pub(super) const LONG_FILES: &[Place] = &[];

/// Library crates: what they do depends on their arguments alone, never on the environment.
pub(super) const LIBRARIES: [&str; 6] = [
    "crates/hash/src/",
    "crates/machine/src/",
    "crates/files/src/",
    "crates/doc/src/",
    "crates/lab/src/",
    "crates/workloads/src/",
];
