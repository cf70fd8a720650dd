//! `lab compare -- …` as it is typed: commands that work, and every kind that does not.

use crate::program::{Folder, Said, lab, said};
use hashmill_testkit::{processes_are_listed, skip};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Desk {
    folder: Folder,
}

impl Desk {
    fn new(name: &str) -> Self {
        Desk { folder: Folder::new(name) }
    }

    fn command(&self, flags: &[&str], commands: &[&str]) -> Command {
        let mut command = lab();
        command.current_dir(self.folder.join("")).args(["compare", "--out", "out"]).args(flags);
        command.arg("--").args(commands);
        command
    }

    fn compare(&self, flags: &[&str], commands: &[&str]) -> Said {
        said(&mut self.command(flags, commands))
    }

    fn json(&self, name: &str) -> Value {
        let text = std::fs::read(self.folder.join(name)).expect("written");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).expect("written")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).expect("a writable folder");
    }

    fn used(&self, side: usize) -> Value {
        self.json("out/report.json")["rows"][0]["commands"]["used"][side].clone()
    }
}

/// How a comparison ends by what its control, the last side, says: one in a hundred fails, and on a busy machine by more than is
/// let pass.
fn code_of(row: &Value) -> i32 {
    let control = row["comparisons"].as_array().and_then(|all| all.last()).expect("a control");
    assert_eq!(control["side"], row["sides"].as_array().expect("sides").len() - 1, "{row}");
    if ["faster", "slower"].iter().any(|claim| control["verdict"] == *claim) { 4 } else { 0 }
}

