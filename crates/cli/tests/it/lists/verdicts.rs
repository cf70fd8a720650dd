//! Verdicts of `--update`, `--audit` and `--xattr` compared with a small model, over random edits and runs.
//!
//! `VERDICT_RUNS` is the number of sequences, `VERDICT_SEED` the first seed, `VERDICT_NAMES` the number of names that random files
//! have in each directory. The test prints the number of operations: edits, and verdicts that were compared with the model.

use crate::world::World;
use hashmill_testkit::rng::Rng;
use hashmill_testkit::{size, skip};
use rustix::fs::{XattrFlags, setxattr};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

/// Content and time of a file or of its stored entry. Contents are unique, except for copies.
type State = (u64, u64);

#[derive(Default)]
struct Model {
    /// The file of each name.
    names: BTreeMap<String, usize>,
    /// State and stored digest of each file.
    files: Vec<(State, Option<State>)>,
    list: BTreeMap<String, State>,
    /// Directories whose files are moved away, as on an unmounted disk.
    unmounted: BTreeSet<&'static str>,
    last: u64,
}

/// The expected result of a run: files with their verdicts in any order, and the exit code.
struct Expected {
    named: BTreeSet<(String, String)>,
    code: i32,
}

const LISTED: [&str; 2] = ["d", "e"];

impl Model {
    fn fresh(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn in_directories(&self, directories: &[&str]) -> Vec<(String, usize)> {
        let there = |name: &str| directories.contains(&&name[..1]) && !self.unmounted.contains(&name[..1]);
        self.names.iter().filter(|(name, _)| there(name)).map(|(name, id)| (name.clone(), *id)).collect()
    }

    /// The verdict on a file that was read.
    fn verdict(stored: Option<State>, now: State) -> &'static str {
        match stored {
            None => "new",
            Some((contents, time)) => match (contents == now.0, time == now.1) {
                (true, true) => "same",
                (true, false) => "touched",
                (false, false) => "outdated",
                (false, true) => "corrupt",
            },
        }
    }

    /// Verdicts on the files below directories, with moved and missing ones, against the list.
    fn compare(&self, directories: &[&str], reads_all: bool) -> BTreeMap<String, &'static str> {
        let there = self.in_directories(directories);
        let there_by_name: BTreeMap<&String, usize> = there.iter().map(|(name, id)| (name, *id)).collect();
        let is_there = |name: &String| there_by_name.contains_key(name);
        let mut gone: BTreeMap<&String, u64> = self
            .list
            .iter()
            .filter(|(name, _)| directories.contains(&&name[..1]) && !is_there(name))
            .map(|(name, (contents, _))| (name, *contents))
            .collect();
        let by_contents: BTreeMap<u64, String> =
            gone.iter().map(|(name, contents)| (*contents, (*name).clone())).collect();
        let mut verdicts = BTreeMap::new();
        for (name, id) in &there {
            let (now, stored) = (self.files[*id].0, self.list.get(name).copied());
            let verdict = match stored {
                Some(stored) if !reads_all && stored.1 == now.1 => "same",
                stored => Model::verdict(stored, now),
            };
            let from = by_contents.get(&now.0).filter(|from| verdict == "new" && gone.contains_key(from));
            match from {
                Some(from) => {
                    gone.remove(from);
                    verdicts.insert(name.clone(), "moved");
                }
                None => {
                    verdicts.insert(name.clone(), verdict);
                }
            }
        }
        verdicts.extend(gone.keys().map(|name| ((*name).clone(), "gone")));
        verdicts
    }

    fn expected(verdicts: &BTreeMap<String, &'static str>, failures: &[&str]) -> Expected {
        let named = verdicts.iter().map(|(name, word)| (name.clone(), (*word).to_owned())).collect();
        Expected { named, code: i32::from(verdicts.values().any(|word| failures.contains(word))) }
    }

    /// `None` if the run must be refused.
    fn update(
        &mut self,
        directories: &[&'static str],
        paranoid: bool,
        retag: bool,
        allow_gone: bool,
    ) -> Option<Expected> {
        let verdicts = self.compare(directories, paranoid);
        let emptied = |directory: &&&str| {
            let mut rows = self.list.keys().filter(|name| name.starts_with(**directory)).peekable();
            let gone = |name: &String| verdicts.get(name) == Some(&"gone");
            rows.peek().is_some() && rows.all(gone)
        };
        if !allow_gone && directories.iter().any(|directory| emptied(&directory)) {
            return None;
        }
        for (name, word) in &verdicts {
            let now = self.names.get(name).map(|id| self.files[*id].0);
            match (*word, now) {
                ("gone", _) => drop(self.list.remove(name)),
                ("corrupt", _) if !retag => {}
                // A file that was not read keeps its listed digest.
                ("same", Some(_)) => {}
                (_, Some(now)) => drop(self.list.insert(name.clone(), now)),
                (_, None) => {}
            }
        }
        let there: BTreeSet<String> =
            self.in_directories(directories).into_iter().map(|(name, _)| name).collect();
        self.list.retain(|name, _| !directories.contains(&&name[..1]) || there.contains(name));
        Some(Model::expected(&verdicts, &["corrupt"]))
    }

    fn tag(&mut self, retag: bool) -> Expected {
        let mut verdicts = BTreeMap::new();
        let mut writes = BTreeMap::new();
        for (name, id) in self.in_directories(&["d", "e", "l"]) {
            let (now, tag) = self.files[id];
            let word = Model::verdict(tag, now);
            if word != "corrupt" || retag {
                writes.insert(id, now);
            }
            verdicts.insert(name, if word == "same" { "ok" } else { word });
        }
        for (id, now) in writes {
            self.files[id].1 = Some(now);
        }
        Model::expected(&verdicts, &["corrupt"])
    }
}

