//! Temperature of the processor, and its source of power.

use crate::linux::{self, line};
use std::path::{Path, PathBuf};

/// Degrees Celsius of the hottest sensor of the processors. `None` if the system reports none, as most virtual
/// machines and all systems but Linux.
#[must_use]
pub fn processor_temperature() -> Option<f32> {
    temperature_below(Path::new("/"))
}

/// Does the machine run on a battery? `None` if the system reports no source of power.
#[must_use]
pub fn on_battery() -> Option<bool> {
    on_battery_below(Path::new("/"))
}

/// Drivers of sensors in processors.
const PROCESSOR_SENSORS: [&str; 5] = ["coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors"];

/// Thermal zones of processors, where there are no such drivers.
const PROCESSOR_ZONES: [&str; 4] = ["x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal"];

fn temperature_below(root: &Path) -> Option<f32> {
    let class = root.join("sys/class");
    let is_input = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("temp") && name.ends_with("_input"))
    };
    let sensors = children(&class.join("hwmon")).into_iter().filter(|sensor| {
        line(sensor.join("name")).is_some_and(|name| PROCESSOR_SENSORS.contains(&name.as_str()))
    });
    let inputs = sensors.flat_map(|sensor| children(&sensor)).filter(is_input);
    let zones = children(&class.join("thermal")).into_iter().filter(|zone| {
        line(zone.join("type")).is_some_and(|name| PROCESSOR_ZONES.iter().any(|zone| name.starts_with(zone)))
    });
    let zones = zones.map(|zone| zone.join("temp"));
    hottest(inputs).or_else(|| hottest(zones))
}

/// The highest of these files, which have thousandths of a degree.
fn hottest(files: impl Iterator<Item = PathBuf>) -> Option<f32> {
    let degrees = |file: PathBuf| Some(line(file)?.parse::<f32>().ok()? / 1000.0);
    files.filter_map(degrees).filter(|degrees| degrees.is_finite()).max_by(f32::total_cmp)
}

fn on_battery_below(root: &Path) -> Option<bool> {
    let supplies = children(&root.join("sys/class/power_supply"));
    let kind = |supply: &PathBuf, name: &str| line(supply.join("type")).is_some_and(|kind| kind == name);
    // Batteries of mice and the like have the scope of a device.
    let is_own = |supply: &&PathBuf| line(supply.join("scope")).is_none_or(|scope| scope != "Device");
    let batteries: Vec<_> = supplies.iter().filter(|supply| kind(supply, "Battery")).filter(is_own).collect();
    let mains = supplies.iter().filter(|supply| !kind(supply, "Battery")).filter(is_own);
    let online: Vec<_> = mains.filter_map(|supply| line(supply.join("online"))).collect();
    if online.iter().any(|online| online != "0") {
        return Some(false);
    }
    let states: Vec<_> = batteries.iter().filter_map(|battery| line(battery.join("status"))).collect();
    match (states.is_empty(), online.is_empty()) {
        (true, true) => None,
        _ => Some(states.iter().any(|state| state == "Discharging")),
    }
}

/// The paths in a folder. None if it cannot be listed: such a folder reports no sensor.
fn children(folder: &Path) -> Vec<PathBuf> {
    linux::children(folder).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    fn machine(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join("sys/class").join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
        root
    }

    #[test]
    fn the_hottest_sensor_of_the_processor_counts() {
        let temperature = |files: &[(&str, &str)]| temperature_below(machine(files).path());
        assert_eq!(temperature(&[]), None);
        let disk = [("hwmon/hwmon0/name", "nvme"), ("hwmon/hwmon0/temp1_input", "90000")];
        assert_eq!(temperature(&disk), None, "a disk");
        let cores = [
            ("hwmon/hwmon1/name", "coretemp"),
            ("hwmon/hwmon1/temp1_input", "41000"),
            ("hwmon/hwmon1/temp2_input", "62500"),
            ("hwmon/hwmon1/temp2_max", "99000"),
            ("hwmon/hwmon1/temp3_input", "broken"),
        ];
        assert_eq!(temperature(&[&disk[..], &cores].concat()), Some(62.5));
        let zones = [
            ("thermal/thermal_zone0/type", "acpitz"),
            ("thermal/thermal_zone0/temp", "99000"),
            ("thermal/thermal_zone1/type", "cpu-thermal0"),
            ("thermal/thermal_zone1/temp", "-5000"),
        ];
        assert_eq!(temperature(&zones), Some(-5.0));
        assert_eq!(temperature(&[&zones[..], &cores].concat()), Some(62.5), "the driver's sensors first");
    }

    #[test]
    fn a_machine_runs_on_its_battery_if_nothing_else_supplies_it() {
        let on_battery = |files: &[(&str, &str)]| on_battery_below(machine(files).path());
        assert_eq!(on_battery(&[]), None);
        let battery = |state| [("power_supply/BAT0/type", "Battery"), ("power_supply/BAT0/status", state)];
        let mains = |online| [("power_supply/AC/type", "Mains"), ("power_supply/AC/online", online)];
        assert_eq!(on_battery(&battery("Discharging")), Some(true));
        assert_eq!(on_battery(&battery("Full")), Some(false));
        assert_eq!(on_battery(&mains("1")), Some(false), "no battery");
        let both = |state, online| on_battery(&[battery(state), mains(online)].concat());
        assert_eq!(both("Discharging", "0"), Some(true));
        // A battery that supplies what a weak power supply does not.
        assert_eq!(both("Discharging", "1"), Some(false));
        let mouse = [
            ("power_supply/hid/type", "Battery"),
            ("power_supply/hid/scope", "Device"),
            ("power_supply/hid/status", "Discharging"),
        ];
        assert_eq!(on_battery(&mouse), None);
    }
}