#[test]
fn two_commands_are_compared_and_the_report_can_be_checked() {
    let desk = Desk::new("two");
    // Runs that differ by more than the least that is claimed fail a control one time in a hundred, which on a busy machine they
    // do. Of five runs nothing can be claimed.
    let controlled = desk.compare(&["--runs", "5"], &["sleep 0.01", "true"]);
    assert_eq!(controlled.code, Some(0), "{controlled:?}");
    let row = &desk.json("out/report.json")["rows"][0];
    let labels: Vec<_> = row["sides"].as_array().expect("sides").iter().map(|side| &side["label"]).collect();
    assert_eq!(labels, ["sleep 0.01", "true", "control"]);

    let result = desk.compare(&["--runs", "10", "--control", "off"], &["sleep 0.1", "true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = desk.json("out/report.json");
    assert_eq!((report["kind"].as_str(), report["state"].as_str()), (Some("commands"), Some("complete")));
    let row = &report["rows"][0];
    assert_eq!(
        row["comparisons"][0]["verdict"], "faster",
        "doing nothing takes less than a tenth of a second"
    );
    assert_eq!(report["builds"][0]["source"], "sleep 0.1");
    assert_eq!(desk.used(1)["runs"], 10);
    let checked = said(lab().arg("check").arg(desk.folder.join("out/report.json")));
    assert_eq!(checked.code, Some(0), "{checked:?}");

    // The words of a terminal come from the report alone.
    let again = said(lab().arg("report").arg(desk.folder.join("out/report.json")));
    assert!(result.out.starts_with(&again.out), "{}", again.out);
    assert!(std::fs::exists(desk.folder.join("out/report.html")).expect("a folder"));
}

#[test]
fn one_command_alone_has_a_time_a_range_and_memory() {
    let desk = Desk::new("one");
    let result = desk.compare(&["--runs", "9", "-n", "nothing"], &["true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let head = result.out.lines().find(|line| line.contains("99 % interval")).expect("a table");
    for column in ["time", "99 % interval", "range", "user", "system", "memory", "runs"] {
        assert!(head.contains(column), "{head}");
    }
    // On a busy machine `true` takes longer than three times what nothing took before.
    let row = desk.json("out/report.json")["rows"][0].clone();
    let [time, empty] = [&row["sides"][0]["summary"]["median_ns"], &row["commands"]["empty_ns"]];
    let [time, empty] = [time, empty].map(|ns| ns.as_f64().expect("a time"));
    let warning = "nothing: much of its time is its start";
    assert_eq!(result.out.contains(warning), time < 3.0 * empty, "{}", result.out);
    let used = desk.used(0);
    assert!(used["least_ns"].as_u64() <= used["most_ns"].as_u64() && used["runs"] == 9, "{used}");
    assert!(used["peak_bytes"].as_f64() > Some(100e3), "{used}");
    assert_eq!(said(lab().arg("check").arg(desk.folder.join("out/report.json"))).code, Some(0));
}

#[test]
fn results_have_the_fields_that_others_read() {
    let desk = Desk::new("export");
    let flags = ["--runs", "8", "-L", "x", "true,echo 'a|b'", "-u", "second", "--export-json", "-"];
    let flags = [&flags[..], &["--export-csv", "a.csv", "--export-markdown", "a.md"]].concat();
    let result = desk.compare(&flags, &["{x}"]);
    assert_eq!(result.code, Some(code_of(&desk.json("out/report.json")["rows"][0])), "{result:?}");
    let start = result.out.find("{\n").expect("JSON after the tables");
    let results: Value = serde_json::from_str(&result.out[start..]).expect("JSON");
    let first = &results["results"][0];
    for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
        assert!(first[field].is_number(), "{field}: {first}");
    }
    for field in ["times", "exit_codes", "memory_usage_byte", "user_times"] {
        assert_eq!(first[field].as_array().map(Vec::len), Some(8), "{field}: {first}");
    }
    assert_eq!((first["command"].as_str(), first["parameters"]["x"].as_str()), (Some("true"), Some("true")));
    let (second, control) = (&results["results"][1]["beside_first"], &results["control"]);
    for field in ["speed", "interval", "verdict"] {
        assert!(!second[field].is_null(), "{field}: {results}");
    }
    assert!(first["beside_first"].is_null() && control["speed"].is_number(), "{results}");
    let csv = desk.text("a.csv");
    assert!(csv.starts_with("command,mean,stddev,median,user,system,min,max,parameter_x,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(desk.text("a.md").starts_with("| Command | Median [s] |"), "{}", desk.text("a.md"));
    assert!(desk.text("a.md").contains(r"echo 'a\|b'"), "{}", desk.text("a.md"));
    assert!(desk.text("a.md").contains("A/A control"), "{}", desk.text("a.md"));
    if cfg!(target_os = "linux") {
        assert!(
            desk.text("a.md").contains("| < "),
            "a child has had what the lab has: {}",
            desk.text("a.md")
        );
    }
    assert!(
        csv.lines()
            .next()
            .is_some_and(|head| head.ends_with(",verdict,memory_byte,bytes_read,bytes_written,control")),
        "{csv}"
    );

    // What is written can be read by the importer of this lab.
    desk.write("a.json", &result.out[start..]);
    let imported = said(lab().args(["report", "import"]).arg(desk.folder.join("a.json")));
    assert_eq!(imported.code, Some(0), "{imported:?}");
}

#[test]
fn results_go_where_they_should_or_nothing_is_measured() {
    let desk = Desk::new("export-places");
    let run = "echo ran >> log";
    desk.write("file", "");
    for (flags, says) in [
        (&["--export-json", "file/a.json"][..], "cannot write file/a.json"),
        (&["--export-csv", "."], "cannot write ."),
        (&["--json", "--export-json", "-"], "standard output takes one of --json"),
        (&["--export-csv", "-", "--export-markdown", "-"], "standard output takes one of --json"),
    ] {
        let refused = desk.compare(flags, &[run]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(says) && refused.err.lines().count() == 1, "{}", refused.err);
    }
    assert!(!desk.folder.join("log").exists(), "nothing ran");

    // The reader has left, and the file is there all the same.
    let mut child = desk.command(&["--runs", "1", "--export-csv", "left.csv"], &[run]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(2));
    assert!(desk.text("left.csv").starts_with("command,"));

    // What a link names is replaced, and a pipe is written to.
    let link = "ln -s left.csv link.csv; mkfifo pipe; cat pipe > copy.csv &";
    assert!(
        Command::new("sh")
            .args(["-c", link])
            .current_dir(desk.folder.join(""))
            .status()
            .expect("sh")
            .success()
    );
    let flags = ["--runs", "1", "-n", "anew", "--export-csv", "link.csv", "--export-markdown", "pipe"];
    assert_eq!(desk.compare(&flags, &["true"]).code, Some(0));
    assert!(desk.text("left.csv").contains("anew"), "{}", desk.text("left.csv"));
    let pipe = std::fs::metadata(desk.folder.join("pipe")).expect("still there");
    assert!(!pipe.is_file(), "no file took its place");

    // Nobody reads the pipe any more: that is an error, which takes nothing from the table and the other file.
    let flags = ["--runs", "1", "-n", "unread", "--export-csv", "pipe", "--export-markdown", "other.md"];
    let unread = desk.compare(&flags, &["true"]);
    assert_eq!(unread.code, Some(2), "{unread:?}");
    assert!(unread.err.contains("pipe: it is a pipe that nobody reads"), "{}", unread.err);
    assert!(unread.out.contains("unread") && desk.text("other.md").contains("unread"), "{}", unread.out);
}

#[test]
fn what_belongs_to_a_command_runs_as_often_as_it_should() {
    let desk = Desk::new("order");
    let note = |word: &str| format!("echo {word} >> log");
    let [setup, prepare_a, prepare_b, conclude, cleanup] = ["setup", "a-", "b-", "end", "cleanup"].map(note);
    let flags = ["-s", &setup, "-p", &prepare_a, "-p", &prepare_b, "-C", &conclude, "-c", &cleanup];
    let flags = [&flags[..], &["--runs", "4", "--warmup", "2", "--control", "off"]].concat();
    let result = desk.compare(&flags, &["echo A >> log", "echo B >> log"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let log = desk.text("log");
    let lines: Vec<&str> = log.lines().collect();
    let (begin, end) = (&lines[..2], &lines[lines.len() - 2..]);
    assert_eq!((begin, end), (&["setup"; 2][..], &["cleanup"; 2][..]));
    let runs: Vec<&[&str]> = lines[2..lines.len() - 2].chunks(3).collect();
    assert_eq!(runs.len(), 2 * (2 + 4));
    for kind in [["a-", "A", "end"], ["b-", "B", "end"]] {
        assert_eq!(runs.iter().filter(|run| **run == kind).count(), 6, "{lines:?}");
    }
    // In random order, not one command after the other.
    let alike = desk.compare(&["-p", &prepare_a, "-p", "true", "-p", "true"], &["true", "true"]);
    assert_eq!(alike.code, Some(2), "{alike:?}");
    assert!(alike.err.contains("--prepare stands 3 times"), "{}", alike.err);
}

#[test]
fn parameters_fill_commands_and_what_belongs_to_them() {
    let desk = Desk::new("parameters");
    let flags =
        ["--runs", "1", "-P", "n", "0.5", "1.5", "-D", "0.5", "-L", "w", "x,y", "-p", "echo {w} >> log"];
    let result = desk.compare(&flags, &["echo {n}{w}"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = desk.json("out/report.json");
    let sources: Vec<_> =
        report["builds"].as_array().expect("builds").iter().map(|build| build["source"].as_str()).collect();
    let lines = ["echo 0.5x", "echo 0.5y", "echo 1.0x", "echo 1.0y", "echo 1.5x", "echo 1.5y"];
    assert_eq!(sources, lines.map(Some));
    assert_eq!(report["rows"][0]["sides"][1]["label"], "echo 0.5y");
    assert!(result.out.contains("echo 0.5y prints something else than echo 0.5x"), "{}", result.out);

    for (flags, says) in [
        (&["-L", "z", "1,2"][..], "no command has `{z}`"),
        (&["-P", "n", "1", "x"][..], "`x` is no number"),
        (&["-P", "n", "1", "1000"][..], "1000 commands"),
        (&["-P", "n", "5", "1"][..], "a step of 1 does not lead there"),
    ] {
        let refused = desk.compare(flags, &["echo {n}"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(says) && refused.err.lines().count() == 1, "{}", refused.err);
    }
    let reference =
        desk.compare(&["--runs", "1", "--reference", "echo {n}", "-P", "n", "1", "2"], &["echo {n}"]);
    assert_eq!(reference.code, Some(0), "{reference:?}");
    assert_eq!(desk.json("out/report.json")["builds"][0]["source"], "echo {n}", "no parameter applies to it");
    let nested = desk.compare(&["--runs", "1", "-L", "a", "{b}", "-L", "b", "x"], &["echo '{a}' {b}"]);
    assert_eq!(nested.code, Some(0), "{nested:?}");
    assert_eq!(desk.json("out/report.json")["builds"][0]["source"], "echo '{b}' x");
}

#[test]
fn commands_that_cannot_be_measured_say_why_in_one_line() {
    let desk = Desk::new("bad");
    for (flags, command, code, says) in [
        (&[][..], "no-such-program-here", 2, "there is no program `no-such-program-here`"),
        (&["-N"], "cd /", 2, "there is no program `cd`"),
        (&[], "echo 'open", 2, "a quote that does not end"),
        (&[], "  ", 2, "a command is empty"),
        (&["-S", "no-such-shell"], "true", 2, "there is no program `no-such-shell`"),
        (&["--input", "nowhere"], "true", 4, "nowhere"),
        (&[], "echo out; echo why it failed >&2; exit 3", 4, "returned 3; it said: why it failed"),
        (&[], "echo of two lines\nexit 200", 4, "`echo of two lines exit 200` returned 200"),
        (&[], "kill -9 $$", 4, "was ended by signal 9"),
        (&["--ignore-failure=3"], "exit 4", 4, "returned 4"),
        (&["--ignore-failure=x"], "exit 4", 2, "`x` are no exit codes"),
        (&["--timeout", "200ms"], "sleep 1000", 4, "did not end within 0.2 s"),
        (&[], "kill -TTIN $$", 4, "wants to speak with a terminal"),
        (&["-p", "exit 5"], "true", 4, "--prepare `exit 5` returned 5"),
        (&["-c", "exit 6", "--runs", "1"], "true", 4, "--cleanup `exit 6` returned 6"),
        (&["--min-runs", "9", "--max-runs", "3"], "true", 2, "is more than"),
        (&["--runs", "0"], "true", 2, "must be 1 to 100000"),
    ] {
        let result = desk.compare(flags, &[command]);
        let all = format!("{}{}", result.out, result.err);
        assert_eq!(result.code, Some(code), "{command}: {result:?}");
        assert!(all.contains(says), "{command}: {all}");
        assert!(result.err.lines().count() <= 1, "{command}: {}", result.err);
    }
    for unlike in
        [&["--engines", "a,b"][..], &["toy"], &["--rounds", "5"], &["--sample-ms", "2"], &["--no-pin"]]
    {
        let both = said(lab().args(["compare"]).args(unlike).args(["--", "true"]));
        assert!(both.code == Some(2) && both.err.lines().count() == 1, "{both:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_script_that_names_no_shell_is_run_by_one() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new("script");
    desk.write("bare", "echo \"$1\" >> log\n");
    std::fs::set_permissions(desk.folder.join("bare"), std::fs::Permissions::from_mode(0o755)).expect("ours");
    let result = desk.compare(&["--runs", "2"], &["./bare word"]);
    assert_eq!((result.code, desk.text("log").as_str()), (Some(0), "word\nword\nword\n"), "{result:?}");
    let settings = &desk.json("out/report.json")["builds"][0]["settings"][0];
    assert!(settings.as_str().is_some_and(|says| says.starts_with("started by a shell: ")), "{settings}");
    let refused = desk.compare(&["-N"], &["./bare word"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("`./bare word` is a script without `#!`"), "{}", refused.err);
}

#[test]
fn failures_that_are_ignored_are_measured_and_counted() {
    let desk = Desk::new("ignored");
    for flag in ["-i", "--ignore=failure", "--ignore-failure=3,4", "--ignore-failure=all-non-zero"] {
        let result = desk.compare(&["--runs", "3", flag, "--export-json", "all.json"], &["exit 3"]);
        assert_eq!(result.code, Some(0), "{flag}: {result:?}");
        assert!(result.out.contains("exit 3: 3 of 3 runs failed, which was to be ignored"), "{}", result.out);
        assert_eq!(desk.json("all.json")["results"][0]["exit_codes"], serde_json::json!([3, 3, 3]));
    }
}

#[test]
fn what_is_printed_is_looked_at_unless_nobody_cares() {
    let desk = Desk::new("output");
    let counter = "echo x >> n; wc -l < n";
    let said_so = desk.compare(&["--runs", "3"], &[counter]);
    assert_eq!(said_so.code, Some(0), "{said_so:?}");
    assert!(
        said_so.out.contains("what it prints differs from run to run, in 2 of 3 runs"),
        "{}",
        said_so.out
    );
    let strict = desk.compare(&["--runs", "3", "--same-output"], &[counter]);
    assert_eq!(strict.code, Some(4), "{strict:?}");
    let both = ["echo one", "echo two"];
    let differ = desk.compare(&["--runs", "2"], &both);
    assert!(
        differ.out.contains("echo two prints something else than echo one: do they do the same work?"),
        "{}",
        differ.out
    );
    assert_eq!(desk.compare(&["--runs", "2", "--same-output"], &both).code, Some(4));
    let quiet = desk.compare(&["--runs", "2", "--ignore", "output"], &both);
    assert!(quiet.code == Some(0) && !quiet.out.contains("something else"), "{}", quiet.out);

    desk.write("in", "from a file");
    let file = desk.compare(&["--runs", "2", "--input", "in", "--output", "copy"], &["cat"]);
    assert_eq!((file.code, desk.text("copy").as_str()), (Some(0), "from a file"), "{file:?}");
    assert!(Command::new("mkfifo").arg(desk.folder.join("pipe")).status().expect("mkfifo").success());
    let once = desk.compare(&["--input", "pipe"], &["cat"]);
    assert_eq!(once.code, Some(2), "{once:?}");
    assert!(once.err.contains("--input pipe is a pipe, which only the first run could read"), "{}", once.err);
    let unread = desk.compare(&["--runs", "2", "--output", "./pipe"], &["echo lost"]);
    assert_eq!(unread.code, Some(4), "{unread:?}");
    assert!(unread.err.contains("pipe: it is a pipe that nobody reads"), "{unread:?}");
    let pipe = std::fs::File::options().read(true).write(true).open(desk.folder.join("pipe"));
    let mut reader = pipe.expect("a pipe that is open for both does not wait");
    let read = desk.compare(&["--runs", "2", "--output", "./pipe"], &["echo found"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    let mut found = [0; 18];
    std::io::Read::read_exact(&mut reader, &mut found).expect("three lines");
    assert_eq!(&found, b"found\nfound\nfound\n");
    let null = desk.compare(&["--runs", "2", "--output", "null"], &both);
    assert!(null.code == Some(0) && !null.out.contains("something else"), "{null:?}");
    assert_eq!(said(lab().arg("check").arg(desk.folder.join("out/report.json"))).code, Some(0));
    let inherit = desk.compare(&["--runs", "2", "--show-output"], &["echo seen"]);
    assert!(
        inherit.out.starts_with("seen\nseen\nseen\nlab compare"),
        "one of them is not counted: {}",
        inherit.out
    );
}

#[test]
fn much_output_passes_through_without_being_kept() {
    let desk = Desk::new("much");
    let result = desk.compare(&["--runs", "2"], &["head -c 300000000 /dev/zero"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(desk.used(0)["printed"], 300e6);
    let peak = desk.json("out/report.json")["rows"][0]["commands"]["least_bytes"].as_u64();
    if cfg!(target_os = "linux") {
        assert!(peak.is_some_and(|bytes| bytes < 100 << 20), "the lab itself took {peak:?}");
    }
}

#[test]
fn what_is_left_running_is_ended_and_said() {
    let desk = Desk::new("left");
    let result = desk.compare(&["--runs", "2"], &["sleep 1000 & echo $! >> ids; echo done"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.out.contains("left processes running in 2 of 2 runs"), "{}", result.out);
    assert_gone(&desk.text("ids"));
    if cfg!(target_os = "linux") && processes_are_listed() {
        let daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while ! test -s daemon; do :; done";
        let result = desk.compare(&["--runs", "1"], &[daemon]);
        assert!(result.out.contains("left processes running in 1 of 1 runs"), "{result:?}");
        assert_gone(&desk.text("daemon"));
    }
}

/// Fails unless the processes end soon, or have ended and nobody has asked how.
fn assert_gone(ids: &str) {
    if cfg!(target_os = "linux") && !processes_are_listed() {
        return skip("the end of processes", "/proc does not show those of this container");
    }
    let gone = |id: &str| match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    };
    let begin = Instant::now();
    while !ids.lines().all(gone) {
        assert!(begin.elapsed() < Duration::from_secs(60), "still there: {ids}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing_behind() {
    let desk = Desk::new("interrupt");
    let flags = ["--runs", "400", "--cleanup", "echo clean > cleaned"];
    let mut child =
        desk.command(&flags, &["echo $$ >> ids; exec sleep 0.02", "echo $$ >> ids; exec sleep 0.02"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let begin = Instant::now();
    // After some sessions, in the middle of a run.
    while std::fs::read_to_string(desk.folder.join("ids")).map_or(0, |ids| ids.lines().count()) < 12 {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let report = desk.json("out/report.json");
    assert_eq!((report["state"].as_str(), desk.text("cleaned").as_str()), (Some("interrupted"), "clean\n"));
    assert!(report["rows"][0]["commands"]["used"][0]["runs"].as_u64() > Some(0));
    assert_gone(&desk.text("ids"));
}

#[test]
fn a_cleanup_outlasts_one_interrupt_and_not_another() {
    let desk = Desk::new("insist");
    let flags = ["--runs", "1", "--cleanup", "echo $$ > cleaning; exec sleep 1000"];
    let mut child = desk.command(&flags, &["true"]);
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
    let begin = Instant::now();
    while !std::fs::exists(desk.folder.join("cleaning")).expect("a folder") {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let interrupt = || assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    interrupt();
    std::thread::sleep(Duration::from_millis(300));
    let cleaning = format!("/proc/{}", desk.text("cleaning").trim());
    let goes_on = !processes_are_listed() || std::fs::exists(cleaning).expect("asked");
    assert!(goes_on, "once is not enough");
    interrupt();
    let output = child.wait_with_output().expect("ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(4) && words.contains("--cleanup was interrupted"), "{words}");
    assert_gone(&desk.text("cleaning"));
}

#[test]
fn a_budget_is_for_what_belongs_to_commands_too() {
    let desk = Desk::new("budget");
    let result = desk.compare(&["--budget", "1s", "--prepare", "sleep 0.25"], &["true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(desk.used(0)["runs"].as_u64() <= Some(4), "{}", result.out);
    let both = desk.compare(&["-s", "exit 5", "-c", "exit 6"], &["true"]);
    assert!(both.err.contains("--setup `exit 5` returned 5; --cleanup `exit 6` returned 6"), "{}", both.err);
}

#[test]
fn a_command_beside_itself_is_told_apart_by_name_and_not_by_speed() {
    let desk = Desk::new("itself");
    let result = desk.compare(&["--budget", "2s", "--json"], &["true", "true", "true"]);
    let report: Value = serde_json::from_str(&result.out).expect("a report");
    let row = &report["rows"][0];
    assert_eq!(result.code, Some(code_of(row)), "{result:?}");
    let labels: Vec<_> = row["sides"].as_array().expect("sides").iter().map(|side| &side["label"]).collect();
    assert_eq!(labels, ["true", "true (2)", "true (3)", "control"]);
    assert_eq!(report["plan"]["family"], 2, "two comparisons share the error");
    assert_eq!(row["rounds"], report["plan"]["rounds"], "what was planned was done");
}

#[test]
fn what_is_used_is_compared_in_words() {
    let desk = Desk::new("uses");
    let large = "head -c 200000000 /dev/zero | tail -c 199999999 | wc -c";
    let result =
        desk.compare(&["--runs", "12", "-S", "default", "--control", "off"], &["echo 199999999", large]);
    assert_eq!(result.code, Some(0), "{result:?}");
    if cfg!(target_os = "linux") {
        assert!(result.out.contains("uses at least "), "{}", result.out);
        for form in ["report.html", "report.md"] {
            assert!(desk.text(&format!("out/{form}")).contains("× the memory"), "{form}");
        }
    }
    assert_eq!(said(lab().arg("check").arg(desk.folder.join("out/report.json"))).code, Some(0));
}

#[test]
fn who_knows_hyperfine_is_shown_the_way() {
    for (arguments, says) in [
        (&["--style", "basic", "--", "true"][..], "there is no --style; a terminal has colours"),
        (&["--export-orgmode=a", "--", "true"], "there is no --export-orgmode; --export-markdown"),
        (&["sleep 0.1", "sleep 0.2"], "commands come after `--`"),
        (&["--warmup", "3", "sleep 0.1", "sleep 0.2"], "they come after `--`"),
        (&["--runs", "3", "here", "there"], "they come after `--`"),
    ] {
        let result = said(lab().arg("compare").args(arguments));
        assert_eq!(result.code, Some(2), "{result:?}");
        assert!(result.err.contains(says) && result.err.lines().count() == 1, "{}", result.err);
    }
}

#[test]
fn a_workflow_is_shown_the_tables_and_stopped_where_that_was_asked_for() {
    let desk = Desk::new("workflow");
    let mut command =
        desk.command(&["--runs", "10", "--github", "--fail-on", "slower"], &["true", "sleep 0.05"]);
    let result = said(command.env("GITHUB_STEP_SUMMARY", desk.folder.join("summary")));
    assert_eq!(result.code, Some(1), "{result:?}");
    assert!(result.err.contains("::error"), "{}", result.err);
    assert!(desk.text("summary").contains("speed beside true"), "{}", desk.text("summary"));
}

/// What another program reads is whole and alone.
#[test]
fn standard_output_has_one_document_and_the_command_can_be_pasted() {
    let desk = Desk::new("alone");
    let table = desk.compare(&["--runs", "2", "--export-markdown", "-"], &["true"]);
    assert!(table.out.starts_with('|'), "{}", table.out);
    assert!(table.out.lines().all(|line| line.starts_with('|')), "{}", table.out);
    for flags in [&["--runs", "2", "--export-json", "-"][..], &["--runs", "2", "--json"]] {
        let json = desk.compare(flags, &["echo \"a  b\""]);
        assert!(serde_json::from_str::<Value>(&json.out).is_ok(), "{}", json.out);
    }
    let page = desk.text("out/report.md");
    assert!(page.contains("'echo \"a  b\"'"), "{page}");
}
