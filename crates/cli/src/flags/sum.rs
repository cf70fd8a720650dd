//! The flags of `hashmill sum`: those of b3sum under the same names, then those it lacks.

use super::EngineFlags;
use super::known::Known;
use clap::{Args, ValueEnum};
use hashmill_files::Strategy;
use hashmill_files::checkfile::Algorithm;
use hashmill_hash::blake3::Kernel;
use std::path::PathBuf;

/// Hash files, or check lists of digests
///
/// Exit codes: 0 everything went well, 1 some file or check failed (all others were done), 2 the command line or the
/// key cannot be used, or with --audit something could not be read.
#[allow(rustdoc::broken_intra_doc_links, reason = "help for terminals, where brackets are brackets")]
#[derive(Args, Debug, Default)]
#[command(next_line_help = false, after_help = EXAMPLES)]
pub(crate) struct SumArgs {
    /// Files to hash, or lists to check; - or none is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Use the keyed mode, with the 32-byte key on standard input
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
    /// They are counted before hex encoding. With --check: that of the digests in the list, where it is not 32.
    #[arg(short, long, value_name = "LEN", help_heading = "Function", hide_short_help = true)]
    pub(crate) length: Option<u64>,

    /// The starting output byte offset, before hex encoding
    #[arg(long, value_name = "SEEK", default_value_t = 0, help_heading = "Function", hide_short_help = true)]
    pub(crate) seek: u64,

    /// blake3 (the default), sha256, sha512, sha1 or md5
    ///
    /// The hash function; with --check it is found out if not said. All but BLAKE3 are for lists that other programs made
    /// or want. Lists are told apart by themselves, except for files that match by no function.
    #[arg(long, value_name = "NAME", hide_possible_values = true, help_heading = "Function")]
    pub(crate) algorithm: Option<AlgorithmName>,

    /// Hash all files below directories, in the byte order of their paths
    ///
    /// Links given as arguments are followed, links met below them are not (see --follow). FIFOs, sockets and
    /// devices met below them are skipped with a note.
    #[arg(short, long, conflicts_with_all = ["check", "raw"], help_heading = "Directories")]
    pub(crate) recursive: bool,

    /// With --recursive, follow symbolic links
    #[arg(short = 'L', long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) follow: bool,

    /// Leave out what matches a pattern as in .gitignore, like `*.tmp`
    ///
    /// Without a slash, patterns are compared with names at any depth; with one, they begin where the walk does; a slash at
    /// the end is for directories only. What is named as an operand is never left out.
    #[arg(long, value_name = "GLOB", help_heading = "Directories")]
    pub(crate) exclude: Vec<String>,

    /// Of files, hash only those that match such a pattern; --exclude has the last word
    #[arg(long, value_name = "GLOB", help_heading = "Directories", hide_short_help = true)]
    pub(crate) include: Vec<String>,

    /// Leave out names that begin with a dot
    #[arg(long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) no_hidden: bool,

    /// Leave out what the files .gitignore and .ignore in the directories say
    #[arg(long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) ignore_files: bool,

    /// Stay on the file system of each operand
    #[arg(short = 'x', long, help_heading = "Directories", hide_short_help = true)]
    pub(crate) one_file_system: bool,

