//! Job of `hashmill sum`: the meaning of its flags.

use super::output_form::OutputForm;
use super::{check, duplicates, expect, hash, tree, update, xattr};
use crate::flags::{EngineFlags, SumArgs, UsageError};
use crate::os;
use crate::output::audit_output::{Findings, Show};
use crate::output::print_note;
use crate::output::progress::hushed;
use crate::personality::Personality;
use crate::tune_file;
use anyhow::{Context, Result, bail};
use hashmill_files::checksum_list::{Algorithm, ListFormat, Mode};
use hashmill_files::walk::Rules;
use hashmill_files::{Filter, Function, Options, Strategy};
use hashmill_hash::blake3::{KEY_LEN, Kernel, OUT_LEN, Plan};
use hashmill_hash::isa::{Cpu, Features};
use std::io::{IsTerminal, Read};
use std::num::NonZero;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A job of `hashmill sum`, as the flags describe it.
pub(super) struct SumJob {
    pub(super) action: Action,
    /// Never empty: without operands it is standard input or the current directory.
    pub(super) paths: Vec<PathBuf>,
    /// The file with further names.
    pub(super) files_from: Option<PathBuf>,
    /// The rules for walking directories, if they are walked.
    pub(super) rules: Option<Rules>,
    /// The hash function, if the flags determine it.
    pub(super) algorithm: Option<Algorithm>,
    /// The file to write instead of standard output.
    pub(super) output: Option<PathBuf>,
    pub(super) function: Function,
    /// The plan for BLAKE3.
    pub(super) plan: Plan,
    pub(super) mode: Mode,
    pub(super) style: ListFormat,
    pub(super) options: Options,
    pub(super) engine: EngineFlags,
    pub(super) progress: bool,
}

/// What to do, with the options of each action.
pub(super) enum Action {
    Hash(hash::HashOptions),
    Tree(tree::TreeOptions),
    Check(check::CheckOptions),
    Expect(expect::ExpectOptions),
    Audit(PathBuf, Findings),
    Update(PathBuf, update::UpdateOptions),
    Duplicates(duplicates::DuplicatesOptions),
    Xattr(xattr::XattrOptions),
}

