//! The flags of `hashmill password`.

use super::engine::EnginesFlags;
use crate::flags::known_values::KnownValues;
use clap::{Args, Subcommand};
use hashmill_hash::argon2::Variant;
use hashmill_hash::password::Preset;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Hash, verify and upgrade passwords (Argon2)
///
/// Passwords are never arguments: they are read from standard input (without its last newline), from a file
/// descriptor, or at a prompt without echo if standard input is a terminal.
///
/// Exit codes: 0 success, or yes; 1 no: the password does not match, or the hash need not be replaced; 2 no answer: the command
/// line cannot be used, a hash is malformed or over a limit, or the machine lacks resources.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = "\
Examples:
  hashmill password hash <password.txt
  hashmill password verify --file htpasswd --passwords passwords.txt")]
pub(crate) struct PasswordArgs {
    #[command(subcommand)]
    pub(crate) command: PasswordCommand,
}

/// The commands of `hashmill password`.
#[derive(Subcommand, Debug)]
pub(crate) enum PasswordCommand {
    Hash(HashArgs),
    Verify(VerifyArgs),
    Upgrade(UpgradeArgs),
    NeedsRehash(NeedsRehashArgs),
    Calibrate(CalibrateArgs),
    Kdf(KdfArgs),
    Bench(BenchArgs),
}

/// Print the PHC string to store for a password, with a fresh salt
#[derive(Args, Debug)]
#[command(after_help = HASH_EXAMPLES)]
pub(crate) struct HashArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    #[command(flatten)]
    pub(crate) input: InputFlags,

    /// Print no notes on standard error
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress bar
    #[arg(long, hide_short_help = true)]
    pub(crate) no_progress: bool,

    #[command(flatten)]
    pub(crate) engine: EnginesFlags,
}

/// Verify a password against a hash, or against every hash of a file
///
/// Hashes of bcrypt, scrypt and PBKDF2 are verified, too.
///
/// Exit codes: 0 all match, 1 some do not, 2 no answer for some, or not all answers could be written.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) stored: StoredFlags,

    #[command(flatten)]
    pub(crate) layout: FileFlags,

    /// A file with the password for each line of --file; - is standard input
    ///
    /// Line N belongs to line N, and both files have equally many lines.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["password_fd", "prompt"])]
    pub(crate) passwords: Option<PathBuf>,

    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print one JSON object for each hash
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress bar
    #[arg(long, hide_short_help = true)]
    pub(crate) no_progress: bool,

    #[command(flatten)]
    pub(crate) input: InputFlags,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    #[command(flatten)]
    pub(crate) engine: EnginesFlags,
}

/// Verify a password, and replace its hash by an Argon2 hash with the requested costs
///
/// With --hash, prints the string to store if the password matches: a new one, or the old one if it meets the costs. With
/// --file, entries whose passwords match get new hashes; entries without a password, and all other bytes, stay. The file is
/// replaced atomically, and not if another program changed it meanwhile.
///
/// An Argon2 hash is replaced if needs-rehash says yes; a hash of bcrypt, scrypt or PBKDF2 always. The new string has the form
/// of the old one: with Django's prefix, or a scheme in braces.
///
/// Exit codes: 0 all given passwords match, 1 some do not or none was given, 2 no answer for some, or nothing was written.
#[derive(Args, Debug)]
#[command(after_help = UPGRADE_EXAMPLES)]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    pub(crate) stored: StoredFlags,

    /// A file with an optional password for each line of --file; - is standard input
    ///
    /// Line N belongs to line N; an empty line is no password.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["password_fd", "prompt", "name"])]
    pub(crate) passwords: Option<PathBuf>,

    /// Process only the entry with this name
    #[arg(long, value_name = "NAME", conflicts_with = "hash")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) layout: FileFlags,

    /// Write nothing; report what would be done
    #[arg(short = 'n', long, conflicts_with = "hash")]
    pub(crate) dry_run: bool,

    /// Print no report and no notes
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print one JSON object for each hash
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress bar
    #[arg(long, hide_short_help = true)]
    pub(crate) no_progress: bool,

    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    #[command(flatten)]
    pub(crate) input: InputFlags,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    #[command(flatten)]
    pub(crate) engine: EnginesFlags,
}

