//! `lab compare -- …`: commands that work, and every kind of command that does not.

use crate::program::{CommandResult, Folder, finish, lab, result_of};
use hashmill_testkit::wait::{self, until};
use hashmill_testkit::{processes_are_listed, size, skip};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

struct Workspace {
    folder: Folder,
}

impl Workspace {
    fn new(name: &str) -> Self {
        Workspace { folder: Folder::new(name) }
    }

    fn command(&self, flags: &[&str], commands: &[&str]) -> Command {
        let mut command = lab();
        command.current_dir(self.folder.join("")).args(["compare", "--out", "out"]).args(flags);
        command.arg("--").args(commands);
        command
    }

    fn compare(&self, flags: &[&str], commands: &[&str]) -> CommandResult {
        result_of(&mut self.command(flags, commands))
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

/// Expected exit code of a comparison, from its control, the last side: one in a hundred fails, and on a busy machine
/// more.
fn code_of(row: &Value) -> i32 {
    let control = row["comparisons"].as_array().and_then(|all| all.last()).expect("a control");
    assert_eq!(control["side"], row["sides"].as_array().expect("sides").len() - 1, "{row}");
    if ["faster", "slower"].iter().any(|claim| control["verdict"] == *claim) { 4 } else { 0 }
}

#[test]
fn two_commands_are_compared_and_the_report_can_be_checked() {
    let workspace = Workspace::new("two");
    // Differences above the smallest claim fail a control one time in a hundred, and on a busy machine more often.
    // Five runs prove nothing.
    let controlled = workspace.compare(&["--runs", "5"], &["sleep 0.01", "true"]);
    assert_eq!(controlled.code, Some(0), "{controlled:?}");
    let row = &workspace.json("out/report.json")["rows"][0];
    let labels: Vec<_> = row["sides"].as_array().expect("sides").iter().map(|side| &side["label"]).collect();
    assert_eq!(labels, ["sleep 0.01", "true", "control"]);

    let result = workspace.compare(&["--runs", "10", "--control", "off"], &["sleep 0.1", "true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = workspace.json("out/report.json");
    assert_eq!((report["kind"].as_str(), report["state"].as_str()), (Some("commands"), Some("complete")));
    let row = &report["rows"][0];
    assert_eq!(
        row["comparisons"][0]["verdict"], "faster",
        "doing nothing takes less than a tenth of a second"
    );
    assert_eq!(report["builds"][0]["source"], "sleep 0.1");
    assert_eq!(workspace.used(1)["runs"], 10);
    let checked = result_of(lab().arg("check").arg(workspace.folder.join("out/report.json")));
    assert_eq!(checked.code, Some(0), "{checked:?}");

    // The terminal output is derived from the report only.
    let again = result_of(lab().arg("report").arg(workspace.folder.join("out/report.json")));
    assert!(result.out.starts_with(&again.out), "{}", again.out);
    assert!(std::fs::exists(workspace.folder.join("out/report.html")).expect("a folder"));
}

#[test]
fn one_command_alone_has_a_time_a_range_and_memory() {
    let workspace = Workspace::new("one");
    let result = workspace.compare(&["--runs", "9", "-n", "nothing"], &["true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let head = result.out.lines().find(|line| line.contains("99 % interval")).expect("a table");
    for column in ["time", "99 % interval", "range", "user", "system", "memory", "runs"] {
        assert!(head.contains(column), "{head}");
    }
    // On a busy machine `true` takes longer than three times the time of an empty process measured before.
    let row = workspace.json("out/report.json")["rows"][0].clone();
    let [time, empty] = [&row["sides"][0]["summary"]["median_ns"], &row["commands"]["empty_ns"]];
    let [time, empty] = [time, empty].map(|ns| ns.as_f64().expect("a time"));
    let warning = "nothing: much of its time is its start";
    assert_eq!(result.out.contains(warning), time < 3.0 * empty, "{}", result.out);
    let used = workspace.used(0);
    assert!(used["least_ns"].as_u64() <= used["most_ns"].as_u64() && used["runs"] == 9, "{used}");
    assert!(used["peak_bytes"].as_f64() > Some(100e3), "{used}");
    assert_eq!(result_of(lab().arg("check").arg(workspace.folder.join("out/report.json"))).code, Some(0));
}

#[test]
fn results_have_the_fields_that_others_read() {
    let workspace = Workspace::new("export");
    let flags = ["--runs", "8", "-L", "x", "true,echo 'a|b'", "-u", "second", "--export-json", "-"];
    let flags = [&flags[..], &["--export-csv", "a.csv", "--export-markdown", "a.md"]].concat();
    let result = workspace.compare(&flags, &["{x}"]);
    assert_eq!(result.code, Some(code_of(&workspace.json("out/report.json")["rows"][0])), "{result:?}");
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
    let csv = workspace.text("a.csv");
    assert!(csv.starts_with("command,mean,stddev,median,user,system,min,max,parameter_x,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(workspace.text("a.md").starts_with("| Command | Median [s] |"), "{}", workspace.text("a.md"));
    assert!(workspace.text("a.md").contains(r"echo 'a\|b'"), "{}", workspace.text("a.md"));
    assert!(workspace.text("a.md").contains("A/A control"), "{}", workspace.text("a.md"));
    if cfg!(target_os = "linux") {
        assert!(
            workspace.text("a.md").contains("| < "),
            "a child has had what the lab has: {}",
            workspace.text("a.md")
        );
    }
    assert!(
        csv.lines()
            .next()
            .is_some_and(|head| head.ends_with(",verdict,memory_byte,bytes_read,bytes_written,control")),
        "{csv}"
    );

    // The importer of this lab reads the exports.
    workspace.write("a.json", &result.out[start..]);
    let imported = result_of(lab().args(["report", "import"]).arg(workspace.folder.join("a.json")));
    assert_eq!(imported.code, Some(0), "{imported:?}");
}

#[test]
fn unwritable_exports_are_reported_before_measuring() {
    let workspace = Workspace::new("export-places");
    let run = "echo ran >> log";
    workspace.write("file", "");
    for (flags, message) in [
        (&["--export-json", "file/a.json"][..], "cannot write file/a.json"),
        (&["--export-csv", "."], "cannot write ."),
        (&["--json", "--export-json", "-"], "standard output takes one of --json"),
        (&["--export-csv", "-", "--export-markdown", "-"], "standard output takes one of --json"),
    ] {
        let refused = workspace.compare(flags, &[run]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(message) && refused.err.lines().count() == 1, "{}", refused.err);
    }
    assert!(!workspace.folder.join("log").exists(), "nothing ran");

    // The reader has gone, but the file exists.
    let mut child = workspace.command(&["--runs", "1", "--export-csv", "left.csv"], &[run]);
    let mut child = wait::start(child.stdout(Stdio::piped()).stderr(Stdio::null())).expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(2));
    assert!(workspace.text("left.csv").starts_with("command,"));

    // The target of a link is replaced, and a pipe is written to.
    let link = "ln -s left.csv link.csv; mkfifo pipe; cat pipe > copy.csv &";
    assert!(
        Command::new("sh")
            .args(["-c", link])
            .current_dir(workspace.folder.join(""))
            .status()
            .expect("sh")
            .success()
    );
    let flags = ["--runs", "1", "-n", "anew", "--export-csv", "link.csv", "--export-markdown", "pipe"];
    assert_eq!(workspace.compare(&flags, &["true"]).code, Some(0));
    assert!(workspace.text("left.csv").contains("anew"), "{}", workspace.text("left.csv"));
    let pipe = std::fs::metadata(workspace.folder.join("pipe")).expect("still there");
    assert!(!pipe.is_file(), "no file took its place");

    // A pipe without a reader is an error, which does not affect the table and the other file.
    let flags = ["--runs", "1", "-n", "unread", "--export-csv", "pipe", "--export-markdown", "other.md"];
    let unread = workspace.compare(&flags, &["true"]);
    assert_eq!(unread.code, Some(2), "{unread:?}");
    assert!(unread.err.contains("pipe: it is a pipe without a reader"), "{}", unread.err);
    assert!(unread.out.contains("unread") && workspace.text("other.md").contains("unread"), "{}", unread.out);
}

#[test]
fn hooks_of_commands_run_the_right_number_of_times() {
    let workspace = Workspace::new("order");
    let note = |word: &str| format!("echo {word} >> log");
    let [setup, prepare_a, prepare_b, conclude, cleanup] = ["setup", "a-", "b-", "end", "cleanup"].map(note);
    let flags = ["-s", &setup, "-p", &prepare_a, "-p", &prepare_b, "-C", &conclude, "-c", &cleanup];
    let flags = [&flags[..], &["--runs", "4", "--warmup", "2", "--control", "off"]].concat();
    let result = workspace.compare(&flags, &["echo A >> log", "echo B >> log"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let log = workspace.text("log");
    let lines: Vec<&str> = log.lines().collect();
    let (begin, end) = (&lines[..2], &lines[lines.len() - 2..]);
    assert_eq!((begin, end), (&["setup"; 2][..], &["cleanup"; 2][..]));
    let runs: Vec<&[&str]> = lines[2..lines.len() - 2].chunks(3).collect();
    assert_eq!(runs.len(), 2 * (2 + 4));
    for kind in [["a-", "A", "end"], ["b-", "B", "end"]] {
        assert_eq!(runs.iter().filter(|run| **run == kind).count(), 6, "{lines:?}");
    }
    // The order is random.
    let alike = workspace.compare(&["-p", &prepare_a, "-p", "true", "-p", "true"], &["true", "true"]);
    assert_eq!(alike.code, Some(2), "{alike:?}");
    assert!(alike.err.contains("--prepare is given 3 times"), "{}", alike.err);
}

#[test]
fn parameters_expand_in_commands_and_hooks() {
    let workspace = Workspace::new("parameters");
    let flags =
        ["--runs", "1", "-P", "n", "0.5", "1.5", "-D", "0.5", "-L", "w", "x,y", "-p", "echo {w} >> log"];
    let result = workspace.compare(&flags, &["echo {n}{w}"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let report = workspace.json("out/report.json");
    let sources: Vec<_> =
        report["builds"].as_array().expect("builds").iter().map(|build| build["source"].as_str()).collect();
    let lines = ["echo 0.5x", "echo 0.5y", "echo 1.0x", "echo 1.0y", "echo 1.5x", "echo 1.5y"];
    assert_eq!(sources, lines.map(Some));
    assert_eq!(report["rows"][0]["sides"][1]["label"], "echo 0.5y");
    assert!(result.out.contains("echo 0.5y prints something else than echo 0.5x"), "{}", result.out);

    for (flags, message) in [
        (&["-L", "z", "1,2"][..], "no command has `{z}`"),
        (&["-P", "n", "1", "x"][..], "`x` is no number"),
        (&["-P", "n", "1", "1000"][..], "1000 commands"),
        (&["-P", "n", "5", "1"][..], "cannot go from 5 to 1 in steps of 1"),
    ] {
        let refused = workspace.compare(flags, &["echo {n}"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(message) && refused.err.lines().count() == 1, "{}", refused.err);
    }
    let reference =
        workspace.compare(&["--runs", "1", "--reference", "echo {n}", "-P", "n", "1", "2"], &["echo {n}"]);
    assert_eq!(reference.code, Some(0), "{reference:?}");
    assert_eq!(
        workspace.json("out/report.json")["builds"][0]["source"],
        "echo {n}",
        "no parameter applies to it"
    );
    let nested = workspace.compare(&["--runs", "1", "-L", "a", "{b}", "-L", "b", "x"], &["echo '{a}' {b}"]);
    assert_eq!(nested.code, Some(0), "{nested:?}");
    assert_eq!(workspace.json("out/report.json")["builds"][0]["source"], "echo '{b}' x");
}

#[test]
fn commands_that_cannot_be_measured_give_a_reason_in_one_line() {
    let workspace = Workspace::new("bad");
    for (flags, command, code, message) in [
        (&[][..], "no-such-program-here", 2, "there is no program `no-such-program-here`"),
        (&["-N"], "cd /", 2, "there is no program `cd`"),
        (&[], "echo 'open", 2, "an unclosed quote"),
        (&[], "  ", 2, "a command is empty"),
        (&["-S", "no-such-shell"], "true", 2, "there is no program `no-such-shell`"),
        (&["--input", "nowhere"], "true", 4, "nowhere"),
        (&[], "echo out; echo why it failed >&2; exit 3", 4, "returned 3; it said: why it failed"),
        (&[], "echo of two lines\nexit 200", 4, "`echo of two lines exit 200` returned 200"),
        (&[], "kill -9 $$", 4, "was ended by signal 9"),
        (&["--ignore-failure=3"], "exit 4", 4, "returned 4"),
        (&["--ignore-failure=x"], "exit 4", 2, "`x` are not exit codes"),
        (&["--timeout", "200ms"], "sleep 1000", 4, "did not end within 0.2 s"),
        (&[], "kill -TTIN $$", 4, "reads from a terminal"),
        (&["-p", "exit 5"], "true", 4, "--prepare `exit 5` returned 5"),
        (&["-c", "exit 6", "--runs", "1"], "true", 4, "--cleanup `exit 6` returned 6"),
        (&["--min-runs", "9", "--max-runs", "3"], "true", 2, "is more than"),
        (&["--runs", "0"], "true", 2, "must be 1 to 100000"),
    ] {
        let result = workspace.compare(flags, &[command]);
        let all = format!("{}{}", result.out, result.err);
        assert_eq!(result.code, Some(code), "{command}: {result:?}");
        assert!(all.contains(message), "{command}: {all}");
        assert!(result.err.lines().count() <= 1, "{command}: {}", result.err);
    }
    for unlike in
        [&["--engines", "a,b"][..], &["toy"], &["--rounds", "5"], &["--sample-ms", "2"], &["--no-pin"]]
    {
        let both = result_of(lab().args(["compare"]).args(unlike).args(["--", "true"]));
        assert!(both.code == Some(2) && both.err.lines().count() == 1, "{both:?}");
    }
}

#[test]
#[cfg(unix)]
fn scripts_without_interpreter_run_in_a_shell() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new("script");
    workspace.write("bare", "echo \"$1\" >> log\n");
    std::fs::set_permissions(workspace.folder.join("bare"), std::fs::Permissions::from_mode(0o755))
        .expect("ours");
    let result = workspace.compare(&["--runs", "2"], &["./bare word"]);
    assert_eq!((result.code, workspace.text("log").as_str()), (Some(0), "word\nword\nword\n"), "{result:?}");
    let settings = &workspace.json("out/report.json")["builds"][0]["settings"][0];
    assert!(
        settings.as_str().is_some_and(|setting| setting.starts_with("started by a shell: ")),
        "{settings}"
    );
    let refused = workspace.compare(&["-N"], &["./bare word"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("`./bare word` is a script without `#!`"), "{}", refused.err);
}

#[test]
fn failures_that_are_ignored_are_measured_and_counted() {
    let workspace = Workspace::new("ignored");
    for flag in ["-i", "--ignore=failure", "--ignore-failure=3,4", "--ignore-failure=all-non-zero"] {
        let result = workspace.compare(&["--runs", "3", flag, "--export-json", "all.json"], &["exit 3"]);
        assert_eq!(result.code, Some(0), "{flag}: {result:?}");
        assert!(
            result.out.contains("exit 3: 3 of 3 runs failed, and failures are ignored"),
            "{}",
            result.out
        );
        assert_eq!(workspace.json("all.json")["results"][0]["exit_codes"], serde_json::json!([3, 3, 3]));
    }
}

#[test]
fn outputs_are_compared_unless_ignored() {
    let workspace = Workspace::new("output");
    let counter = "echo x >> n; wc -l < n";
    let reported = workspace.compare(&["--runs", "3"], &[counter]);
    assert_eq!(reported.code, Some(0), "{reported:?}");
    assert!(reported.out.contains("its output differs in 2 of 3 runs"), "{}", reported.out);
    let strict = workspace.compare(&["--runs", "3", "--same-output"], &[counter]);
    assert_eq!(strict.code, Some(4), "{strict:?}");
    let both = ["echo one", "echo two"];
    let differ = workspace.compare(&["--runs", "2"], &both);
    assert!(
        differ.out.contains("echo two prints something else than echo one: do they do the same work?"),
        "{}",
        differ.out
    );
    assert_eq!(workspace.compare(&["--runs", "2", "--same-output"], &both).code, Some(4));
    let quiet = workspace.compare(&["--runs", "2", "--ignore", "output"], &both);
    assert!(quiet.code == Some(0) && !quiet.out.contains("something else"), "{}", quiet.out);

    workspace.write("in", "from a file");
    let file = workspace.compare(&["--runs", "2", "--input", "in", "--output", "copy"], &["cat"]);
    assert_eq!((file.code, workspace.text("copy").as_str()), (Some(0), "from a file"), "{file:?}");
    assert!(Command::new("mkfifo").arg(workspace.folder.join("pipe")).status().expect("mkfifo").success());
    let once = workspace.compare(&["--input", "pipe"], &["cat"]);
    assert_eq!(once.code, Some(2), "{once:?}");
    assert!(once.err.contains("--input pipe is a pipe, which only the first run could read"), "{}", once.err);
    let unread = workspace.compare(&["--runs", "2", "--output", "./pipe"], &["echo lost"]);
    assert_eq!(unread.code, Some(4), "{unread:?}");
    assert!(unread.err.contains("pipe: it is a pipe without a reader"), "{unread:?}");
    let pipe = std::fs::File::options().read(true).write(true).open(workspace.folder.join("pipe"));
    let mut reader = pipe.expect("a pipe that is open for both does not wait");
    let read = workspace.compare(&["--runs", "2", "--output", "./pipe"], &["echo found"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    let mut found = [0; 18];
    std::io::Read::read_exact(&mut reader, &mut found).expect("three lines");
    assert_eq!(&found, b"found\nfound\nfound\n");
    let null = workspace.compare(&["--runs", "2", "--output", "null"], &both);
    assert!(null.code == Some(0) && !null.out.contains("something else"), "{null:?}");
    assert_eq!(result_of(lab().arg("check").arg(workspace.folder.join("out/report.json"))).code, Some(0));
    let inherit = workspace.compare(&["--runs", "2", "--show-output"], &["echo seen"]);
    assert!(
        inherit.out.starts_with("seen\nseen\nseen\nlab compare"),
        "one of them is not counted: {}",
        inherit.out
    );
}

#[test]
fn large_outputs_are_not_stored() {
    let workspace = Workspace::new("much");
    let result = workspace.compare(&["--runs", "2"], &["head -c 300000000 /dev/zero"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(workspace.used(0)["printed"], 300e6);
    let peak = workspace.json("out/report.json")["rows"][0]["commands"]["least_bytes"].as_u64();
    if cfg!(target_os = "linux") {
        assert!(peak.is_some_and(|bytes| bytes < 100 << 20), "the lab itself took {peak:?}");
    }
}

#[test]
fn left_over_processes_are_killed_and_reported() {
    let workspace = Workspace::new("left");
    let result = workspace.compare(&["--runs", "2"], &["sleep 1000 & echo $! >> ids; echo done"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.out.contains("left processes running in 2 of 2 runs"), "{}", result.out);
    assert_gone(&workspace.text("ids"));
    if cfg!(target_os = "linux") && processes_are_listed() {
        let daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while ! test -s daemon; do :; done";
        let result = workspace.compare(&["--runs", "1"], &[daemon]);
        assert!(result.out.contains("left processes running in 1 of 1 runs"), "{result:?}");
        assert_gone(&workspace.text("daemon"));
    }
}

/// Fails unless the processes end soon, or are zombies.
fn assert_gone(ids: &str) {
    if cfg!(target_os = "linux") && !processes_are_listed() {
        return skip("the end of processes", "/proc does not show those of this container");
    }
    let gone = |id: &str| match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    };
    until(&format!("the end of the processes {ids}"), || ids.lines().all(gone));
}

#[test]
fn an_interrupt_keeps_the_data_and_cleans_up() {
    let workspace = Workspace::new("interrupt");
    let flags = ["--runs", "400", "--cleanup", "echo clean > cleaned"];
    let mut child =
        workspace.command(&flags, &["echo $$ >> ids; exec sleep 0.02", "echo $$ >> ids; exec sleep 0.02"]);
    let child = wait::start(child.stdout(Stdio::piped()).stderr(Stdio::piped())).expect("starts");
    // After some sessions, in the middle of a run.
    let runs = || std::fs::read_to_string(workspace.folder.join("ids")).map_or(0, |ids| ids.lines().count());
    until("twelve runs", || runs() >= 12);
    let id = child.id().to_string();
    assert!(crate::program::interrupt(&id).code == Some(0));
    let result = finish(child);
    assert_eq!(result.code, Some(3), "{}", result.err);
    let report = workspace.json("out/report.json");
    assert_eq!(
        (report["state"].as_str(), workspace.text("cleaned").as_str()),
        (Some("interrupted"), "clean\n")
    );
    assert!(report["rows"][0]["commands"]["used"][0]["runs"].as_u64() > Some(0));
    assert_gone(&workspace.text("ids"));
}

#[test]
fn a_cleanup_outlasts_one_interrupt_and_not_another() {
    let workspace = Workspace::new("insist");
    let flags = ["--runs", "1", "--cleanup", "echo $$ > cleaning; exec sleep 1000"];
    let mut child = workspace.command(&flags, &["true"]);
    let mut child = wait::start(child.stdout(Stdio::null()).stderr(Stdio::piped())).expect("starts");
    let cleaning = workspace.folder.join("cleaning");
    until("the cleanup", || std::fs::read_to_string(&cleaning).is_ok_and(|id| id.ends_with('\n')));
    let id = child.id().to_string();
    let interrupt = || assert!(crate::program::interrupt(&id).code == Some(0));
    interrupt();
    std::thread::sleep(Duration::from_millis(300));
    let cleaning = format!("/proc/{}", workspace.text("cleaning").trim());
    let goes_on = !processes_are_listed() || std::fs::exists(cleaning).expect("asked");
    assert!(goes_on, "once is not enough");
    // Two signals that arrive before the program runs again count as one, so there may be more than a second.
    until("the end of the cleanup", || {
        interrupt();
        child.try_wait().expect("ours").is_some()
    });
    let result = finish(child);
    assert!(result.code == Some(4) && result.err.contains("--cleanup was interrupted"), "{result:?}");
    assert_gone(&workspace.text("cleaning"));
}

#[test]
fn a_budget_includes_hooks() {
    let workspace = Workspace::new("budget");
    let result = workspace.compare(&["--budget", "1s", "--prepare", "sleep 0.25"], &["true"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(workspace.used(0)["runs"].as_u64() <= Some(4), "{}", result.out);
    let both = workspace.compare(&["-s", "exit 5", "-c", "exit 6"], &["true"]);
    assert!(both.err.contains("--setup `exit 5` returned 5; --cleanup `exit 6` returned 6"), "{}", both.err);
}

#[test]
fn a_command_compared_with_itself_has_two_names_and_one_speed() {
    let workspace = Workspace::new("itself");
    let result = workspace.compare(&["--budget", "2s", "--json"], &["true", "true", "true"]);
    let report: Value = serde_json::from_str(&result.out).expect("a report");
    let row = &report["rows"][0];
    assert_eq!(result.code, Some(code_of(row)), "{result:?}");
    let labels: Vec<_> = row["sides"].as_array().expect("sides").iter().map(|side| &side["label"]).collect();
    assert_eq!(labels, ["true", "true (2)", "true (3)", "control"]);
    assert_eq!(report["plan"]["family"], 2, "two comparisons share the error");
    assert_eq!(row["rounds"], report["plan"]["rounds"], "what was planned was done");
}

#[test]
fn resource_usage_is_compared_in_words() {
    let workspace = Workspace::new("uses");
    let len: usize = size::of(50_000_000, 200_000_000);
    let large = format!("head -c {} /dev/zero | tail -c {len} | wc -c", len + 1);
    let small = format!("echo {len}");
    let result = workspace.compare(&["--runs", "12", "-S", "default", "--control", "off"], &[&small, &large]);
    assert_eq!(result.code, Some(0), "{result:?}");
    if cfg!(target_os = "linux") {
        assert!(result.out.contains("uses at least "), "{}", result.out);
        for form in ["report.html", "report.md"] {
            assert!(workspace.text(&format!("out/{form}")).contains("× the memory"), "{form}");
        }
    }
    assert_eq!(result_of(lab().arg("check").arg(workspace.folder.join("out/report.json"))).code, Some(0));
}

#[test]
fn flags_of_hyperfine_get_hints() {
    for (arguments, message) in [
        (&["--style", "basic", "--", "true"][..], "there is no --style; a terminal has colours"),
        (&["--export-orgmode=a", "--", "true"], "there is no --export-orgmode; --export-markdown"),
        (&["sleep 0.1", "sleep 0.2"], "commands come after `--`"),
        (&["--warmup", "3", "sleep 0.1", "sleep 0.2"], "this flag needs commands after `--`"),
        (&["--runs", "3", "here", "there"], "this flag needs commands after `--`"),
    ] {
        let result = result_of(lab().arg("compare").args(arguments));
        assert_eq!(result.code, Some(2), "{result:?}");
        assert!(result.err.contains(message) && result.err.lines().count() == 1, "{}", result.err);
    }
}

#[test]
fn workflows_get_tables_and_fail_if_requested() {
    let workspace = Workspace::new("workflow");
    let mut command =
        workspace.command(&["--runs", "10", "--github", "--fail-on", "slower"], &["true", "sleep 0.05"]);
    let result = result_of(command.env("GITHUB_STEP_SUMMARY", workspace.folder.join("summary")));
    assert_eq!(result.code, Some(1), "{result:?}");
    assert!(result.err.contains("::error"), "{}", result.err);
    assert!(workspace.text("summary").contains("speed beside true"), "{}", workspace.text("summary"));
}

/// Output for another program is complete and contains nothing else.
#[test]
fn standard_output_has_one_document_and_the_command_can_be_pasted() {
    let workspace = Workspace::new("alone");
    let table = workspace.compare(&["--runs", "2", "--export-markdown", "-"], &["true"]);
    assert!(table.out.starts_with('|'), "{}", table.out);
    assert!(table.out.lines().all(|line| line.starts_with('|')), "{}", table.out);
    for flags in [&["--runs", "2", "--export-json", "-"][..], &["--runs", "2", "--json"]] {
        let json = workspace.compare(flags, &["echo \"a  b\""]);
        assert!(serde_json::from_str::<Value>(&json.out).is_ok(), "{}", json.out);
    }
    let page = workspace.text("out/report.md");
    assert!(page.contains("'echo \"a  b\"'"), "{page}");
}
