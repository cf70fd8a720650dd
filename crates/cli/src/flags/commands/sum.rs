//! The flags of `hashmill sum`: those of b3sum with the same names, and further ones.

use super::engine::EngineFlags;
use crate::flags::known_values::KnownValues;
use clap::{Args, ValueEnum};
use hashmill_files::Strategy;
use hashmill_files::checksum_list::Algorithm;
use hashmill_hash::blake3::Kernel;
use std::path::PathBuf;

/// Compute or check file checksums
///
/// Exit codes: 0 success, 1 some file or check failed (all others were processed), 2 the command line or the key cannot be
/// used, or with --audit something could not be read.
#[allow(rustdoc::broken_intra_doc_links, reason = "help for terminals, where brackets are brackets")]
#[derive(Args, Debug, Default)]
#[command(next_line_help = false, after_help = EXAMPLES)]
pub(crate) struct SumArgs {
    /// Files to hash, or lists to check (- or none: standard input)
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Keyed BLAKE3; reads a 32-byte key from standard input
    #[arg(long, requires = "files", help_heading = "Function")]
    pub(crate) keyed: bool,

    /// Use the key derivation mode, with the given context string
    #[arg(
        long,
        value_name = "CONTEXT",
        conflicts_with = "keyed",
        help_heading = "Function",
        hide_short_help = true
    )]
    pub(crate) derive_key: Option<String>,

    /// The number of output bytes [default: 32]
    ///
    /// Counted before hex encoding. With --check: the length of the digests in the list, if it is not 32.
    #[arg(short, long, value_name = "LEN", help_heading = "Function", hide_short_help = true)]
    pub(crate) length: Option<u64>,

    /// The starting output byte offset, before hex encoding
    #[arg(long, value_name = "SEEK", default_value_t = 0, help_heading = "Function", hide_short_help = true)]
    pub(crate) seek: u64,

    /// Hash function: blake3 (default), sha256, sha512, sha1, md5
    ///
    /// With --check it is detected if not given, except for files that match by no function. All but BLAKE3 are for lists of
    /// other programs.
    #[arg(long, value_name = "NAME", hide_possible_values = true, help_heading = "Function")]
    pub(crate) algorithm: Option<AlgorithmName>,

    /// Hash all files below directories, in the byte order of their paths
    ///
    /// Links given as arguments are followed, links below directories are not (see --follow). FIFOs, sockets and
    /// devices below directories are skipped with a note.
    #[arg(short, long, conflicts_with_all = ["check", "raw"], help_heading = "Directories")]
    pub(crate) recursive: bool,

    /// With --recursive, follow symbolic links
    #[arg(short = 'L', long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) follow: bool,

    /// Skip files that match a .gitignore pattern, like `*.tmp`
    ///
    /// A pattern without a slash matches names at any depth; with a slash it starts at the operand; a final slash matches
    /// directories only. Operands are never skipped.
    #[arg(long, value_name = "GLOB", help_heading = "Directories")]
    pub(crate) exclude: Vec<String>,

    /// Hash only files that match a .gitignore pattern; --exclude takes precedence
    #[arg(long, value_name = "GLOB", help_heading = "Directories", hide_short_help = true)]
    pub(crate) include: Vec<String>,

    /// Skip names that start with a dot
    #[arg(long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) no_hidden: bool,

    /// Skip files that .gitignore and .ignore files in the directories exclude
    #[arg(long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) ignore_files: bool,

    /// Stay on the file system of each operand
    #[arg(short = 'x', long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) one_file_system: bool,

    /// Hash the files named in FILE, separated by NUL or line ends; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["check", "expect", "audit", "update", "duplicates", "tree", "raw", "keyed"],
        help_heading = "Directories",
        hide_short_help = true
    )]
    pub(crate) files_from: Option<PathBuf>,

    /// Read the rest of a file with unreadable ranges, and report the ranges
    ///
    /// It is a failure in any case. With this flag all unreadable ranges are printed, and the digest with zeros in their place,
    /// which is not the digest of the file. Each unreadable range of a failing disk takes seconds.
    #[arg(long, conflicts_with_all = ["job", "tree", "raw"], help_heading = "Output", hide_short_help = true)]
    pub(crate) keep_going: bool,

    /// Print one digest per directory tree
    ///
    /// See docs/tree-digest.md. In lists the names of trees end with a slash, by which --check recognizes them. With --check:
    /// every line is a tree.
    #[arg(
        long,
        conflicts_with_all = ["recursive", "keyed", "derive_key", "length", "seek", "raw"],
        help_heading = "Directories"
    )]
    pub(crate) tree: bool,

    /// Write to FILE atomically; FILE itself is not hashed
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Omit file names in the output
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) no_names: bool,

    /// Write raw output bytes, rather than hex
    ///
    /// --no-names is implied. In this case, only a single input is allowed.
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) raw: bool,

    /// Output BSD-style checksums: `BLAKE3 (FILE) = HASH`
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) tag: bool,

    /// End lines with NUL, and do not escape names
    ///
    /// With --check: read such lists. They preserve names that are not UTF-8.
    #[arg(short, long, help_heading = "Output", hide_short_help = true)]
    pub(crate) zero: bool,

    /// Print one JSON object per file
    #[arg(long, conflicts_with_all = ["raw", "tag", "no_names"], help_heading = "Output")]
    pub(crate) json: bool,

    /// Check files against the lists given as FILE
    #[arg(
        short,
        long,
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names"],
        help_heading = "Checking"
    )]
    pub(crate) check: bool,

    /// Check one file against this digest, as from a web page
    ///
    /// `sha256:HEX` names its hash function.
    #[arg(
        long,
        value_name = "HEX",
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names", "recursive", "zero"],
        help_heading = "Checking"
    )]
    pub(crate) expect: Option<String>,

    /// Report changed, moved, new and missing files of a list
    ///
    /// If the list has times, as --update writes them, a changed file is outdated (its time differs) or corrupt (its time is
    /// equal), and a file of which only the time differs is touched. Exit codes: 1 something differs, 2 something could not be
    /// read.
    ///
    /// Covers the files below FILE [default: .]. Reads all lists that --check reads, and those of rclone and hashdeep.
    /// Names are paths, or paths relative to the only FILE.
    #[arg(
        long,
        value_name = "LIST",
        groups = ["job", "names"],
        conflicts_with_all = ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree"],
        help_heading = "Checksum lists"
    )]
    pub(crate) audit: Option<PathBuf>,

    /// Create a list of FILE [default: .], or rehash only changed files
    ///
    /// Files below FILE with another size or time are hashed. Differences are reported in the form of --audit; the list has sizes and
    /// times in comments. It is replaced atomically, and an interrupted run is resumed.
    #[arg(
        long,
        value_name = "LIST",
        groups = ["job", "names", "stored"],
        conflicts_with_all =
            ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree", "output", "zero"],
        help_heading = "Checksum lists"
    )]
    pub(crate) update: Option<PathBuf>,

    /// With --update: hash all files, also those with equal size and time
    ///
    /// This detects silent corruption: a file whose content differs but whose time is equal is corrupt. It is reported as a
    /// failure, and its entry stays unchanged; see --retag.
    #[arg(long, requires = "update", help_heading = "Checksum lists", hide_short_help = true)]
    pub(crate) paranoid: bool,

    /// With --update: accept that all files below a FILE are gone, and remove them from the list
    ///
    /// Without it that is a failure, and the list stays unchanged, as the disk may not be mounted.
    #[arg(long, requires = "update", help_heading = "Checksum lists", hide_short_help = true)]
    pub(crate) allow_gone: bool,

    /// Find files below FILE [default: .] with equal content
    ///
    /// Groups that waste most bytes come first. With --zero: unescaped names, each ended by NUL, and each group by another NUL.
    #[arg(
        long,
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree"],
        help_heading = "Checksum lists"
    )]
    pub(crate) duplicates: bool,

    /// Detect silent corruption with digests in extended attributes
    ///
    /// The time of each file is stored with its digest. A file is new, outdated (content and time differ),
    /// touched (only the time differs), corrupt (the content differs, the time does not), or ok, which is printed with -v only.
    /// Unless the file is corrupt, its digest and time are stored. Reads attributes of cshatag, which reads ours with --algorithm sha256.
    #[arg(
        long,
        groups = ["job", "names", "stored"],
        conflicts_with_all =
            ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree", "zero", "follow"],
        help_heading = "Checksum lists"
    )]
    pub(crate) xattr: bool,

    /// With --update and --xattr: store new digests of corrupt files, too
    ///
    /// Without it the old digest stays, as the only evidence of the corruption. It is a failure in both cases.
    #[arg(
        long,
        requires = "stored",
        conflicts_with = "dry_run",
        help_heading = "Checksum lists",
        hide_short_help = true
    )]
    pub(crate) retag: bool,

    /// With --xattr: only report, write no attributes
    #[arg(long, requires = "xattr", help_heading = "Checksum lists", hide_short_help = true)]
    pub(crate) dry_run: bool,

    /// With --audit, --update and --xattr: print unchanged files, too
    #[arg(short, long, requires = "names", help_heading = "Checksum lists", hide_short_help = true)]
    pub(crate) verbose: bool,

    /// Print only failures
    ///
    /// With --audit, --update and --xattr: also no summary.
    #[arg(short, long, requires = "job", help_heading = "Checking")]
    pub(crate) quiet: bool,

    /// Print nothing; only set the exit code
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) status: bool,

    /// Ignore missing files
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) ignore_missing: bool,

    /// Print each line that is accepted although no sum program writes it
    #[arg(short, long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) warn: bool,

    /// Refuse such lines: comments, blank lines, uppercase digests, *NAME, a single space
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) strict: bool,

    /// Put GNU's mark for binary files before names, as `sha256sum -b` does
    #[arg(short, long, hide = true, conflicts_with_all = ["check", "tag"])]
    pub(crate) binary: bool,

    /// Accepted for `sha256sum -t`; files are always read as bytes
    #[arg(short, long, hide = true, conflicts_with = "binary")]
    pub(crate) text: bool,

    /// The maximum number of threads to use
    ///
    /// By default, this is the number of logical cores. If this flag is omitted, or if its value is 0,
    /// RAYON_NUM_THREADS is also respected.
    #[arg(
        short = 'j',
        long,
        visible_alias = "threads",
        value_name = "NUM",
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) num_threads: Option<usize>,

    /// Disable memory mapping: the same as --strategy read
    #[arg(long, help_heading = "Speed", hide_short_help = true)]
    pub(crate) no_mmap: bool,

    /// How to read files: auto, read, pread, mmap, mmap-parallel, direct [default: auto]
    ///
    /// direct bypasses the system's cache, for files that are not read again soon. If the file system does not support it, the
    /// cache is used, with a note.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "no_mmap",
        value_parser = strategies(),
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) strategy: Option<Strategy>,

    /// Use one BLAKE3 kernel for everything (`hashmill info` lists them)
    #[arg(
        long,
        value_name = "NAME",
        value_parser = kernels(),
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) kernel: Option<String>,

    #[command(flatten)]
    pub(crate) engine: EngineFlags,

    /// Show no progress bar
    #[arg(long, help_heading = "Speed", hide_short_help = true)]
    pub(crate) no_progress: bool,
}

