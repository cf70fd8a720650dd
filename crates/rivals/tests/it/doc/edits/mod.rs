//! Edits on both engines: random scripts, recorded typing, rich texts.

mod rich;
mod scripts;
mod traces;
