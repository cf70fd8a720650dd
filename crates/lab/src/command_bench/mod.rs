//! Benchmarks of command lines: processes in random order, paired, judged by the lab's decision rule.
//!
//! [`command_line`] parses lines, [`parameters`] expands parameters, [`run_counts`] plans the number of runs.
//! [`process`] runs one command once, [`command_runner`] runs all commands for the campaign, [`resource_usage`]
//! compares their usage. [`export`] writes the results for other programs. [`build_runner`] runs the programs of two
//! builds in the same way.

pub(crate) mod build_runner;
pub(crate) mod command_line;
pub(crate) mod command_runner;
pub(crate) mod export;
pub(crate) mod parameters;
pub(crate) mod process;
pub(crate) mod resource_usage;
pub(crate) mod run_counts;
