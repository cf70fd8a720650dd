//! More links of one program, each with its functions and data in another order.
//!
//! Where the linker puts a function decides how it meets the caches, the predictors and the fetch windows of the
//! processor. A change that no run ever reaches moves everything behind it, and with it the time of what did not
//! change, by up to a tenth. One link per build is a sample of one. So the inputs of the final link are kept, and
//! every session runs a link of its own; then the luck of the layout is one more cause of difference between
//! sessions, and the statistics over sessions carry it without a word about it.
//!
//! Sections of code, constants and variables are shuffled. Their order says nothing to a program, other than that of
//! the lists of initialisers and of what `crti.o` begins and `crtn.o` ends. Functions start at multiples of 16, and
//! what stands before them has any length: so shuffled links also try all places within a cache line and a page.

use crate::fingerprint::sha256_file;
use hashmill_atomic_file::{Expected, Replacement};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What links and keeps, as a program for the shell.
const KEEPER: &str = include_str!("lab-cc.sh");

/// Sections whose order is free.
const SHUFFLED: [&str; 4] = [".text*", ".rodata*", ".data*", ".bss*"];

/// How the keeper names the file that it kept instead of the one that was linked.
const KEPT: &str = "lab-kept:";
/// How it names the program.
const PROGRAM: &str = "lab-program";

/// Why there are no more links than one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("what it was linked of is not known")]
    Unknown,
    #[error("its build did not link with $LAB_LINKER")]
    NotKept,
    /// Only the linkers of ELF shuffle.
    #[error("programs of {0} are not linked again")]
    System(&'static str),
    #[error("--one-link asked for one")]
    Unwanted,
    #[error("linking it again failed: {0}")]
    Failed(String),
    /// The order of its sections changed nothing, so it was not followed.
    #[error("the linker did not change the order of its functions")]
    Unmoved,
    #[error("cannot use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LinkError {
    let path = path.into();
    move |source| LinkError::Io { path, source }
}

/// What a build is told, so that the inputs of its link are kept.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    /// To be used as a linker.
    pub(super) linker: PathBuf,
    /// The name by which cargo is told of linkers.
    pub(super) variable: String,
    /// The folder of the compiler, whose files stay.
    pub(super) toolchain: PathBuf,
    /// The linker that this variable had named before.
    pub(super) own: Option<OsString>,
}

impl Keeper {
    /// Writes the keeper into `folder`; nothing where programs are not linked again. `compiler` is what `rustc -vV` says.
    pub(super) fn new(folder: &Path, compiler: &str, toolchain: Option<&str>) -> Result<Self, LinkError> {
        if std::env::consts::OS != "linux" {
            return Err(LinkError::System(std::env::consts::OS));
        }
        let linker = folder.join("lab-cc");
        if fs::read_to_string(&linker).ok().as_deref() != Some(KEEPER) {
            write_executable(&linker, KEEPER).map_err(at(&linker))?;
        }
        let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let variable = format!("CARGO_TARGET_{}_LINKER", host.to_uppercase().replace('-', "_"));
        let own = environment(&variable);
        Ok(Keeper { linker, variable, toolchain: toolchain.unwrap_or("/nowhere").into(), own })
    }

    /// Tells a build. The linker that the environment had named is the one that links.
    pub(super) fn tell(&self, command: &mut Command, links: &Path) {
        if let Some(own) = &self.own {
            command.env("LAB_CC", own);
        }
        command
            .env("LAB_LINKER", &self.linker)
            .env("LAB_LINKS", links)
            .env("LAB_TOOLCHAIN", &self.toolchain)
            .env(&self.variable, &self.linker);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what cargo would have been told of linkers must be told to it still"
)]
fn environment(variable: &str) -> Option<OsString> {
    std::env::var_os(variable)
}

/// Whole or not at all, since several labs may do so at once.
fn write_executable(path: &Path, text: &str) -> io::Result<()> {
    let mut file = Replacement::begin(path)?;
    file.set_executable();
    file.write_all(text.as_bytes())?;
    file.finish(Expected::Anything)?;
    Ok(())
}

/// The folder among `links` in which the inputs of the program with this fingerprint were kept.
pub(super) fn kept(links: &Path, program_sha256: &str) -> Option<PathBuf> {
    let homes = fs::read_dir(links).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut homes = homes.filter(|home| home.extension().is_none_or(|extension| extension != "new"));
    homes.find(|home| sha256_file(&home.join("program")).is_ok_and(|found| found == program_sha256))
}

/// The inputs of a program's link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    folder: PathBuf,
    /// Where it was linked: some arguments may be relative to it.
    place: PathBuf,
    compiler: OsString,
    arguments: Vec<String>,
    /// What makes the compiler find LLD: nothing, or where Rust's own is.
    lld: Option<String>,
    /// The linker, in its own words.
    pub(crate) linker: String,
}