impl SumJob {
    /// Interprets the flags. Reads the key, if there is one, after all checks that do not need it.
    pub(super) fn from_flags(mut flags: SumArgs) -> Result<SumJob> {
        let personality = Personality::current();
        let requested = match (flags.algorithm, personality) {
            (Some(name), _) => Some(name.algorithm()),
            (None, Personality::Gnu(algorithm)) => Some(algorithm),
            // b3sum has no other function.
            (None, Personality::B3sum) => Some(Algorithm::Blake3),
            (None, Personality::Hashmill) => None,
        };
        let algorithm = requested.unwrap_or_default();
        only_blake3(&flags, algorithm)?;
        check_jobs(&flags)?;
        let function = Function::by(algorithm);
        let always_walks = flags.audit.is_some() || flags.update.is_some() || flags.duplicates;
        let paths = operand_paths(&mut flags, always_walks, personality)?;
        if flags.check && flags.length == Some(0) {
            bail!(UsageError("--check compares nothing with --length 0".into()));
        }
        let length = flags.length.unwrap_or(algorithm.digest_len() as u64);
        // The output of BLAKE3 has bytes 0 to 2^64 - 2, so its length is a 64-bit number.
        if flags.seek.checked_add(length).is_none() {
            bail!(UsageError(format!(
                "--seek {} with {length} bytes of output exceeds 2^64 - 1, the end of BLAKE3's output",
                flags.seek
            )));
        }

        let plan = match &flags.kernel {
            Some(name) => kernel(name)?,
            None if requested.is_none_or(|algorithm| algorithm == Algorithm::Blake3) => tune_file::blake3(),
            None => Plan::host(),
        };
        // The key comes last, so that usage errors are found before standard input is read.
        let (mode, mut function) = if flags.keyed {
            (Mode::Keyed, Function::keyed(read_key()?))
        } else if let Some(context) = &flags.derive_key {
            (Mode::DeriveKey, Function::derive_key(context))
        } else {
            (Mode::Hash, function)
        };
        function = function.with_plan(plan);
        if flags.seek > 0 || (algorithm == Algorithm::Blake3 && length > OUT_LEN as u64) {
            function = function.extended();
        }

        let form = match () {
            () if flags.json => OutputForm::Json,
            () if flags.raw => OutputForm::Raw,
            () if flags.no_names => OutputForm::Bare,
            () if flags.tag => OutputForm::Tagged,
            () => OutputForm::Plain,
        };
        // Only BLAKE3 has trees, keys, and seekable output.
        let blake3 = flags.tree || flags.seek > 0 || mode != Mode::Hash;
        let requested = requested.or(blake3.then_some(Algorithm::Blake3));
        let action = action(&flags, requested, mode, form, length, paths.len(), personality)?;

        let rules = rules(&flags, always_walks)?;
        let mut options = Options::default();
        options.strategy = if flags.no_mmap { Strategy::Read } else { flags.strategy.unwrap_or_default() };
        options.threads = threads(flags.num_threads);
        options.keep_going = flags.keep_going;
        let style = ListFormat {
            algorithm,
            length: flags.length.filter(|_| flags.check).and_then(NonZero::new),
            zero: flags.zero,
            // Lists of other functions are for other programs, which write names as bytes.
            bytes: algorithm != Algorithm::Blake3,
            binary: flags.binary,
        };
        let progress = !flags.no_progress && !hushed(flags.status);
        let (files_from, output) = (flags.files_from, flags.output);
        Ok(SumJob {
            action,
            paths,
            files_from,
            rules,
            algorithm: requested,
            output,
            function,
            plan,
            mode,
            style,
            options,
            engine: flags.engine,
            progress,
        })
    }
}

/// The operands, or what stands in for them: the current directory where directories are meant, else standard input.
/// `always_walks` is true for jobs that walk directories without `--recursive`.
fn operand_paths(flags: &mut SumArgs, always_walks: bool, personality: Personality) -> Result<Vec<PathBuf>> {
    let mut paths = std::mem::take(&mut flags.files);
    if flags.files_from.is_some() && !paths.is_empty() {
        bail!(UsageError("names come from --files-from or are operands, not both".into()));
    }
    if paths.is_empty() {
        let directories = always_walks || flags.recursive || (flags.tree && !flags.check);
        paths.push(PathBuf::from(if directories { "." } else { "-" }));
    }
    if always_walks && paths.iter().any(|path| path.as_os_str() == "-") {
        bail!(UsageError("--audit, --update and --duplicates need files, not standard input".into()));
    }
    let names_stdin = paths.iter().any(|path| path.as_os_str() == "-");
    if flags.xattr && names_stdin && flags.files_from.is_none() {
        bail!(UsageError("--xattr needs files, not standard input".into()));
    }
    if flags.raw && paths.len() > 1 {
        let message = match personality {
            Personality::B3sum => "Only one filename can be provided when using --raw",
            _ => "only one file can be hashed with --raw",
        };
        bail!(UsageError(message.into()));
    }
    if flags.tree && paths.iter().any(|path| path.as_os_str() == "-") && !flags.check {
        bail!(UsageError("--tree takes directories, not standard input".into()));
    }
    if flags.check && flags.keyed && paths.iter().any(|path| path.as_os_str() == "-") {
        bail!(UsageError("the key comes from standard input, so a list cannot".into()));
    }
    Ok(paths)
}

