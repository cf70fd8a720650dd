//! Curves of cost by size: pictures and tables of `docs/curves.md`, from the lab's reports under `bench/records`.
//!
//! `cargo xtask numbers` writes them. A test compares the committed files with the reports.

mod picture;
mod points;
mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use picture::{Axis, Picture, Stroke};
use points::{Point, Row, number, size_text};
use serde_json::Value;
use table::with_blocks;

const PAGE: &str = "docs/curves.md";
const PICTURES: &str = "docs/curves";
/// Folder and common name part of the reports of one record.
const RECORD: (&str, &str) = ("bench/records/amd-epyc-f25m1-2t", "-curves-");

/// One picture.
struct Curve {
    /// Name of the picture's file and of its block on the page.
    name: &'static str,
    title: &'static str,
    x: XQuantity,
    pairs: &'static [Pair],
}

/// Quantity on the x-axis.
#[derive(Clone, Copy, PartialEq)]
enum XQuantity {
    Bytes,
    Blocks,
    Operations,
    Files,
}

impl XQuantity {
    fn axis(self) -> &'static str {
        match self {
            Self::Bytes => "bytes hashed",
            Self::Blocks => "memory of one hash",
            Self::Operations => "operations in the document",
            Self::Files => "files of 4 KiB",
        }
    }

    /// The unit of a cost.
    fn unit(self) -> &'static str {
        match self {
            Self::Bytes => "byte",
            Self::Blocks => "KiB",
            Self::Operations => "operation",
            Self::Files => "file",
        }
    }

    /// Size of a unit, as the sizes of cases count.
    fn unit_size(self) -> f64 {
        if self == Self::Blocks { 1024.0 } else { 1.0 }
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Bytes | Self::Blocks)
    }
}

/// Hashmill and its best competitor at the same work.
struct Pair {
    /// Variant of the work, if a picture has several.
    variant: &'static str,
    peer: &'static str,
    /// Cases, with `*` instead of the size.
    hashmill_case: &'static str,
    peer_case: &'static str,
    /// Amount of the x quantity per unit of a case's size.
    x_per_size: f64,
}

const CURVES: [Curve; 6] = [
    Curve {
        name: "blake3",
        title: "BLAKE3 of one message in memory",
        x: XQuantity::Bytes,
        pairs: &[
            Pair {
                variant: "one thread",
                peer: "blake3",
                hashmill_case: "blake3/hash/kernel/*/t1",
                peer_case: "blake3/official/kernel/*/t1",
                x_per_size: 1.0,
            },
            Pair {
                variant: "two threads",
                peer: "blake3",
                hashmill_case: "blake3/parallel/kernel/*/t2",
                peer_case: "blake3/official-parallel/kernel/*/t2",
                x_per_size: 1.0,
            },
        ],
    },
    Curve {
        name: "files",
        title: "BLAKE3 of one file, whole programs, two threads",
        x: XQuantity::Bytes,
        pairs: &[
            Pair {
                variant: "",
                peer: "b3sum",
                hashmill_case: "sum/hashmill/end-to-end/*/t2",
                peer_case: "sum/b3sum/end-to-end/*/t2",
                x_per_size: 1.0,
            },
            Pair {
                variant: "of holes",
                peer: "b3sum",
                hashmill_case: "sum/hashmill/end-to-end/*/t2/holes=1",
                peer_case: "sum/b3sum/end-to-end/*/t2/holes=1",
                x_per_size: 1.0,
            },
        ],
    },
    Curve {
        name: "trees",
        title: "BLAKE3 of many files, whole programs, two threads",
        x: XQuantity::Files,
        pairs: &[Pair {
            variant: "",
            peer: "b3sum",
            hashmill_case: "sum/hashmill/end-to-end/4KiB/t2/files=*/way=walked",
            peer_case: "sum/b3sum/end-to-end/4KiB/t2/files=*/way=walked",
            x_per_size: 1.0,
        }],
    },
    Curve {
        name: "argon2",
        title: "Argon2id, one pass, one lane, one thread",
        x: XQuantity::Blocks,
        pairs: &[Pair {
            variant: "",
            peer: "argon2-rust",
            hashmill_case: "argon2id/hasher/backend/*/t1/lanes=1/passes=1",
            peer_case: "argon2id/argon2-rust/backend/*/t1/lanes=1/passes=1",
            x_per_size: 1.0,
        }],
    },
    Curve {
        name: "documents-made",
        title: "Documents: made",
        x: XQuantity::Operations,
        pairs: &[
            Pair {
                variant: "typed",
                peer: "automerge",
                hashmill_case: "doc-text_splice_append/hashmill/kernel/*/t1",
                peer_case: "doc-text_splice_append/automerge/kernel/*/t1",
                x_per_size: 1.0,
            },
            Pair {
                variant: "put",
                peer: "automerge",
                hashmill_case: "doc-put_scale/hashmill/kernel/*/t1",
                peer_case: "doc-put_scale/automerge/kernel/*/t1",
                x_per_size: 1.0,
            },
        ],
    },
    Curve {
        name: "documents-kept",
        title: "Documents: loaded and saved",
        x: XQuantity::Operations,
        pairs: &[
            Pair {
                variant: "loaded",
                peer: "automerge",
                hashmill_case: "doc-load_many_changes/hashmill/kernel/*/t1",
                peer_case: "doc-load_many_changes/automerge/kernel/*/t1",
                x_per_size: PUTS_PER_CHANGE,
            },
            Pair {
                variant: "saved",
                peer: "automerge",
                hashmill_case: "doc-save_many_changes/hashmill/kernel/*/t1",
                peer_case: "doc-save_many_changes/automerge/kernel/*/t1",
                x_per_size: PUTS_PER_CHANGE,
            },
        ],
    },
];

