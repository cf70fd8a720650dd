//! The flags of `hashmill compare`.

use clap::Args;
use std::path::PathBuf;

/// What differs between two directories, two lists of digests, or a list and a directory
///
/// Files are same, changed, moved, new or gone in B. Links are not followed, and dates and owners do not count. Exit codes: 0 all
/// are the same, 1 something differs, 2 something could not be read, or the command line cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hashmill compare photos /backup/photos
  hashmill compare PHOTOS photos --exclude '*.tmp'")]
pub(crate) struct CompareArgs {
    /// A directory, or a list of whatever kind `hashmill sum --audit` reads
    pub(crate) a: PathBuf,

    /// Another
    pub(crate) b: PathBuf,

    /// Print one JSON object for each file, and one with the numbers
    #[arg(long)]
    pub(crate) json: bool,

    /// Leave the numbers out
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Name files that are the same, too
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Leave out what matches a pattern as in .gitignore
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Of files, compare only those that match such a pattern
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,

    /// The maximum number of threads to use
    #[arg(short = 'j', long, visible_alias = "threads", value_name = "NUM")]
    pub(crate) num_threads: Option<usize>,

    /// Show no progress bar
    #[arg(long)]
    pub(crate) no_progress: bool,
}
