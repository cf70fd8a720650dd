//! Facts about the machine that a measurement is worthless without. Nothing here is guessed: what cannot be read is `None`.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::fleet;

/// The machine and the tools of one measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Processor name as the system gives it.
    pub cpu: Option<String>,
    /// Vendor, family, model and stepping, which the name of a virtual machine's processor often hides.
    pub cpu_id: Option<String>,
    /// Every feature flag that the system lists.
    pub flags: Vec<String>,
    /// Processors that this process may use.
    pub threads: Option<usize>,
    /// Operating system and its version.
    pub os: Option<String>,
    /// Frequency governor; virtual machines have none.
    pub governor: Option<String>,
    /// The setting of transparent huge pages.
    pub huge_pages: Option<String>,
    /// Mean number of running tasks over the last minute, before the measurement.
    pub load: Option<f64>,
    /// The compiler, in full.
    pub rustc: Option<String>,
    /// The commit of this workspace, with `+` where files differ from it.
    pub commit: Option<String>,
}

impl Host {
    /// Asks the system.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name| field(&cpuinfo, name);
        let id = ["vendor_id", "cpu family", "model", "stepping", "microcode"];
        Self {
            cpu: field("model name"),
            cpu_id: id
                .iter()
                .map(|name| Some(format!("{name} {}", field(name)?)))
                .collect::<Option<Vec<_>>>()
                .map(|parts| parts.join(", ")),
            flags: field("flags")
                .or_else(|| field("Features"))
                .map(|flags| flags.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            threads: thread::available_parallelism().ok().map(Into::into),
            os: line_of("uname", &["-srm"]),
            governor: read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            huge_pages: read_line("/sys/kernel/mm/transparent_hugepage/enabled"),
            load: read_line("/proc/loadavg").and_then(|line| line.split(' ').next()?.parse().ok()),
            rustc: rustc(),
            commit: commit().map(|(commit, dirty)| if dirty { commit + "+" } else { commit }),
        }
    }

    /// A folder name for this kind of machine: the same for every machine with the same processor and thread count.
    pub fn slug(&self) -> String {
        let words = self.cpu.as_deref().unwrap_or(std::env::consts::ARCH);
        let model = self.cpu_id.as_deref().and_then(|id| {
            let part = |name: &str| id.split(", ").find_map(|part| part.strip_prefix(name)).map(str::trim);
            Some(format!(" f{}m{}", part("cpu family")?, part("model")?))
        });
        let threads = self.threads.map(|n| format!(" {n}t")).unwrap_or_default();
        slug(&format!("{words}{}{threads}", model.unwrap_or_default()))
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn read_line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn line_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).current_dir(fleet::workspace()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The compiler, in full.
pub(crate) fn rustc() -> Option<String> {
    line_of("rustc", &["--version"])
}

/// The commit of this workspace, and whether files differ from it.
pub(crate) fn commit() -> Option<(String, bool)> {
    let commit = line_of("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changed = line_of("git", &["status", "--porcelain", "--untracked-files=no"])?;
    Some((commit, !changed.is_empty()))
}

fn slug(words: &str) -> String {
    let mut slug = String::new();
    for part in words.replace("(R)", "").replace("(TM)", "").split(|c: char| !c.is_ascii_alphanumeric()) {
        if !part.is_empty() {
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.push_str(&part.to_ascii_lowercase());
        }
    }
    slug
}

/// The present moment as `2026-01-31T12:34:56Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    timestamp(seconds)
}

fn timestamp(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date `days` after 1 January 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn fields_of_cpuinfo() {
        let text = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: A: CPU\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A: CPU"));
        assert_eq!(field(text, "model").as_deref(), Some("17"));
        assert_eq!(field(text, "none"), None);
    }

    #[test]
    fn a_slug_is_a_plain_folder_name() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor f6m207 2t"), "intel-xeon-processor-f6m207-2t");
        let name = Host::read().slug();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
    }
}
