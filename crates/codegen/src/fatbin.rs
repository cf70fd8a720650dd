//! Build of the CUDA kernels: one file for the program, and the table of their resources.
//!
//! NVIDIA's compiler comes as wheels, each with a fixed digest, so it needs only Python's pip and no card. Its output is
//! deterministic: `cargo xtask fatbin` writes the file, and the step `kernels` rebuilds it and compares byte for byte. Without access
//! to the registry, the step is skipped.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};

/// Packages, versions, and SHA-256 of the wheels for x86-64. The compiler's version is that of the measured kernels.
const WHEELS: [(&str, &str); 4] = [
    ("nvidia-cuda-nvcc==13.0.88", "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03"),
    ("nvidia-nvvm==13.0.88", "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0"),
    ("nvidia-cuda-crt==13.0.88", "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4"),
    ("nvidia-cuda-runtime==13.0.96", "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"),
];

/// Target architectures. One in between uses the code of the next lower target; older and newer ones get the PTX of [`FLOOR`], which
/// the driver compiles.
const TARGETS: [&str; 4] = ["80", "90", "100", "120"];
const FLOOR: &str = "75";

const SOURCE: &str = "crates/gpu/src/cuda/kernels.cu";
const FATBIN: &str = "crates/gpu/src/cuda/kernels.fatbin";
const PAGE: &str = "docs/design/gpu.md";
/// The lines of the page around the table.
const MARKS: [&str; 2] = ["<!-- cargo xtask fatbin -->\n", "<!-- end -->\n"];

/// Bytes of an instruction.
const INSTRUCTION_BYTES: u64 = 16;

/// Build folder.
const FOLDER: &str = "target/nvcc";

/// Fetches the compiler. Returns a reason only if it cannot be downloaded; any other error is one of [`check`].
pub(crate) fn missing(root: &Path) -> Option<String> {
    let error = compiler(root).err()?;
    let NoRegistry(reason) = error.downcast_ref()?;
    Some(format!("needs NVIDIA's compiler from a registry of Python's packages: {reason}"))
}

/// Writes the file and the table.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let build = compile(root)?;
    fs::write(root.join(FATBIN), build.fatbin)?;
    let page = fs::read_to_string(root.join(PAGE))?;
    Ok(fs::write(root.join(PAGE), with_table(&page, &build.table)?)?)
}

/// Whether both are up to date; prints the differences.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let build = compile(root)?;
    let page = fs::read_to_string(root.join(PAGE))?;
    let mut same = true;
    let mut compare = |name, is_same: bool| {
        if !is_same {
            println!("{name} is not what `cargo xtask fatbin` writes");
            same = false;
        }
    };
    compare(FATBIN, fs::read(root.join(FATBIN)).is_ok_and(|bytes| bytes == build.fatbin));
    compare(PAGE, page == with_table(&page, &build.table)?);
    Ok(same)
}

struct Build {
    fatbin: Vec<u8>,
    table: String,
}

fn compile(root: &Path) -> anyhow::Result<Build> {
    let tools = compiler(root)?;
    let keep = root.join(FOLDER).join("keep");
    // Remove the files of an earlier run.
    if keep.exists() {
        fs::remove_dir_all(&keep)?;
    }
    fs::create_dir_all(&keep)?;
    let fatbin = keep.join("kernels.fatbin");
    let mut nvcc = Command::new(tools.join("nvcc"));
    nvcc.current_dir(root).args(["-O3", "-std=c++17", "-fatbin", "-compress-mode=size"]);
    for target in TARGETS {
        nvcc.arg("-gencode").arg(format!("arch=compute_{target},code=sm_{target}"));
    }
    nvcc.arg("-gencode").arg(format!("arch=compute_{FLOOR},code=compute_{FLOOR}"));
    // Register spills are an error.
    nvcc.args(["-Xptxas", "-v,-warn-spills,-Werror", "--keep", "--keep-dir"]).arg(&keep);
    let log = run(nvcc.arg("-o").arg(&fatbin).arg(SOURCE))?;
    // nvcc embeds this PTX without assembling it, so errors in it would show only in a driver.
    let ptx = keep.join(format!("kernels.compute_{FLOOR}.ptx"));
    let mut ptxas = Command::new(tools.join("ptxas"));
    ptxas.args(["-O3", "-warn-spills", "-Werror"]).arg(format!("-arch=sm_{FLOOR}"));
    run(ptxas.arg("-o").arg(keep.join("floor.cubin")).arg(ptx))?;
    let registers = registers(&log)?;
    let instructions = |target: &str| {
        let cubin = keep.join(format!("kernels.compute_{target}.cubin"));
        let bytes = fs::read(&cubin).with_context(|| cubin.display().to_string())?;
        instruction_counts(&bytes).with_context(|| cubin.display().to_string())
    };
    let instructions =
        TARGETS.iter().map(|target| instructions(target)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Build { fatbin: fs::read(fatbin)?, table: table(&registers, &instructions)? })
}

