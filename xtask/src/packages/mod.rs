//! Builds and tests of the packages for other languages, and published tests of other projects.

pub(crate) mod b3sum_tests;
pub(crate) mod javascript;
pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod web;
