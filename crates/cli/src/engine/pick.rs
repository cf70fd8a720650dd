//! Which of several devices is meant.

use hashmill_gpu::Info;

/// The number of the device that somebody means by a number or a part of a name.
pub(super) fn find(devices: &[Info], asked: &str) -> Result<usize, String> {
    let named = |(_, info): &(usize, &Info)| info.name.to_lowercase().contains(&asked.to_lowercase());
    let fits: Vec<usize> = match asked.parse() {
        Ok(number) => (number..devices.len()).take(1).collect(),
        Err(_) => devices.iter().enumerate().filter(named).map(|(number, _)| number).collect(),
    };
    match fits[..] {
        [number] => Ok(number),
        _ => Err(format!("{asked}: {} of {} devices fit", fits.len(), devices.len())),
    }
}
