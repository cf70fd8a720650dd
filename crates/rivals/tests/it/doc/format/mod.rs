//! Bytes of the format: changes, bundles, fragments and files, each read by both engines.

mod bundles;
mod changes;
mod decode;
mod files;
mod fragments;
mod mutation;