impl Links {
    /// From the folder where the keeper, or a copy of what it kept, lies.
    pub(super) fn open(folder: &Path) -> Result<Self, LinkError> {
        let line = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).map_err(at(folder.join(name)))?;
            Ok(text.trim_end_matches('\n').to_owned())
        };
        let path = folder.join("arguments");
        // One that is no UTF-8 ends here, as something that cannot be read.
        let arguments = fs::read_to_string(&path).map_err(at(&path))?;
        let arguments = arguments.split('\0').map(str::to_owned);
        let mut links = Links {
            folder: folder.to_owned(),
            place: line("folder")?.into(),
            compiler: line("compiler")?.into(),
            arguments: arguments.filter(|argument| !argument.is_empty()).collect(),
            lld: None,
            linker: String::new(),
        };
        links.linker = links.version().or_else(|error| {
            // Compilers of other languages know nothing of the one that comes with Rust.
            let own = fs::read_dir(Path::new(&line("toolchain")?).join("lib/rustlib")).map_err(|_| error)?;
            let places = own.flatten().map(|target| target.path().join("bin/gcc-ld"));
            let place =
                places.filter(|place| place.is_dir()).map(|place| format!("-B{}", place.display())).next();
            links.lld = place;
            links.version()
        })?;
        Ok(links)
    }

    /// A compiler that links as it did, by lld; its arguments before those of the link.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.current_dir(&self.place).stdin(Stdio::null());
        command
    }

    fn version(&self) -> Result<String, LinkError> {
        let mut command = self.command();
        let chooses = |argument: &&String| argument.starts_with("-B") || argument.starts_with("-fuse-ld=");
        command.args(self.arguments.iter().filter(chooses)).args(&self.lld);
        command.args(["-fuse-ld=lld", "-Wl,--version"]);
        let text = run(command)?;
        let first = text.lines().next().unwrap_or_default();
        Ok(first.split(" (").next().unwrap_or_default().to_owned())
    }

    /// Links once more, with the order that belongs to `seed`.
    pub(crate) fn make(&self, seed: u64, program: &Path) -> Result<(), LinkError> {
        // The linker takes 32 bits; to it zero means any order, and all ones the reverse.
        let seed = 1 + seed % 0x7fff_fffe;
        let mut command = self.command();
        for argument in &self.arguments {
            match argument.strip_prefix(KEPT) {
                Some(name) => command.arg(self.folder.join(name)),
                None if argument == PROGRAM => command.arg(program),
                None => command.arg(argument),
            };
        }
        let order = SHUFFLED.map(|sections| format!("--shuffle-sections={sections}={seed}")).join(",");
        // Symbols are for people, and a link that lives for a session meets none.
        command.args(&self.lld).args(["-fuse-ld=lld", "-Wl,--strip-all"]).arg(format!("-Wl,{order}"));
        run(command).map(drop)
    }

    /// Whether two orders make two programs: a linker may take an option and ignore it.
    pub(crate) fn probe(&self, scratch: &Path) -> Result<(), LinkError> {
        fs::create_dir_all(scratch).map_err(at(scratch))?;
        let print = |seed: u64| {
            let program = scratch.join(format!("probe-{seed}"));
            self.make(seed, &program)?;
            let print = sha256_file(&program).map_err(at(&program));
            fs::remove_file(&program).ok();
            print
        };
        if print(1)? == print(2)? { Err(LinkError::Unmoved) } else { Ok(()) }
    }
}

