//! Operation of a server: imports and exports, backups, checks of its storage, bad input, its end, the files of its packages.

mod backup;
mod doctor;
mod input;
mod service;
mod transfer;
