//! `lab tune` from race to recall. Who wins on this machine is no matter of a test.

use crate::program::{Folder, Said, lab, said};

#[test]
fn a_race_is_kept_and_shown_again() {
    let folder = Folder::new("tune");
    let tune = |arguments: &[&str]| -> Said {
        let mut command = lab();
        command.arg("tune").args(arguments).args(["--rounds", "2", "--sample-ms", "0.02", "--cache"]);
        said(command.arg(folder.join("cache")))
    };
    let race = "lab.cpu/probe/kernel/1000/t1/extra=*";
    let nothing = tune(&[race, "--show"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(nothing.err.contains("no choice is kept for lab.cpu/probe/kernel/1000"), "{}", nothing.err);
    let raced = tune(&[race]);
    assert_eq!(raced.code, Some(0), "{raced:?}");
    assert_eq!(raced.out.matches("chosen: ").count(), 1, "{}", raced.out);
    assert_eq!(raced.out.lines().count(), 1 + 5 + 1, "{}", raced.out);
    assert_eq!(tune(&[race, "--show"]).out, raced.out);
    let kept =
        raced.out.lines().last().and_then(|line| line.strip_prefix("kept in ")?.split(" until ").next());
    let kept = kept.expect("a path");
    let check = said(lab().args(["check", kept]));
    assert_eq!(check.code, Some(0), "{check:?}");
    let shown = said(lab().args(["report", kept, "--format", "markdown"]));
    assert!(shown.out.contains("| chosen: "), "{shown:?}");
    let other = tune(&[race, "--show", "--profile", "efficiency"]);
    assert_eq!(other.code, Some(2), "another profile is another choice");

    for (patterns, says) in [
        (&["chain/plain/kernel/100", "chain/plain/kernel/1000"][..], "differ in more than threads"),
        (&["chain/plain/kernel/100"], "a race needs two candidates"),
        (&["sum/copied/cold/1KiB/t1", "sum/copied/cold/1KiB/t2"], "not sampled in batches"),
    ] {
        let refused = tune(patterns);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(says), "{}", refused.err);
    }
}
