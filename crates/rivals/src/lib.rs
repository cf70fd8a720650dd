//! Competitors beside Hashmill: differential tests (`tests/`) and side-by-side tables (`cargo rivals`).
//!
//! The only crate that links a rival, so that no build of the product ever compiles one. [`mod@lab`] puts rivals into the
//! lab, which measures and judges them; [`front`] asks it for all gates of a topic. What the lab cannot run yet, whole
//! programs and documents, is measured here, from the bottom up: [`timer`] takes paired samples in one process,
//! [`stats`] turns them into a ratio, [`judge`] holds it against [`gates`], [`report`] keeps it and [`table`] shows it;
//! [`b3sum`] and [`doc`] know what is being measured. [`builds`] builds programs, [`host`] describes the machine.

pub mod b3sum;
pub mod builds;
pub mod doc;
pub mod front;
pub mod gates;
pub mod host;
pub mod judge;
pub mod lab;
pub mod reference;
pub mod report;
pub mod size;
pub mod stats;
pub mod table;
pub mod timer;
