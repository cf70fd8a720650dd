//! `hashmill sum`: from what was typed to what it means, then to the command that does it.

pub(crate) mod audit;
mod check;
mod duplicates;
mod expect;
mod hash;
mod operands;
mod tree;
mod update;
mod xattr;

use crate::engine;
use crate::findings::{Findings, Show, or_trouble};
use crate::flags::{EngineFlags, Misuse, SumArgs};
use crate::kept;
use crate::os;
use crate::out::progress::{Bar, Survey, hushed};
use crate::out::{Out, Target, remark, shown};
use crate::program::Program;
use crate::{FAILED, OK};
use anyhow::{Context, Result, bail};
use hashmill_files::checkfile::{Algorithm, Mode, Style, can_be_read_back};
use hashmill_files::manifest::Update;
use hashmill_files::walk::Rules;
use hashmill_files::{FileId, Files, Filter, Function, Options, Strategy};
use hashmill_hash::blake3::{KEY_LEN, Kernel, OUT_LEN, Plan};
pub(crate) use operands::files_below;
use operands::{Operands, Paths};
use std::cell::RefCell;
use std::fs::Metadata;
use std::io::{IsTerminal, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What the flags mean.
struct HiArgs {
    action: Action,
    /// Never empty: standard input stands in.
    paths: Vec<PathBuf>,
    /// Where further names are.
    files_from: Option<PathBuf>,
    /// How directories are walked, if they are.
    rules: Option<Rules>,
    /// The function, if the user said so.
    said: Option<Algorithm>,
    /// What is written instead of standard output.
    output: Option<PathBuf>,
    function: Function,
    /// How BLAKE3 is computed.
    plan: Plan,
    mode: Mode,
    style: Style,
    options: Options,
    engine: EngineFlags,
    progress: bool,
}

enum Action {
    Hash(hash::How),
    Tree(tree::How),
    Check(check::How),
    Expect(expect::How),
    Audit(PathBuf, Findings),
    Update(PathBuf, update::How),
    Duplicates(duplicates::How),
    Xattr(xattr::How),
}

/// How a file is named in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `HEX  NAME`
    Plain,
    /// `BLAKE3 (NAME) = HEX`
    Tagged,
    /// `HEX`
    Bare,
    /// The bytes of the digest alone.
    Raw,
    /// A JSON object.
    Json,
}

/// Names in a list that nobody can read back from it.
#[derive(Default)]
struct Lossy {
    count: u64,
    first: PathBuf,
}

impl Lossy {
    /// Looks at a name that is written.
    fn note(&mut self, form: Form, path: &Path, style: Style) {
        if matches!(form, Form::Plain | Form::Tagged) && !can_be_read_back(path, style) {
            self.count += 1;
            if self.count == 1 {
                self.first = path.to_owned();
            }
        }
    }

    fn warn(&self, out: &mut Out) {
        let names = match self.count {
            0 => return,
            1 => "1 name is".to_owned(),
            count => format!("{count} names are"),
        };
        out.note(&format!(
            "WARNING: {names} no UTF-8 and cannot be checked in this list, the first is {}; see --zero",
            shown(&self.first)
        ));
    }
}

