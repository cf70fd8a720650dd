//! Links a program again with its functions and data in another order.
//!
//! The address of a function determines its place in the caches, the predictors and the fetch windows of the
//! processor. Code that never runs still moves all code after it, and can change its speed by up to a tenth. One link
//! per build is a sample of one layout. So the inputs of the final link are captured, and every session runs a
//! program with its own layout; layout is then one more cause of variation between sessions, which the statistics
//! include.
//!
//! Sections of code, constants and variables are shuffled. Their order has no meaning, except for the lists of
//! initialisers and for what `crti.o` begins and `crtn.o` ends. Functions are aligned to 16 bytes and have any
//! length, so shuffled links also try all offsets within a cache line and a page.

use crate::fingerprint::sha256_file;
use hashmill_atomic_file::{Expected, Replacement};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The script that links and captures the inputs.
const KEEPER: &str = include_str!("lab-cc.sh");

/// Sections that may be reordered.
const SHUFFLED: [&str; 4] = [".text*", ".rodata*", ".data*", ".bss*"];

/// Prefix of a captured file in the recorded arguments.
const CAPTURED_PREFIX: &str = "lab-kept:";
/// Placeholder of the program in the recorded arguments.
const PROGRAM: &str = "lab-program";

/// Reason why a program cannot be linked again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("its link inputs are unknown")]
    Unknown,
    #[error("its build did not link with $LAB_LINKER")]
    NotCaptured,
    /// Only linkers for ELF can shuffle.
    #[error("programs of {0} cannot be linked again")]
    System(&'static str),
    #[error("--one-link asked for one")]
    Unwanted,
    #[error("linking it again failed: {0}")]
    Failed(String),
    /// The linker ignored the order of sections.
    #[error("the linker did not change the order of its functions")]
    Unmoved,
    #[error("cannot use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LinkError {
    let path = path.into();
    move |source| LinkError::Io { path, source }
}

/// Configuration of a build that captures the inputs of its link.
#[derive(Clone, Debug)]
pub(crate) struct LinkerCapture {
    /// The script to use as linker.
    pub(super) linker: PathBuf,
    /// Variable by which cargo selects the linker.
    pub(super) variable: String,
    /// Folder of the compiler; its files are not copied.
    pub(super) toolchain: PathBuf,
    /// Linker that this variable selected before.
    pub(super) own: Option<OsString>,
}

impl LinkerCapture {
    /// Writes the script into `folder`; none on systems where programs cannot be linked again. `compiler` is the
    /// output of `rustc -vV`.
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
        Ok(LinkerCapture { linker, variable, toolchain: toolchain.unwrap_or("/nowhere").into(), own })
    }

    /// Configures a build. The linker of the environment does the linking.
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

/// Atomic, because several processes may do so at once.
fn write_executable(path: &Path, text: &str) -> io::Result<()> {
    let mut file = Replacement::begin(path)?;
    file.set_executable();
    file.write_all(text.as_bytes())?;
    file.finish(Expected::Anything)?;
    Ok(())
}

/// Folder in `links` with the inputs of the program with this hash.
pub(super) fn find(links: &Path, program_sha256: &str) -> Result<PathBuf, LinkError> {
    let homes = match fs::read_dir(links) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(LinkError::NotCaptured),
        homes => homes.map_err(at(links))?,
    };
    for home in homes {
        let home = home.map_err(at(links))?.path();
        if home.extension().is_some_and(|extension| extension == "new") {
            continue;
        }
        let program = home.join("program");
        let found = match sha256_file(&program) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found.map_err(at(&program))?,
        };
        if found == program_sha256 {
            return Ok(home);
        }
    }
    Err(LinkError::NotCaptured)
}

/// Captured inputs of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkInputs {
    folder: PathBuf,
    /// Folder where it was linked; arguments may be relative to it.
    linked_in: PathBuf,
    compiler: OsString,
    arguments: Vec<String>,
    /// Option that makes the compiler find LLD: none, or the folder of Rust's own LLD.
    lld: Option<String>,
    /// Version text of the linker.
    pub(crate) linker: String,
}

