//! Commands as they are typed, measured beside each other: processes in random order, paired, judged by the lab's rule.
//!
//! [`line`] says what is started, [`parameters`] makes many commands of one, [`runs`] says how often. [`process`] runs
//! one command once, [`desk`] lets the campaign run all of them, [`tally`] says what they used. [`export`] writes the
//! results for other programs. [`sides`] starts the programs of two builds in this way.

pub(crate) mod desk;
pub(crate) mod export;
pub(crate) mod line;
pub(crate) mod parameters;
pub(crate) mod process;
pub(crate) mod runs;
pub(crate) mod sides;
pub(crate) mod tally;