/// What to do with the paths.
fn action(
    flags: &SumArgs,
    requested: Option<Algorithm>,
    mode: Mode,
    form: OutputForm,
    length: u64,
    path_count: usize,
    personality: Personality,
) -> Result<Action> {
    let algorithm = requested.unwrap_or_default();
    let show = Show { json: flags.json, quiet: flags.quiet, verbose: flags.verbose };
    Ok(if let Some(manifest) = &flags.audit {
        Action::Audit(manifest.clone(), Findings::new(show))
    } else if let Some(manifest) = &flags.update {
        let (paranoid, retag, allow_gone) = (flags.paranoid, flags.retag, flags.allow_gone);
        Action::Update(manifest.clone(), update::UpdateOptions { paranoid, retag, allow_gone, show })
    } else if flags.duplicates {
        Action::Duplicates(duplicates::DuplicatesOptions {
            json: flags.json,
            quiet: flags.quiet,
            zero: flags.zero,
            digest_len: algorithm.digest_len(),
            algorithm: algorithm.key(),
        })
    } else if flags.xattr {
        Action::Xattr(xattr::XattrOptions { requested, retag: flags.retag, dry_run: flags.dry_run, show })
    } else if let Some(text) = &flags.expect {
        if path_count > 1 {
            bail!(UsageError("only one file can be compared with --expect".into()));
        }
        let requested = requested.or(flags.length.map(|_| Algorithm::Blake3));
        let expected = expect::Expected::parse(text, requested, flags.length)?;
        Action::Expect(expect::ExpectOptions {
            expected,
            seek: flags.seek,
            tree: flags.tree,
            json: flags.json,
            quiet: flags.quiet,
        })
    } else if flags.check {
        Action::Check(check::CheckOptions {
            personality,
            requested,
            mode,
            seek: flags.seek,
            tree: flags.tree,
            json: flags.json,
            quiet: flags.quiet || flags.status,
            status: flags.status,
            ignore_missing: flags.ignore_missing,
            warn: flags.warn,
            strict: flags.strict,
        })
    } else if flags.tree {
        Action::Tree(tree::TreeOptions { form })
    } else {
        Action::Hash(hash::HashOptions { form, seek: flags.seek, length, personality })
    })
}

/// The rules for walking directories; `None` if only the operands are hashed. `always_walks` is as in
/// [`operand_paths`].
fn rules(flags: &SumArgs, always_walks: bool) -> Result<Option<Rules>> {
    let mut rules = Rules::default();
    rules.follow = flags.follow;
    rules.one_file_system = flags.one_file_system;
    rules.skip_pseudo = true;
    rules.skip_hidden = flags.no_hidden;
    rules.ignore_files = flags.ignore_files;
    rules.filter =
        Filter::new(&flags.exclude, &flags.include).map_err(|error| UsageError(error.to_string()))?;
    if flags.recursive || always_walks {
        return Ok(Some(rules));
    }
    for (given, flag) in [
        (!flags.exclude.is_empty(), "--exclude"),
        (!flags.include.is_empty(), "--include"),
        (flags.one_file_system, "--one-file-system"),
        (flags.no_hidden, "--no-hidden"),
        (flags.ignore_files, "--ignore-files"),
        (flags.follow, "--follow"),
    ] {
        if given {
            bail!(UsageError(format!("{flag} applies below directories; see --recursive")));
        }
    }
    Ok(None)
}

/// Refuses flags of one job beside another. The parser accepts them, as the jobs exclude each other.
fn check_jobs(flags: &SumArgs) -> Result<()> {
    let stores_digests = flags.update.is_some() || flags.xattr;
    for (given, flag, is_there, job) in [
        (flags.paranoid, "--paranoid", flags.update.is_some(), "--update"),
        (flags.allow_gone, "--allow-gone", flags.update.is_some(), "--update"),
        (
            flags.verbose,
            "--verbose",
            flags.audit.is_some() || stores_digests,
            "--audit, --update and --xattr",
        ),
        (flags.retag, "--retag", stores_digests, "--update and --xattr"),
        (flags.dry_run, "--dry-run", flags.xattr, "--xattr"),
        (flags.status, "--status", flags.check, "--check"),
        (flags.ignore_missing, "--ignore-missing", flags.check, "--check"),
        (flags.warn, "--warn", flags.check, "--check"),
        (flags.strict, "--strict", flags.check, "--check"),
    ] {
        if given && !is_there {
            bail!(UsageError(format!("{flag} is for {job}")));
        }
    }
    Ok(())
}

