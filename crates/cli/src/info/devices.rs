//! What `hashmill info` says of devices.

use crate::kept::{Kept, Tuned, TunedTiles};
use hashmill_gpu::Kind;
use serde::Serialize;

/// What could hash beside the processor.
#[derive(Serialize)]
pub(super) struct Devices {
    found: Vec<Device>,
    /// The place here of the one that `--engine cuda` takes.
    cuda: Option<usize>,
    /// Why NVIDIA's driver says nothing, if so.
    no_cuda: Option<String>,
    /// The place here of the one that `--engine wgpu` takes.
    wgpu: Option<usize>,
    /// What `--engine auto` takes.
    auto: &'static str,
    why: &'static str,
}

#[derive(Serialize)]
struct Device {
    /// Whose list it is in, and its number there: what `--engine` and `--device` are given.
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
    /// What `hashmill tune` has measured and kept: of Argon2, and of files.
    tuned: Vec<Tuned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<TunedTiles>,
}

impl Devices {
    /// Asks the drivers.
    pub(super) fn find(Kept { devices: tuned, files, .. }: &Kept) -> Devices {
        let (cuda, no_cuda) = match hashmill_gpu::cuda::devices() {
            Ok(found) => (found, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let wgpu = hashmill_gpu::wgpu::devices();
        let best = (hashmill_gpu::best(&cuda), hashmill_gpu::best(&wgpu));
        let before = cuda.len();
        let engines = [("cuda", cuda.len()), ("wgpu", wgpu.len())];
        let numbers = engines.into_iter().flat_map(|(engine, count)| (0..count).map(move |n| (engine, n)));
        let found = [cuda, wgpu].concat();
        let device = |((engine, number), device): ((&'static str, usize), &hashmill_gpu::Info)| Device {
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
            auto: "cpu",
            why: hashmill_gpu::why_processor(&found),
        }
    }

    /// The same in words, below an empty line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for (place, device) in self.found.iter().enumerate() {
            let head = if place == 0 { "devices" } else { "" };
            let Device { engine, number, name, kind, interface, driver, .. } = device;
            lines.push(format!("{head:<10} {engine} {number} {name}: {kind}, {interface}, {driver}"));
            let memory = device.memory.map_or("unknown".to_owned(), size);
            let (binding, buffer) = (size(device.largest_binding), size(device.largest_buffer));
            lines
                .push(format!("             memory {memory}, {binding} for a kernel, {buffer} for a buffer"));
            if let Some(lacks) = &device.lacks {
                lines.push(format!("             cannot be used: it lacks {lacks}"));
            }
            for Tuned { memory_kib, passes, lanes, hashes_per_second, of_processor, .. } in &device.tuned {
                lines.push(format!(
                    "             Argon2, {memory_kib} KiB, t {passes}, p {lanes}: {hashes_per_second:.1} hashes a second, \
                     the processor {of_processor:.1}"
                ));
            }
            if device.tuned.iter().any(Tuned::is_faster) {
                let words = "password --engine auto takes it for as many of these as it computes sooner";
                lines.push(format!("             {words}"));
            }
            if let Some(TunedTiles { tiles, bytes_per_second, of_processor, .. }) = &device.files {
                let rates = [bytes_per_second, of_processor].map(|rate| rate / 1e9);
                lines.push(format!(
                    "             files, {tiles}: {:.1} GB a second, the processor {:.1}",
                    rates[0], rates[1]
                ));
            }
            if let Some(tuned) = device.tuned.first() {
                lines.push(format!("             measured here by hashmill tune, last on {}", tuned.date()));
            }
            for (engine, taken) in [("cuda", self.cuda), ("wgpu", self.wgpu)] {
                if taken == Some(place) {
                    lines.push(format!(
                        "             --engine {engine} takes this one, unless --device names another"
                    ));
                }
            }
        }
        if self.found.is_empty() {
            lines.push("devices    none: no driver offers one".to_owned());
        }
        if let Some(why) = &self.no_cuda {
            lines.push(format!("           none of NVIDIA's driver: {why}"));
        }
        lines.push(format!("           sum --engine auto takes the processor: {}", self.why));
        // What is software would take processors from the processor.
        let is_apart = |place: &usize| self.found[*place].kind != Kind::Software.name();
        if let Some(place) = self.cuda.or(self.wgpu).filter(is_apart) {
            let engine = self.found[place].engine;
            lines.push(format!(
                "           password --engine cpu,{engine} shares a list of hashes among both"
            ));
        }
        lines
    }
}

/// What drivers say is seldom round.
fn size(bytes: u64) -> String {
    const GIB: f64 = (1_u64 << 30) as f64;
    match bytes as f64 / GIB {
        few if few < 1.0 => format!("{:.0} MiB", few * 1024.0),
        many => format!("{many:.1} GiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded() {
        for (bytes, said) in
            [(134_217_728, "128 MiB"), (2_147_483_644, "2.0 GiB"), (150_754_820_096, "140.4 GiB")]
        {
            assert_eq!(size(bytes), said);
        }
    }
}