/// Runs a command; returns its output on both streams.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } = command.output().with_context(|| format!("{command:?}"))?;
    let output = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(status.success(), "{command:?}: {output}");
    Ok(output)
}

/// Kernel, target, and registers per thread, from the log of ptxas.
fn registers(log: &str) -> anyhow::Result<Vec<(String, String, u32)>> {
    let (mut found, mut current) = (Vec::new(), None);
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut words = rest.split('\'');
            let name = words.next().context("the name of a kernel")?;
            let target = words.nth(1).and_then(|target| target.strip_prefix("sm_")).context("its target")?;
            current = Some((name.to_owned(), target.to_owned()));
        } else if let Some((_, rest)) = line.split_once("Used ") {
            let (name, target) = current.take().context("registers of a kernel that has a name")?;
            let count =
                rest.split(' ').next().unwrap_or_default().parse().context("a number of registers")?;
            found.push((name, target, count));
        }
    }
    Ok(found)
}

/// Instructions of each kernel in a cubin file, padding included.
fn instruction_counts(elf: &[u8]) -> anyhow::Result<Vec<(String, u64)>> {
    let number = |at: usize, len: usize| -> anyhow::Result<u64> {
        let bytes = elf.get(at..at + len).context("the file is truncated")?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    ensure!(elf.starts_with(b"\x7fELF\x02\x01"), "not a 64-bit ELF file");
    let (table, entry_len) = (number(0x28, 8)? as usize, number(0x3a, 2)? as usize);
    let (count, names) = (number(0x3c, 2)? as usize, number(0x3e, 2)? as usize);
    let names = number(table + names * entry_len + 0x18, 8)? as usize;
    let mut found = Vec::new();
    for section in (0..count).map(|section| table + section * entry_len) {
        let name = elf
            .get(names + number(section, 4)? as usize..)
            .context("a section's name is outside of the file")?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if let Some(kernel) = str::from_utf8(name)?.strip_prefix(".text.") {
            found.push((kernel.to_owned(), number(section + 0x20, 8)? / INSTRUCTION_BYTES));
        }
    }
    Ok(found)
}

/// A row for each kernel, a column for each target: registers, instructions.
fn table(registers: &[(String, String, u32)], instructions: &[Vec<(String, u64)>]) -> anyhow::Result<String> {
    let mut names: Vec<_> = registers.iter().map(|(name, ..)| name).collect();
    names.sort();
    names.dedup();
    let mut table = "| registers of a thread, instructions |".to_owned();
    for target in TARGETS {
        write!(table, " sm_{target} |")?;
    }
    table += "\n|---|";
    table += &"--:|".repeat(TARGETS.len());
    for name in names {
        write!(table, "\n| `{name}` |")?;
        for (target, code) in TARGETS.iter().zip(instructions) {
            let row = registers.iter().find(|(kernel, built_for, _)| kernel == name && built_for == target);
            let (_, _, registers) = row.with_context(|| format!("{name} for sm_{target}"))?;
            let code = code.iter().find(|(kernel, _)| kernel == name);
            let (_, instructions) = code.with_context(|| format!("code of {name} for sm_{target}"))?;
            write!(table, " {registers}, {instructions} |")?;
        }
    }
    Ok(table + "\n")
}

fn with_table(page: &str, table: &str) -> anyhow::Result<String> {
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).with_context(|| format!("{PAGE} has no line {begin}"))?;
    let (_, after) = rest.split_once(end).with_context(|| format!("{PAGE} has no line {end}"))?;
    Ok([before, begin, table, end, after].concat())
}