fn write(world: &World, name: &str, state: State) {
    world.write(name, format!("{:08}", state.0));
    set_time(world, name, state.1);
}

fn set_time(world: &World, name: &str, time: u64) {
    let file = File::options().write(true).open(world.path(name)).expect("our own file");
    // Long ago, so that every time is proof; with nanoseconds.
    let then = SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, time as u32);
    file.set_modified(then).expect("our own file");
}

/// One random edit, in the world and in the model. Each directory has `names` names for new files.
fn edit(world: &World, model: &mut Model, rng: &mut Rng, names: usize) {
    let there = model.in_directories(&["d", "e", "l"]);
    let any = |rng: &mut Rng| there.get(rng.below(there.len().max(1))).cloned();
    match rng.below(12) {
        0..=2 => {
            let directory = ["d", "e", "l"][rng.below(3)];
            let number = rng.below(names);
            // Every other one is in a directory below.
            let name = format!("{directory}/{}{number}", ["", "s/"][number % 2]);
            if !model.unmounted.contains(directory) && !model.names.contains_key(&name) {
                let state = (model.fresh(), model.fresh());
                write(world, &name, state);
                model.names.insert(name, model.files.len());
                model.files.push((state, None));
            }
        }
        kind @ 3..=6 => {
            // An edit, corruption, or a touch.
            let Some((name, id)) = any(rng) else { return };
            let (mut contents, mut time) = model.files[id].0;
            if kind != 6 {
                contents = model.fresh();
            }
            if kind != 5 {
                time = model.fresh();
            }
            write(world, &name, (contents, time));
            model.files[id].0 = (contents, time);
        }
        7 => {
            let Some((name, _)) = any(rng) else { return };
            fs::remove_file(world.path(&name)).expect("our own file");
            model.names.remove(&name);
        }
        8 => {
            let Some((name, id)) = any(rng) else { return };
            let to = format!("{}/m{}", &name[..1], model.fresh());
            fs::rename(world.path(&name), world.path(&to)).expect("our own file");
            model.names.remove(&name);
            model.names.insert(to, id);
        }
        9 => {
            // Another name, if it is not in a list.
            let Some((name, id)) = any(rng).filter(|(name, _)| name.starts_with('l')) else { return };
            let to = format!("l/h{}", model.fresh());
            fs::hard_link(world.path(&name), world.path(&to)).expect("our own file");
            model.names.insert(to, id);
        }
        _ => {
            let directory = LISTED[rng.below(2)];
            let (here, away) = (world.path(directory), world.path(format!("{directory}.away")));
            if model.unmounted.remove(directory) {
                fs::remove_dir(&here).expect("it is empty");
                fs::rename(away, here).expect("our own directory");
            } else {
                fs::rename(&here, away).expect("our own directory");
                fs::create_dir(here).expect("room");
                model.unmounted.insert(directory);
            }
        }
    }
}