/// Operations of a change in the workloads that count changes.
const PUTS_PER_CHANGE: f64 = 10.0;

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
        let pairs: Vec<Vec<Row>> = curve
            .pairs
            .iter()
            .map(|pair| points::rows_by_size(&reports, pair))
            .collect::<anyhow::Result<_>>()?;
        files.push((
            format!("{PICTURES}/{}.svg", curve.name),
            picture(curve, &pairs, table::bends(&page, curve.name)?).draw(),
        ));
        blocks.push((curve.name, table::block(curve, &pairs, &reports)?));
    }
    files.push((PAGE.to_owned(), with_blocks(&page, &blocks)?));
    Ok(files)
}

/// A report with its path.
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
        let variant = if pair.variant.is_empty() { String::new() } else { format!(", {}", pair.variant) };
        for (name, is_hashmill) in [(pair.peer, false), ("Hashmill", true)] {
            let points = rows.iter().filter_map(|row| if is_hashmill { row.hashmill } else { row.peer });
            let points: Vec<Point> = points.map(|point| point.per_unit(curve.x)).collect();
            if !points.is_empty() {
                lines.push(Stroke {
                    label: format!("{name}{variant}"),
                    is_hashmill,
                    dashed: index > 0,
                    points,
                });
            }
        }
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let unit = curve.x.unit();
    let line_texts = lines.iter().map(|line| describe_line(line, curve.x)).collect::<Vec<_>>().join(" ");
    Picture {
        title: curve.title.to_owned(),
        description: format!("Nanoseconds per {unit} over {}; lower is faster. {line_texts}", curve.x.axis()),
        x: Axis::for_sizes(all().map(|point| point.size), curve.x.is_binary()),
        x_name: format!("{}, logarithmic", curve.x.axis()),
        y: Axis::for_costs(all().flat_map(|point| [point.low(), point.high()])),
        y_name: format!("ns per {unit}, logarithmic; lower is faster"),
        bends,
        lines,
    }
}

/// Text alternative of a line.
fn describe_line(line: &Stroke, x: XQuantity) -> String {
    let text = |point: &Point| format!("{} at {}", number(point.ns), size_text(point.size, x));
    let least = line.points.iter().min_by(|a, b| a.ns.total_cmp(&b.ns));
    match (line.points.first(), line.points.last(), least) {
        (Some(first), Some(last), Some(least)) => {
            format!("{}: {}, {}, least {}.", line.label, text(first), text(last), text(least))
        }
        _ => format!("{}: not measured.", line.label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_pictures_and_page_equal_those_of_the_reports() {
        let root = crate::root();
        let files = files(&root).expect("the record can be read");
        for (path, text) in &files {
            let committed = fs::read_to_string(root.join(path)).unwrap_or_default();
            assert!(*text == committed, "{path} is stale: run `cargo xtask numbers`");
        }
        for entry in root.join(PICTURES).read_dir().expect("the pictures are committed") {
            let name = entry.expect("a folder can be listed").file_name().to_string_lossy().into_owned();
            let path = format!("{PICTURES}/{name}");
            assert!(files.iter().any(|(known, _)| *known == path), "{path} belongs to no curve");
        }
    }

    #[test]
    fn a_line_has_a_text_alternative() {
        let point = |size, ns| Point { size, ns, interval: None };
        let points = vec![point(64.0, 0.83), point(1024.0, 0.5), point(1_048_576.0, 0.61)];
        let line = Stroke { label: "A, one thread".to_owned(), is_hashmill: true, dashed: false, points };
        let expected = "A, one thread: 0.830 at 64 B, 0.610 at 1 MiB, least 0.500 at 1 KiB.";
        assert_eq!(describe_line(&line, XQuantity::Bytes), expected);
    }
}
