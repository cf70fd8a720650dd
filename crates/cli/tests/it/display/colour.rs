//! Colours: on a terminal or on request; never in a file.

#![cfg(target_os = "linux")]

use crate::display::terminal::terminal;
use crate::world::{World, hashmill};
use hashmill_testkit::wait;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::thread;

const RED: &str = "\x1b[31m";

/// Terminal output of `program ARGS` with these variables.
fn on_a_terminal(world: &World, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let (control, terminal) = terminal();
    let mut command = Command::new(program);
    command.args(args).current_dir(world.path("")).envs(variables.iter().copied());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        if !variables.iter().any(|(given, _)| *given == name) {
            command.env_remove(name);
        }
    }
    command.env("TERM", "xterm").stdin(terminal.try_clone().expect("a terminal"));
    command.stdout(terminal.try_clone().expect("a terminal")).stderr(terminal);
    let mut child = wait::start(&mut command).expect("the program starts");
    drop(command);
    let shown = thread::spawn(move || {
        let mut shown = Vec::new();
        // Reading a terminal whose other end is closed fails.
        let _ = { control }.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    child.wait().expect("an end");
    shown.join().expect("the reader of the terminal")
}

/// A list of three files, one unchanged, one changed, one missing; and a new file.
fn world() -> World {
    let world = World::new();
    world.write("d/good", "1").write("d/bad", "2").write("d/gone", "3");
    let list = world.sum(["-r", "d"]).quiet_success();
    world.write("LIST", list).write("d/bad", "other").write("d/new", "4");
    fs::remove_file(world.path("d/gone")).expect("a file");
    world
}

#[test]
fn terminal_shows_failures_in_colour() {
    let world = world();
    let program = hashmill();
    let shown = on_a_terminal(&world, &program, &["sum", "--check", "LIST"], &[]);
    for part in [
        "d/good: \x1b[32mOK\x1b[0m\r\n",
        "d/bad: \x1b[31mFAILED\x1b[0m\r\n",
        "d/gone: \x1b[31mFAILED (No such file or directory (os error 2))\x1b[0m\r\n",
        "\x1b[33mhashmill:\x1b[0m WARNING: 1 computed checksum did NOT match\r\n",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown:?}");
    }
    let shown = on_a_terminal(&world, &program, &["sum", "--audit", "LIST", "d"], &[]);
    for part in [
        "\x1b[33mchanged \x1b[0m  d/bad\r\n",
        "\x1b[32mnew     \x1b[0m  d/new\r\n",
        "\x1b[31mgone    \x1b[0m  d/gone\r\n",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown:?}");
    }
    let shown = on_a_terminal(&world, &program, &["sum", "missing"], &[]);
    assert!(shown.starts_with("\x1b[31mhashmill:\x1b[0m missing: "), "{shown:?}");
    let expect = ["sum", "d/good", "--expect", &"0".repeat(64)];
    let shown = on_a_terminal(&world, &program, &expect, &[]);
    assert!(shown.contains("d/good: \x1b[31mFAILED\x1b[0m\r\n"), "{shown:?}");
}

#[test]
fn flags_and_variables_set_colours() {
    let world = world();
    let program = hashmill();
    let check = ["sum", "--check", "LIST"];
    let is_red = |args: &[&str], variables: &[(&str, &str)]| {
        on_a_terminal(&world, &program, &[&check[..], args].concat(), variables).contains('\x1b')
    };
    assert!(is_red(&[], &[]));
    assert!(!is_red(&[], &[("NO_COLOR", "1")]));
    assert!(!is_red(&["--color", "never"], &[]));
    assert!(!is_red(&["--color=never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(is_red(&["--color=always"], &[("NO_COLOR", "1")]));
    let piped = |args: &[&str]| world.run(&program, args, b"");
    let plain = piped(&check);
    assert!(!format!("{}{}", plain.text(), plain.err).contains('\x1b'), "{plain:?}");
    let coloured = piped(&["--color", "always", "sum", "--check", "LIST"]);
    assert!(coloured.text().contains(RED) && coloured.err.contains("\x1b[33m"), "{coloured:?}");
    assert!(piped(&["sum", "--color=always", "--recursve"]).err.starts_with(RED), "mistakes, too");
    piped(&["sum", "--color", "pink"]).failure(
        2,
        &["invalid value 'pink' for '--color <WHEN>' [possible values: auto, always, never] (see --help)"],
    );
    // After operands, where the value must not be taken for an operand.
    assert_eq!(piped(&["sum", "d/new", "--color", "always", "d/good"]).quiet_success().lines().count(), 2);
}

#[test]
fn files_and_other_personalities_have_no_colours() {
    let world = world();
    let program = hashmill();
    let args = ["sum", "--check", "LIST", "--color=always", "-o", "out"];
    on_a_terminal(&world, &program, &args, &[]);
    let written = fs::read_to_string(world.path("out")).expect("a file");
    assert!(written.contains("d/bad: FAILED\n"), "{written:?}");
    std::os::unix::fs::symlink(&program, world.path("b3sum")).expect("a link");
    let shown = on_a_terminal(&world, &world.path("b3sum"), &["--check", "LIST"], &[("CLICOLOR_FORCE", "1")]);
    assert!(shown.contains("d/bad: FAILED\r\n") && !shown.contains('\x1b'), "{shown:?}");
}

#[cfg(feature = "doc")]
#[test]
fn documents_have_colours() {
    let world = World::new();
    let program = hashmill();
    let doc = |args: &[&str]| world.run(&program, [&["doc"], args].concat(), b"").quiet_success();
    doc(&["new", "n.amrg"]);
    doc(&["put", "n.amrg", "/title", "Groceries", "--string"]);
    let shown = on_a_terminal(&world, &program, &["doc", "diff", "n.amrg"], &[]);
    assert_eq!(shown, "\x1b[32m+ /title: \"Groceries\"\x1b[0m\r\n");
    let shown = on_a_terminal(&world, &program, &["doc", "log", "n.amrg"], &[]);
    assert!(shown.starts_with("\x1b[33m") && shown[15..].starts_with("\x1b[0m  "), "{shown:?}");
    let shown = on_a_terminal(&world, &program, &["doc", "check", "n.amrg"], &[]);
    assert_eq!(shown, "n.amrg: \x1b[32mOK\x1b[0m, 1 change\r\n");
    assert!(!doc(&["log", "n.amrg"]).contains('\x1b'));
}
