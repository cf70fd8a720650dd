//! Summary of a suite for a first-time user: one row per product, its practical meaning, and the usual tool beside
//! it.

use super::key::Key;

/// Content of a suite's summary.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Name of the measured program.
    pub program: String,
    /// Command that compares with tools that are not linked; `--engines` and a case follow it.
    pub rivals: String,
    /// Rows in display order. Rows of one product are adjacent.
    pub products: Vec<ProductRow>,
    /// Additional named cases, measured only with `--full`.
    pub further: Vec<NamedCase>,
    /// Ratios to other programs from committed reports, for rows whose tool is not linked.
    pub recorded: Vec<Recorded>,
}

/// Case with a descriptive name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCase {
    /// Name, such as `1 MiB of output`.
    pub name: String,
    /// The case.
    pub key: Key,
}

/// One row of a summary.
#[derive(Clone, Debug)]
pub struct ProductRow {
    /// Product in one word, such as `FILES`.
    pub product: String,
    /// The case with its name, such as `256 MiB`.
    pub named: NamedCase,
    /// Displayed number.
    pub number: Number,
    /// Practical meaning of the number.
    pub meaning: Meaning,
    /// The usual tool for the same job.
    pub tool: Tool,
}

/// Number that a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Time of one iteration.
    Time,
    /// Work per second.
    Rate,
}

/// Practical meaning of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Rate per second of a named thing, such as `logins`. If empty, the product names it: units of work, or
    /// iterations if work is counted in bytes.
    PerSecond(String),
    /// The same per day.
    PerDay(String),
    /// Time for a larger amount of work.
    Amount {
        /// Name, such as `a 10 GiB image`.
        what: String,
        /// Work in the units of the row.
        units: u64,
    },
    /// Share of the frame time of a 60 Hz screen.
    Frame,
}

/// The usual tool for the job of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Measured in the same run, as a separate case.
    Measured(NamedCase),
    /// Not linked: taken from a committed report for this processor family, if there is one.
    Recorded {
        /// Name for readers.
        name: String,
        /// Engine in the report.
        engine: String,
    },
    /// No comparable tool; the text says why.
    Unknown(String),
}

/// Ratio of a rival's time to ours in a committed report.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Case of ours.
    pub case: String,
    /// Engine of the rival.
    pub engine: String,
    /// Processor family, see [`Machine::processor`](hashmill_machine::Machine::processor).
    pub processor: String,
    /// Day of the measurement, such as `2026-11-26`.
    pub date: String,
    /// The rival's time over ours.
    pub ratio: f64,
    /// 99 % interval of the ratio.
    pub interval: [f64; 2],
    /// Path of the report, relative to the repository root.
    pub report: String,
}

/// Columns of the table of [`Recorded`] ratios in a document.
const COLUMNS: [&str; 8] = ["case", "rival", "processor", "measured", "ratio", "from", "to", "report"];

impl NamedCase {
    /// Creates a named case.
    ///
    /// # Panics
    /// When `case` is no case: the program that registers it is wrong.
    #[must_use]
    pub fn new(name: impl Into<String>, case: &str) -> Self {
        let key = case.parse().unwrap_or_else(|error| panic!("`{case}`: {error}"));
        NamedCase { name: name.into(), key }
    }
}

impl Summary {
    /// All cases including those of tools, without duplicates.
    pub(crate) fn cases(&self) -> Vec<NamedCase> {
        let products = self.products.iter().flat_map(ProductRow::cases);
        distinct(products.chain(self.further.iter().cloned()))
    }

    /// Cases of the product table, without duplicates.
    pub(crate) fn product_cases(&self) -> Vec<NamedCase> {
        distinct(self.products.iter().flat_map(ProductRow::cases))
    }
}

fn distinct(cases: impl Iterator<Item = NamedCase>) -> Vec<NamedCase> {
    let mut all: Vec<NamedCase> = Vec::new();
    for named in cases {
        if all.iter().all(|known| known.key != named.key) {
            all.push(named);
        }
    }
    all
}

impl ProductRow {
    /// Name of the row outside the table, such as `FILES, 256 MiB`.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}", self.product, self.named.name)
    }

    /// Our case, then that of the tool.
    fn cases(&self) -> Vec<NamedCase> {
        let own = NamedCase { name: self.title(), key: self.named.key.clone() };
        let tool = match &self.tool {
            Tool::Measured(NamedCase { name, key }) => {
                Some(NamedCase { name: format!("{}, {name}", self.product), key: key.clone() })
            }
            Tool::Recorded { .. } | Tool::Unknown(_) => None,
        };
        std::iter::once(own).chain(tool).collect()
    }
}

