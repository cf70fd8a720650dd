//! Every command on damaged files: it ends with a documented exit code and leaves the file unchanged.

use crate::world::{World, hashmill};
use hashmill_doc::{
    ActorId, Change, Document, ExpandMark, LoadError, Mark, ObjType, ROOT, Transactable as _,
};
use hashmill_testkit::data::automerge_samples;
use hashmill_testkit::mutate::chunk::{Chunk, join, split};
use hashmill_testkit::mutate::forge::KnownOps;
use hashmill_testkit::mutate::{mutate, values};
use hashmill_testkit::{Rng, size};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SEED: u64 = 20;

/// Runs all commands on the file `f`, a copy `c` of it, and valid documents `whole` and `other`, each within 1 GiB of address space
/// and 20 seconds of CPU time. Prints each exit code with the command line, and `bad` if the output is not a valid document.
const SCRIPT: &str = r#"
export MALLOC_ARENA_MAX=2 RAYON_NUM_THREADS=2
ulimit -v 1048576; ulimit -t 20
try() { hashmill doc "$@" >>out 2>>err </dev/null; code=$?; echo "$code $*"; return $code; }
good() { hashmill doc show "$1" >>out 2>>err || echo "bad $2"; }
try show f; try show f --json
try get f ''; try get f /text --json --all
try log f --json; try blame f ''; try blame f /text --json
try export f --tagged; try export f --flat; try export f --changes
try diff f; try diff f --human; try diff whole f --merge
try check f --json; try examine f; try examine f --json; try examine-sync f; try examine-sync f --json
try patch whole f; try import f -o new; try import f -o new --changes
for verb in rescue squash anonymise; do
  try $verb f -o made
  if [ -e made ]; then good made $verb; rm made; fi
done
try view f -o page.html
if hashmill doc check f >>out 2>>err; then
  for line in 'put c /x 1' 'splice c /text 0 1 x' 'mark c /text 0 1 bold' 'undo c' 'merge c whole' 'sync c other' 'delete c /text'; do
    try $line
    good c "$line"
  done
fi
"#;

/// A document with values of all types, by two actors.
fn document() -> Document {
    let mut doc = Document::new().with_actor(ActorId::from([1, 1]));
    doc.transact(|tx| {
        let text = tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.splice_text(&text, 0, 0, "one two three")?;
        tx.mark(&text, Mark::new("bold", true, 0, 3), ExpandMark::After)?;
        tx.split_block(&text, 3)?;
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        (0..5).try_for_each(|at| tx.insert(&list, at, at as i64))
    })
    .expect("sound edits");
    let mut other = doc.fork().with_actor(ActorId::from([2]));
    for doc in [&mut doc, &mut other] {
        doc.transact(|tx| tx.put(ROOT, "key", "value")).expect("a sound edit");
    }
    doc.merge(&other).expect("another actor");
    doc
}

/// Every file of the document corpora, from its first chunk if it has one, and whole. Sorted by name.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = automerge_samples();
    for entry in fs::read_dir(folder).expect("the corpora") {
        let folder = entry.expect("a corpus").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("doc_") {
            continue;
        }
        for entry in fs::read_dir(folder).expect("a corpus") {
            let path = entry.expect("a seed").path();
            let bytes = fs::read(&path).expect("a seed");
            // Fuzz inputs start with option bytes.
            let from = bytes.windows(4).position(|four| four == [0x85, 0x6f, 0x4a, 0x83]).unwrap_or(0);
            files.push((path.display().to_string(), bytes[from..].to_vec()));
        }
    }
    files.sort_unstable();
    files
}

/// Mutated documents and change sequences. If only the heads of a document are wrong, they are repaired.
fn mutated(count: usize) -> Vec<(String, Vec<u8>)> {
    let mut rng = Rng::new(SEED);
    let mut doc = document();
    let changes: Vec<Vec<u8>> = doc.get_changes(&[]).iter().map(Change::raw_bytes).collect();
    let mut bases = vec![split(&doc.save()), split(&changes.concat())];
    bases.extend(automerge_samples().iter().map(|(_, bytes)| split(bytes)));
    let mut universe = KnownOps::from_files(changes.iter().map(Vec::as_slice));
    let mut one = |number: usize| {
        // Our own documents more often, as they have more content.
        let base = if rng.below(4) == 0 { rng.below(bases.len()) } else { rng.below(2) };
        let mut chunks = bases[base].clone();
        mutate(&mut chunks, &mut universe, 3, &mut rng);
        let mut bytes = join(&chunks);
        if let Err(LoadError::Heads { computed, .. }) = Document::load(&bytes) {
            let heads = computed.iter().map(|hash| hash.0).collect();
            if let Some(Chunk::Document(document)) = chunks.first_mut() {
                document.lead_to(heads);
            }
            bytes = join(&chunks);
        }
        if rng.below(8) == 0 {
            values::damage(&mut bytes, &mut rng);
        }
        (format!("mutation {number} of seed {SEED}"), bytes)
    };
    (0..count).map(&mut one).collect()
}

#[cfg(unix)]
#[test]
fn damaged_files_fail_as_documented() {
    let corpus = corpus();
    assert!(corpus.len() >= 130, "{}", corpus.len());
    let corpus = corpus.into_iter().step_by(size::of(16, 1));
    let inputs: Vec<(String, Vec<u8>)> = corpus.chain(mutated(size::of(10, 160))).collect();
    let next = AtomicUsize::new(0);
    let script = SCRIPT.replace("hashmill", &hashmill().display().to_string());
    let work = || {
        let mut codes = BTreeSet::new();
        while let Some((name, bytes)) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
            codes.extend(judge(name, bytes, &script));
        }
        codes
    };
    let codes = thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut codes = work();
        codes.extend(other.join().expect("no panic"));
        codes
    });
    // Every command must both succeed and fail, or the corpus has changed.
    for verb in
        ["show", "get", "log", "blame", "export", "diff", "check", "examine", "rescue", "squash", "view"]
    {
        for code in ["0", "1"] {
            assert!(codes.contains(&format!("{code} {verb}")), "{code} {verb}");
        }
    }
}

/// Runs the script for one file. Returns the exit codes of the commands.
fn judge(name: &str, bytes: &[u8], script: &str) -> BTreeSet<String> {
    let world = World::new();
    let whole = document().save();
    world.write("f", bytes).write("c", bytes).write("whole", &whole).write("other", &whole);
    let done = world.run("/bin/sh".as_ref(), ["-c", script], b"");
    let (output, err) = (done.text(), fs::read_to_string(world.path("err")).unwrap_or_default());
    assert_eq!((done.code() < 128, &*done.err), (true, ""), "{name}: {output}");
    for line in output.lines() {
        assert!(["0 ", "1 ", "2 "].iter().any(|code| line.starts_with(code)), "{name}: {line}\n{err}");
    }
    for line in err.lines() {
        assert!(line.starts_with("hashmill: "), "{name}: {line}");
    }
    assert!(!err.contains("panicked"), "{name}: {err}");
    assert_eq!(fs::read(world.path("f")).expect("a file"), bytes, "{name}");
    assert_eq!(fs::read(world.path("whole")).expect("a file"), whole, "{name}");
    let left = fs::read_dir(world.path("")).expect("a directory");
    let left = left.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.ends_with(".tmp")).count(), 0, "{name}");
    let verb = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    output.lines().map(verb).collect()
}
