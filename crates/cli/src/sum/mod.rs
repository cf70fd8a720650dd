//! `hashmill sum`: from what was typed to what it means, then to the command that does it.

mod check;
mod hash;
mod tree;

use crate::flags::{AlgorithmName, EngineName, Misuse, SumArgs};
use crate::os;
use crate::out::progress::Bar;
use crate::out::{Out, shown};
use crate::{FAILED, OK};
use anyhow::{Context, Result, bail};
use hashmill_files::checkfile::{Algorithm, Style, can_be_read_back};
use hashmill_files::{Files, Function, Options, Strategy};
use hashmill_hash::blake3::{KEY_LEN, Kernel, OUT_LEN, Plan};
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What the flags mean.
struct HiArgs {
    action: Action,
    /// Never empty: standard input stands in.
    paths: Vec<PathBuf>,
    function: Function,
    mode: Mode,
    style: Style,
    options: Options,
    progress: bool,
}

enum Action {
    Hash(hash::How),
    Tree(tree::How),
    Check(check::How),
}

/// The mode of BLAKE3, for words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Hash,
    Keyed,
    DeriveKey,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Hash => "hash",
            Mode::Keyed => "keyed",
            Mode::DeriveKey => "derive-key",
        }
    }
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
    let HiArgs { action, paths, function, mode, style, options, progress } = HiArgs::new(low)?;
    let files = Arc::new(Files::new(function, options));
    let out = |files: Vec<Arc<Files>>, sizes: Option<&[PathBuf]>| {
        Out::new(if progress { Bar::over(files, sizes) } else { None })
    };
    Ok(match action {
        Action::Hash(how) => {
            // Sizes are known beforehand only for files that are named one by one.
            let mut out = out(vec![Arc::clone(&files)], (!how.recursive).then_some(&paths));
            hash::run(&files, paths, &how, mode, style, &mut out);
            out.finish().code(OK, FAILED)
        }
        Action::Tree(how) => {
            let mut out = out(vec![Arc::clone(&files)], None);
            tree::run(&files, &paths, &how, style, &mut out);
            out.finish().code(OK, FAILED)
        }
        Action::Check(how) => {
            // Lists may be of either function, or of both.
            let (blake3, sha256) = match style.algorithm {
                Algorithm::Sha256 => (Arc::new(Files::new(Function::blake3(), options)), files),
                _ => (files, Arc::new(Files::new(Function::sha256(), options))),
            };
            let mut out = out(vec![Arc::clone(&blake3), Arc::clone(&sha256)], None);
            check::run(&check::Hashers { blake3, sha256 }, &paths, &how, style, &mut out);
            out.finish().answer(OK, FAILED)
        }
    })
}

impl HiArgs {
    fn new(low: SumArgs) -> Result<HiArgs> {
        let EngineName::Cpu = low.engine;
        let (algorithm, function) = match low.algorithm {
            Some(AlgorithmName::Sha256) => (Algorithm::Sha256, sha256(&low)?),
            Some(AlgorithmName::Blake3) | None => (Algorithm::Blake3, Function::blake3()),
        };
        let paths = if low.files.is_empty() { vec![PathBuf::from("-")] } else { low.files };
        if low.raw && paths.len() > 1 {
            bail!(Misuse("only one file can be hashed with --raw".into()));
        }
        if low.tree && paths.iter().any(|path| path.as_os_str() == "-") && !low.check {
            bail!(Misuse("--tree takes directories, not standard input".into()));
        }
        let length = low.length.unwrap_or(OUT_LEN as u64);
        // The output of BLAKE3 has bytes 0 to 2^64 - 2, so that its length is a 64-bit number, too.
        let read = if low.check { OUT_LEN as u64 } else { length };
        if low.seek.checked_add(read).is_none() {
            bail!(Misuse(format!(
                "--seek {} with {read} bytes of output goes beyond 2^64 - 1, where BLAKE3's output ends",
                low.seek
            )));
        }

        let plan = low.kernel.as_deref().map(kernel).transpose()?;
        // The key comes last: everything else is known to make sense before standard input is touched.
        let (mode, mut function) = if low.keyed {
            (Mode::Keyed, Function::keyed(read_key()?))
        } else if let Some(context) = &low.derive_key {
            (Mode::DeriveKey, Function::derive_key(context))
        } else {
            (Mode::Hash, function)
        };
        if let Some(plan) = plan {
            function = function.with_plan(plan);
        }
        if low.seek > 0 || length > OUT_LEN as u64 {
            function = function.extended();
        }

        let form = match () {
            () if low.json => Form::Json,
            () if low.raw => Form::Raw,
            () if low.no_names => Form::Bare,
            () if low.tag => Form::Tagged,
            () => Form::Plain,
        };
        let action = if low.check {
            // Only BLAKE3 has trees, and output to seek in.
            let said = low.algorithm.is_some() || low.tree || low.seek > 0;
            Action::Check(check::How {
                said: said.then_some(algorithm),
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
            let (recursive, follow) = (low.recursive, low.follow);
            Action::Hash(hash::How { recursive, follow, form, seek: low.seek, length })
        };

        let mut options = Options::default();
        options.strategy = if low.no_mmap { Strategy::Read } else { low.strategy.unwrap_or_default() };
        options.threads = threads(low.num_threads);
        let style = Style { algorithm, zero: low.zero };
        let progress = !low.no_progress && !low.status;
        Ok(HiArgs { action, paths, function, mode, style, options, progress })
    }
}

fn sha256(low: &SumArgs) -> Result<Function> {
    for (given, flag) in [
        (low.keyed, "--keyed"),
        (low.derive_key.is_some(), "--derive-key"),
        (low.length.is_some(), "--length"),
        (low.seek > 0, "--seek"),
        (low.tree, "--tree"),
        (low.kernel.is_some(), "--kernel"),
    ] {
        if given {
            bail!(Misuse(format!("{flag} is for BLAKE3 and cannot be used with --algorithm sha256")));
        }
    }
    Ok(Function::sha256())
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

fn read_key() -> Result<Zeroizing<[u8; KEY_LEN]>> {
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
    if len > KEY_LEN {
        bail!(Misuse(format!("read more than {KEY_LEN} key bytes from standard input")));
    }
    if len < KEY_LEN {
        bail!(Misuse(format!("expected {KEY_LEN} key bytes from standard input, found {len}")));
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(&bytes[..KEY_LEN]);
    Ok(key)
}
