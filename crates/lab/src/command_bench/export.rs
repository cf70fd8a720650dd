//! Exports for other programs and documents. JSON and CSV have the fields of hyperfine, so that its readers work; the
//! lab's own fields follow.

use super::command_runner::BenchCommand;
use super::process::RunResult;
use super::resource_usage::{BLOCK, all_reported, column};
use crate::report::render::markdown::escape;
use crate::report::schema::{Comparison, Row};
use crate::report::sections::cells::speed;
use crate::report::sections::commands::{beside, control, memory, uses_of};
use crate::report::sections::verdict_text::of_control;
use crate::stats::order::{median, standard_deviation};
use crate::stats::ratio::range;
use hashmill_machine::ChildUsage;
use serde_json::{Map, Value, json};

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Csv,
    Markdown,
}

/// Unit of times in Markdown tables: nanoseconds per unit, and its name.
pub(crate) type Unit = (f64, &'static str);

pub(crate) const MICROSECOND: Unit = (1e3, "µs");
pub(crate) const MILLISECOND: Unit = (1e6, "ms");
pub(crate) const SECOND: Unit = (1e9, "s");

/// A command with its results.
struct Measured<'a> {
    side: usize,
    subject: &'a BenchCommand,
    runs: &'a [RunResult],
    /// Comparison with the first command, for the others.
    beside: Option<&'a Comparison>,
}

/// Renders a row and its runs; `subjects` are its commands in order. Commands without a run have no numbers.
pub(crate) fn render(
    row: &Row,
    runs: &[Vec<RunResult>],
    subjects: &[BenchCommand],
    form: Form,
    unit: Option<Unit>,
) -> String {
    let all = subjects.iter().zip(runs).enumerate().filter(|(_, (_, runs))| !runs.is_empty());
    let all: Vec<Measured<'_>> = all
        .map(|(side, (subject, runs))| Measured { side, subject, runs, beside: beside(row, side) })
        .collect();
    match form {
        Form::Json => json(row, &all),
        Form::Csv => csv(row, &all),
        Form::Markdown => markdown(row, &all, unit),
    }
}

/// Times of runs in seconds.
fn times(runs: &[RunResult]) -> Vec<f64> {
    runs.iter().map(|ran| ran.nanoseconds() as f64 / 1e9).collect()
}

const FIELDS: [&str; 7] = ["mean", "stddev", "median", "user", "system", "min", "max"];