    /// Hash the files whose names are in FILE, ended by NUL or by lines; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["check", "expect", "audit", "update", "duplicates", "tree", "raw", "keyed"],
        help_heading = "Directories",
        hide_short_help = true
    )]
    pub(crate) files_from: Option<PathBuf>,

    /// Read what is left of a file that cannot be read everywhere, and say where it cannot
    ///
    /// It is a failure in any case. With this, all bad places are named, and the digest with zeros in their place, which is
    /// not that of the file. Each bad place of a failing disk takes seconds.
    #[arg(long, conflicts_with_all = ["job", "tree", "raw"], help_heading = "Output", hide_short_help = true)]
    pub(crate) keep_going: bool,

    /// One digest for each directory with everything in it
    ///
    /// See docs/tree-digest.md. In lists such names end with a slash, and --check knows them by that. With --check: every
    /// line is one.
    #[arg(
        long,
        conflicts_with_all = ["recursive", "keyed", "derive_key", "length", "seek", "raw"],
        help_heading = "Directories"
    )]
    pub(crate) tree: bool,

    /// Write to FILE, all or nothing, and never its own digest
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

    /// End lines with NUL, and write names as they are
    ///
    /// Nothing is escaped then. With --check: read such lists. They keep names that are no UTF-8.
    #[arg(short, long, help_heading = "Output", hide_short_help = true)]
    pub(crate) zero: bool,

    /// Print one JSON object for each file
    #[arg(long, conflicts_with_all = ["raw", "tag", "no_names"], help_heading = "Output")]
    pub(crate) json: bool,

    /// Read digests from the files and check them
    #[arg(
        short,
        long,
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names"],
        help_heading = "Checking"
    )]
    pub(crate) check: bool,

    /// Compare one file with this digest, as from a web page
    ///
    /// `sha256:HEX` says by which function it is.
    #[arg(
        long,
        value_name = "HEX",
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names", "recursive", "zero"],
        help_heading = "Checking"
    )]
    pub(crate) expect: Option<String>,

    /// Compare files with a list: changed, moved, new, gone
    ///
    /// Where the list has times, as --update writes them, what changed is outdated (another time) or corrupt (the time that it
    /// had), and a file with another time only is touched. Exit codes: 1 something differs, 2 something could not be read.
    ///
    /// It is about what is below FILE [default: .]. Reads every list that --check reads, rclone's, and hashdeep's files.
    /// Names are paths, or paths within the only FILE.
    #[arg(
        long,
        value_name = "MANIFEST",
        groups = ["job", "names"],
        conflicts_with_all = ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree"],
        help_heading = "Manifests"
    )]
    pub(crate) audit: Option<PathBuf>,

    /// Make a manifest of FILE [default: .], or bring it up to date
    ///
    /// Below FILE, what has another size or time is hashed. What came, changed and went is named as by --audit. A manifest is a
    /// list with sizes and times in comments. It is replaced as a whole, and an interrupted run is resumed.
    #[arg(
        long,
        value_name = "MANIFEST",
        groups = ["job", "names", "stored"],
        conflicts_with_all =
            ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree", "output", "zero"],
        help_heading = "Manifests"
    )]
    pub(crate) update: Option<PathBuf>,

    /// With --update: hash everything, whatever sizes and times say
    ///
    /// That finds rot: a file with other contents and the time that it had is corrupt. It is named and a failure, and its row
    /// stays as it is; see --retag.
    #[arg(long, requires = "update", help_heading = "Manifests", hide_short_help = true)]
    pub(crate) paranoid: bool,

    /// With --update: take all files below a FILE out of the manifest, if none is there any more
    ///
    /// Without it that is a failure, and the manifest stays as it is: a disk that is not mounted looks so.
    #[arg(long, requires = "update", help_heading = "Manifests", hide_short_help = true)]
    pub(crate) allow_gone: bool,

    /// Files below FILE [default: .] with the same contents
    ///
    /// What wastes most comes first. With --zero: names as they are, each ended by NUL, and each group by another NUL.
    #[arg(
        long,
        group = "job",
        conflicts_with_all = ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree"],
        help_heading = "Manifests"
    )]
    pub(crate) duplicates: bool,

    /// Name files that rotted, by digests in their attributes
    ///
    /// The time of each file is kept beside its digest. A file is new, ok (named with --verbose), outdated (other contents and
    /// another time), touched (another time only), or corrupt: other contents, and the time that it had. Where nothing is
    /// corrupt, the tag becomes that of the file as it is. Tags of cshatag are read; with --algorithm sha256 it reads ours.
    #[arg(
        long,
        groups = ["job", "names", "stored"],
        conflicts_with_all =
            ["raw", "tag", "no_names", "keyed", "derive_key", "length", "seek", "tree", "zero", "follow"],
        help_heading = "Manifests"
    )]
    pub(crate) xattr: bool,

    /// With --update and --xattr: give corrupt files a new digest, too
    ///
    /// Without it the old one stays, which is the only evidence that the file rotted. It is a failure in both cases.
    #[arg(
        long,
        requires = "stored",
        conflicts_with = "dry_run",
        help_heading = "Manifests",
        hide_short_help = true
    )]
    pub(crate) retag: bool,

    /// With --xattr: write no attributes, only tell
    #[arg(long, requires = "xattr", help_heading = "Manifests", hide_short_help = true)]
    pub(crate) dry_run: bool,

    /// With --audit, --update and --xattr: name files that are the same, too
    #[arg(short, long, requires = "names", help_heading = "Manifests", hide_short_help = true)]
    pub(crate) verbose: bool,

    /// Do not print OK for each file that matches
    ///
    /// With --audit, --update and --xattr: no numbers, and only files that are failures are named.
    #[arg(short, long, requires = "job", help_heading = "Checking")]
    pub(crate) quiet: bool,

    /// Print nothing about files; the exit code says it all
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) status: bool,

    /// Neither report nor fail for files that do not exist
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) ignore_missing: bool,

    /// Name each line that is accepted although no sum program writes it so
    #[arg(short, long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) warn: bool,

    /// Refuse such lines: comments, blank lines, uppercase digests, *NAME, a single space
    #[arg(long, requires = "check", help_heading = "Checking", hide_short_help = true)]
    pub(crate) strict: bool,

    /// Put GNU's mark for binary files before names, as `sha256sum -b` does
    #[arg(short, long, hide = true, conflicts_with_all = ["check", "tag"])]
    pub(crate) binary: bool,

    /// What `sha256sum -t` is for: files are read as bytes in any case
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

    /// How bytes are fetched: auto, read, pread, mmap, mmap-parallel, direct [default: auto]
    ///
    /// direct reads past the system's cache, which keeps what is in it: for files that nobody reads again soon. Where the file system cannot, they are read through it, and a line says so.
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

/// Ways to fetch bytes.
fn strategies() -> Known<Strategy> {
    Known::new(Strategy::ALL.map(Strategy::name), |name| {
        name.parse().map_err(|error: <Strategy as std::str::FromStr>::Err| error.to_string())
    })
}

/// Kernels of BLAKE3. A name that this build lacks is for the command to refuse, with a list of what there is.
fn kernels() -> Known<String> {
    Known::new(Kernel::all().map(Kernel::name), |name| Ok(name.to_owned()))
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
    pub(crate) fn meaning(self) -> Algorithm {
        match self {
            AlgorithmName::Blake3 => Algorithm::Blake3,
            AlgorithmName::Sha256 => Algorithm::Sha256,
            AlgorithmName::Sha512 => Algorithm::Sha512,
            AlgorithmName::Sha1 => Algorithm::Sha1,
            AlgorithmName::Md5 => Algorithm::Md5,
        }
    }
}
