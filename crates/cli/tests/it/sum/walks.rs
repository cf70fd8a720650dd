//! Directory walks, files of names, and output files.

use crate::world::{World, digest};

fn names(list: &str) -> Vec<&str> {
    list.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name).collect()
}

fn world() -> World {
    let world = World::new();
    for name in
        ["d/.hidden", "d/a.jpg", "d/b.tmp", "d/cache/x.jpg", "d/cache/y", "d/sub/cache", "d/sub/z.jpg"]
    {
        world.write(name, name);
    }
    world
}

#[test]
fn filters_by_patterns() {
    let world = world();
    for (flags, expected) in [
        (
            &["--exclude", "*.tmp"][..],
            &["d/.hidden", "d/a.jpg", "d/cache/x.jpg", "d/cache/y", "d/sub/cache", "d/sub/z.jpg"][..],
        ),
        (&["--exclude", "cache/"], &["d/.hidden", "d/a.jpg", "d/b.tmp", "d/sub/cache", "d/sub/z.jpg"]),
        (&["--exclude", "cache", "--no-hidden"], &["d/a.jpg", "d/b.tmp", "d/sub/z.jpg"]),
        (&["--include", "*.jpg", "--exclude", "/cache"], &["d/a.jpg", "d/sub/z.jpg"]),
        (
            &["--include=*.jpg", "--include=*.tmp", "-x"],
            &["d/a.jpg", "d/b.tmp", "d/cache/x.jpg", "d/sub/z.jpg"],
        ),
    ] {
        let list = world.sum([&["-r", "d"], flags].concat()).quiet_success();
        assert_eq!(names(&list), expected, "{flags:?}");
    }
    world.write("d/.gitignore", "*.jpg\n!/a.jpg\n.*\n");
    let list = world.sum(["-r", "--ignore-files", "d"]).quiet_success();
    assert_eq!(names(&list), ["d/a.jpg", "d/b.tmp", "d/cache/y", "d/sub/cache"]);
    // Operands are always hashed.
    let list = world.sum(["-r", "--exclude", "*.tmp", "d/b.tmp"]).quiet_success();
    assert_eq!(names(&list), ["d/b.tmp"]);
    for (args, line) in [
        (&["--exclude", "x", "d/a.jpg"][..], "--exclude applies below directories; see --recursive"),
        (
            &["-r", "--exclude", "!x", "d"],
            "the pattern !x cannot be read: it matches nothing; a backslash in front makes # and ! ordinary",
        ),
    ] {
        world.sum(args).failure(2, &[line]);
    }
}

#[test]
fn reads_names_from_a_file() {
    let world = world();
    for (separator, name) in [("\n", "lines"), ("\0", "nul")] {
        world.write(name, ["d/a.jpg", "", "none", "d/b.tmp", ""].join(separator));
        let from = format!("--files-from={name}");
        let out = world.sum([&*from]).failure(1, &["none: No such file or directory (os error 2)"]);
        assert_eq!(names(&out), ["d/a.jpg", "d/b.tmp"], "{name}");
    }
    world.write("a\nb", "x");
    let done = world.sum_with(["--files-from", "-"], b"a\nb\0d/a.jpg\0");
    assert_eq!(done.quiet_success().lines().count(), 2);
    let list = world.sum_with(["-r", "--files-from", "-", "--include", "*.jpg"], b"d\n").quiet_success();
    assert_eq!(names(&list), ["d/a.jpg", "d/cache/x.jpg", "d/sub/z.jpg"]);
    let refused = "-: standard input is the list of names";
    world.sum_with(["--files-from", "-"], b"-\n").failure(1, &[refused]);
    world.sum(["--files-from", "no"]).failure(1, &["no: No such file or directory (os error 2)"]);
    let both = "names come from --files-from or are operands, not both";
    world.sum(["--files-from", "lines", "d"]).failure(2, &[both]);
}

#[test]
fn output_file_is_atomic_and_not_hashed() {
    let world = world();
    let expected = world.sum(["-r", "d"]).quiet_success();
    // The second run replaces it.
    for _ in 0..2 {
        assert_eq!(world.sum(["-r", "-o", "d/SUMS", "d"]).quiet_success(), "");
        let list = std::fs::read_to_string(world.path("d/SUMS")).expect("a list");
        assert_eq!(list, expected);
    }
    assert_eq!(world.sum(["-c", "--quiet", "d/SUMS"]).quiet_success(), "");
    let beside = std::fs::read_dir(world.path("d")).expect("a directory").count();
    assert_eq!(beside, 6, "nothing is left beside it");
    // Failed files are missing in it, as on standard output.
    world
        .sum(["-o", "list", "none", "d/a.jpg"])
        .failure(1, &["none: No such file or directory (os error 2)"]);
    let list = std::fs::read_to_string(world.path("list")).expect("a list");
    assert_eq!(list, format!("{}  d/a.jpg\n", digest(b"d/a.jpg")));
    world.sum(["-o", "d", "list"]).failure(1, &["d: is a directory"]);
    world.sum(["-o", "no/list", "list"]).failure(1, &["no/list: No such file or directory (os error 2)"]);
}

#[cfg(unix)]
#[test]
fn redirected_list_is_not_hashed() {
    use crate::world::{finish, hashmill};
    let world = world();
    let expected = world.sum(["-r", "d"]).quiet_success();
    let file = std::fs::File::create(world.path("d/SUMS")).expect("a file");
    let mut command = std::process::Command::new(hashmill());
    command
        .args(["sum", "-r", "d"])
        .current_dir(world.path(""))
        .stdout(file)
        .stderr(std::process::Stdio::piped());
    assert_eq!(finish(hashmill_testkit::wait::start(&mut command).expect("it starts")).code(), 0);
    assert_eq!(std::fs::read_to_string(world.path("d/SUMS")).expect("a list"), expected);
}
