//! Hashmill against its competitors, answer by answer. Times are compared by `cargo rivals`.
#![forbid(unsafe_code)]

mod argon2;
mod blake3_batch;
mod blake3_lengths;
mod blake3_output;
mod blake3_streams;
mod blake3_subtrees;
mod doc_bundles;
mod doc_changes;
mod doc_cursors;
mod doc_decode;
mod doc_files;
mod doc_fragments;
mod doc_items;
mod doc_mutation;
mod doc_names;
mod doc_oracle;
mod doc_rich;
mod doc_scripts;
mod doc_threads;
mod doc_traces;
mod lab;
mod phc;
mod plans;
