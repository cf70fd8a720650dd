//! `cargo xtask advisories`: extract of the RustSec database, which tests compare with the shipped crates without a network.
//!
//! `xtask/advisories.tsv` has a line for each advisory: its id, crate and kind, and the ranges of patched and of unaffected versions.
//! `cargo deny check advisories` asks the newest database; the extract has the advisories of the day on which it was written.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

/// Path of the extract in the repository.
const EXTRACT: &str = "xtask/advisories.tsv";

#[cfg(test)]
/// One line of the extract. Ranges are separated by `|`, the parts of one range by `,`.
struct Advisory<'a> {
    id: &'a str,
    package: &'a str,
    kind: &'a str,
    patched: &'a str,
    unaffected: &'a str,
}

/// Writes the extract of a checkout of github.com/rustsec/advisory-db.
pub(crate) fn write(root: &Path, database: &Path) -> anyhow::Result<()> {
    let crates = database.join("crates");
    let mut lines = Vec::new();
    for folder in fs::read_dir(&crates).with_context(|| crates.display().to_string())? {
        for file in fs::read_dir(folder?.path())? {
            let path = file?.path();
            let text = fs::read_to_string(&path)?;
            lines.extend(line(&text).with_context(|| path.display().to_string())?);
        }
    }
    ensure!(lines.len() > 500, "{}: only {} advisories", crates.display(), lines.len());
    lines.sort_unstable();
    let mut out = String::from(
        "# Extract of the RustSec advisory database (CC0 1.0), made by `cargo xtask advisories`: id, crate, kind, patched, unaffected\n",
    );
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    fs::write(root.join(EXTRACT), out)?;
    Ok(())
}

/// The line for an advisory; none for one that was withdrawn.
fn line(text: &str) -> anyhow::Result<Option<String>> {
    let head = text.split("```").nth(1).context("no block of TOML")?;
    if value(head, "withdrawn").is_some() {
        return Ok(None);
    }
    let field = |key| value(head, key).map(|value| value.trim().trim_matches('"').to_owned());
    let ranges = |key| {
        let list = value(head, key).unwrap_or_default();
        let quoted = list.split('"').skip(1).step_by(2).map(|range| range.replace(' ', ""));
        quoted.collect::<Vec<_>>().join("|")
    };
    let id = field("id").context("an id")?;
    let package = field("package").context("a package")?;
    let kind = field("informational").unwrap_or_else(|| "vulnerability".to_owned());
    Ok(Some([id, package, kind, ranges("patched"), ranges("unaffected")].join("\t")))
}

/// Value of `key =`, over several lines if it is a list.
fn value<'a>(toml: &'a str, key: &str) -> Option<&'a str> {
    let is_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let line = toml.lines().find(|line| is_key(line))?;
    let from = line.as_ptr().addr() - toml.as_ptr().addr() + line.find('=')? + 1;
    let rest = &toml[from..];
    let is_list = rest.trim_start().starts_with('[');
    let end = if is_list { rest.find(']')? } else { rest.find('\n').unwrap_or(rest.len()) };
    Some(&rest[..end])
}

#[cfg(test)]
fn parse(extract: &str) -> anyhow::Result<Vec<Advisory<'_>>> {
    let lines = extract.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().with_context(|| format!("{EXTRACT}: {line}"));
            Ok(Advisory {
                id: next()?,
                package: next()?,
                kind: next()?,
                patched: next()?,
                unaffected: next()?,
            })
        })
        .collect()
}

#[cfg(test)]
/// The advisories that concern these names and versions.
fn concerning(extract: &str, packages: &[(String, String)]) -> anyhow::Result<Vec<String>> {
    let advisories = parse(extract)?;
    let mut concerning = Vec::new();
    for (name, version) in packages {
        for advisory in advisories.iter().filter(|advisory| advisory.package == name) {
            if !is_in(version, advisory.patched)? && !is_in(version, advisory.unaffected)? {
                concerning.push(format!("{name} {version}: {} ({})", advisory.id, advisory.kind));
            }
        }
    }
    Ok(concerning)
}