impl Recorded {
    /// The ratios as a table in Markdown; [`Recorded::parse`] reads it.
    #[cfg(feature = "gates")]
    pub(crate) fn table(all: &[Recorded]) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head = line(&COLUMNS.map(str::to_owned)) + &line(&COLUMNS.map(|_| "---".to_owned()));
        let rows = all.iter().map(|recorded| {
            let Recorded { case, engine, processor, date, ratio, interval: [low, high], report } = recorded;
            let numbers = [ratio, low, high].map(ToString::to_string);
            let words = [case, engine, processor, date].map(Clone::clone);
            line(&[&words[..], &numbers[..], std::slice::from_ref(report)].concat())
        });
        format!("\n{head}{}", rows.collect::<String>())
    }

    /// Parses the tables of recorded ratios in a document.
    ///
    /// # Errors
    /// When a line of a table has another shape; the text names the line.
    pub fn parse(document: &str) -> Result<Vec<Recorded>, String> {
        let mut is_table = false;
        let mut all = Vec::new();
        for line in document.lines() {
            let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
            let Some(cells) = cells.map(|cells| cells.split(" | ").collect::<Vec<_>>()) else {
                is_table = false;
                continue;
            };
            if cells == COLUMNS {
                is_table = true;
            } else if is_table && cells.iter().any(|cell| *cell != "---") {
                all.push(Recorded::from_cells(&cells).ok_or_else(|| line.to_owned())?);
            }
        }
        Ok(all)
    }

    fn from_cells(cells: &[&str]) -> Option<Recorded> {
        let [case, engine, processor, date, ratio, low, high, report] = *cells else { return None };
        let number =
            |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        Some(Recorded {
            case: case.to_owned(),
            engine: engine.to_owned(),
            processor: processor.to_owned(),
            date: date.to_owned(),
            ratio: number(ratio)?,
            interval: [number(low)?, number(high)?],
            report: report.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "gates")]
    #[test]
    fn recorded_ratios_survive_a_round_trip() {
        let recorded = |ratio: f64, spread: f64| Recorded {
            case: format!("doc-load/hashmill/kernel/{}/t1", ratio as u64),
            engine: "automerge".to_owned(),
            processor: "amd-epyc-f25m1".to_owned(),
            date: "2026-11-26".to_owned(),
            ratio,
            interval: [ratio / spread, ratio * spread],
            report: "bench/records/amd-epyc-f25m1-2t/2026-11-26-doc.json".to_owned(),
        };
        let all: Vec<Recorded> =
            (1..200).map(|n| recorded(f64::from(n) / 7.0, 1.0 + 1.0 / f64::from(n))).collect();
        let text = format!("# Words\n\n<!-- -->{}<!-- -->\n| other | table |\n", Recorded::table(&all));
        assert_eq!(Recorded::parse(&text), Ok(all));
        assert_eq!(Recorded::parse("no table"), Ok(Vec::new()));
        let damaged = text.replace("| 2026-11-26 |", "|");
        assert!(Recorded::parse(&damaged).is_err_and(|line| line.starts_with("| doc-load/")));
    }

    #[test]
    fn each_case_is_measured_once_under_its_first_name() {
        let row = |name: &str, case: &str| ProductRow {
            product: "FILES".to_owned(),
            named: NamedCase::new(name, case),
            number: Number::Rate,
            meaning: Meaning::PerSecond("files".to_owned()),
            tool: Tool::Measured(NamedCase::new("SHA-256", "sha/a/kernel/1/t1")),
        };
        let summary = Summary {
            products: vec![
                row("256 MiB", "file/a/kernel/1/t1/b=2/a=1"),
                row("256 MiB, 2 threads", "file/a/kernel/1/t2"),
            ],
            further: vec![
                NamedCase::new("more", "file/b/kernel/1/t1"),
                NamedCase::new("again", "file/a/kernel/1/t1/a=1/b=2"),
            ],
            ..Summary::default()
        };
        let names =
            |cases: Vec<NamedCase>| -> Vec<String> { cases.into_iter().map(|case| case.name).collect() };
        let table = ["FILES, 256 MiB", "FILES, SHA-256", "FILES, 256 MiB, 2 threads"];
        assert_eq!(names(summary.product_cases()), table);
        assert_eq!(names(summary.cases()), [&table[..], &["more"]].concat());
    }
}
