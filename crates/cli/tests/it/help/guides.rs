//! Commands shown in the documentation: every command of a code block runs, in the order of its page, in a world where its
//! files exist. Pages are README, docs, the READMEs of the crates, and the pages about the project.

use crate::documents::server as doc_server;
use crate::world::{World, hashmill};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that are shown but not run, with the reason.
const NOT_RUN: [(&str, &str); 8] = [
    ("cargo install --locked --path crates/cli", "builds the program that this test has"),
    ("cargo xtask", "runs this test, or builds the program that does"),
    ("cargo rivals", "builds competitors, for minutes"),
    ("curl --fail", "needs a server: run by the tests of blobs"),
    ("hashmill serve", "runs until a signal; has tests of its own"),
    ("hashmill sum --xattr", "needs a file system with attributes; has tests of its own"),
    ("hashmill tune", "measures for a minute, and a busy machine cannot tell; has tests of its own"),
    ("psql ", "needs a database"),
];

/// Commands that end with 1, with its meaning.
const NEGATIVE_RESULTS: [(&str, &str); 2] = [
    ("hashmill doc rescue damaged.amrg", "something was lost"),
    ("hashmill password needs-rehash --file users --preset", "nothing has to be hashed again"),
];

/// Placeholders on pages, and their values.
const STANDS_FOR: [(&str, &str); 9] = [
    ("cargo run --release --", "hashmill"),
    ("automerge:ID", "automerge:4NMNnkMhL8jXrdJ9jamS58PAVdXu"),
    ("curl …", "cat a.iso"),
    ("'$argon2id$v=19$…'", "\"$(printf sesame | hashmill password hash)\""),
    ("3f2a", "\"$(hashmill doc blame notes.amrg /body | grep -oE '^[0-9a-f]{8,64}' | tail -n 1)\""),
    ("--expect HEX", "--expect \"$(hashmill sum --no-names big.iso)\""),
    ("/backup/photos", "copy/photos"),
    ("/media/stick/", "stick/"),
    ("notes/ backup/", "here/ backup/"),
];

/// Files for commands, created when the first command names them.
const FOUND: [(&str, &str); 15] = [
    (".iso", "printf one > a.iso; printf two > b.iso"),
    ("photos", "mkdir -p photos/old; printf 1 > photos/1.jpg; printf 2 > photos/old/2.jpg"),
    ("photo.jpg", "printf photo > photo.jpg"),
    ("big.iso", "printf three > big.iso"),
    ("copy/photos", "mkdir copy; cp -r photos copy/photos"),
    (
        "users.csv",
        "h=$(printf sesame | hashmill password hash -q -m 8192 -t 1 -p 1); printf 'id,password\\n7,\"%s\"\\nann,\"%s\"\\n' \"$h\" \"$h\" > users.csv",
    ),
    ("password.txt", "printf sesame > password.txt"),
    ("$old", "printf sesame | hashmill password hash > old.txt"),
    ("users", "printf 'ann:%s\\n' \"$(printf sesame | hashmill password hash)\" > users"),
    ("notes.json", "printf '{\"title\": \"Shopping\"}' > notes.json"),
    ("from-the-phone.amrg", "printf '{\"read\": true}' | hashmill doc import - -o from-the-phone.amrg"),
    ("patch.json", "printf '[{\"op\": \"add\", \"path\": \"/seen\", \"value\": true}]' > patch.json"),
    ("damaged.amrg", "cp notes.amrg damaged.amrg; printf 'what a disk wrote' >> damaged.amrg"),
    ("stick/", "mkdir -p stick"),
    ("here/", "mkdir -p here backup; cp notes.amrg here/"),
];

/// A command and its position.
struct Shown {
    position: String,
    line: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_path_buf()
}

fn pages() -> Vec<PathBuf> {
    let entries = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).expect("a folder");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort_unstable();
        paths
    };
    let crates = entries("crates").into_iter().map(|folder| folder.join("README.md"));
    let all = [entries(""), entries("docs"), entries("docs/design"), crates.collect()].concat();
    let is_page = |path: &PathBuf| path.is_file() && path.extension().is_some_and(|end| end == "md");
    all.into_iter().filter(is_page).collect()
}

/// The commands of a page. A block without a language must not contain commands.
fn shown(page: &Path) -> Vec<Shown> {
    let text = fs::read_to_string(page).expect("a page");
    let mut language = None;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let position = format!("{}:{}", page.display(), number + 1);
        match (line.strip_prefix("```"), language) {
            (Some(_), Some(_)) => language = None,
            (Some(name), None) => language = Some(name),
            (None, Some("sh")) if !line.is_empty() => {
                // A comment starts after two or more spaces, or after one.
                let line = line.split(" # ").next().unwrap_or(line).trim_end().to_owned();
                all.push(Shown { position, line });
            }
            (None, Some("")) => {
                assert!(
                    !line.starts_with("hashmill ") && !line.starts_with("cargo "),
                    "{position} is not in sh"
                );
            }
            _ => {}
        }
    }
    all
}

