//! Devices in `hashmill info`.

use hashmill_engines::{TunedArgon2, TunedChoices, TunedTiles};
use hashmill_gpu::{BackEnd, Kind};
use hashmill_machine::memory_size;
use serde::Serialize;

/// The devices that could hash instead of the CPU.
#[derive(Serialize)]
pub(super) struct Devices {
    found: Vec<DeviceInfo>,
    /// Index of the device that `--engine cuda` uses.
    cuda: Option<usize>,
    /// Why NVIDIA's driver reports no devices, if so.
    no_cuda: Option<String>,
    /// Index of the device that `--engine wgpu` uses.
    wgpu: Option<usize>,
    /// Why wgpu reports no devices, if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_wgpu: Option<String>,
    /// What `--engine auto` uses for files.
    auto: &'static str,
    why: &'static str,
}

#[derive(Serialize)]
struct DeviceInfo {
    /// The values for `--engine` and `--device`.
    engine: &'static str,
    number: usize,
    name: String,
    kind: &'static str,
    interface: &'static str,
    driver: String,
    memory: Option<u64>,
    largest_binding: u64,
    largest_buffer: u64,
    subgroup: u32,
    lacks: Option<String>,
    /// Entries of the tune file: for Argon2 and for files.
    tuned: Vec<TunedArgon2>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<TunedTiles>,
}

impl Devices {
    /// Queries the drivers.
    pub(super) fn find(TunedChoices { devices: tuned, files, .. }: &TunedChoices) -> Devices {
        let list = |back_end: BackEnd| match back_end.devices() {
            Ok(found) => (found, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let ((cuda, no_cuda), (wgpu, no_wgpu)) = (list(BackEnd::Cuda), list(BackEnd::Wgpu));
        let best = (hashmill_gpu::best(&cuda), hashmill_gpu::best(&wgpu));
        let before = cuda.len();
        let engines = [("cuda", cuda.len()), ("wgpu", wgpu.len())];
        let numbers = engines.into_iter().flat_map(|(engine, count)| (0..count).map(move |n| (engine, n)));
        let found = [cuda, wgpu].concat();
        let device = |((engine, number), device): ((&'static str, usize), &hashmill_gpu::Info)| DeviceInfo {
            engine,
            number,
            name: device.name.clone(),
            kind: device.kind.name(),
            interface: device.interface,
            driver: device.driver.clone(),
            memory: device.memory,
            largest_binding: device.binding,
            largest_buffer: device.buffer,
            subgroup: device.subgroup,
            lacks: device.lacks.clone(),
            tuned: tuned.iter().filter(|tuned| tuned.is_for(engine, &device.model())).cloned().collect(),
            files: files.iter().find(|tuned| tuned.is_for(engine, &device.model())).cloned(),
        };
        Devices {
            found: numbers.zip(&found).map(device).collect(),
            cuda: best.0,
            no_cuda,
            wgpu: best.1.map(|number| before + number),
            no_wgpu,
            auto: "cpu",
            why: hashmill_gpu::reason_for_processor(&found),
        }
    }

    /// The lines of text, after an empty line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for (index, device) in self.found.iter().enumerate() {
            let head = if index == 0 { "devices" } else { "" };
            let DeviceInfo { engine, number, name, kind, interface, driver, .. } = device;
            lines.push(format!("{head:<10} {engine} {number} {name}: {kind}, {interface}, {driver}"));
            let memory = device.memory.map_or("unknown".to_owned(), memory_size);
            let (binding, buffer) = (memory_size(device.largest_binding), memory_size(device.largest_buffer));
            lines
                .push(format!("             memory {memory}, {binding} for a kernel, {buffer} for a buffer"));
            if let Some(lacks) = &device.lacks {
                lines.push(format!("             cannot be used: it lacks {lacks}"));
            }
            for TunedArgon2 { memory_kib, passes, lanes, hashes_per_second, of_processor, .. } in
                &device.tuned
            {
                lines.push(format!(
                    "             Argon2, {memory_kib} KiB, t {passes}, p {lanes}: {hashes_per_second:.1} hashes per second, \
                     the CPU {of_processor:.1}"
                ));
            }
            if device.tuned.iter().any(TunedArgon2::is_faster) {
                let line = "password --engine auto uses it for batches that it computes faster";
                lines.push(format!("             {line}"));
            }
            if let Some(TunedTiles { tiles, bytes_per_second, of_processor, .. }) = &device.files {
                let rates = [bytes_per_second, of_processor].map(|rate| rate / 1e9);
                lines.push(format!(
                    "             files, {tiles}: {:.1} GB per second, the CPU {:.1}",
                    rates[0], rates[1]
                ));
            }
            if let Some(tuned) = device.tuned.first() {
                lines.push(format!("             measured here by hashmill tune, last on {}", tuned.date()));
            }
            for (engine, used) in [("cuda", self.cuda), ("wgpu", self.wgpu)] {
                if used == Some(index) {
                    lines.push(format!(
                        "             --engine {engine} uses this one, unless --device names another"
                    ));
                }
            }
        }
        if self.found.is_empty() {
            lines.push("devices    none: no driver offers one".to_owned());
        }
        if let Some(reason) = &self.no_cuda {
            lines.push(format!("           none from NVIDIA's driver: {reason}"));
        }
        if let Some(reason) = &self.no_wgpu {
            lines.push(format!("           none from wgpu: {reason}"));
        }
        lines.push(format!("           sum --engine auto uses the CPU: {}", self.why));
        // A software device would take CPU time from the CPU engine.
        let is_hardware = |index: &usize| self.found[*index].kind != Kind::Software.name();
        if let Some(index) = self.cuda.or(self.wgpu).filter(is_hardware) {
            let engine = self.found[index].engine;
            lines.push(format!(
                "           password --engine cpu,{engine} shares a list of hashes between both"
            ));
        }
        lines
    }
}
