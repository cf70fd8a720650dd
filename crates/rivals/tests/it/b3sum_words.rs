//! What `hashmill sum` prints beside what the real `b3sum` prints, over a tree of nasty names and odd files.
//!
//! Most command lines must agree to the byte, exit code included. Where ours differs on purpose, the reason stands
//! beside the command line, and the test fails when the difference goes away as much as when a new one appears.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use hashmill_rivals::{builds, programs};
use hashmill_testkit::{paint, skip};

/// Files whose names break naive tools, each with contents of its own.
const NASTY: [&[u8]; 16] = [
    b"plain",
    b"two  spaces",
    b" leading and trailing ",
    b"back\\slash",
    b"back\\nslash-n",
    b"new\nline",
    b"carriage\rreturn",
    b"\n",
    b"\\",
    b"both\\\n\r",
    b"-dash",
    b"--check",
    b"ends with ) = 0",
    b"BLAKE3 (tagged)",
    b"tab\tand \x1b[31mescape",
    "grüße 文件".as_bytes(),
];

/// A folder with everything that a program that hashes files should survive.
struct World {
    folder: PathBuf,
    b3sum: PathBuf,
    hashmill: PathBuf,
}

impl World {
    /// `None`, said aloud, where the real b3sum cannot be had.
    fn new(test: &str) -> Option<Self> {
        static B3SUM: LazyLock<Result<PathBuf, String>> =
            LazyLock::new(|| programs::install().map_err(|error| error.to_string()));
        static HASHMILL: LazyLock<PathBuf> =
            LazyLock::new(|| builds::product("hashmill", &[]).expect("hashmill builds"));
        let b3sum = match &*B3SUM {
            Ok(path) => path.clone(),
            Err(why) => {
                skip(&format!("hashmill sum beside b3sum, {test}"), why);
                return None;
            }
        };
        let folder = std::env::temp_dir().join(format!("rivals-{test}-{}", std::process::id()));
        fs::create_dir_all(folder.join("folder")).expect("a temporary folder");
        let world = Self { folder, b3sum, hashmill: HASHMILL.clone() };
        for (i, name) in NASTY.iter().enumerate() {
            world.write(name, &paint(i * 100));
        }
        world.write(b"empty", b"");
        for len in [1, 16_383, 16_384, 16_385, 65_536, 70_000, 200_000, 3 << 20] {
            world.write(format!("len-{len}").as_bytes(), &paint(len));
        }
        let sparse = fs::File::create(world.folder.join("sparse")).expect("a file");
        sparse.set_len(1_000_000).expect("a hole");
        std::os::unix::fs::symlink("plain", world.folder.join("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", world.folder.join("broken")).expect("a link");
        std::os::unix::fs::symlink("circle", world.folder.join("circle")).expect("a link");
        Some(world)
    }

    fn write(&self, name: &[u8], contents: &[u8]) {
        fs::write(self.folder.join(OsStr::from_bytes(name)), contents).expect("a file in a temporary folder");
    }

    fn b3sum<A: AsRef<OsStr>>(&self, args: &[A], stdin: &[u8]) -> Said {
        run(Command::new(&self.b3sum).args(args), &self.folder, stdin)
    }

    fn hashmill<A: AsRef<OsStr>>(&self, args: &[A], stdin: &[u8]) -> Said {
        run(Command::new(&self.hashmill).arg("sum").args(args), &self.folder, stdin)
    }

    /// Both programs, same words.
    fn same<A: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[A]) {
        self.same_with(args, b"");
    }

    fn same_with<A: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[A], stdin: &[u8]) {
        let (rival, ours) = (self.b3sum(args, stdin), self.hashmill(args, stdin));
        assert_eq!(ours.printed(), rival.printed(), "{args:?}\nb3sum: {rival:?}\nhashmill: {ours:?}");
    }

    /// Both programs, different words, for a reason.
    fn differs<A: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[A], reason: &str) -> [Said; 2] {
        let (rival, ours) = (self.b3sum(args, b""), self.hashmill(args, b""));
        assert_ne!(ours.printed(), rival.printed(), "{args:?} no longer differs although: {reason}");
        [rival, ours]
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a program said and how it ended.
struct Said {
    stdout: Vec<u8>,
    stderr: String,
    code: Option<i32>,
}

impl Said {
    fn printed(&self) -> (String, Option<i32>) {
        (self.stdout.escape_ascii().to_string(), self.code)
    }
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stderr: String = self.stderr.lines().take(6).collect::<Vec<_>>().join("\n");
        write!(f, "exit {:?}\n{}\n{stderr}", self.code, String::from_utf8_lossy(&self.stdout))
    }
}