/// Statistics of the times in seconds; none if the system does not report them.
fn seconds(runs: &[RunResult]) -> [Option<f64>; 7] {
    let times = times(runs);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let used = |of: fn(&ChildUsage) -> f64| all_reported(runs, of).map(|values| mean(&values));
    [
        Some(mean(&times)),
        Some(standard_deviation(&times)),
        Some(median(&times)),
        used(|usage| usage.user.as_secs_f64()),
        used(|usage| usage.system.as_secs_f64()),
        Some(least(&times)),
        Some(most(&times)),
    ]
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

fn json(row: &Row, all: &[Measured<'_>]) -> String {
    let results = all.iter().map(|Measured { side, subject, runs, beside }| {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("command", json!(subject.name));
        FIELDS.iter().zip(seconds(runs)).for_each(|(name, value)| put(name, json!(value)));
        let counts = |of: fn(&ChildUsage) -> f64| {
            json!(all_reported(runs, of).map(|values| values.iter().map(|n| *n as u64).collect::<Vec<_>>()))
        };
        put("times", json!(times(runs)));
        put("memory_usage_byte", counts(|usage| usage.peak_bytes as f64));
        put("exit_codes", runs.iter().map(|ran| ran.code).collect());
        put("user_times", json!(all_reported(runs, |usage| usage.user.as_secs_f64())));
        put("system_times", json!(all_reported(runs, |usage| usage.system.as_secs_f64())));
        put("bytes_read", counts(|usage| usage.blocks_read as f64 * BLOCK));
        put("bytes_written", counts(|usage| usage.blocks_written as f64 * BLOCK));
        put("major_faults", counts(|usage| usage.major_faults as f64));
        put("beside_first", beside.map_or(Value::Null, of_beside));
        put("least_memory_byte", json!(row.commands.as_ref().and_then(|commands| commands.least_bytes)));
        put("uses_beside_first", json!(uses_of(row, *side).collect::<Vec<_>>()));
        if !subject.choice.is_empty() {
            put(
                "parameters",
                subject.choice.iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
            );
        }
        Value::Object(fields)
    });
    let control = control(row).map(|control| {
        json!({ "speed": control.ratio, "interval": control.interval, "holds": !control.verdict.is_claim() })
    });
    let document = json!({ "results": results.collect::<Vec<_>>(), "control": control });
    serde_json::to_string_pretty(&document).expect("plain data") + "\n"
}

fn of_beside(beside: &Comparison) -> Value {
    let Comparison { ratio, interval, verdict, sessions, sessions_needed, .. } = beside;
    json!({
        "speed": ratio, "interval": interval, "verdict": verdict, "sessions": sessions, "sessions_needed": sessions_needed,
    })
}

fn csv(row: &Row, all: &[Measured<'_>]) -> String {
    let parameters: Vec<&str> =
        all.iter().flat_map(|m| m.subject.choice.iter().map(|(name, _)| name.as_str())).collect();
    let names = parameters.iter().enumerate().filter(|(i, name)| !parameters[..*i].contains(name));
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    let own = [
        "speed",
        "speed_low",
        "speed_high",
        "verdict",
        "memory_byte",
        "bytes_read",
        "bytes_written",
        "control",
    ];
    let mut head = vec!["command".to_owned()];
    head.extend(FIELDS.map(str::to_owned));
    head.extend(names.iter().map(|name| format!("parameter_{name}")));
    head.extend(own.map(str::to_owned));
    let mut out = csv_line(&head);
    for Measured { subject, runs, beside, .. } in all {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let value =
            |name: &&str| subject.choice.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let usual = |of: fn(&ChildUsage) -> f64| number(all_reported(runs, of).map(|values| median(&values)));
        let mut cells = vec![subject.name.clone()];
        cells.extend(seconds(runs).map(number));
        cells.extend(names.iter().map(|name| value(name).unwrap_or_default()));
        let interval = beside.and_then(|beside| beside.interval);
        cells.push(number(beside.map(|beside| beside.ratio)));
        cells.extend([0, 1].map(|end| number(interval.map(|ends| ends[end]))));
        cells.push(beside.map_or("", |beside| beside.verdict.word()).to_owned());
        cells.push(usual(|usage| usage.peak_bytes as f64));
        cells.push(usual(|usage| usage.blocks_read as f64 * BLOCK));
        cells.push(usual(|usage| usage.blocks_written as f64 * BLOCK));
        cells.push(
            control(row)
                .map_or("off", |control| if control.verdict.is_claim() { "failed" } else { "ok" })
                .to_owned(),
        );
        out += &csv_line(&cells);
    }
    out
}

/// Quotes cells that contain separators.
fn csv_line(cells: &[String]) -> String {
    let quoted = cells.iter().map(|cell| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

fn markdown(row: &Row, all: &[Measured<'_>], unit: Option<Unit>) -> String {
    // The unit that suits the slowest command.
    let (factor, name) = unit.unwrap_or_else(|| {
        match all.iter().map(|measured| median(&times(measured.runs))).fold(0.0, f64::max) {
            slowest if slowest < 1e-3 => MICROSECOND,
            slowest if slowest < 1.0 => MILLISECOND,
            _ => SECOND,
        }
    });
    let first = all.first().map_or_else(String::new, |first| escape(&first.subject.name));
    let mut out = format!(
        "| Command | Median [{name}] | Min [{name}] | Max [{name}] | Memory | Speed beside `{first}` | 99 % interval | Verdict |\n\
         |:---|---:|---:|---:|---:|---:|---:|:---|\n"
    );
    for Measured { subject, runs, beside, .. } in all {
        let times = times(runs);
        let [middle, least, most] = [median(&times), least(&times), most(&times)]
            .map(|seconds| format!("{:.1}", seconds * 1e9 / factor));
        let memory = memory(row, median(&column(runs, |usage| usage.peak_bytes as f64)));
        let [speed, interval, verdict] = match beside {
            Some(beside) => [speed(beside), range(beside.interval), beside.verdict.word().to_owned()],
            None => ["1".to_owned(), String::new(), String::new()],
        };
        let name = escape(&subject.name);
        out += &format!(
            "| {name} | {middle} | {least} | {most} | {memory} | {speed} | {interval} | {verdict} |\n"
        );
    }
    if let Some(control) = control(row) {
        out += &format!("\nA/A control {}\n", escape(&of_control(control)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_bench::command_line::Invocation;
    use crate::command_bench::process::{CommandSpec, Input, Output};
    use std::time::Duration;

    fn subject(name: &str) -> BenchCommand {
        let invocation = Invocation { program: "/p".into(), arguments: Vec::new(), shell: false };
        let start =
            CommandSpec { line: name.to_owned(), invocation, input: Input::Null, output: Output::Null };
        let (label, name) = (name.to_owned(), name.to_owned());
        let (setup, prepare, conclude, cleanup) = (None, None, None, None);
        BenchCommand { label, name, choice: Vec::new(), start, setup, prepare, conclude, cleanup }
    }

    #[test]
    fn unreported_values_are_not_zero() {
        let usage = ChildUsage { peak_bytes: 4096, blocks_read: 0, ..ChildUsage::default() };
        let ran = |usage| RunResult {
            time: Duration::from_millis(20),
            usage,
            code: 0,
            signal: None,
            printed: None,
            left_behind: false,
            last_words: String::new(),
        };
        let row = crate::report::tests::report().rows[4].clone();
        let runs = [vec![ran(None), ran(None)], vec![ran(Some(usage)), ran(Some(usage))]];
        let text = |form| render(&row, &runs, &["a", "b"].map(subject), form, Some(MILLISECOND));
        let document: Value = serde_json::from_str(&text(Form::Json)).expect("JSON");
        let [unknown, known] = [0, 1].map(|side| document["results"][side].clone());
        for field in [
            "user",
            "system",
            "user_times",
            "memory_usage_byte",
            "bytes_read",
            "bytes_written",
            "major_faults",
        ] {
            assert!(unknown[field].is_null() && !known[field].is_null(), "{field}: {document}");
        }
        assert_eq!(unknown["mean"], 0.02);
        assert_eq!(known["bytes_read"], json!([0, 0]), "none is known");
        let lines = text(Form::Csv);
        let lines: Vec<&str> = lines.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["a,0.02,0,0.02,,,0.02,0.02,,,,,,,,off", "b,0.02,0,0.02,0,0,0.02,0.02,,,,,4096,0,0,off"]
        );
        assert!(
            text(Form::Markdown).contains("| a | 20.0 | 20.0 | 20.0 | – | 1 |"),
            "{}",
            text(Form::Markdown)
        );
    }
}