/// Runs `hashmill sum` and compares the printed files and the exit code. Returns the number of verdicts.
fn check(world: &World, args: &[&str], expected: &Expected, context: &str) -> usize {
    let done = world.sum([args, &["--json", "-v"]].concat());
    let named: BTreeSet<(String, String)> = done
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter_map(|object| {
            Some((object["path"].as_str()?.to_owned(), object["status"].as_str()?.to_owned()))
        })
        .collect();
    let of = |word: &str| expected.named.iter().filter(|(_, known)| known == word).count();
    assert_eq!(named, expected.named, "{context}: {args:?}: {}", done.err);
    assert_eq!(done.code(), expected.code, "{context}: {args:?}: {}", done.err);
    // Only corrupt files are printed with both digests.
    assert_eq!(
        done.err.matches("content changed but modification time did not").count(),
        of("corrupt"),
        "{context}"
    );
    named.len()
}

#[test]
#[allow(clippy::print_stdout, reason = "a search tells what it did")]
fn verdicts_match_the_model() {
    let number = |name, default| {
        env::var(name).ok().map_or(default, |text| text.parse().expect("a number in the environment"))
    };
    let (runs, first) = (number("VERDICT_RUNS", size::of(6, 20)), number("VERDICT_SEED", 1));
    let names = number("VERDICT_NAMES", size::of(4, 40)) as usize;
    let mut operations = 0;
    for seed in first..first + runs {
        let world = World::new();
        world.write("d/a", "").write("e/a", "").write("l/a", "");
        if let Err(error) = setxattr(world.path("d/a"), "user.try", b"", XattrFlags::empty()) {
            return skip("verdicts", &format!("no extended attributes in the temporary directory: {error}"));
        }
        ["d/a", "e/a", "l/a"]
            .iter()
            .for_each(|name| fs::remove_file(world.path(name)).expect("our own file"));
        let (mut model, mut rng) = (Model::default(), Rng::new(seed));
        for step in 0..14 {
            let context = format!("seed {seed}, step {step}");
            // The first step fills the directories.
            let edits = if step == 0 { 3 * names } else { 1 + rng.below(5 * names / 4) };
            (0..edits).for_each(|_| edit(&world, &mut model, &mut rng, names));
            operations += edits;
            let retag = rng.below(4) == 0;
            let retags: &[&str] = if retag { &["--retag"] } else { &[] };
            match rng.below(5) {
                0 => {
                    let expected = model.tag(retag);
                    operations += check(
                        &world,
                        &[&["--xattr", "-r", "d", "e", "l"], retags].concat(),
                        &expected,
                        &context,
                    );
                }
                1 if !model.list.is_empty() => {
                    let verdicts = model.compare(&LISTED, true);
                    let failures = ["new", "moved", "outdated", "corrupt", "gone"];
                    let expected = Model::expected(&verdicts, &failures);
                    operations += check(&world, &["--audit", "SUMS", "d", "e"], &expected, &context);
                }
                _ => {
                    let (paranoid, allow_gone) = (rng.below(2) == 0, rng.below(4) == 0);
                    let directories = [&["d", "e"][..], &["d"], &["e"]][rng.below(3)];
                    let mut args = [&["--update", "SUMS"], directories, retags].concat();
                    args.extend(paranoid.then_some("--paranoid"));
                    args.extend(allow_gone.then_some("--allow-gone"));
                    let before = fs::read(world.path("SUMS")).ok();
                    match model.update(directories, paranoid, retag, allow_gone) {
                        Some(expected) => operations += check(&world, &args, &expected, &context),
                        None => {
                            let done = world.sum(&args);
                            assert_eq!(done.code(), 1, "{context}: {args:?}");
                            assert!(done.err.contains("see --allow-gone"), "{context}: {}", done.err);
                            assert_eq!(fs::read(world.path("SUMS")).ok(), before, "{context}: {args:?}");
                        }
                    }
                    assert!(!world.path(".SUMS.journal").exists(), "{context}: {args:?}");
                }
            }
        }
    }
    println!("{operations} operations");
}