/// A failed download, with the last line of pip's output.
#[derive(Debug)]
struct NoRegistry(String);

impl std::fmt::Display for NoRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoRegistry {}

/// The folder of the compiler's programs; downloads them once.
fn compiler(root: &Path) -> anyhow::Result<PathBuf> {
    // One folder per version of the compiler.
    let (_, digest) = WHEELS[0];
    let folder = root.join(FOLDER).join(&digest[..16]);
    let programs = folder.join("nvidia/cu13/bin");
    let complete = folder.join("complete");
    if complete.exists() {
        return Ok(programs);
    }
    let wheels = folder.join("wheels");
    fs::create_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    let requirements: String =
        WHEELS.iter().map(|(name, digest)| format!("{name} --hash=sha256:{digest}\n")).collect();
    fs::write(folder.join("requirements"), requirements)?;
    let mut pip = Command::new("python3");
    pip.current_dir(&folder).args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--require-hashes", "-d", "wheels", "-r", "requirements"]);
    match pip.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return Err(download_error(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => return Err(NoRegistry(format!("python3: {error}")).into()),
    }
    for wheel in fs::read_dir(&wheels)? {
        run(Command::new("python3")
            .current_dir(&folder)
            .args(["-m", "zipfile", "-e"])
            .arg(wheel?.path())
            .arg("."))?;
    }
    fs::remove_dir_all(&wheels)?;
    // The wheel sets this permission, but the archive does not.
    let nvvm = folder.join("nvidia/cu13/nvvm/bin");
    for folder in [&programs, &nvvm] {
        run(Command::new("chmod").arg("-R").arg("a+rx").arg(folder))?;
    }
    fs::write(complete, "")?;
    Ok(programs)
}

/// The error for pip's output. A wheel with another digest is an error, not a reason to skip.
fn download_error(stderr: &str) -> anyhow::Error {
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("pip failed");
    if stderr.contains("DO NOT MATCH THE HASHES") {
        return anyhow::anyhow!("pip download: {}", stderr.trim());
    }
    NoRegistry(last.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_register_count_belongs_to_the_kernel_above_it() -> anyhow::Result<()> {
        let log = "ptxas info    : 0 bytes gmem\n\
                    ptxas info    : Compiling entry function 'fill' for 'sm_90'\n\
                    ptxas info    : Function properties for fill\n    0 bytes stack frame, 0 bytes spill stores\n\
                    ptxas info    : Used 72 registers, used 0 barriers\n\
                    ptxas info    : Compiling entry function 'fill' for 'sm_80'\n\
                    ptxas info    : Used 64 registers, used 0 barriers, 448 bytes cmem[0]\n";
        let expected = [("fill", "90", 72), ("fill", "80", 64)];
        let expected = expected.map(|(name, target, count)| (name.to_owned(), target.to_owned(), count));
        assert_eq!(registers(log)?, expected);
        assert!(registers("Used 3 registers").is_err(), "a count without a kernel");
        Ok(())
    }

    #[test]
    fn the_table_is_replaced_between_its_marks() -> anyhow::Result<()> {
        let page = "a\n<!-- cargo xtask fatbin -->\nold\n<!-- end -->\nb\n";
        assert_eq!(with_table(page, "new\n")?, page.replace("old", "new"));
        assert!(with_table("a\nb\n", "new\n").is_err());
        Ok(())
    }

    #[test]
    fn a_kernel_without_code_is_an_error() {
        let registers = vec![("fill".to_owned(), "80".to_owned(), 64)];
        assert!(table(&registers, &[vec![]]).is_err());
        assert!(instruction_counts(b"no code").is_err() && instruction_counts(b"\x7fELF\x02\x01").is_err());
    }

    #[test]
    fn only_an_unreachable_registry_is_a_reason_to_skip() {
        let gone =
            download_error("WARNING: Retrying\nERROR: No matching distribution found for nvidia-nvvm\n");
        assert!(gone.downcast_ref::<NoRegistry>().is_some());
        let other = download_error(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n  x\n",
        );
        assert!(other.downcast_ref::<NoRegistry>().is_none());
    }
}