/// Does what the flags say.
pub(crate) fn run(low: SumArgs) -> Result<u8> {
    let high = HiArgs::new(low)?;
    let HiArgs { action, paths, files_from, rules, said, output, function, mode, style, options, .. } = high;
    let progress = high.progress;
    let files = Arc::new(engine::files(&high.engine, function, options)?);
    let target = output.as_deref().map(Target::begin).transpose()?.flatten();
    let rules = rules.map(|mut rules| {
        rules.except.extend(own_files(target.as_ref()));
        Arc::new(rules)
    });
    let make = |algorithm| Files::new(Function::by(algorithm).with_plan(high.plan), options);
    let used = RefCell::new(Vec::new());
    let out = |phase, files: Vec<Arc<Files>>, survey: Option<Survey>| {
        used.borrow_mut().clone_from(&files);
        let bar = if progress { Bar::over(phase, files, survey) } else { None };
        match target {
            Some(target) => Out::into_file(target, bar),
            None => Out::new(bar),
        }
    };
    let code = match action {
        Action::Hash(how) => {
            let paths = match &files_from {
                Some(from) => Paths::from(from)?,
                None => Paths::given(paths),
            };
            let survey = operands::survey(paths.as_slice().unwrap_or_default(), files_from, rules.as_ref());
            let mut out = out("hashing", vec![Arc::clone(&files)], survey);
            let waits =
                paths.as_slice().is_some_and(|paths| paths.iter().any(|path| path.as_os_str() == "-"));
            if waits && stdin_is_terminal() {
                out.note("standard input is the terminal: type what is to be hashed, and Ctrl-D at the end");
            }
            hash::run(&files, Operands::new(paths, rules, mode), &how, mode, style, &mut out);
            out.finish().code(OK, FAILED)
        }
        Action::Tree(how) => {
            let survey = operands::survey(&paths, None, Some(&Arc::default()));
            let mut out = out("hashing", vec![Arc::clone(&files)], survey);
            tree::run(&files, &paths, &how, style, &mut out);
            out.finish().code(OK, FAILED)
        }
        Action::Check(how) => {
            // Lists may be of any function, or of several.
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let mut out = out("checking", hashers.all(), check::survey(&paths, &how, style));
            if paths.iter().any(|path| path.as_os_str() == "-") && stdin_is_terminal() {
                out.note("standard input is the terminal: type the list, and Ctrl-D at the end");
            }
            check::run(&hashers, &paths, &how, style, &mut out);
            out.finish().answer(OK, FAILED)
        }
        Action::Audit(manifest, findings) => {
            let old = match audit::Old::read(&manifest, style.zero, &paths, said, make) {
                Ok(old) => old,
                Err(error) => return or_trouble(Err(error)),
            };
            let files = if old.algorithm == style.algorithm { files } else { Arc::new(make(old.algorithm)) };
            let rules = besides(rules, old.ids.iter().copied());
            let survey = operands::survey(&paths, None, rules.as_ref());
            let mut out = out("auditing", vec![Arc::clone(&files)], survey);
            let items = Operands::new(Paths::given(paths), rules, mode);
            let failed = audit::run(&files, items, &old, findings, &mut out);
            out.finish().answer(OK, failed)
        }
        Action::Update(manifest, how) => {
            let said = audit::function_of(&manifest, &paths, said, make)?;
            let (update, _leftover) =
                os::Leftover::of(|| Update::begin(&manifest, said), Update::temporary_name)
                    .with_context(|| shown(&manifest).into_owned())?;
            let algorithm = update.algorithm();
            let files = if algorithm == style.algorithm { files } else { Arc::new(make(algorithm)) };
            let rules = besides(rules, update.files());
            let survey = operands::survey(&paths, None, rules.as_ref());
            let mut out = out("updating", vec![Arc::clone(&files)], survey);
            let items = Operands::new(Paths::given(paths.clone()), rules, mode);
            update::run(&files, items, update, &manifest, &paths, &how, &mut out);
            out.finish().answer(OK, FAILED)
        }
        Action::Duplicates(how) => {
            let mut out = out("looking", vec![Arc::clone(&files)], None);
            let items = Operands::new(Paths::given(paths), rules, mode);
            duplicates::run(&files, items, &how, &mut out);
            out.finish().code(OK, FAILED)
        }
        Action::Xattr(how) => {
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let paths = match &files_from {
                Some(from) => Paths::from(from)?,
                None => Paths::given(paths),
            };
            let survey = operands::survey(paths.as_slice().unwrap_or_default(), files_from, rules.as_ref());
            let mut out = out("tagging", hashers.all(), survey);
            xattr::run(&hashers, Operands::new(paths, rules, mode), &how, &mut out);
            out.finish().answer(OK, FAILED)
        }
        Action::Expect(how) => {
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let rules = how.tree.then(Arc::default);
            let mut out = out("comparing", hashers.all(), operands::survey(&paths, None, rules.as_ref()));
            expect::run(&hashers, &paths[0], &how, &mut out);
            out.finish().answer(OK, FAILED)
        }
    };
    if let Some(error) = used.borrow().iter().find_map(|files| files.direct_failure()) {
        remark(&format!("--strategy direct: not everything was read past the system's cache: {error}"));
    }
    Ok(code)
}

