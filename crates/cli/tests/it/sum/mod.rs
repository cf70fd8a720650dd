//! Tests of hashing: output, directories, faulty input and media.

mod bad_input;
mod changing_files;
#[cfg(target_os = "linux")]
pub(crate) mod failing_disk;
#[cfg(target_os = "linux")]
mod failing_media;
mod hashing;
#[cfg(target_os = "linux")]
mod leftovers;
mod limits;
#[cfg(target_os = "linux")]
mod odd_names;
#[cfg(unix)]
mod outputs;
mod unfinished;
mod walks;
