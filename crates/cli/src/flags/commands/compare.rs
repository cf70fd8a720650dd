//! The flags of `hashmill compare`.

use clap::Args;
use std::path::PathBuf;

/// Compare two directories, two checksum lists, or a list and a directory
///
/// Files are same, changed, moved, new or gone in B. Links are not followed; dates and owners are ignored. Exit codes: 0 all are
/// the same, 1 something differs, 2 something could not be read, or the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill compare photos /backup/photos
  hashmill compare PHOTOS photos --exclude '*.tmp'")]
pub(crate) struct CompareArgs {
    /// A directory, or a list of any kind that `hashmill sum --audit` reads
    pub(crate) a: PathBuf,

    /// Another directory or list
    pub(crate) b: PathBuf,

    /// Print one JSON object per file, and one with the summary
    #[arg(long)]
    pub(crate) json: bool,

    /// Leave out the summary
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print unchanged files, too
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Skip files that match a .gitignore pattern
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Compare only files that match a .gitignore pattern
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,

    /// The maximum number of threads to use
    #[arg(short = 'j', long, visible_alias = "threads", value_name = "NUM")]
    pub(crate) num_threads: Option<usize>,

    /// Show no progress bar
    #[arg(long)]
    pub(crate) no_progress: bool,
}
