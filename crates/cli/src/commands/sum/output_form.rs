//! Form of output lines, and names that a list cannot represent.

use crate::output::{Out, display_path};
use hashmill_files::checksum_list::{ListFormat, can_be_read_back};
use std::path::{Path, PathBuf};

/// Form of an output line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// `HEX  NAME`
    Plain,
    /// `BLAKE3 (NAME) = HEX`
    Tagged,
    /// `HEX`
    Bare,
    /// The digest bytes without a name.
    Raw,
    /// A JSON object.
    Json,
}

/// Names written to a list that cannot be read back from it.
#[derive(Default)]
pub(super) struct UnreadableNames {
    count: u64,
    first: PathBuf,
}

impl UnreadableNames {
    /// Checks a name that is written.
    pub(super) fn check(&mut self, form: OutputForm, path: &Path, style: ListFormat) {
        if matches!(form, OutputForm::Plain | OutputForm::Tagged) && !can_be_read_back(path, style) {
            self.count += 1;
            if self.count == 1 {
                self.first = path.to_owned();
            }
        }
    }

    pub(super) fn warn(&self, out: &mut Out) {
        let names = match self.count {
            0 => return,
            1 => "1 name is".to_owned(),
            count => format!("{count} names are"),
        };
        out.note(&format!(
            "WARNING: {names} no UTF-8 and cannot be checked in this list, the first is {}; see --zero",
            display_path(&self.first)
        ));
    }
}