/// The same rules, and these files are left out, too.
fn besides(rules: Option<Arc<Rules>>, ids: impl IntoIterator<Item = FileId>) -> Option<Arc<Rules>> {
    rules.map(|rules| {
        let mut rules = Arc::unwrap_or_clone(rules);
        rules.except.extend(ids);
        Arc::new(rules)
    })
}

/// The files that this run writes, and what it was told to write to: their digests would be those of something else at the
/// end.
fn own_files(target: Option<&Target>) -> Vec<FileId> {
    let written = os::output_metadata().filter(Metadata::is_file);
    let written = written.as_ref().and_then(FileId::of);
    written.into_iter().chain(target.into_iter().flat_map(Target::ids)).collect()
}

impl HiArgs {
    fn new(mut low: SumArgs) -> Result<HiArgs> {
        let program = Program::this();
        let said = match (low.algorithm, program) {
            (Some(name), _) => Some(name.meaning()),
            (None, Program::Gnu(algorithm)) => Some(algorithm),
            // It knows no other.
            (None, Program::B3sum) => Some(Algorithm::Blake3),
            (None, Program::Hashmill) => None,
        };
        let algorithm = said.unwrap_or_default();
        only_blake3(&low, algorithm)?;
        of_one_job(&low)?;
        let function = Function::by(algorithm);
        let walks = low.audit.is_some() || low.update.is_some() || low.duplicates;
        let mut paths = std::mem::take(&mut low.files);
        if low.files_from.is_some() && !paths.is_empty() {
            bail!(Misuse("names come from --files-from or are operands, not both".into()));
        }
        if paths.is_empty() {
            // Where directories are meant, no operand is the current one; elsewhere it is standard input.
            let directories = walks || low.recursive || (low.tree && !low.check);
            paths.push(PathBuf::from(if directories { "." } else { "-" }));
        }
        if walks && paths.iter().any(|path| path.as_os_str() == "-") {
            bail!(Misuse("manifests are about files, not about standard input".into()));
        }
        let names_stdin = paths.iter().any(|path| path.as_os_str() == "-");
        if low.xattr && names_stdin && low.files_from.is_none() {
            bail!(Misuse("--xattr is about files, not about standard input".into()));
        }
        if low.raw && paths.len() > 1 {
            let words = match program {
                Program::B3sum => "Only one filename can be provided when using --raw",
                _ => "only one file can be hashed with --raw",
            };
            bail!(Misuse(words.into()));
        }
        if low.tree && paths.iter().any(|path| path.as_os_str() == "-") && !low.check {
            bail!(Misuse("--tree takes directories, not standard input".into()));
        }
        if low.check && low.keyed && paths.iter().any(|path| path.as_os_str() == "-") {
            bail!(Misuse("the key comes from standard input, so no list can".into()));
        }
        if low.check && low.length == Some(0) {
            bail!(Misuse("--check compares nothing with --length 0".into()));
        }
        let length = low.length.unwrap_or(algorithm.digest_len() as u64);
        // The output of BLAKE3 has bytes 0 to 2^64 - 2, so that its length is a 64-bit number, too.
        if low.seek.checked_add(length).is_none() {
            bail!(Misuse(format!(
                "--seek {} with {length} bytes of output goes beyond 2^64 - 1, where BLAKE3's output ends",
                low.seek
            )));
        }

        let plan = match &low.kernel {
            Some(name) => kernel(name)?,
            None if said.is_none_or(|said| said == Algorithm::Blake3) => kept::blake3(),
            None => Plan::host(),
        };
        // The key comes last: everything else is known to make sense before standard input is touched.
        let (mode, mut function) = if low.keyed {
            (Mode::Keyed, Function::keyed(read_key()?))
        } else if let Some(context) = &low.derive_key {
            (Mode::DeriveKey, Function::derive_key(context))
        } else {
            (Mode::Hash, function)
        };
        function = function.with_plan(plan);
        if low.seek > 0 || (algorithm == Algorithm::Blake3 && length > OUT_LEN as u64) {
            function = function.extended();
        }

        let form = match () {
            () if low.json => Form::Json,
            () if low.raw => Form::Raw,
            () if low.no_names => Form::Bare,
            () if low.tag => Form::Tagged,
            () => Form::Plain,
        };
        // Only BLAKE3 has trees, keys, and output to seek in.
        let blake3 = low.tree || low.seek > 0 || mode != Mode::Hash;
        let said = said.or(blake3.then_some(Algorithm::Blake3));
        let show = Show { json: low.json, quiet: low.quiet, verbose: low.verbose };
        let action = if let Some(manifest) = &low.audit {
            Action::Audit(manifest.clone(), Findings::new(show))
        } else if let Some(manifest) = &low.update {
            let (paranoid, retag, allow_gone) = (low.paranoid, low.retag, low.allow_gone);
            Action::Update(manifest.clone(), update::How { paranoid, retag, allow_gone, show })
        } else if low.duplicates {
            Action::Duplicates(duplicates::How {
                json: low.json,
                quiet: low.quiet,
                zero: low.zero,
                digest_len: algorithm.digest_len(),
                algorithm: algorithm.key(),
            })
        } else if low.xattr {
            Action::Xattr(xattr::How { said, retag: low.retag, dry_run: low.dry_run, show })
        } else if let Some(text) = &low.expect {
            if paths.len() > 1 {
                bail!(Misuse("only one file can be compared with --expect".into()));
            }
            let said = said.or(low.length.map(|_| Algorithm::Blake3));
            let expected = expect::Expected::parse(text, said, low.length)?;
            Action::Expect(expect::How {
                expected,
                seek: low.seek,
                tree: low.tree,
                json: low.json,
                quiet: low.quiet,
            })
        } else if low.check {
            Action::Check(check::How {
                program,
                said,
                mode,
                seek: low.seek,
                tree: low.tree,
                json: low.json,
                quiet: low.quiet || low.status,
                status: low.status,
                ignore_missing: low.ignore_missing,
                warn: low.warn,
                strict: low.strict,
            })
        } else if low.tree {
            Action::Tree(tree::How { form })
        } else {
            Action::Hash(hash::How { form, seek: low.seek, length, program })
        };

        let rules = rules(&low, walks)?;
        let mut options = Options::default();
        options.strategy = if low.no_mmap { Strategy::Read } else { low.strategy.unwrap_or_default() };
        options.threads = threads(low.num_threads);
        options.keep_going = low.keep_going;
        let style = Style {
            algorithm,
            length: low.length.filter(|_| low.check).and_then(NonZero::new),
            zero: low.zero,
            // Lists of other functions are for other programs, which write names so.
            bytes: algorithm != Algorithm::Blake3,
            binary: low.binary,
        };
        let progress = !low.no_progress && !hushed(low.status);
        let (files_from, output) = (low.files_from, low.output);
        Ok(HiArgs {
            action,
            paths,
            files_from,
            rules,
            said,
            output,
            function,
            plan,
            mode,
            style,
            options,
            engine: low.engine,
            progress,
        })
    }
}

