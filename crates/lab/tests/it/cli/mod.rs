//! Tests of the command line and of its environment.

mod github;
mod verbs;
