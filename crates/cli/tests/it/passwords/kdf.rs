//! `hashmill password kdf` compared with the reference implementation's program, as packaged by Debian.

use crate::passwords::commands::run;
use crate::world::{Done, World};
use hashmill_testkit::skip;

/// Without the seconds, which vary.
fn lines(done: &Done) -> Vec<String> {
    let text = done.text();
    let seconds = |line: &str| match line.strip_suffix(" seconds") {
        Some(number) => {
            let (whole, rest) = number.split_once('.').expect("a point");
            assert!(whole.parse::<u32>().is_ok() && rest.len() == 3 && rest.parse::<u32>().is_ok(), "{line}");
            "? seconds".to_owned()
        }
        None => line.to_owned(),
    };
    text.lines().map(seconds).collect()
}

#[test]
fn matches_the_reference_for_every_flag() {
    let world = World::new();
    let reference = std::process::Command::new("argon2").arg("-h").output();
    let installed = reference.is_ok_and(|output| output.stdout.starts_with(b"Usage:"));
    if !installed {
        skip("the reference implementation's program", "no `argon2`: apt-get install argon2");
        return;
    }
    for args in [
        &["somesalt"][..],
        &["somesalt", "-d"],
        &["somesalt", "-i", "-t", "2", "-m", "8"],
        &["somesalt", "-id", "-k", "100", "-p", "3", "-l", "24"],
        &["somesalt", "-id", "-t", "4", "-m", "10", "-p", "4", "-l", "128", "-v", "10"],
        &["somesalt with spaces", "-v", "13", "-e"],
        &["s\u{f6}lt and pepper", "-r", "-l", "4"],
        &["somesalt", "-e", "-k", "257", "-p", "8", "-d", "-l", "65"],
        &["-e", "somesalt", "-t1"],
        &["--salt--", "-e", "-t", "1"],
    ] {
        for password in [&b"password"[..], b"with newline\n", b"\0", &[b'x'; 127]] {
            let actual = run(&world, [&["kdf"], args].concat(), password);
            assert_eq!((actual.code(), &*actual.err), (0, ""), "{args:?}");
            // The reference needs the salt first, and values as separate arguments.
            let reference_args = match args {
                ["-e", "somesalt", "-t1"] => &["somesalt", "-e", "-t", "1"],
                args => args,
            };
            let expected = world.run("argon2".as_ref(), reference_args, password);
            assert_eq!(lines(&actual), lines(&expected), "{args:?}");
        }
    }
}

#[test]
fn prints_expected_lines() {
    let world = World::new();
    let args = ["kdf", "somesalt", "-t", "2", "-m", "8", "-p", "1", "-l", "32", "-i"];
    assert_eq!(
        lines(&run(&world, args, b"password")),
        [
            "Type:\t\tArgon2i",
            "Iterations:\t2",
            "Memory:\t\t256 KiB",
            "Parallelism:\t1",
            "Hash:\t\t89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f",
            "Encoded:\t$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
            "? seconds",
            "Verification ok",
        ]
    );
    let raw = run(&world, ["kdf", "somesalt", "-t", "2", "-m", "8", "-r"], b"password").quiet_success();
    assert_eq!(raw, "89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f\n");
}

#[test]
fn reports_usage_errors() {
    let world = World::new();
    for (args, input, line) in [
        (&["somesal"][..], &b"x"[..], "a salt of 7 bytes: give at least 8"),
        (&["somesalt"], b"", "no password on standard input"),
        (
            &["somesalt", "-m", "33"],
            b"x",
            "invalid value '33' for '-m <N>': 33 is not in 1..=32 (see --help)",
        ),
        (
            &["somesalt", "-m", "3", "-k", "8"],
            b"x",
            "the argument '-m <N>' cannot be used with '-k <N>' (see --help)",
        ),
        (
            &["somesalt", "-m", "2"],
            b"x",
            "4 KiB of memory: choose at least 8 KiB, which is 8 KiB for each lane",
        ),
        (&["somesalt", "-t", "0"], b"x", "0 passes: choose at least 1"),
        (&["somesalt", "-p", "0"], b"x", "0 lanes: choose 1 to 16777215"),
        (&["somesalt", "-l", "3"], b"x", "-l 3: choose 4 to 1048576 bytes"),
        (
            &["somesalt", "-v", "12"],
            b"x",
            "invalid value '12' for '-v <VERSION>' [possible values: 10, 13] (see --help)",
        ),
        (&["somesalt", "-e", "-r"], b"x", "the argument '-e' cannot be used with '-r' (see --help)"),
        (&["somesalt", "-i", "-id"], b"x", "the argument '-i' cannot be used with '--id' (see --help)"),
        (&["somesalt", "-i", "-d"], b"x", "the argument '-i' cannot be used with '-d' (see --help)"),
    ] {
        assert_eq!(run(&world, [&["kdf"], args].concat(), input).failure(2, &[line]), "", "{args:?}");
    }
}
