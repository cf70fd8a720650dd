//! A program with the protocol of a session and its own clock: each call takes exactly `NS`.

use std::io::{BufRead, Write, stdin, stdout};

const NS: u64 = 1000;
const DIGEST: &str = "07";
const REFERENCE: &str = "07";
const CRASH_AT_SAMPLE: u64 = 0;
const PAUSE_MS: u64 = 0;

fn number(line: &str, name: &str) -> u64 {
    let digits = line.split(name).nth(1).unwrap_or("");
    let digits: String = digits.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("list") {
        println!("toy/plain/kernel/1/t1");
        return;
    }
    let mut samples = 0;
    for line in stdin().lock().lines() {
        let line = line.expect("a request");
        let is = |what: &str| line.contains(&format!("\"ask\":\"{what}\""));
        let reply = if is("hello") {
            r#"{"re":"hello","protocol":2}"#.to_owned()
        } else if is("pin") {
            r#"{"re":"pinned","cpu":null}"#.to_owned()
        } else if is("open") {
            format!(r#"{{"re":"opened","unit":"operations","units":1,"reference":"{REFERENCE}"}}"#)
        } else if is("check") {
            format!(r#"{{"re":"checked","kernel":"toy","digest":"{DIGEST}"}}"#)
        } else if is("calibrate") {
            let ns = number(&line, "sample_ns");
            format!(r#"{{"re":"calibrated","iterations":{},"ns":{ns}}}"#, ns / NS)
        } else if is("sample") {
            samples += 1;
            if samples == CRASH_AT_SAMPLE {
                panic!("crashing on purpose");
            }
            std::thread::sleep(std::time::Duration::from_millis(PAUSE_MS));
            // A little noise, the same in every session.
            let ns = number(&line, "iterations") * NS + samples * 7 % 5;
            format!(r#"{{"re":"sampled","ns":{ns},"digest":"{DIGEST}","cpu_ns":null,"faults":null,"switches":null}}"#)
        } else {
            r#"{"re":"memory","huge_bytes":null}"#.to_owned()
        };
        writeln!(stdout(), "{reply}").expect("the lab listens");
    }
}
