//! Curves of cost by size: pictures and tables of `docs/curves.md`, from the lab's reports under `bench/records`.
//!
//! `cargo xtask numbers` writes them. A test compares what is committed with what the reports give.

mod picture;
mod points;
mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use picture::{Axis, Picture, Stroke};
use points::{Point, Row, number, size_words};
use serde_json::Value;
use table::page_of;

const PAGE: &str = "docs/curves.md";
const PICTURES: &str = "docs/curves";
/// Folder and common name part of the reports of one record.
const RECORD: (&str, &str) = ("bench/records/amd-epyc-f25m1-2t", "-curves-");

/// One picture.
struct Curve {
    /// Name of the picture's file and of its place on the page.
    name: &'static str,
    title: &'static str,
    of: Of,
    pairs: &'static [Pair],
}

/// Quantity on the x-axis.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Bytes,
    Blocks,
    Operations,
    Files,
}

impl Of {
    fn axis(self) -> &'static str {
        match self {
            Self::Bytes => "bytes hashed",
            Self::Blocks => "memory of one hash",
            Self::Operations => "operations in the document",
            Self::Files => "files of 4 KiB",
        }
    }

    /// Its unit.
    fn unit(self) -> &'static str {
        match self {
            Self::Bytes => "byte",
            Self::Blocks => "KiB",
            Self::Operations => "operation",
            Self::Files => "file",
        }
    }

    fn per(self) -> f64 {
        if self == Self::Blocks { 1024.0 } else { 1.0 }
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Bytes | Self::Blocks)
    }
}

/// Hashmill and its best competitor at the same work.
struct Pair {
    /// Method of the work, if a picture compares several.
    how: &'static str,
    peer: &'static str,
    /// Cases, with `*` in the place of the size.
    ours: &'static str,
    theirs: &'static str,
    /// Amount of the x quantity per unit of a case's size.
    each: f64,
}

const CURVES: [Curve; 6] = [
    Curve {
        name: "blake3",
        title: "BLAKE3 of one message in memory",
        of: Of::Bytes,
        pairs: &[
            Pair {
                how: "one thread",
                peer: "blake3",
                ours: "blake3/hash/kernel/*/t1",
                theirs: "blake3/official/kernel/*/t1",
                each: 1.0,
            },
            Pair {
                how: "two threads",
                peer: "blake3",
                ours: "blake3/parallel/kernel/*/t2",
                theirs: "blake3/official-parallel/kernel/*/t2",
                each: 1.0,
            },
        ],
    },
    Curve {
        name: "files",
        title: "BLAKE3 of one file, whole programs, two threads",
        of: Of::Bytes,
        pairs: &[
            Pair {
                how: "",
                peer: "b3sum",
                ours: "sum/hashmill/end-to-end/*/t2",
                theirs: "sum/b3sum/end-to-end/*/t2",
                each: 1.0,
            },
            Pair {
                how: "of holes",
                peer: "b3sum",
                ours: "sum/hashmill/end-to-end/*/t2/holes=1",
                theirs: "sum/b3sum/end-to-end/*/t2/holes=1",
                each: 1.0,
            },
        ],
    },
    Curve {
        name: "trees",
        title: "BLAKE3 of many files, whole programs, two threads",
        of: Of::Files,
        pairs: &[Pair {
            how: "",
            peer: "b3sum",
            ours: "sum/hashmill/end-to-end/4KiB/t2/files=*/way=walked",
            theirs: "sum/b3sum/end-to-end/4KiB/t2/files=*/way=walked",
            each: 1.0,
        }],
    },
    Curve {
        name: "argon2",
        title: "Argon2id, one pass, one lane, one thread",
        of: Of::Blocks,
        pairs: &[Pair {
            how: "",
            peer: "argon2-rust",
            ours: "argon2id/hasher/backend/*/t1/lanes=1/passes=1",
            theirs: "argon2id/argon2-rust/backend/*/t1/lanes=1/passes=1",
            each: 1.0,
        }],
    },
    Curve {
        name: "documents-made",
        title: "Documents: made",
        of: Of::Operations,
        pairs: &[
            Pair {
                how: "typed",
                peer: "automerge",
                ours: "doc-text_splice_append/hashmill/kernel/*/t1",
                theirs: "doc-text_splice_append/automerge/kernel/*/t1",
                each: 1.0,
            },
            Pair {
                how: "put",
                peer: "automerge",
                ours: "doc-put_scale/hashmill/kernel/*/t1",
                theirs: "doc-put_scale/automerge/kernel/*/t1",
                each: 1.0,
            },
        ],
    },
    Curve {
        name: "documents-kept",
        title: "Documents: loaded and saved",
        of: Of::Operations,
        pairs: &[
            Pair {
                how: "loaded",
                peer: "automerge",
                ours: "doc-load_many_changes/hashmill/kernel/*/t1",
                theirs: "doc-load_many_changes/automerge/kernel/*/t1",
                each: PUTS,
            },
            Pair {
                how: "saved",
                peer: "automerge",
                ours: "doc-save_many_changes/hashmill/kernel/*/t1",
                theirs: "doc-save_many_changes/automerge/kernel/*/t1",
                each: PUTS,
            },
        ],
    },
];

