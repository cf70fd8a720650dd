//! `lab profile` with whatever this machine can count.

use crate::program::{lab, said};

#[test]
fn every_machine_tells_time_faults_and_pages() {
    let result = said(lab().args(["profile", "lab.memory/probe/kernel/4MiB", "--sample-ms", "20"]));
    assert_eq!(result.code, Some(0), "{result:?}");
    for what in ["kernel scalar, ", "events per call ("] {
        assert!(result.out.contains(what), "{what}: {}", result.out);
    }
    if cfg!(target_os = "linux") {
        assert!(result.out.contains("page-faults") && result.out.contains("in huge pages"), "{}", result.out);
    }
    let unknown = said(lab().args(["profile", "lab.memory", "--sample-ms", "-1"]));
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let broken = said(lab().args(["profile", "sum/crashing/kernel/1KiB", "--sample-ms", "1"]));
    assert_eq!(broken.code, Some(4), "{broken:?}");
    assert!(broken.out.contains("this engine always crashes"), "{}", broken.out);
}