impl LinkInputs {
    /// Opens a folder that the script wrote, or a copy of it.
    pub(super) fn open(folder: &Path) -> Result<Self, LinkError> {
        let line = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).map_err(at(folder.join(name)))?;
            Ok(text.trim_end_matches('\n').to_owned())
        };
        let path = folder.join("arguments");
        // A file that is not UTF-8 is an unreadable file.
        let arguments = fs::read_to_string(&path).map_err(at(&path))?;
        let arguments = arguments.split('\0').map(str::to_owned);
        let mut links = LinkInputs {
            folder: folder.to_owned(),
            linked_in: line("folder")?.into(),
            compiler: line("compiler")?.into(),
            arguments: arguments.filter(|argument| !argument.is_empty()).collect(),
            lld: None,
            linker: String::new(),
        };
        links.linker = links.version().or_else(|error| {
            // Compilers of other languages do not know the LLD of Rust.
            let own = fs::read_dir(Path::new(&line("toolchain")?).join("lib/rustlib")).map_err(|_| error)?;
            let folders = own.flatten().map(|target| target.path().join("bin/gcc-ld"));
            let option = folders
                .filter(|folder| folder.is_dir())
                .map(|folder| format!("-B{}", folder.display()))
                .next();
            links.lld = option;
            links.version()
        })?;
        Ok(links)
    }

    /// Compiler that links with lld, with the arguments before those of the link.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.current_dir(&self.linked_in).stdin(Stdio::null());
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

    /// Links again with the order of `seed`.
    pub(crate) fn link_again(&self, seed: u64, program: &Path) -> Result<(), LinkError> {
        // The linker accepts 32 bits; zero means any order, and all ones the reverse order.
        let seed = 1 + seed % 0x7fff_fffe;
        let mut command = self.command();
        for argument in &self.arguments {
            match argument.strip_prefix(CAPTURED_PREFIX) {
                Some(name) => command.arg(self.folder.join(name)),
                None if argument == PROGRAM => command.arg(program),
                None => command.arg(argument),
            };
        }
        let order = SHUFFLED.map(|sections| format!("--shuffle-sections={sections}={seed}")).join(",");
        // Symbols are not needed in a program that lives for one session.
        command.args(&self.lld).args(["-fuse-ld=lld", "-Wl,--strip-all"]).arg(format!("-Wl,{order}"));
        run(command).map(drop)
    }

    /// Checks that two orders give different programs: a linker may accept an option and ignore it.
    pub(crate) fn probe(&self, scratch: &Path) -> Result<(), LinkError> {
        fs::create_dir_all(scratch).map_err(at(scratch))?;
        let print = |seed: u64| {
            let program = scratch.join(format!("probe-{seed}"));
            self.link_again(seed, &program)?;
            let print = sha256_file(&program).map_err(at(&program));
            fs::remove_file(&program).ok();
            print
        };
        if print(1)? == print(2)? { Err(LinkError::Unmoved) } else { Ok(()) }
    }
}

