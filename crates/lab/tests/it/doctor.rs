//! `lab doctor` on whatever machine runs the tests.

use crate::program::{lab, said};

#[test]
fn every_machine_gets_its_list() {
    let result = said(lab().arg("doctor"));
    assert_eq!(result.code, Some(0), "{result:?}");
    for what in ["clock", "load average", "hardware counters", "huge pages", "valgrind", "noise card"] {
        assert!(result.out.lines().any(|line| line.starts_with(what)), "{what}: {}", result.out);
    }
}