const EXAMPLES: &str = "\
Examples:
  hashmill sum -r photos > PHOTOS && hashmill sum --check PHOTOS
  hashmill sum debian.iso --expect sha256:98ea6e4f…
  hashmill sum --audit PHOTOS photos";

/// Parser for strategies, with names for completions.
fn strategies() -> KnownValues<Strategy> {
    KnownValues::new(Strategy::ALL.map(Strategy::name), |name| {
        name.parse().map_err(|error: <Strategy as std::str::FromStr>::Err| error.to_string())
    })
}

/// Parser for kernel names, with names for completions. The command refuses unknown names with a list.
fn kernels() -> KnownValues<String> {
    KnownValues::new(Kernel::all().map(Kernel::name), |name| Ok(name.to_owned()))
}

/// Hash functions by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AlgorithmName {
    Blake3,
    Sha256,
    Sha512,
    Sha1,
    Md5,
}

impl AlgorithmName {
    pub(crate) fn algorithm(self) -> Algorithm {
        match self {
            AlgorithmName::Blake3 => Algorithm::Blake3,
            AlgorithmName::Sha256 => Algorithm::Sha256,
            AlgorithmName::Sha512 => Algorithm::Sha512,
            AlgorithmName::Sha1 => Algorithm::Sha1,
            AlgorithmName::Md5 => Algorithm::Md5,
        }
    }
}