/// Runs it and returns its output, or its error in one line.
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

    /// Prints the sum of its functions' results and the order of the functions.
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

    /// Inputs of a program built with the script; none on systems where programs cannot be linked again.
    fn linked(folder: &Path) -> Option<LinkInputs> {
        let capture = match LinkerCapture::new(folder, &ask(&["-vV"]), Some(&ask(&["--print", "sysroot"]))) {
            Ok(capture) => capture,
            Err(LinkError::System(name)) => {
                hashmill_testkit::skip(
                    "lab: links for each session",
                    &format!("programs of {name} cannot be linked again"),
                );
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        fs::write(folder.join("main.rs"), source()).expect("a writable folder");
        let mut rustc = Command::new("rustc");
        rustc.current_dir(folder).args(["--edition", "2024", "main.rs", "-o", "program", "-C"]);
        rustc.arg(format!("linker={}", capture.linker.display()));
        capture.tell(&mut rustc, &folder.join("kept"));
        run(rustc).expect("it builds");
        let program = sha256_file(&folder.join("program")).expect("a program");
        let found = find(&folder.join("kept"), &program).expect("its inputs");
        Some(LinkInputs::open(&found).expect("they are whole"))
    }

    #[test]
    fn links_of_one_source_differ_in_the_order_of_functions_and_answer_alike() {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(links) = linked(folder.path()) else { return };
        assert!(links.linker.contains("LLD"), "{}", links.linker);
        links.probe(&folder.path().join("scratch")).expect("orders differ");
        let output_of = |seed: u64| {
            let program = folder.path().join(format!("link-{seed}"));
            links.link_again(seed, &program).expect("it links");
            let text = run(Command::new(&program)).expect("it runs");
            let (sum, order) =
                text.split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two lines");
            (sum, order, sha256_file(&program).expect("a program"))
        };
        let all: Vec<(String, String, String)> = (1..6).map(output_of).collect();
        for (index, (sum, order, _)) in all.iter().enumerate() {
            assert_eq!(sum, &all[0].0, "the answer");
            assert!(all[..index].iter().all(|(_, other, _)| other != order), "{all:?}");
        }
        assert_eq!(output_of(3), all[2], "an order belongs to its seed");
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
            let capture =
                LinkerCapture::new(folder.path(), &ask(&["-vV"]), Some(&ask(&["--print", "sysroot"])));
            let capture = capture.expect("as above");
            let mut cc = Command::new(&capture.linker);
            cc.current_dir(folder.path()).args(arguments);
            capture.tell(&mut cc, &folder.path().join("kept-c"));
            run(cc).expect("it builds")
        };
        cc(&["-O1", "-ffunction-sections", "-c", "main.c", "-o", "main.o"]);
        cc(&["main.o", "-o", "program-c"]);
        let print = |name: &str| sha256_file(&folder.path().join(name)).expect("a program");
        let home = find(&folder.path().join("kept-c"), &print("program-c")).expect("its inputs");
        let links = LinkInputs::open(&home).expect("they are whole");
        assert!(links.linker.contains("LLD"), "{}", links.linker);
        links.probe(&folder.path().join("scratch-c")).expect("orders differ");
        let code = |name: &str| Command::new(folder.path().join(name)).status().expect("it runs").code();
        links.link_again(5, &folder.path().join("again")).expect("it links");
        assert_eq!(code("again"), code("program-c"));
        cc(&["-O0", "main.c", "-o", "whole"]);
        assert!(
            matches!(find(&folder.path().join("kept-c"), &print("whole")), Err(LinkError::NotCaptured)),
            "main.c may be another by then"
        );
    }

    #[test]
    fn finds_link_inputs_by_program() {
        let folder = tempfile::tempdir().expect("a folder");
        if linked(folder.path()).is_none() {
            return;
        }
        for links in ["kept", "nowhere"] {
            let found = find(&folder.path().join(links), &"0".repeat(64));
            assert!(matches!(found, Err(LinkError::NotCaptured)), "{links}: {found:?}");
        }
    }

    #[test]
    fn unreadable_inputs_are_not_missing_inputs() {
        let folder = tempfile::tempdir().expect("a folder");
        let print = "0".repeat(64);
        let is_of = |result: Result<PathBuf, LinkError>, expected: &Path| match result {
            Err(LinkError::Io { path, .. }) => path == expected,
            _ => false,
        };
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        assert!(is_of(find(&file, &print), &file), "no folder");
        let program = folder.path().join("links/one/program");
        fs::create_dir_all(&program).expect("folders");
        assert!(is_of(find(&folder.path().join("links"), &print), &program), "no file");
        fs::remove_dir(&program).expect("a folder");
        assert!(matches!(find(&folder.path().join("links"), &print), Err(LinkError::NotCaptured)));
    }

    #[test]
    fn a_failed_link_has_a_one_line_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(mut links) = linked(folder.path()) else { return };
        links.arguments.push("-lno-such-library".to_owned());
        let error =
            links.link_again(1, &folder.path().join("link")).expect_err("no such library").to_string();
        assert!(error.contains("no-such-library"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        links.compiler = "no-such-compiler".into();
        let error = links.link_again(1, &folder.path().join("link")).expect_err("no compiler").to_string();
        assert!(error.starts_with("cannot use no-such-compiler"), "{error}");
    }
}