fn run(command: &mut Command, folder: &Path, stdin: &[u8]) -> Said {
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env_remove("RUST_BACKTRACE").spawn().expect("the program starts");
    // A program that does not read its input closes it; that is its right.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.signal(), None, "{command:?} died of a signal");
    Said {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

fn names() -> Vec<&'static OsStr> {
    NASTY.iter().map(|name| OsStr::from_bytes(name)).collect()
}

fn with<'a>(flags: &[&'a str], files: &[&'a OsStr]) -> Vec<&'a OsStr> {
    flags
        .iter()
        .map(|flag| OsStr::new(*flag))
        .chain([OsStr::new("--")])
        .chain(files.iter().copied())
        .collect()
}

#[test]
fn nasty_names() {
    let Some(world) = World::new("names") else { return };
    for flags in [&[][..], &["--tag"], &["--no-names"], &["--length", "3"], &["--tag", "--seek", "70"]] {
        world.same(&with(flags, &names()));
    }
    let invalid = std::ffi::OsString::from_vec(b"not \xff utf-8".to_vec());
    if fs::write(world.folder.join(&invalid), b"x").is_err() {
        return skip("names that are not UTF-8", "this file system refuses them");
    }
    world.same(&with(&[], &[&invalid]));
    world.same(&with(&["--tag"], &[&invalid]));
}

#[test]
fn sizes_and_strategies() {
    let Some(world) = World::new("sizes") else { return };
    let files = [
        "len-1",
        "len-16383",
        "len-16384",
        "len-16385",
        "len-65536",
        "len-70000",
        "len-200000",
        "len-3145728",
    ];
    for flags in
        [&[][..], &["--no-mmap"], &["--num-threads", "1"], &["--num-threads=0"], &["--num-threads", "7"]]
    {
        world.same(&[flags, &files, &["empty", "sparse", "link"]].concat());
    }
    for file in files {
        let contents = fs::read(world.folder.join(file)).expect("it was written");
        world.same_with::<&str>(&[], &contents);
        world.same_with(&["-"], &contents);
        world.same_with(&["plain", "-", "empty"], &contents);
        world.same_with(&["--no-mmap", "-l", "100"], &contents);
    }
}

#[test]
fn functions_and_outputs() {
    let Some(world) = World::new("functions") else { return };
    world.same(&["--derive-key", "a context", "plain", "len-70000"]);
    world.same(&["--derive-key", "", "plain"]);
    world.same(&["--derive-key=ctx", "--seek", "1", "--length", "131", "empty"]);
    world.same_with(&["--keyed", "plain", "len-70000", "empty"], b"whats the Elvish word for friend");
    for length in ["0", "1", "32", "64", "131", "100000"] {
        world.same(&["-l", length, "plain"]);
        world.same(&["--length", length, "--seek", "12345678901", "plain"]);
        world.same(&["--raw", "-l", length, "plain"]);
    }
    world.same(&["--raw", "--no-names", "len-200000"]);
    world.same_with::<&str>(&["--raw"], b"standard input");
}

#[test]
fn files_that_cannot_be_read_do_not_stop_the_others() {
    let Some(world) = World::new("unreadable") else { return };
    world.same(&["plain", "folder", "missing", "broken", "circle", "len-70000", "plain/below", ""]);
    world.same(&["--tag", "folder", "plain"]);
    let (rival, ours) =
        (world.b3sum(&["missing", "circle"], b""), world.hashmill(&["missing", "circle"], b""));
    assert_eq!(ours.stderr, rival.stderr.replace("b3sum: ", "hashmill: "));
    let locked = world.folder.join("locked");
    fs::write(&locked, b"secret").expect("a file");
    let forbid = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(&locked, forbid).expect("it is ours");
    world.same(&["locked", "plain"]);
    if fs::read(&locked).is_ok() {
        skip("files without permission to read", "this user may read everything");
    }
}

#[test]
fn files_that_are_not_what_they_seem() {
    let Some(world) = World::new("odd") else { return };
    world.same(&["/dev/null"]);
    if cfg!(target_os = "linux") {
        // Their size is said to be zero, or they cannot be read at all.
        world.same(&[
            "/proc/version",
            "/proc/filesystems",
            "/proc/self/mem",
            "/sys/kernel/mm",
            "/proc/self/fd/99",
        ]);
        world.same_with(&["/dev/stdin", "/proc/self/fd/0"], b"standard input by another name");
    }
    let fifo = world.folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().is_ok_and(|status| status.success()), "mkfifo");
    let fed = |run: &dyn Fn() -> Said| {
        let mut feeder = Command::new("sh")
            .args(["-c", "printf 'through a pipe' > fifo"])
            .current_dir(&world.folder)
            .spawn()
            .expect("a shell");
        let said = run();
        let _ = feeder.kill();
        feeder.wait().expect("it ends");
        said
    };
    let rival = fed(&|| world.b3sum(&["fifo"], b""));
    let ours = fed(&|| world.hashmill(&["fifo"], b""));
    assert_eq!(ours.printed(), rival.printed());
    assert_eq!(rival.code, Some(0), "{rival:?}");
}

