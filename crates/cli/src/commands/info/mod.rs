//! `hashmill info`: the CPU features, kernels and devices used on this machine.

#[cfg(feature = "gpu")]
mod devices;

use crate::flags::InfoArgs;
use crate::output::{self, display_path};
use crate::tune_file::{self, TuneFileState};
use anyhow::Result;
use hashmill_engines::TunedChoices;
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_hash::isa::{Cpu, Features};
use hashmill_machine as machine;
use serde::Serialize;
use std::path::Path;

/// Input sizes: one of each class, and those at which many-chunk kernels change.
const SIZES: [usize; 10] = [1, 64, 65, 1024, 1025, 4096, 8192, 16384, 131_072, 1 << 20];

/// The report. The field names are those of the JSON.
#[derive(Serialize)]
struct InfoReport {
    version: &'static str,
    cpu: String,
    threads: usize,
    features: Vec<&'static str>,
    tune_kind: &'static str,
    tune_basis: &'static str,
    choice: Choice,
    sizes: Vec<Size>,
    argon2: Argon2,
    kernels: Vec<AvailableKernel>,
    unavailable_kernels: Vec<UnavailableKernel>,
    page_size: Option<usize>,
    huge_pages: Vec<HugePages>,
    transparent_huge_pages: Option<String>,
    #[cfg(feature = "gpu")]
    devices: devices::Devices,
}

/// Origin of the plans for BLAKE3 and Argon2.
#[derive(Serialize)]
struct Choice {
    /// Whether `hashmill tune` measured it; else it is built in.
    tuned: bool,
    /// Whether both plans were measured on this kind of CPU.
    measured: bool,
    /// Date of the measurement by `hashmill tune`.
    date: Option<String>,
    /// The tune file, and why it is ignored, if it is.
    file: Option<String>,
    ignored: Option<String>,
    /// Entries of the file that are ignored, and why.
    faults: Vec<String>,
}

#[derive(Serialize)]
struct Argon2 {
    kernel: &'static str,
    tune_kind: &'static str,
    tune_basis: &'static str,
    /// CPUs for the threads of a search, best first.
    cores: Vec<usize>,
}

#[derive(Serialize)]
struct Size {
    bytes: usize,
    class: &'static str,
    kernel: &'static str,
    lanes: usize,
    parallel: bool,
    why: &'static str,
}

#[derive(Serialize)]
struct AvailableKernel {
    name: &'static str,
    lanes: usize,
}

#[derive(Serialize)]
struct UnavailableKernel {
    name: &'static str,
    lacks: Vec<&'static str>,
}

#[derive(Serialize)]
struct HugePages {
    bytes: u64,
    reserved: u64,
}

/// Prints the report.
pub(crate) fn run(flags: &InfoArgs) -> Result<()> {
    let report = gather();
    let text = if flags.json { serde_json::to_string(&report)? + "\n" } else { text(&report) };
    output::print(&text)
}

fn gather() -> InfoReport {
    let cpu = Cpu::detect();
    let found = tune_file::find();
    let (plan, argon2_plan) = match &found {
        TuneFileState::Valid(_, TunedChoices { choice: Some(choice), .. }) => {
            (choice.blake3(), choice.argon2())
        }
        _ => (Plan::host(), argon2::Plan::host()),
    };
    let choice = choice(&found, plan.is_measured() && argon2_plan.is_measured());
    let size = |bytes| {
        let choice = plan.explain(bytes);
        let kernel = choice.kernel.name();
        Size {
            bytes,
            class: choice.class,
            kernel,
            lanes: choice.lanes,
            parallel: choice.parallel,
            why: choice.reason,
        }
    };
    InfoReport {
        version: env!("CARGO_PKG_VERSION"),
        cpu: cpu.brand().to_owned(),
        threads: machine::threads(),
        features: cpu.features.iter().map(|feature| feature.name()).collect(),
        tune_kind: plan.kind(),
        tune_basis: plan.basis(),
        choice,
        sizes: SIZES.map(size).into(),
        argon2: argon2(argon2_plan),
        kernels: Kernel::all()
            .map(|kernel| AvailableKernel { name: kernel.name(), lanes: kernel.lanes() })
            .collect(),
        unavailable_kernels: Kernel::unavailable()
            .map(|(name, needs)| UnavailableKernel::new(name, needs, cpu.features))
            .collect(),
        page_size: machine::page_size(),
        huge_pages: machine::huge_page_sizes()
            .into_iter()
            .map(|(bytes, reserved)| HugePages { bytes, reserved })
            .collect(),
        transparent_huge_pages: machine::transparent_huge_pages(),
        #[cfg(feature = "gpu")]
        devices: devices::Devices::find(&found.choices()),
    }
}

