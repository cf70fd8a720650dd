//! Benchmark of the first save after a load, by Hashmill and the official crate in turns: the shortest of ROUNDS times for each
//! file, plain and deflated.
//!
//! `cargo run --release -p hashmill-rivals --example first_save -- ROUNDS FILE...`

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::hint::black_box;
use std::time::{Duration, Instant};

type Error = Box<dyn std::error::Error>;

fn timed<T>(call: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(call());
    start.elapsed()
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().ok_or("how many rounds?")?.parse()?;
    println!("| file | Hashmill, plain | official | ratio | Hashmill, deflated | official | ratio |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for file in arguments {
        let bytes = std::fs::read(&file)?;
        let mut shortest = [[Duration::MAX; 2]; 2];
        for _ in 0..rounds {
            for (deflated, [hashmill, official]) in [false, true].into_iter().zip(&mut shortest) {
                let mut doc = hashmill_doc::Document::load(&bytes)?;
                let time = timed(|| if deflated { doc.save() } else { doc.save_nocompress() });
                *hashmill = time.min(*hashmill);
                let mut doc = automerge::AutoCommit::load(&bytes)?;
                let time = timed(|| if deflated { doc.save() } else { doc.save_nocompress() });
                *official = time.min(*official);
            }
        }
        let cells = shortest.map(|pair| {
            let [hashmill, official] = pair.map(|time| 1e3 * time.as_secs_f64());
            format!("{hashmill:.2} ms | {official:.2} ms | {:.2}", hashmill / official)
        });
        println!("| {file} | {} |", cells.join(" | "));
    }
    Ok(())
}