/// Operations of a change in the workloads that count changes.
const PUTS: f64 = 10.0;

/// Writes the page and its pictures.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for (path, text) in files(root)? {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Paths and contents of all files.
fn files(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let reports = reports(root)?;
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    let mut files = Vec::new();
    let mut blocks = Vec::new();
    for curve in &CURVES {
        let pairs: Vec<Vec<Row>> =
            curve.pairs.iter().map(|pair| points::gather(&reports, pair)).collect::<anyhow::Result<_>>()?;
        files.push((
            format!("{PICTURES}/{}.svg", curve.name),
            picture(curve, &pairs, table::bends(&page, curve.name)?).draw(),
        ));
        blocks.push((curve.name, table::block(curve, &pairs, &reports)?));
    }
    files.push((PAGE.to_owned(), page_of(&page, &blocks)?));
    Ok(files)
}

/// A report, and where it lies.
struct Report {
    path: String,
    content: Value,
}

fn reports(root: &Path) -> anyhow::Result<Vec<Report>> {
    let (folder, part) = RECORD;
    let entries = root.join(folder).read_dir().with_context(|| folder.to_owned())?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend((name.contains(part) && name.ends_with(".json")).then_some(name));
    }
    names.sort_unstable();
    ensure!(!names.is_empty(), "{folder} has no report …{part}….json");
    let read = |name: String| {
        let path = format!("{folder}/{name}");
        let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
        let content = serde_json::from_str(&text).with_context(|| path.clone())?;
        Ok(Report { path, content })
    };
    names.into_iter().map(read).collect()
}

/// Two labelled lines for each pair.
fn picture(curve: &Curve, pairs: &[Vec<Row>], bends: Vec<f64>) -> Picture {
    let mut lines = Vec::new();
    for (index, (pair, rows)) in curve.pairs.iter().zip(pairs).enumerate() {
        let how = if pair.how.is_empty() { String::new() } else { format!(", {}", pair.how) };
        for (who, ours) in [(pair.peer, false), ("Hashmill", true)] {
            let points = rows.iter().filter_map(|row| if ours { row.ours } else { row.theirs });
            let points: Vec<Point> = points.map(|point| point.per(curve.of)).collect();
            if !points.is_empty() {
                lines.push(Stroke { label: format!("{who}{how}"), ours, dashed: index > 0, points });
            }
        }
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let unit = curve.of.unit();
    let describes = lines.iter().map(|line| described(line, curve.of)).collect::<Vec<_>>().join(" ");
    Picture {
        title: curve.title.to_owned(),
        describes: format!("Nanoseconds per {unit} over {}; lower is faster. {describes}", curve.of.axis()),
        x: Axis::of_sizes(all().map(|point| point.size), curve.of.is_binary()),
        x_name: format!("{}, logarithmic", curve.of.axis()),
        y: Axis::of_costs(all().flat_map(|point| [point.low(), point.high()])),
        y_name: format!("ns per {unit}, logarithmic; lower is faster"),
        bends,
        lines,
    }
}

/// Text alternative of a line.
fn described(line: &Stroke, of: Of) -> String {
    let words = |point: &Point| format!("{} at {}", number(point.ns), size_words(point.size, of));
    let least = line.points.iter().min_by(|a, b| a.ns.total_cmp(&b.ns));
    match (line.points.first(), line.points.last(), least) {
        (Some(first), Some(last), Some(least)) => {
            format!("{}: {}, {}, least {}.", line.label, words(first), words(last), words(least))
        }
        _ => format!("{}: not measured.", line.label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pictures_and_the_page_are_those_of_the_reports() {
        let root = crate::root();
        let files = files(&root).expect("the record can be read");
        for (path, text) in &files {
            let found = fs::read_to_string(root.join(path)).unwrap_or_default();
            assert!(*text == found, "{path} is stale: run `cargo xtask numbers`");
        }
        for entry in root.join(PICTURES).read_dir().expect("the pictures are committed") {
            let name = entry.expect("a folder can be listed").file_name().to_string_lossy().into_owned();
            let path = format!("{PICTURES}/{name}");
            assert!(files.iter().any(|(known, _)| *known == path), "{path} is of no curve");
        }
    }

    #[test]
    fn a_line_is_told_in_words() {
        let point = |size, ns| Point { size, ns, interval: None };
        let points = vec![point(64.0, 0.83), point(1024.0, 0.5), point(1_048_576.0, 0.61)];
        let line = Stroke { label: "A, one thread".to_owned(), ours: true, dashed: false, points };
        let words = "A, one thread: 0.830 at 64 B, 0.610 at 1 MiB, least 0.500 at 1 KiB.";
        assert_eq!(described(&line, Of::Bytes), words);
    }
}