#[cfg(test)]
/// Whether a version is in one of the ranges.
fn is_in(version: &str, ranges: &str) -> anyhow::Result<bool> {
    let version = numbers(version)?;
    for range in ranges.split('|').filter(|range| !range.is_empty()) {
        let mut all = true;
        for part in range.split(',') {
            let operator_len =
                part.find(|c: char| c.is_ascii_digit()).with_context(|| format!("a range: {range}"))?;
            let bound = numbers(&part[operator_len..])?;
            // A caret range keeps the first number that is not zero.
            let next = match bound {
                [0, 0, patch, _] => [0, 0, patch + 1, 0],
                [0, minor, ..] => [0, minor + 1, 0, 0],
                [major, ..] => [major + 1, 0, 0, 0],
            };
            all &= match &part[..operator_len] {
                ">=" => version >= bound,
                ">" => version > bound,
                "<=" => version <= bound,
                "<" => version < bound,
                "=" => version == bound,
                "~" => version >= bound && version < [bound[0], bound[1] + 1, 0, 0],
                "^" | "" => version >= bound && version < next,
                operator => anyhow::bail!("{operator} in the range {range}"),
            };
        }
        if all {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
/// Major, minor and patch; the last number is 0 for a pre-release, else 1.
fn numbers(version: &str) -> anyhow::Result<[u64; 4]> {
    let version = version.split('+').next().unwrap_or_default();
    let (release, pre) = version.split_once('-').map_or((version, false), |(release, _)| (release, true));
    let mut numbers = [0, 0, 0, u64::from(!pre)];
    for (number, text) in numbers.iter_mut().zip(release.split('.').take(3)) {
        *number = text.parse().with_context(|| format!("a version: {version}"))?;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Shipped crates of every system and feature, by name and version.
    fn shipped(root: &Path) -> Vec<(String, String)> {
        let mut tree = Command::new("cargo");
        tree.args(["tree", "--locked", "--workspace", "--all-features", "--target=all", "--prefix=none"]);
        tree.args(["--edges=normal,build", "--exclude=hashmill-rivals", "--exclude=hashmill-fuzz"]);
        tree.args([
            "--exclude=hashmill-codegen",
            "--exclude=xtask",
            "--exclude=hashmill-testkit",
            "--format={p}",
        ]);
        let output = tree.current_dir(root).output().expect("cargo tree");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("names");
        let mut all: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_once(" v"))
            .map(|(name, rest)| (name.to_owned(), rest.split(' ').next().unwrap_or_default().to_owned()))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn no_advisory_concerns_a_shipped_crate() {
        let root = crate::root();
        let extract = fs::read_to_string(root.join(EXTRACT)).expect("the extract");
        let shipped = shipped(&root);
        assert!(shipped.len() > 100, "{shipped:?}");
        assert_eq!(concerning(&extract, &shipped).expect("ranges"), Vec::<String>::new());
    }

    /// Each range of the extract can be parsed, and an advisory of a known crate is found.
    #[test]
    fn the_extract_is_parsed() {
        let extract = fs::read_to_string(crate::root().join(EXTRACT)).expect("the extract");
        let advisories = parse(&extract).expect("lines");
        assert!(advisories.len() > 500);
        for advisory in &advisories {
            for ranges in [advisory.patched, advisory.unaffected] {
                is_in("1.2.3", ranges).unwrap_or_else(|error| panic!("{}: {error:#}", advisory.id));
            }
        }
        let paste = [("paste".to_owned(), "1.0.15".to_owned())];
        let advisories = concerning(&extract, &paste).expect("ranges");
        assert_eq!(advisories, ["paste 1.0.15: RUSTSEC-2024-0436 (unmaintained)"]);
    }

    #[test]
    fn versions_are_compared_with_ranges() {
        for (version, ranges, expected) in [
            ("1.2.3", ">=1.2.3", true),
            ("1.2.3", ">1.2.3", false),
            ("1.2.3-beta.1", ">=1.2.3", false),
            ("1.10.0", ">=1.9", true),
            ("0.3.5", "^0.3.4|>=1", true),
            ("0.4.0", "^0.3.4|>=1", false),
            ("2.0.0", "^1.2", false),
            ("1.2.9", "~1.2.3", true),
            ("1.3.0", ">=1.2,<1.3", false),
            ("1.2.5+build", "=1.2.5", true),
            ("1.2.3", "", false),
        ] {
            assert_eq!(is_in(version, ranges).expect("a range"), expected, "{version} in {ranges}");
        }
    }

    #[test]
    fn an_advisory_becomes_a_line() {
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-1\"\npackage = \"a\"\n[versions]\npatched = [\n  \">= 1.2, < 2\",\n  \"^0.9\",\n]\n```\nid = 3\n";
        assert_eq!(
            line(text).expect("TOML").as_deref(),
            Some("RUSTSEC-1\ta\tvulnerability\t>=1.2,<2|^0.9\t")
        );
        let withdrawn = text.replace("[versions]", "withdrawn = \"2020-01-01\"\n[versions]");
        assert_eq!(line(&withdrawn).expect("TOML"), None);
    }
}
