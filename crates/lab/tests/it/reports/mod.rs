//! Tests of reports after the run: checks, forms, schemas, signatures.

mod browser;
mod check;
mod import;
mod schema;
mod signature;