/// Tell whether a hash should be replaced to meet the requested costs
///
/// Also prints the comparison: a hash is weaker, stronger, different or the same. Weaker hashes, and those of another variant,
/// should be replaced, unless that would lower a cost. The number of lanes makes a hash neither weaker nor stronger.
///
/// Hashes of other functions are foreign and should be replaced.
///
/// Exit codes: 0 yes for some, 1 no, 2 no answer for some.
#[derive(Args, Debug)]
#[command(after_help = REHASH_EXAMPLES)]
pub(crate) struct NeedsRehashArgs {
    #[command(flatten)]
    pub(crate) stored: StoredFlags,

    #[command(flatten)]
    pub(crate) layout: FileFlags,

    #[command(flatten)]
    pub(crate) policy: PolicyFlags,

    /// Also read hashes that only other implementations accept (docs/password.md)
    #[arg(long)]
    pub(crate) lenient: bool,

    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    /// Print one JSON object for each hash
    #[arg(long)]
    pub(crate) json: bool,
}

/// Choose costs for a time on this machine, and estimate the price of an attack
#[derive(Args, Debug)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Maximum time of a hash: 250ms, 1s, 0.5s
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = parse_time)]
    pub(crate) time: Duration,

    /// Maximum memory of a hash: a number of KiB, or with a unit
    #[arg(short = 'm', long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) memory: Kib,

    /// Lanes; 1 is best for a server with many concurrent logins
    #[arg(short = 'p', long, value_name = "N", default_value_t = 1)]
    pub(crate) lanes: u32,

    /// The variant: argon2id, argon2i or argon2d
    #[arg(
        long,
        value_name = "NAME",
        default_value = "argon2id",
        value_parser = variants(),
        hide_possible_values = true
    )]
    pub(crate) variant: Variant,

    /// The attacker's graphics card: rtx-4090, rtx-5090, h100, h200, mi300x
    #[arg(long, value_name = "NAME", default_value = "rtx-4090")]
    pub(crate) gpu: String,

    /// Price of a kilowatt hour, in US dollars, or give all prices in one other currency
    #[arg(
        long,
        value_name = "PRICE",
        default_value_t = 0.2,
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) energy_price: f64,

    /// Price of the card [default: its usual price, see docs/password.md]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) gpu_price: Option<f64>,

    /// Years of service of a card
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3.0,
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) gpu_years: f64,

    /// Price of renting the card for an hour [default: the lowest usual price]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) gpu_rent: Option<f64>,

    /// Number of passwords that the attacker tries
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1e9,
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) guesses: f64,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Derive a key as the program `argon2` does: same flags, same output
///
/// That is the program of the reference implementation. The password is all of standard input, newlines included.
#[derive(Args, Debug)]
#[command(after_help = KDF_EXAMPLES)]
pub(crate) struct KdfArgs {
    /// The salt to use, at least 8 characters
    #[arg(value_name = "SALT", allow_hyphen_values = true)]
    pub(crate) salt: OsString,

    /// Use Argon2i (this is the default)
    #[arg(short = 'i', conflicts_with_all = ["d", "id"])]
    pub(crate) i: bool,

    /// Use Argon2d instead of Argon2i
    #[arg(short = 'd', conflicts_with = "id")]
    pub(crate) d: bool,

    /// Use Argon2id instead of Argon2i; also written -id
    #[arg(long)]
    pub(crate) id: bool,

    /// The number of iterations
    #[arg(short = 't', value_name = "N", default_value_t = 3)]
    pub(crate) t: u32,

    /// Use 2^N KiB of memory [default: 12]
    #[arg(short = 'm', value_name = "N", conflicts_with = "k", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) m: Option<u32>,

    /// Use N KiB of memory [default: 4096]
    #[arg(short = 'k', value_name = "N")]
    pub(crate) k: Option<u32>,

    /// Lanes, and threads if available
    #[arg(short = 'p', value_name = "N", default_value_t = 1)]
    pub(crate) p: u32,

    /// The length of the output in bytes
    #[arg(short = 'l', value_name = "N", default_value_t = 32)]
    pub(crate) l: usize,

    /// Output only the encoded hash
    #[arg(short = 'e', conflicts_with = "r")]
    pub(crate) e: bool,

