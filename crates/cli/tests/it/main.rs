//! The binary as a user runs it.

mod b3sum;
mod bad_input;
mod changing_files;
mod check;
mod doc;
mod doc_files;
mod doc_json;
mod doc_server;
mod doc_sync;
mod doc_view;
mod info;
mod lab;
mod limits;
mod lists;
mod password;
mod password_kdf;
mod password_terminal;
mod sum;
mod terminal;
mod unfinished;
mod world;
