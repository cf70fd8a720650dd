//! The repository: its packages, its tests with two sizes, changed files, and checkouts of other repositories.

pub(crate) mod checkout;
pub(crate) mod metadata;
pub(crate) mod sized_tests;
