//! Rules of Markdown pages: paths, links, samples of code, walks.

mod docs;
mod links;
mod samples;
mod walks;

pub(crate) use links::joined;

use super::{Fault, TextFile};

/// Faults of one page. `exists` tells whether a path from the repository's root exists.
pub(super) fn check_page(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    docs::check(file, exists)
}

/// Faults that show only beside other files.
pub(super) fn check_all(files: &[TextFile], exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = links::check(files, exists);
    faults.extend(samples::check(files));
    faults.extend(walks::check(files));
    faults
}
