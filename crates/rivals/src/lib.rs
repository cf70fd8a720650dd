//! Competitors beside Hashmill: differential tests (`tests/`) and side-by-side tables (`cargo rivals`).
//!
//! The only crate that links a rival, so that no build of the product ever compiles one. [`mod@lab`] puts rivals into the
//! lab, which measures and judges them; [`front`] asks it for all gates of a topic. [`doc`] runs two engines for documents
//! beside each other, [`builds`] and [`programs`] build what is compared.

#![expect(missing_docs, reason = "a tool of this workspace: what names say is not said again")]

pub mod builds;
pub mod doc;
pub mod engines;
pub mod front;
pub mod lab;
pub mod programs;
pub mod recording;
pub mod reference;