    /// Output only the bytes of the hash, in hexadecimal digits
    #[arg(short = 'r')]
    pub(crate) r: bool,

    /// The version: 10 or 13, in hexadecimal digits
    #[arg(
        short = 'v',
        value_name = "VERSION",
        default_value = "13",
        value_parser = ["10", "13"],
        hide_possible_values = true
    )]
    pub(crate) v: String,
}

/// Measure the presets on this machine
#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchArgs {
    /// A preset to measure; may be repeated [default: all that fit into --max-memory]
    #[arg(long = "preset", value_name = "NAME", value_parser = presets(), hide_possible_values = true)]
    pub(crate) presets: Vec<Preset>,

    /// Skip presets that need more memory
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub(crate) max_memory: Kib,

    /// Print one JSON object per preset
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) engine: EnginesFlags,
}

/// Costs and format of new hashes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Costs")]
pub(crate) struct PolicyFlags {
    /// Costs by name; `password bench` lists the presets [default: owasp]
    #[arg(long, value_name = "NAME", value_parser = presets(), hide_possible_values = true)]
    pub(crate) preset: Option<Preset>,

    /// Memory: a number of KiB, or with a unit, such as 64MiB
    #[arg(short = 'm', long, value_name = "SIZE")]
    pub(crate) memory: Option<Kib>,

    /// Passes over the memory
    #[arg(short = 't', long, value_name = "N")]
    pub(crate) passes: Option<u32>,

    /// Lanes
    #[arg(short = 'p', long, value_name = "N")]
    pub(crate) lanes: Option<u32>,

    /// argon2id, argon2i or argon2d [default: argon2id]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = variants(),
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) variant: Option<Variant>,

    /// Bytes of salt, 8 to 64 [default: 16]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) salt_len: Option<usize>,

    /// Bytes of tag, 4 to 128 [default: 32]
    #[arg(short = 'l', long, value_name = "N", hide_short_help = true)]
    pub(crate) tag_len: Option<usize>,
}

/// Source of the password.
#[derive(Args, Debug)]
#[command(next_help_heading = "Password")]
pub(crate) struct InputFlags {
    /// Read the password from this file descriptor
    #[arg(long, value_name = "FD")]
    pub(crate) password_fd: Option<u32>,

    /// Ask for the password on the terminal, even if standard input is not one
    #[arg(long, conflicts_with = "password_fd")]
    pub(crate) prompt: bool,

    /// Allow a new hash of an empty password; verification accepts any
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_empty: bool,

    /// Read a secret key for all hashes ("pepper") from this file descriptor
    #[arg(long, value_name = "FD", hide_short_help = true)]
    pub(crate) secret_fd: Option<u32>,
}

/// Layout of a file of hashes.
#[derive(Args, Debug)]
pub(crate) struct FileFlags {
    /// The file is CSV with hashes in this column: a name, or a number from 1
    ///
    /// Names are in the first line.
    #[arg(long, value_name = "COLUMN", conflicts_with = "hash")]
    pub(crate) csv: Option<CsvColumn>,

    /// The character between columns
    #[arg(long, value_name = "CHAR", default_value_t = ',', requires = "csv", hide_short_help = true)]
    pub(crate) delimiter: char,
}

/// A column of a CSV file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CsvColumn {
    /// From 1.
    Number(usize),
    /// A name in the first line.
    Name(String),
}

impl FromStr for CsvColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<CsvColumn, String> {
        match text.parse() {
            Ok(0) => Err("columns are counted from 1".to_owned()),
            Ok(number) => Ok(CsvColumn::Number(number)),
            Err(_) => Ok(CsvColumn::Name(text.to_owned())),
        }
    }
}