/// How directories are walked, if they are.
fn rules(low: &SumArgs, walks: bool) -> Result<Option<Rules>> {
    let mut rules = Rules::default();
    rules.follow = low.follow;
    rules.one_file_system = low.one_file_system;
    rules.skip_pseudo = true;
    rules.skip_hidden = low.no_hidden;
    rules.ignore_files = low.ignore_files;
    rules.filter = Filter::new(&low.exclude, &low.include).map_err(|error| Misuse(error.to_string()))?;
    if low.recursive || walks {
        return Ok(Some(rules));
    }
    for (given, flag) in [
        (!low.exclude.is_empty(), "--exclude"),
        (!low.include.is_empty(), "--include"),
        (low.one_file_system, "--one-file-system"),
        (low.no_hidden, "--no-hidden"),
        (low.ignore_files, "--ignore-files"),
        (low.follow, "--follow"),
    ] {
        if given {
            bail!(Misuse(format!("{flag} is about what is below directories; see --recursive")));
        }
    }
    Ok(None)
}

/// Flags of one job with another. The parser lets them pass: what they need cannot be there beside what is.
fn of_one_job(low: &SumArgs) -> Result<()> {
    let tags = low.update.is_some() || low.xattr;
    for (given, flag, is_there, job) in [
        (low.paranoid, "--paranoid", low.update.is_some(), "--update"),
        (low.allow_gone, "--allow-gone", low.update.is_some(), "--update"),
        (low.verbose, "--verbose", low.audit.is_some() || tags, "--audit, --update and --xattr"),
        (low.retag, "--retag", tags, "--update and --xattr"),
        (low.dry_run, "--dry-run", low.xattr, "--xattr"),
        (low.status, "--status", low.check, "--check"),
        (low.ignore_missing, "--ignore-missing", low.check, "--check"),
        (low.warn, "--warn", low.check, "--check"),
        (low.strict, "--strict", low.check, "--check"),
    ] {
        if given && !is_there {
            bail!(Misuse(format!("{flag} is for {job}")));
        }
    }
    Ok(())
}

