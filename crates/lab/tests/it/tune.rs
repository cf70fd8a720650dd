//! `lab tune` from race to recall. Who wins on this machine is no matter of a test.

use crate::program::{Folder, Said, lab, said};
use std::fs;
use std::path::PathBuf;

/// A quick race, with its files in the folder.
fn tune(folder: &Folder, arguments: &[&str]) -> Said {
    let mut command = lab();
    command.current_dir(folder.join("")).arg("tune").args(arguments).args(["--cache", "cache"]);
    said(command.args(["--rounds", "2", "--sample-ms", "0.02"]))
}

#[test]
fn a_race_is_kept_and_shown_again() {
    let folder = Folder::new("tune");
    let tune = |arguments: &[&str]| tune(&folder, arguments);
    let race = "lab.cpu/probe/kernel/1000/t1/extra=*";
    let nothing = tune(&[race, "--show"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(nothing.err.contains("no choice is kept for lab.cpu/probe/kernel/1000"), "{}", nothing.err);
    let raced = tune(&[race, "--out", "r"]);
    assert_eq!(raced.code, Some(0), "{raced:?}");
    assert_eq!(raced.out.matches("chosen: ").count(), 1, "{}", raced.out);
    assert_eq!(
        raced.out.lines().filter(|line| line.starts_with("lab.cpu/probe/kernel/1000/t1/extra=")).count(),
        5
    );
    let shown = tune(&[race, "--show"]).out;
    assert_eq!(raced.out, shown + "report r/report.html\n");
    let kept = raced.out.lines().find_map(|line| line.strip_prefix("kept in ")?.split(" until ").next());
    let kept = folder.join(kept.expect("a path"));
    let text = |path: PathBuf| fs::read_to_string(path).expect("a file");
    assert_eq!(text(kept.clone()), text(folder.join("r/race-1.json")), "what was kept is what was measured");
    assert_eq!(tune(&[race, "--show", "--json"]).out, text(kept.clone()));
    let pages = text(folder.join("r/report.html")) + &text(folder.join("r/report.md"));
    assert_eq!(pages.matches("chosen: ").count(), 2, "{pages}");
    let check = said(lab().arg("check").arg(&kept));
    assert_eq!(check.code, Some(0), "{check:?}");
    let shown = said(lab().arg("report").arg(&kept).args(["--format", "markdown"]));
    assert!(shown.out.contains("| chosen: "), "{shown:?}");
    let other = tune(&[race, "--show", "--profile", "efficiency"]);
    assert_eq!(other.code, Some(2), "another profile is another choice");

    fs::write(folder.join("file"), "").expect("a file");
    for option in ["--out", "--cache"] {
        // Before the race: what is kept nowhere need not be measured.
        let mut command = lab();
        let refused = said(command.current_dir(folder.join("")).args(["tune", race, option, "file/x"]));
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
        assert!(
            refused.err.contains("cannot write file/x") && refused.err.contains(option),
            "{}",
            refused.err
        );
    }
    for (patterns, says) in [
        (&["chain/plain/kernel/100", "chain/plain/kernel/1000"][..], "is alone: a race needs two"),
        (&["chain/plain/kernel/100"], "a race needs two candidates"),
        (&["sum/copied/cold/1KiB/t1", "sum/copied/cold/1KiB/t2"], "not sampled in batches"),
    ] {
        let refused = tune(patterns);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(says), "{}", refused.err);
    }
}

#[test]
fn several_sizes_make_a_race_each_and_show_where_the_choice_changes() {
    let folder = Folder::new("tune-sizes");
    let pattern = |size: &str| format!("lab.cpu/probe/kernel/{size}/t1/extra=*");
    // The last one is alone, and no reason to race nothing.
    let (small, large) = (pattern("1000"), pattern("2000"));
    let raced = tune(&folder, &[&small, &large, "lab.cpu/probe/kernel/3000/t1", "--out", "r"]);
    assert_eq!(raced.code, Some(0), "{raced:?}");
    assert_eq!(raced.out.matches("chosen: ").count(), 2, "{}", raced.out);
    assert_eq!(raced.out.matches("kept in ").count(), 2, "{}", raced.out);
    let by_size = raced.out.lines().skip_while(|line| *line != "By size").skip(2);
    let by_size: Vec<&str> = by_size.take_while(|line| line.starts_with("lab.cpu/probe/kernel ")).collect();
    assert!((1..=2).contains(&by_size.len()), "{}", raced.out);
    for race in ["r/race-1.json", "r/race-2.json"] {
        let check = said(lab().arg("check").arg(folder.join(race)));
        assert_eq!(check.code, Some(0), "{check:?}");
    }
}