/// Variables and the function that pages assume in the reader's shell.
const PRELUDE: &str = "set -eo pipefail
pw=sesame password=sesame
[ ! -f old.txt ] || old=$(cat old.txt)
store() { test -n \"$1\"; }
";

/// Runs a shell line; the program under test is on the path, and the world is its home.
fn shell(world: &World, line: &str) -> (bool, String) {
    let bin = hashmill().parent().expect("a folder").to_path_buf();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{PRELUDE}{line}")]);
    command.env("PATH", format!("{}:{path}", bin.display())).env("HOME", world.path(""));
    let mut child = world.start(&mut command);
    // Password prompts get this one.
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"sesame\n").ok();
    let done = crate::world::finish(child);
    (done.status.success(), format!("{}{}", done.text(), done.err))
}

/// Replaces the server of a `doc sync` command by a test server; `None` if this machine cannot connect to such a server. A command
/// that would run until Ctrl-C does one sync: the last flag is left out.
fn served(line: &str) -> Option<String> {
    let line = line.strip_suffix(" --watch").unwrap_or(line);
    let server_doc = doc_server::with("theirs");
    if let Some((before, rest)) = line.split_once("ws://localhost:3030") {
        return Some(format!("{before}{}{rest}", doc_server::serving(server_doc)));
    }
    let Some((before, rest)) = line.split_once("wss://sync.example.org") else {
        return Some(line.to_owned());
    };
    let (url, flags) = secure()?;
    Some(format!("{before}{url}{rest} {flags}"))
}

/// The URL of a server with TLS, and the flags with which it is trusted.
#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn secure() -> Option<(String, String)> {
    use crate::documents::tls::{ca, is_possible, secure};
    is_possible().then(|| (format!("wss://localhost:{}", secure("server.pem")), format!("--ca '{}'", ca())))
}

#[cfg(not(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn secure() -> Option<(String, String)> {
    None
}

/// Outcome of measuring commands of the lab without a measurement.
fn unmeasured(line: &str) -> String {
    line.split(" && ").map(understood).collect::<Vec<_>>().join(" && ")
}

/// The flags of a measuring command parse, and its cases exist.
fn understood(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, command, rest @ ..] = &*words else { return line.to_owned() };
    let cases: Vec<&str> = rest.iter().copied().take_while(|word| !word.starts_with("--")).collect();
    match *command {
        "run" => format!("{line} --help && hashmill lab list '{}'", cases.join("' '")),
        "list" => line.to_owned(),
        // Arguments after `--` are commands to measure.
        _ => format!("{} --help", line.split(" -- ").next().unwrap_or(line)),
    }
}

#[test]
fn shown_commands_work() {
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    let mut used = [false; NOT_RUN.len()];
    let mut faults = Vec::new();
    let mut ran = 0;
    for page in pages() {
        let world = World::new();
        let mut created = [false; FOUND.len()];
        for Shown { position, line } in shown(&page) {
            if let Some(index) = NOT_RUN.iter().position(|(begin, _)| line.starts_with(begin)) {
                used[index] = true;
                continue;
            }
            let mut line = STANDS_FOR.iter().fold(line, |line, (words, taken)| line.replace(words, taken));
            if let Some((before, _)) = line.split_once("| jq").filter(|_| !has_jq) {
                line = before.to_owned();
            }
            for ((name, make), created) in FOUND.iter().zip(&mut created) {
                if line.contains(name) && !*created {
                    let (well, output) = shell(&world, make);
                    assert!(well, "{position}: {make}: {output}");
                    *created = true;
                }
            }
            let Some(run) = (match line.split_whitespace().nth(1) {
                Some("lab") if line.starts_with("hashmill ") => Some(unmeasured(&line)),
                _ => served(&line),
            }) else {
                continue;
            };
            let (well, output) = shell(&world, &run);
            ran += 1;
            if well == NEGATIVE_RESULTS.iter().any(|(begin, _)| line.starts_with(begin)) {
                faults.push(format!("{position}: {line}: {output}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran > 50, "{ran} commands are few");
    let unused = NOT_RUN.iter().zip(used).filter(|(_, used)| !used).map(|((begin, _), _)| begin);
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&&str>::new(), "these are shown no more");
}

/// Commands within sentences exist, too.
#[test]
fn named_commands_exist() {
    let world = World::new();
    let mut named: Vec<Vec<String>> = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for span in text.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("hashmill ")) {
            let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let words = span.split_whitespace().take_while(is_name).take_while(|word| !word.starts_with('-'));
            let words: Vec<String> = words.take(2).map(str::to_owned).collect();
            // A domain separation string of the tree digest.
            let is_context = words == ["tree", "digest"];
            let is_left_out = !cfg!(feature = "serve") && words.first().is_some_and(|word| word == "serve");
            if !words.is_empty() && !is_context && !is_left_out && !named.contains(&words) {
                named.push(words);
            }
        }
    }
    assert!(named.len() > 10, "{named:?}");
    for words in named {
        // A command with operands may be followed by one that looks like a subcommand.
        let known = |words: &[String]| {
            let args = words.iter().map(String::as_str).chain(["--help"]);
            world.run(&hashmill(), args, b"").status.success()
        };
        assert!(known(&words), "{words:?}");
    }
}

#[test]
fn readme_is_short_and_names_the_libraries() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    assert!(readme.lines().count() <= 70, "one screen, or nearly");
    for library in ["hash", "files", "doc", "lab"] {
        assert!(readme.contains(&format!("cargo add hashmill-{library}`")), "{library}");
    }
}
