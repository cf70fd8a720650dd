//! Sources of objects: files of this machine, object stores and web servers.

pub(crate) mod allow_list;
pub(crate) mod clients;
pub(crate) mod fetch;
pub(crate) mod local_files;
pub(crate) mod remote;
mod secrets;
mod web;
