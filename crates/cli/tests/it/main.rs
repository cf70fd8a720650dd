//! The binary as a user runs it.

mod b3sum;
mod bad_input;
mod changing_files;
mod check;
mod colour;
mod devices;
#[cfg(feature = "doc")]
mod doc;
#[cfg(feature = "doc")]
mod doc_files;
#[cfg(feature = "doc")]
mod doc_hostile;
#[cfg(feature = "doc")]
mod doc_json;
#[cfg(feature = "doc")]
mod doc_server;
#[cfg(feature = "doc")]
mod doc_sync;
#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod doc_tls;
#[cfg(feature = "doc")]
mod doc_view;
mod expect;
#[cfg(target_os = "linux")]
mod failing_disk;
#[cfg(target_os = "linux")]
mod failing_media;
#[cfg(feature = "generate")]
mod generate;
#[cfg(all(unix, feature = "doc", feature = "generate", feature = "lab"))]
mod guides;
mod hints;
mod info;
#[cfg(feature = "lab")]
mod lab;
#[cfg(target_os = "linux")]
mod leftovers;
mod limits;
mod links;
mod lists;
mod manifests;
#[cfg(target_os = "linux")]
mod odd_names;
mod oracles;
#[cfg(unix)]
mod outputs;
mod password;
mod password_dumps;
mod password_kdf;
mod password_terminal;
mod password_upgrade;
mod progress;
#[cfg(all(feature = "gpu", target_os = "linux"))]
mod several_engines;
#[cfg(all(feature = "gpu", target_os = "linux"))]
#[path = "../../../gpu/tests/shim/mod.rs"]
mod shim;
mod sum;
#[cfg(target_os = "linux")]
mod tags;
mod terminal;
mod tune;
mod unfinished;
#[cfg(target_os = "linux")]
mod verdicts;
mod walks;
mod world;