/// Refuses flags that only BLAKE3 supports.
fn only_blake3(flags: &SumArgs, algorithm: Algorithm) -> Result<()> {
    if algorithm == Algorithm::Blake3 {
        return Ok(());
    }
    for (given, flag) in [
        (flags.keyed, "--keyed"),
        (flags.derive_key.is_some(), "--derive-key"),
        (flags.length.is_some(), "--length"),
        (flags.seek > 0, "--seek"),
        (flags.tree, "--tree"),
        (flags.kernel.is_some(), "--kernel"),
        (flags.engine.is_device(), &flags.engine.to_string()),
    ] {
        if given {
            let key = algorithm.key();
            bail!(UsageError(format!("{flag} is for BLAKE3 and cannot be used with --algorithm {key}")));
        }
    }
    Ok(())
}

/// The plan with this kernel only.
fn kernel(name: &str) -> Result<Plan> {
    if let Some(kernel) = Kernel::by_name(name) {
        return Ok(Plan::for_kernel(kernel));
    }
    if let Some((_, needs)) = Kernel::unavailable().find(|(unavailable, _)| *unavailable == name) {
        bail!(unavailable_kernel(name, needs, Cpu::detect().features));
    }
    let names: Vec<_> = Kernel::all().map(Kernel::name).collect();
    bail!(UsageError(format!("no kernel is called {name}; available are {}", names.join(", "))))
}

/// The error for a kernel that needs features, on a processor that has others.
fn unavailable_kernel(name: &str, needs: Features, has: Features) -> UsageError {
    let missing: Vec<_> = has.missing(needs).map(|feature| feature.name()).collect();
    UsageError(format!("kernel {name} needs {}, which this processor lacks", missing.join(", ")))
}

/// The number of threads: the flag, else the variable that b3sum reads, else `None` for one per CPU.
fn threads(flag: Option<usize>) -> Option<NonZero<usize>> {
    let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    flag.and_then(NonZero::new).or_else(|| variable().and_then(NonZero::new))
}

/// Whether standard input is a terminal, so that the program waits for a person to type.
pub(super) fn stdin_is_terminal() -> bool {
    Personality::current() == Personality::Hashmill && std::io::stdin().is_terminal()
}

/// Reads the key from standard input.
fn read_key() -> Result<Zeroizing<[u8; KEY_LEN]>> {
    if stdin_is_terminal() {
        print_note(&format!(
            "standard input is the terminal: type the {KEY_LEN} bytes of the key, and Ctrl-D at the end"
        ));
    }
    // One byte more than a key, so the buffer never grows and leaves no copies.
    let mut bytes = Zeroizing::new([0; KEY_LEN + 1]);
    let mut len = 0;
    let mut stdin = os::stdin().context("the key on standard input")?.lock();
    while len < bytes.len() {
        match stdin.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("reading the key from standard input"),
        }
    }
    let stdin = Personality::current().stdin_name();
    if len > KEY_LEN {
        bail!(UsageError(format!("read more than {KEY_LEN} key bytes from {stdin}")));
    }
    if len < KEY_LEN {
        bail!(UsageError(format!("expected {KEY_LEN} key bytes from {stdin}, found {len}")));
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(&bytes[..KEY_LEN]);
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::isa::Feature;

    #[test]
    fn refused_kernels_name_only_missing_features() {
        let needs = Features::from_list(&[Feature::Avx512, Feature::Bmi2]);
        let has = Features::from_list(&[Feature::Avx2, Feature::Bmi2]);
        let UsageError(message) = unavailable_kernel("avx512-twin", needs, has);
        let expected = "kernel avx512-twin needs AVX-512 (F, VL, BW, DQ), which this processor lacks";
        assert_eq!(message, expected);
    }
}