/// Every line that one program writes, the other accepts, and the other way round.
#[test]
fn lists_are_understood_by_both() {
    let Some(world) = World::new("lists") else { return };
    // b3sum cannot check its own tagged lines of names with two spaces; they are in a test of their own.
    let tagged: Vec<&OsStr> =
        names().into_iter().filter(|name| !name.as_bytes().windows(2).any(|w| w == b"  ")).collect();
    for (flags, names) in [(&[][..], &names()), (&["--tag"], &tagged)] {
        let files = with(flags, names);
        for list in [world.b3sum(&files, b"").stdout, world.hashmill(&files, b"").stdout] {
            world.write(b"list", &list);
            world.same(&["--check", "list"]);
            world.same(&["--check", "--quiet", "list"]);
            world.same(&["-c", "--no-mmap", "--num-threads=1", "list", "list"]);
            world.same_with(&["--check"], &list);
            world.same_with(&["--check", "-"], &list);
            assert_eq!(world.hashmill(&["-c", "list"], b"").code, Some(0));
            let crlf: Vec<u8> = list.split(|&b| b == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
            world.write(b"crlf", &crlf);
            world.same(&["-c", "crlf"]);
        }
    }
}

#[test]
fn digests_that_do_not_match() {
    let Some(world) = World::new("mismatch") else { return };
    let list = world.b3sum(&with(&[], &names()), b"").stdout;
    world.write(b"list", &list);
    world.write(b"plain", b"changed");
    fs::remove_file(world.folder.join("new\nline")).expect("it was written");
    world.same(&["--check", "list"]);
    world.same(&["--check", "--quiet", "list"]);
    let (rival, ours) = (world.b3sum(&["-c", "list"], b""), world.hashmill(&["-c", "list"], b""));
    assert_eq!(rival.code, Some(1));
    // There a file that is missing counts as one that differs.
    assert_eq!(rival.stderr, "b3sum: WARNING: 2 computed checksums did NOT match\n");
    let apart = ["1 computed checksum did NOT match", "1 listed file does not exist"];
    assert_eq!(ours.stderr, apart.map(|words| format!("hashmill: WARNING: {words}\n")).concat());
}

/// Both refuse these lines, and both count them as failures; only the explanations differ.
#[test]
fn lines_that_mean_nothing() {
    let Some(world) = World::new("malformed") else { return };
    let digest = "0".repeat(64);
    let lines = [
        "no digest at all".to_owned(),
        digest.clone(),
        format!("{digest}  "),
        format!("{}  plain", &digest[1..]),
        format!("{digest}0  plain"),
        format!("{}g  plain", &digest[1..]),
        format!("\\{digest}  bad\\escape"),
        format!("\\{digest}  half\\"),
        format!("{digest}  nul\0inside"),
        format!("{digest}  replaced \u{fffd}"),
        format!("BLAKE3 (plain) = {}", &digest[1..]),
        format!("BLAKE3 () = {digest}"),
        format!("BLAKE3 (plain) {digest}"),
    ];
    for line in lines {
        world.write(b"list", format!("{line}\n").as_bytes());
        world.same(&["--check", "list"]);
        let said = world.hashmill(&["--check", "list"], b"");
        assert_eq!(said.code, Some(1), "{line:?}: {said:?}");
        assert!(said.stderr.starts_with("hashmill: list:1: "), "{line:?}: {said:?}");
    }
}

#[test]
fn wrong_command_lines_are_refused_alike() {
    let Some(world) = World::new("usage") else { return };
    let wrong: [&[&str]; 11] = [
        &["--nonsense", "plain"],
        &["--length", "x", "plain"],
        &["--length", "-1", "plain"],
        &["--seek", "18446744073709551616", "plain"],
        &["--num-threads", "x", "plain"],
        &["--quiet", "plain"],
        &["--check", "--tag", "plain"],
        &["--check", "--raw", "plain"],
        &["--check", "--no-names", "plain"],
        &["--keyed", "--derive-key", "x", "plain"],
        &["--keyed"],
    ];
    for args in wrong {
        let (rival, ours) = (world.b3sum(args, b""), world.hashmill(args, b""));
        assert_eq!((rival.code, ours.code), (Some(2), Some(2)), "{args:?}\n{rival:?}\n{ours:?}");
        assert!(ours.stdout.is_empty(), "{args:?}");
        assert_eq!(ours.stderr.lines().count(), 1, "one clear line: {args:?}\n{ours:?}");
    }
}

/// Where ours is meant to differ.
#[test]
fn differences_on_purpose() {
    let Some(world) = World::new("purpose") else { return };
    world.write(b"list", &world.b3sum(&["plain", "empty"], b"").stdout);

    let [rival, ours] = world.differs(&["--check", "empty"], "a list without a line is no proof of anything");
    assert_eq!((rival.code, ours.code), (Some(0), Some(1)));

    world.write(b"tagged", &world.b3sum(&["--tag", "two  spaces"], b"").stdout);
    let [rival, ours] = world.differs(&["--check", "tagged"], "b3sum cannot read its own line");
    assert_eq!((rival.code, ours.code), (Some(1), Some(0)));

    let [rival, ours] =
        world.differs(&["--check", "missing", "list"], "one missing list does not stop the others");
    assert_eq!((rival.code, ours.code), (Some(1), Some(1)));
    assert_eq!(ours.stdout, b"plain: OK\nempty: OK\n");

    let shouted = String::from_utf8(world.b3sum(&["plain"], b"").stdout).expect("text");
    let (digest, name) = shouted.split_at(64);
    world.write(b"list", format!("# made elsewhere\n\n{}{name}", digest.to_uppercase()).as_bytes());
    let [rival, ours] =
        world.differs(&["--check", "list"], "comments, blank lines and uppercase are accepted");
    assert_eq!((rival.code, ours.code), (Some(1), Some(0)));

    world.write(b"list", format!("{digest} plain\n").as_bytes());
    let [rival, ours] = world.differs(&["--check", "list"], "a name after one space is accepted");
    assert_eq!((rival.code, ours.code), (Some(1), Some(0)));

    for function in [["--length", "48"], ["--derive-key", "x"]] {
        let written = [&function[..], &["plain"]].concat();
        world.write(b"list", &world.b3sum(&written, b"").stdout);
        let check = [&["--check"], &function[..], &["list"]].concat();
        let [rival, ours] = world.differs(&check, "what was written can be checked");
        assert_eq!((rival.code, ours.code), (Some(2), Some(0)));
        assert_eq!(ours.stdout, b"plain: OK\n");
    }

    let past = ["--seek", "18446744073709551600", "plain"];
    let [rival, ours] = world.differs(&past, "b3sum starts again at byte 0 without a word");
    assert_eq!((rival.code, ours.code), (Some(0), Some(2)));

    for (args, stdin) in [(&["--raw", "plain", "empty"][..], &b""[..]), (&["--keyed", "plain"], b"short")] {
        // b3sum: 1, and a backtrace if the user has asked for those.
        let (rival, ours) = (world.b3sum(args, stdin), world.hashmill(args, stdin));
        assert_eq!(
            (rival.code, ours.code),
            (Some(1), Some(2)),
            "a command line that cannot be used: {args:?}"
        );
    }
}
