//! Order of the steps that put a new file in its place. Pure: the steps themselves are behind a trait.

use crate::error::Error;
use crate::os;
use std::fs::Metadata;
use std::io;
use std::time::SystemTime;

/// Facts about a file that differ, as a rule, once another program has written it or replaced it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    identity: Option<(u64, u64)>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of a file.
    pub fn from_metadata(metadata: &Metadata) -> Stamp {
        Stamp { identity: os::identity(metadata), len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Result of a replacement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Further names (hard links) of the file that was replaced: these still lead to the old one.
    pub other_names: u64,
}

/// Steps of a replacement, each a call or two of the system.
pub(crate) trait Steps {
    /// Gives the new file the owner and permissions of the old one.
    fn take_over(&mut self) -> Result<Finished, Error>;
    /// Writes the bytes and the permissions of the new file to the medium.
    fn sync_file(&mut self) -> io::Result<()>;
    /// Compares the target with what the caller expects.
    fn check(&mut self) -> Result<(), Error>;
    /// Puts the new file under the name of the target.
    fn install(&mut self) -> Result<(), Error>;
    /// Writes the names of the folder to the medium.
    fn sync_folder(&mut self) -> io::Result<()>;
}

/// Runs the steps. After an error other than [`Error::Unsynced`] the target is as it was.
pub(crate) fn finish(steps: &mut impl Steps) -> Result<Finished, Error> {
    let finished = steps.take_over()?;
    // Before the new file gets its name: a name whose bytes are not on the medium is an empty file after a power cut.
    steps.sync_file()?;
    // As late as possible.
    steps.check()?;
    steps.install()?;
    // The rename itself is in the folder's data.
    steps.sync_folder().map_err(Error::Unsynced)?;
    Ok(finished)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// States of a name that a start after a power cut may find.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    enum Content {
        Old,
        /// The new file without some of its bytes or with other permissions.
        Partial,
        New,
    }

    /// File system that loses everything that was not written to the medium, in the worst way.
    struct Model {
        file_is_synced: bool,
        placed: bool,
        folder_is_synced: bool,
        /// Number of the step that fails, counted from 0.
        failing: Option<usize>,
        step: usize,
        /// Contents that were possible after any step so far.
        possible_contents: BTreeSet<Content>,
    }

    impl Model {
        fn new(failing: Option<usize>) -> Model {
            Model {
                file_is_synced: false,
                placed: false,
                folder_is_synced: false,
                failing,
                step: 0,
                possible_contents: BTreeSet::from([Content::Old]),
            }
        }

        fn after_power_cut(&self) -> BTreeSet<Content> {
            let new = if self.file_is_synced { Content::New } else { Content::Partial };
            match (self.placed, self.folder_is_synced) {
                (false, _) => BTreeSet::from([Content::Old]),
                // Without a sync, the system may or may not have written the new name.
                (true, false) => BTreeSet::from([Content::Old, new]),
                (true, true) => BTreeSet::from([new]),
            }
        }

        fn run(&mut self, act: impl FnOnce(&mut Model)) -> io::Result<()> {
            let fails = self.failing == Some(self.step);
            self.step += 1;
            if fails {
                return Err(io::Error::other("it fails on purpose"));
            }
            act(self);
            self.possible_contents.extend(self.after_power_cut());
            Ok(())
        }
    }

    impl Steps for Model {
        fn take_over(&mut self) -> Result<Finished, Error> {
            // Permissions changed after a sync are not on the medium.
            self.run(|model| model.file_is_synced = false)?;
            Ok(Finished { other_names: 3 })
        }

        fn sync_file(&mut self) -> io::Result<()> {
            self.run(|model| model.file_is_synced = true)
        }

        fn check(&mut self) -> Result<(), Error> {
            Ok(self.run(|model| assert!(!model.placed, "too late for a check"))?)
        }

        fn install(&mut self) -> Result<(), Error> {
            Ok(self.run(|model| model.placed = true)?)
        }

        fn sync_folder(&mut self) -> io::Result<()> {
            self.run(|model| model.folder_is_synced = model.placed)
        }
    }

    #[test]
    fn a_power_cut_leaves_the_old_file_or_the_new_one() {
        let mut model = Model::new(None);
        assert_eq!(finish(&mut model).expect("no step fails").other_names, 3);
        assert_eq!(model.possible_contents, BTreeSet::from([Content::Old, Content::New]));
        assert_eq!(model.after_power_cut(), BTreeSet::from([Content::New]), "what returned has happened");
        let steps = model.step;
        for failing in 0..steps {
            let mut model = Model::new(Some(failing));
            let error = finish(&mut model).expect_err("a step fails");
            assert!(!model.possible_contents.contains(&Content::Partial), "step {failing}");
            assert_eq!(model.step, failing + 1, "nothing is done after a step that fails");
            // Only the last step fails with the new file in its place, and says so.
            assert_eq!(model.placed, matches!(error, Error::Unsynced(_)), "step {failing}");
            assert_eq!(model.placed, failing + 1 == steps);
        }
    }
}