fn choice(found: &TuneFileState, measured: bool) -> Choice {
    let built_in =
        Choice { tuned: false, measured, date: None, file: None, ignored: None, faults: Vec::new() };
    let name = |path: &Path| Some(display_path(path).into_owned());
    match found {
        TuneFileState::Missing => built_in,
        TuneFileState::Disabled => Choice { ignored: Some("HASHMILL_TUNE is off".to_owned()), ..built_in },
        TuneFileState::Ignored(path, reason) => {
            Choice { file: name(path), ignored: Some(reason.clone()), ..built_in }
        }
        TuneFileState::Valid(path, TunedChoices { choice, faults, .. }) => {
            let (date, faults) = (choice.as_ref().map(|choice| choice.date().to_owned()), faults.clone());
            // The file may have entries of devices only.
            let file = name(path).filter(|_| date.is_some() || !faults.is_empty());
            Choice { tuned: date.is_some(), date, file, faults, ..built_in }
        }
    }
}

impl Choice {
    fn lines(&self) -> Vec<String> {
        let Choice { tuned, measured, date, file, ignored, faults } = self;
        let file = file.as_deref();
        let first = match (tuned, measured) {
            (true, _) => format!(
                "measured here on {}: {}",
                date.as_deref().unwrap_or_default(),
                file.unwrap_or_default()
            ),
            (false, true) => "built in, measured on this kind of CPU".to_owned(),
            (false, false) => {
                "built in, not measured on this kind of CPU: 'hashmill tune' measures it".to_owned()
            }
        };
        let ignored = ignored.as_ref().map(|reason| {
            format!("           {} is ignored: {reason}", file.unwrap_or("the choice of 'hashmill tune'"))
        });
        let faults = faults
            .iter()
            .map(|fault| format!("           {}, {fault}: this is ignored", file.unwrap_or_default()));
        [format!("choice     {first}")].into_iter().chain(ignored).chain(faults).collect()
    }
}

impl UnavailableKernel {
    /// A kernel that needs features, on a CPU that has others.
    fn new(name: &'static str, needs: Features, has: Features) -> UnavailableKernel {
        UnavailableKernel { name, lacks: has.missing(needs).map(|feature| feature.name()).collect() }
    }

    fn line(&self) -> String {
        format!("kernel {} is not available: the CPU lacks {}", self.name, list(&self.lacks))
    }
}

fn argon2(plan: argon2::Plan) -> Argon2 {
    let cores = machine::processors();
    Argon2 {
        kernel: plan.kernel().name(),
        tune_kind: plan.kind(),
        tune_basis: plan.basis(),
        cores: machine::place_threads(&cores, cores.len()),
    }
}