fn only_blake3(low: &SumArgs, algorithm: Algorithm) -> Result<()> {
    if algorithm == Algorithm::Blake3 {
        return Ok(());
    }
    for (given, flag) in [
        (low.keyed, "--keyed"),
        (low.derive_key.is_some(), "--derive-key"),
        (low.length.is_some(), "--length"),
        (low.seek > 0, "--seek"),
        (low.tree, "--tree"),
        (low.kernel.is_some(), "--kernel"),
        (low.engine.is_device(), &low.engine.to_string()),
    ] {
        if given {
            let key = algorithm.key();
            bail!(Misuse(format!("{flag} is for BLAKE3 and cannot be used with --algorithm {key}")));
        }
    }
    Ok(())
}

fn kernel(name: &str) -> Result<Plan> {
    if let Some(kernel) = Kernel::by_name(name) {
        return Ok(Plan::of(kernel));
    }
    if let Some((_, missing)) = Kernel::unavailable().find(|(unavailable, _)| *unavailable == name) {
        let missing: Vec<_> = missing.iter().map(|feature| feature.name()).collect();
        bail!(Misuse(format!("kernel {name} needs {}, which this processor lacks", missing.join(", "))));
    }
    let names: Vec<_> = Kernel::all().map(Kernel::name).collect();
    bail!(Misuse(format!("no kernel is called {name}; here run {}", names.join(", "))))
}

/// The flag, else the variable that b3sum's users know, else one per processor.
fn threads(flag: Option<usize>) -> Option<NonZero<usize>> {
    let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    flag.and_then(NonZero::new).or_else(|| variable().and_then(NonZero::new))
}

/// Whether standard input is a terminal, so that a person has to type what the program waits for.
fn stdin_is_terminal() -> bool {
    Program::this() == Program::Hashmill && std::io::stdin().is_terminal()
}

fn read_key() -> Result<Zeroizing<[u8; KEY_LEN]>> {
    if stdin_is_terminal() {
        remark(&format!(
            "standard input is the terminal: type the {KEY_LEN} bytes of the key, and Ctrl-D at the end"
        ));
    }
    // One byte of room more than a key, and no growth that would leave copies behind.
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
    let stdin = Program::this().stdin();
    if len > KEY_LEN {
        bail!(Misuse(format!("read more than {KEY_LEN} key bytes from {stdin}")));
    }
    if len < KEY_LEN {
        bail!(Misuse(format!("expected {KEY_LEN} key bytes from {stdin}, found {len}")));
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(&bytes[..KEY_LEN]);
    Ok(key)
}
