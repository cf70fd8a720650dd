//! Bodies of the fuzz targets.

pub(crate) mod blake3_modes;
pub(crate) mod blake3_split;
pub(crate) mod checkfile;
pub(crate) mod doc;
pub(crate) mod doc_converse;
pub(crate) mod doc_json;
pub(crate) mod doc_limits;
pub(crate) mod doc_orders;
pub(crate) mod doc_sync;
pub(crate) mod phc;
pub(crate) mod repo_frames;