fn text(report: &InfoReport) -> String {
    let mut lines = vec![
        format!("hashmill {}", report.version),
        format!(
            "cpu        {}, {} threads",
            if report.cpu.is_empty() { "unknown" } else { &report.cpu },
            report.threads
        ),
        format!("features   {}", list(&report.features)),
        format!("tuned for  {} ({})", report.tune_kind, report.tune_basis),
    ];
    lines.extend(report.choice.lines());
    lines.extend([
        String::new(),
        "BLAKE3, by size of the input:".to_owned(),
        format!("{:>9}  {:<15} {:<12} {:>5}  second thread  why", "bytes", "class", "kernel", "lanes"),
    ]);
    for Size { bytes, class, kernel, lanes, parallel, why } in &report.sizes {
        let parallel = if *parallel { "yes" } else { "no" };
        lines.push(format!("{bytes:>9}  {class:<15} {kernel:<12} {lanes:>5}  {parallel:<13}  {why}"));
    }
    lines.push(String::new());
    let kernels: Vec<_> = report.kernels.iter().map(|kernel| kernel.name).collect();
    lines.push(format!("available kernels, for --kernel: {}", list(&kernels)));
    lines.extend(report.unavailable_kernels.iter().map(UnavailableKernel::line));
    let Argon2 { kernel, tune_kind, tune_basis, cores } = &report.argon2;
    lines.push(String::new());
    lines.push(format!("Argon2     kernel {kernel}, tuned for {tune_kind} ({tune_basis})"));
    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
    lines.push(format!("           CPUs for a search, best first: {}", cores.join(" ")));
    lines.push(String::new());
    lines.push(match report.page_size {
        Some(size) => format!("pages      {}", bytes(size as u64)),
        None => "pages      unknown".to_owned(),
    });
    for HugePages { bytes: size, reserved } in &report.huge_pages {
        lines.push(format!("           {} huge, {reserved} reserved", bytes(*size)));
    }
    if let Some(setting) = &report.transparent_huge_pages {
        lines.push(format!("           transparent huge pages: {setting}"));
    }
    #[cfg(feature = "gpu")]
    lines.extend(report.devices.lines());
    lines.join("\n") + "\n"
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn bytes(count: u64) -> String {
    match count {
        _ if count >= 1 << 30 && count.is_multiple_of(1 << 30) => format!("{} GiB", count >> 30),
        _ if count >= 1 << 20 && count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ => format!("{} KiB", count >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::isa::Feature;

    /// The CPUs are invented: the one of the test may have every feature.
    #[test]
    fn unavailable_kernels_name_only_missing_features() {
        let needs = Features::from_list(&[Feature::Avx512, Feature::Bmi2]);
        for (has, lacks) in [
            (&[][..], "BMI2, AVX-512 (F, VL, BW, DQ)"),
            (&[Feature::Sse41, Feature::Avx2, Feature::Bmi2], "AVX-512 (F, VL, BW, DQ)"),
            (&[Feature::Avx2, Feature::Avx512], "BMI2"),
        ] {
            let kernel = UnavailableKernel::new("avx512-ymm", needs, Features::from_list(has));
            assert_eq!(kernel.line(), format!("kernel avx512-ymm is not available: the CPU lacks {lacks}"));
            assert_eq!(kernel.lacks.join(", "), lacks);
        }
    }

    #[test]
    fn choice_names_its_origin() {
        let built_in = |measured| choice(&TuneFileState::Missing, measured);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(built_in(true).lines(), ["choice     built in, measured on this kind of CPU"]);
        let unknown = built_in(false).lines();
        assert!(unknown[0].ends_with("not measured on this kind of CPU: 'hashmill tune' measures it"));
        let tuned = Choice { tuned: true, date: some("2026-11-26"), file: some("/f"), ..built_in(true) };
        assert_eq!(tuned.lines(), ["choice     measured here on 2026-11-26: /f"]);
        let ignored = Choice { file: some("/f"), ignored: some("it is damaged"), ..built_in(true) };
        assert_eq!(ignored.lines()[1], "           /f is ignored: it is damaged");
        let faults = vec!["entry 2 of devices: its date is invalid".to_owned()];
        let with_faults =
            TuneFileState::Valid("/f".into(), TunedChoices { faults, ..TunedChoices::default() });
        let lines = choice(&with_faults, true).lines();
        assert_eq!(lines[1], "           /f, entry 2 of devices: its date is invalid: this is ignored");
        let off = choice(&TuneFileState::Disabled, true).lines();
        assert_eq!(off[1], "           the choice of 'hashmill tune' is ignored: HASHMILL_TUNE is off");
    }
}
