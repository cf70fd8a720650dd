//! File names with terminal control characters: all output to terminals escapes them.

use crate::display::terminal::terminal;
use crate::world::{World, hashmill};
use hashmill_testkit::{Rng, wait};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// A name with terminal control characters and invalid UTF-8.
fn name(rng: &mut Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 14] = [
        b"\x1b[8m",
        b"\x1b[2J",
        b"\x07",
        b"\r",
        b"\n",
        b"\t",
        b"\x7f",
        b"\\",
        b"\xc2\x9b8m",
        b"\x9b8m",
        b"\xe2\x80\xae",
        b"\xe2\x80\xa8",
        b"\xff",
        b"\x01",
    ];
    let letters = rng.below(3);
    let mut name = b"xyz"[..letters].to_vec();
    (0..=rng.below(3)).for_each(|_| name.extend(PIECES[rng.below(PIECES.len())]));
    name.push(b'a' + rng.below(26) as u8);
    name
}

/// The output of a program to a terminal that is its standard output and standard error.
fn on_a_terminal(world: &World, program: &Path, args: &[&OsStr]) -> Vec<u8> {
    let (mut control, terminal) = terminal();
    let mut command = Command::new(program);
    command.args(args).current_dir(world.path("")).env("TERM", "dumb").env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stderr(terminal.try_clone().expect("a terminal")).stdout(terminal);
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    let shown = thread::spawn(move || {
        let mut shown = Vec::new();
        // Reading a terminal whose other end is closed fails.
        let _ = control.read_to_end(&mut shown);
        shown
    });
    child.wait().expect("an end");
    shown.join().expect("the reader of the terminal")
}

#[test]
fn names_are_escaped_on_terminals() {
    let mut rng = Rng::new(7);
    let world = World::new();
    let mut names = Vec::new();
    for _ in 0..24 {
        let name = name(&mut rng);
        let path = Path::new("d").join(OsStr::from_bytes(&name));
        // Some have equal content.
        world.write(&path, [rng.below(12) as u8]);
        names.push(path);
    }
    fs::create_dir(world.path("d").join("sub\x1b[8m")).expect("a directory");
    let is_file = |args: &[&str], list: &str| {
        let done = world.sum(args);
        world.write(list, &done.out);
    };
    is_file(&["-r", "d"], "LIST");
    is_file(&["-rz", "d"], "ZERO");
    is_file(&["-r", "--algorithm", "sha256", "d"], "SHA256");
    let links = [("b3sum", "LIST"), ("sha256sum", "SHA256")];
    for (link, _) in links {
        std::os::unix::fs::symlink(hashmill(), world.path(link)).expect("a link");
    }
    world.sum(["--update", "MANIFEST", "d"]);
    // Some files change, some are removed, some added.
    for path in &names[..6] {
        world.write(path, "other");
    }
    let _ = fs::remove_file(world.path(&names[7]));
    world.write(Path::new("d").join(OsStr::from_bytes(b"new\x1b]0;\x07")), "new");

    let all: Vec<&OsStr> = names.iter().map(|path| path.as_os_str()).collect();
    let runs: &[&[&str]] = &[
        &["sum", "-r", "d"],
        &["sum", "-r", "--tag", "d"],
        &["sum", "-rz", "d"],
        &["sum", "-r", "--json", "d"],
        &["sum", "-r", "--algorithm", "md5", "d"],
        &["sum", "--tree", "d", "d/sub\x1b[8m"],
        &["sum", "d/none\x1b[8m", "--expect", "00"],
        &["sum", "-c", "LIST"],
        &["sum", "-cz", "ZERO"],
        &["sum", "-c", "SHA256"],
        &["sum", "--json", "-c", "LIST"],
        &["sum", "--audit", "MANIFEST", "-v", "d"],
        &["sum", "--audit", "MANIFEST", "-v", "--json", "d"],
        &["sum", "--update", "MANIFEST", "-v", "d"],
        &["sum", "--xattr", "-rv", "d"],
        &["sum", "--duplicates", "d"],
        &["sum", "--duplicates", "-z", "d"],
        &["sum", "--duplicates", "--json", "d"],
        &["compare", "LIST", "d"],
        &["compare", "-v", "d", "d"],
    ];
    let mut shown = Vec::new();
    for args in runs {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        shown.push((args.clone(), on_a_terminal(&world, &hashmill(), &args)));
    }
    for (link, list) in links {
        let link = world.path(link);
        shown.push((vec![link.as_os_str().to_owned().leak()], on_a_terminal(&world, &link, &all)));
        let args = [OsStr::new("-c"), OsStr::new(list)];
        shown.push((args.to_vec(), on_a_terminal(&world, &link, &args)));
    }
    let missing = [OsStr::new("sum"), OsStr::new("d/none\x1b[8m"), OsStr::from_bytes(b"d/none\x9b8m")];
    shown.push((missing.to_vec(), on_a_terminal(&world, &hashmill(), &missing)));
    for (args, text) in shown {
        let output = String::from_utf8(text).unwrap_or_else(|text| panic!("{args:?}: {text:?}"));
        assert!(!output.is_empty(), "{args:?}");
        let steers = |c: char| {
            // Line ends come from the program; tabs occur only in names.
            (c.is_control() && !"\r\n\0".contains(c)) || ('\u{2028}'..='\u{202e}').contains(&c)
        };
        assert!(!output.contains(steers), "{args:?}: {output:?}");
        // The terminal adds carriage returns before line ends.
        assert_eq!(output.matches('\r').count(), output.matches('\n').count(), "{args:?}: {output:?}");
    }
}

/// In pipes names have the form of lists, for other programs.
#[test]
fn pipes_get_list_names() {
    let world = World::new();
    world.write("a\x1b[8m", "x");
    let line = world.sum(["a\x1b[8m"]).quiet_success();
    assert!(line.ends_with("  a\x1b[8m\n"), "{line:?}");
    // In messages for people they are quoted there, too.
    world.write("LIST", &line);
    world.write("a\x1b[8m", "y");
    let audited = world.sum(["--audit", "LIST", "-q", "a\x1b[8m"]).failure(1, &[]);
    assert_eq!(audited, "changed   \\a\\u{1b}[8m\n");
}