/// What it says; what it complains of in one line, if it fails.
fn run(mut command: Command) -> Result<String, LinkError> {
    let output = command.output().map_err(at(command.get_program()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = words.lines().find(|line| line.contains("error")).or(words.lines().next()).unwrap_or_default();
    Err(LinkError::Failed(line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says the sum of its functions' results, and in which order the functions lie.
    fn source() -> String {
        let numbers = 0..24_u64;
        let functions = numbers.clone().map(|n| {
            format!("#[inline(never)] fn f{n}(x: u64) -> u64 {{ std::hint::black_box(x) * {n} + {n} }}\n")
        });
        let names: Vec<String> = numbers.map(|n| format!("f{n}")).collect();
        format!(
            "{}fn main() {{\n let all: [fn(u64) -> u64; 24] = [{}];\n \
             println!(\"{{}}\", all.iter().map(|f| f(3)).sum::<u64>());\n \
             let mut order: Vec<usize> = (0..24).collect();\n order.sort_by_key(|i| all[*i] as usize);\n \
             println!(\"{{order:?}}\");\n}}\n",
            functions.collect::<String>(),
            names.join(", ")
        )
    }

    fn ask(arguments: &[&str]) -> String {
        let output = Command::new("rustc").args(arguments).output().expect("a compiler");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The inputs of a program that was built with the keeper; nothing where programs are not linked again.
    fn linked(folder: &Path) -> Option<Links> {
        let keeper = match Keeper::new(folder, &ask(&["-vV"]), Some(&ask(&["--print", "sysroot"]))) {
            Ok(keeper) => keeper,
            Err(LinkError::System(name)) => {
                hashmill_testkit::skip(
                    "lab: links for each session",
                    &format!("programs of {name} are not linked again"),
                );
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        fs::write(folder.join("main.rs"), source()).expect("a writable folder");
        let mut rustc = Command::new("rustc");
        rustc.current_dir(folder).args(["--edition", "2024", "main.rs", "-o", "program", "-C"]);
        rustc.arg(format!("linker={}", keeper.linker.display()));
        keeper.tell(&mut rustc, &folder.join("kept"));
        run(rustc).expect("it builds");
        let program = sha256_file(&folder.join("program")).expect("a program");
        let kept = kept(&folder.join("kept"), &program).expect("its inputs");
        Some(Links::open(&kept).expect("they are whole"))
    }

    #[test]
    fn links_of_one_source_differ_in_the_order_of_functions_and_answer_alike() {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(links) = linked(folder.path()) else { return };
        assert!(links.linker.contains("LLD"), "{}", links.linker);
        links.probe(&folder.path().join("scratch")).expect("orders differ");
        let says = |seed: u64| {
            let program = folder.path().join(format!("link-{seed}"));
            links.make(seed, &program).expect("it links");
            let text = run(Command::new(&program)).expect("it runs");
            let (sum, order) =
                text.split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two lines");
            (sum, order, sha256_file(&program).expect("a program"))
        };
        let all: Vec<(String, String, String)> = (1..6).map(says).collect();
        for (index, (sum, order, _)) in all.iter().enumerate() {
            assert_eq!(sum, &all[0].0, "the answer");
            assert!(all[..index].iter().all(|(_, other, _)| other != order), "{all:?}");
        }
        assert_eq!(says(3), all[2], "an order belongs to its seed");
    }

    #[test]
    fn programs_of_c_are_linked_again_and_never_compiled_again() {
        let folder = tempfile::tempdir().expect("a folder");
        if linked(folder.path()).is_none() {
            return;
        }
        let functions =
            (0..24).map(|n| format!("__attribute__((noinline)) int f{n}(int x) {{ return x * {n} + 1; }}\n"));
        let calls: Vec<String> = (0..24).map(|n| format!("f{n}(argc)")).collect();
        let text = format!(
            "{}int main(int argc, char **argv) {{ (void)argv; return ({}) % 100; }}\n",
            functions.collect::<String>(),
            calls.join(" + ")
        );
        fs::write(folder.path().join("main.c"), text).expect("a writable folder");
        let cc = |arguments: &[&str]| {
            let keeper = Keeper::new(folder.path(), &ask(&["-vV"]), Some(&ask(&["--print", "sysroot"])));
            let keeper = keeper.expect("as above");
            let mut cc = Command::new(&keeper.linker);
            cc.current_dir(folder.path()).args(arguments);
            keeper.tell(&mut cc, &folder.path().join("kept-c"));
            run(cc).expect("it builds")
        };
        cc(&["-O1", "-ffunction-sections", "-c", "main.c", "-o", "main.o"]);
        cc(&["main.o", "-o", "program-c"]);
        let print = |name: &str| sha256_file(&folder.path().join(name)).expect("a program");
        let home = kept(&folder.path().join("kept-c"), &print("program-c")).expect("its inputs");
        let links = Links::open(&home).expect("they are whole");
        assert!(links.linker.contains("LLD"), "{}", links.linker);
        links.probe(&folder.path().join("scratch-c")).expect("orders differ");
        let code = |name: &str| Command::new(folder.path().join(name)).status().expect("it runs").code();
        links.make(5, &folder.path().join("again")).expect("it links");
        assert_eq!(code("again"), code("program-c"));
        cc(&["-O0", "main.c", "-o", "whole"]);
        assert_eq!(
            kept(&folder.path().join("kept-c"), &print("whole")),
            None,
            "main.c may be another by then"
        );
    }

    #[test]
    fn inputs_are_found_by_the_program_that_they_made() {
        let folder = tempfile::tempdir().expect("a folder");
        if linked(folder.path()).is_none() {
            return;
        }
        assert_eq!(kept(&folder.path().join("kept"), &"0".repeat(64)), None);
        assert_eq!(kept(&folder.path().join("nowhere"), &"0".repeat(64)), None);
    }

    #[test]
    fn a_link_that_fails_is_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(mut links) = linked(folder.path()) else { return };
        links.arguments.push("-lno-such-library".to_owned());
        let error = links.make(1, &folder.path().join("link")).expect_err("no such library").to_string();
        assert!(error.contains("no-such-library"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        links.compiler = "no-such-compiler".into();
        let error = links.make(1, &folder.path().join("link")).expect_err("no compiler").to_string();
        assert!(error.starts_with("cannot use no-such-compiler"), "{error}");
    }
}
