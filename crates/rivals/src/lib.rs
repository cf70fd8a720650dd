//! Competitors beside Hashmill: differential tests (`tests/`) and comparisons (`cargo rivals`).
//!
//! The only crate that links a competitor, so that no build of the product compiles one. [`mod@lab`] adds competitors to the
//! lab, which measures and judges them; [`cli`] runs all gates of a topic, [`serve`] loads sync servers. [`doc`] runs two document engines side by side;
//! [`builds`] and [`programs`] build the compared programs.

#![expect(missing_docs, reason = "a tool of this workspace: names suffice")]

pub mod builds;
pub mod cli;
pub mod doc;
pub mod engines;
pub mod lab;
pub mod programs;
pub mod recording;
pub mod reference;
pub mod serve;