/// Source of the stored hashes.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct StoredFlags {
    /// The stored string; - reads it from standard input, as other users can see arguments of processes
    ///
    /// With -, the password comes from --password-fd or --prompt.
    #[arg(long, value_name = "STRING")]
    pub(crate) hash: Option<OsString>,

    /// A file with one hash per line, also as in htpasswd; - is standard input
    ///
    /// A hash is alone on its line, or follows a name and a colon, as in shadow and htpasswd.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Limits on the costs of stored hashes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// Refuse hashes that need more memory [default: 2GiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_memory: Option<Kib>,

    /// Refuse hashes with more passes [default: 1024]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) max_passes: Option<u32>,

    /// Refuse hashes with more lanes [default: 256]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) max_lanes: Option<u32>,

    /// Refuse hashes with more memory times passes [default: 8GiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_work: Option<Kib>,

    /// Refuse tags of fewer bytes [default: 16]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) min_tag: Option<usize>,

    /// Refuse hashes of bcrypt with a higher cost [default: 16]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) max_bcrypt_cost: Option<u32>,

    /// Refuse hashes of PBKDF2 with more iterations [default: 10000000]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) max_iterations: Option<u32>,

    /// Also read hashes that only other implementations accept (docs/password.md)
    #[arg(long, hide_short_help = true)]
    pub(crate) lenient: bool,
}

const HASH_EXAMPLES: &str = "\
Examples:
  hashmill password hash
  hashmill password hash --preset rfc9106-second <password.txt";

const VERIFY_EXAMPLES: &str = "\
Examples:
  hashmill password verify --hash '$argon2id$v=19$m=19456,t=2,p=1$…'
  hashmill password verify --file htpasswd --passwords passwords.txt";

const UPGRADE_EXAMPLES: &str = "\
Examples:
  hashmill password upgrade --hash '$2y$12$…'
  hashmill password upgrade --file users.csv --csv password --name ann";

const REHASH_EXAMPLES: &str = "\
Examples:
  hashmill password needs-rehash --hash '$argon2id$v=19$m=4096,t=3,p=1$…'
  hashmill password needs-rehash --file users.csv --csv hash --preset owasp-46m";

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  hashmill password calibrate
  hashmill password calibrate --time 1s --memory 1GiB --lanes 4";

const KDF_EXAMPLES: &str = "\
Examples:
  printf %s \"$password\" | hashmill password kdf somesalt -id -t 3 -m 16 -p 4
  printf %s \"$password\" | hashmill password kdf somesalt -r -l 64";

const BENCH_EXAMPLES: &str = "\
Examples:
  hashmill password bench
  hashmill password bench --preset owasp --preset rfc9106-second --json";

/// An amount of memory in KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kib(pub(crate) u64);

impl FromStr for Kib {
    type Err = String;

    /// A whole number with `K`, `M` or `G`, followed by `iB`, `B` or nothing; in KiB without a unit.
    fn from_str(text: &str) -> Result<Kib, String> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "k" | "kb" | "kib" => 0,
            "m" | "mb" | "mib" => 10,
            "g" | "gb" | "gib" => 20,
            _ => return Err("a size is a whole number and K, M or G; without a unit it is in KiB".to_owned()),
        };
        let number: u64 = number.parse().map_err(|_| "a size starts with a whole number".to_owned())?;
        number.checked_mul(1 << shift).map(Kib).ok_or_else(|| "too large".to_owned())
    }
}

/// Parses a time with a unit.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim_start() {
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err("a time is a number and ms or s".to_owned()),
    };
    let seconds = number.parse::<f64>().map_err(|error| error.to_string())? * scale;
    if !(0.001..=3600.0).contains(&seconds) {
        return Err("choose 1ms to 3600s".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parser for presets, with names for completions.
fn presets() -> KnownValues<Preset> {
    KnownValues::new(Preset::ALL.iter().map(Preset::name), preset)
}

/// Parser for variants, with names for completions.
fn variants() -> KnownValues<Variant> {
    KnownValues::new(Variant::ALL.map(Variant::name), |name| {
        name.parse().map_err(|error: <Variant as FromStr>::Err| error.to_string())
    })
}

fn preset(name: &str) -> Result<Preset, String> {
    Preset::by_name(name).ok_or_else(|| {
        let names: Vec<_> = Preset::ALL.iter().map(Preset::name).collect();
        format!("presets are {}", names.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, kib) in [("64", 64), ("64K", 64), ("64MiB", 65536), ("2 g", 2 << 20), ("1gb", 1 << 20)] {
            assert_eq!(text.parse(), Ok(Kib(kib)), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "1T", "18446744073709551615G", "99999999999999999999"] {
            assert!(text.parse::<Kib>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("0.5s"), Ok(Duration::from_millis(500)));
        for text in ["", "5", "5min", "0ms", "3601s", "1.2.3s", "ms"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
