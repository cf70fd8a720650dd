//! Tests of libhashmill: C programs under sanitizers, and a comparison of the header with its sources.

mod header;

use crate::{has, output_of, prefix, scratch, source};
use hashmill_doc::{ActorId, AutoCommit, CommitOptions, EditError, ObjType, ROOT, ScalarValue, Transactable};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Warnings that are errors.
const STRICT: &[&str] = &["-O1", "-g", "-Wall", "-Wextra", "-Werror"];
/// Sanitizers for addresses, leaks and undefined behaviour.
const SANITIZERS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
/// Libraries that the static library needs.
const NEEDS: &[&str] = &["-lgcc_s", "-lpthread", "-lm", "-ldl"];

/// A compiler and its arguments.
struct Compiler {
    name: &'static str,
    options: Vec<&'static str>,
}

/// The installed compilers of a language, with their sanitizers if available.
fn compilers(names: [&'static str; 2], standard: &'static str, suffix: &str) -> Vec<Compiler> {
    let trial = scratch(&format!("hashmill-{suffix}"));
    let file = trial.join("trial").with_extension(suffix);
    fs::write(&file, "int main(void) { return 0; }\n").expect("a file");
    let mut found = Vec::new();
    for name in names {
        if !has(name) {
            hashmill_testkit::skip("libhashmill with another compiler", &format!("no `{name}`"));
            continue;
        }
        let mut trial = Command::new(name);
        let trial = trial.args(SANITIZERS).arg(&file).arg("-o").arg(file.with_extension("program")).output();
        let sanitizers = if trial.is_ok_and(|output| output.status.success()) {
            SANITIZERS
        } else {
            hashmill_testkit::skip(&format!("libhashmill under sanitizers of {name}"), "it has none here");
            &[]
        };
        found.push(Compiler { name, options: [STRICT, sanitizers, &[standard]].concat() });
    }
    assert!(!found.is_empty(), "the step wants one of them");
    found
}

/// The compilers for C.
fn for_c() -> Vec<Compiler> {
    compilers(["gcc", "clang"], "-std=c11", "c")
}

impl Compiler {
    /// A program, linked with the static library.
    fn compile(&self, file: &Path) -> PathBuf {
        self.compile_as(self.name, file)
    }

    /// The same, in another folder.
    fn compile_as(&self, name: &str, file: &Path) -> PathBuf {
        let stem = file.file_name().expect("a file").to_string_lossy();
        let program = scratch(&format!("hashmill-{name}-{stem}")).join("program");
        let (include, library) = (prefix().join("include"), prefix().join("lib/libhashmill.a"));
        let mut command = Command::new(self.name);
        command.args(&self.options).arg("-I").arg(include).arg(file).arg("-o").arg(&program);
        // Used by programs that read it.
        let other = prefix().join("lib/libargon2.a");
        output_of(command.args([library, other]).args(NEEDS));
        program
    }
}

/// Runs a program that prints "done".
fn done(program: &Path, arguments: &[&Path]) {
    assert_eq!(output_of(Command::new(program).args(arguments)), "done\n");
}

#[test]
fn hashes_and_wrong_arguments() {
    let file = scratch("hashmill-hash").join("large");
    for compiler in for_c() {
        done(&compiler.compile(&source("hashmill/hash.c")), &[&file]);
    }
}

#[test]
fn layouts_are_those_of_compiled_programs() {
    if cfg!(target_pointer_width = "64") {
        for compiler in for_c() {
            compiler.compile(&source("hashmill/layout.c"));
        }
    } else {
        hashmill_testkit::skip("layouts of hashmill.h", "pointers have not 64 bits");
    }
}

#[test]
fn passwords_are_hashed_and_verified() {
    for compiler in for_c() {
        done(&compiler.compile(&source("hashmill/passwords.c")), &[]);
    }
}

/// The program edits, saves and prints the heads; the crate makes the same edits, and reads the file.
#[test]
fn documents_edited_in_c_equal_those_of_the_crate() {
    let file = scratch("hashmill-documents").join("saved");
    for compiler in for_c() {
        done(&compiler.compile(&source("hashmill/documents/documents.c")), &[&file]);
        let mut doc = AutoCommit::new().with_actor(ActorId::from(*b"sixteen bytes ok"));
        edit(&mut doc).expect("edits that are right");
        let mut loaded = AutoCommit::load(&fs::read(&file).expect("the file")).expect("a document");
        assert_eq!(loaded.get_heads(), doc.get_heads());
        assert_eq!(fs::read(&file).expect("the file"), doc.save());
    }
}

/// The same edits as `edit` in documents.c.
fn edit(doc: &mut AutoCommit) -> Result<(), EditError> {
    doc.put(ROOT, "title", "Grüße")?;
    doc.put(ROOT, "count", ScalarValue::Counter(7))?;
    doc.put(ROOT, "when", ScalarValue::Timestamp(1_700_000_000_000))?;
    doc.put(ROOT, "raw", vec![0_u8, 255, 0])?;
    doc.put(ROOT, "none", ())?;
    doc.commit_with(&CommitOptions::default().with_message("begin").with_time(5));
    doc.increment(ROOT, "count", -3)?;
    let list = doc.put_object(ROOT, "list", ObjType::List)?;
    doc.insert(&list, 0, true)?;
    doc.insert(&list, 1, -1_i64)?;
    doc.insert(&list, 2, u64::MAX)?;
    doc.put(&list, 0, 0.5)?;
    let map = doc.insert_object(&list, 3, ObjType::Map)?;
    doc.put(&map, "deep", "down")?;
    doc.delete(&list, 1)?;
    let text = doc.put_object(ROOT, "text", ObjType::Text)?;
    doc.splice_text(&text, 0, 0, "Hello you")?;
    doc.splice_text(&text, 6, 3, "all of you")?;
    doc.update_text(&text, "Hello to all of you")?;
    doc.delete(ROOT, "none")?;
    doc.commit();
    Ok(())
}

#[test]
fn marks_cursors_patches_changes_and_syncs() {
    for compiler in for_c() {
        done(&compiler.compile(&source("hashmill/documents/history.c")), &[]);
    }
}

#[test]
fn blocks_paths_authors_and_messages() {
    for compiler in for_c() {
        done(&compiler.compile(&source("hashmill/documents/rich.c")), &[]);
    }
}

/// Eight threads that read one document. The sanitizer does not see the ordering of Rust's atomics, so this test covers only code
/// without them: a pool's work would look like races.
#[test]
fn threads_that_read_a_document_do_not_race() {
    if cfg!(not(target_pointer_width = "64")) {
        return hashmill_testkit::skip("races in libhashmill", "the sanitizer wants pointers of 64 bits");
    }
    let compiler = Compiler { name: for_c()[0].name, options: vec!["-g", "-std=c11", "-fsanitize=thread"] };
    let program = compiler.compile_as("tsan", &source("hashmill/documents/documents.c"));
    done(&program, &[&scratch("hashmill-documents-tsan").join("saved")]);
}

/// The allocator's caches count as allocated, so they are turned off. A million rounds take half a minute with the release
/// library.
#[test]
fn repeated_calls_do_not_grow_memory() {
    if cfg!(not(target_env = "gnu")) {
        return hashmill_testkit::skip(
            "memory of libhashmill over time",
            "this allocator tells not how much it gave out",
        );
    }
    let compiler =
        Compiler { name: for_c()[0].name, options: vec!["-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu11"] };
    let mut program = Command::new(compiler.compile_as("loops", &source("hashmill/loops.c")));
    let tunables = "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0";
    assert_eq!(output_of(program.arg("20000").env("GLIBC_TUNABLES", tunables)), "done\n");
}

/// Checks by valgrind, which also covers the code of the library itself.
#[test]
fn valgrind_reports_no_error() {
    if !has("valgrind") {
        return hashmill_testkit::skip("libhashmill under valgrind", "no `valgrind`");
    }
    let compiler = Compiler { name: for_c()[0].name, options: vec!["-g", "-std=c11"] };
    // Memory of a pool's threads may look lost; the installed file suppresses that.
    let known = format!("--suppressions={}", prefix().join("share/hashmill/valgrind.supp").display());
    for program in ["hashmill/documents/history.c", "hashmill/pool.c"] {
        let program = compiler.compile_as("valgrind", &source(program));
        let mut valgrind = Command::new("valgrind");
        valgrind.args([
            "-q",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect,possible",
            &known,
        ]);
        assert_eq!(output_of(valgrind.arg("--error-exitcode=9").arg(program)), "done\n");
    }
}

/// The example of the README, linked as described there.
#[test]
fn readme_example_runs_with_libhashmill() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a page");
    let example =
        readme.split("```c\n#include <hashmill.h>").nth(1).and_then(|text| text.split("```").next());
    let file = scratch("hashmill-readme").join("example.c");
    fs::write(&file, format!("#include <hashmill.h>{}", example.expect("an example"))).expect("a file");
    let mut text = None;
    for compiler in for_c() {
        text = Some(output_of(&mut Command::new(compiler.compile(&file))));
    }
    assert_eq!(text.as_deref(), Some("Hello to all of you\n"));
}

#[test]
fn programs_in_cpp_compile_and_run() {
    for mut compiler in compilers(["g++", "clang++"], "-std=c++20", "cpp") {
        done(&compiler.compile(&source("hashmill/example.cpp")), &[]);
        // The next standard, which has `std::expected` in some libraries. Most of this test's time is compilation.
        compiler.options = vec!["-std=c++2b", "-Wall", "-Wextra", "-Werror"];
        done(&compiler.compile(&source("hashmill/example.cpp")), &[]);
    }
}

/// Units of one program may be compiled with different standards, and with libraries with and without `std::expected`. Macros
/// simulate that if no compiler here has both.
#[test]
fn units_of_two_standards_link_into_one_program() {
    let newer = [
        "-std=c++2b",
        "-U__cpp_range_based_for",
        "-D__cpp_range_based_for=202211L",
        "-Wno-builtin-macro-redefined",
    ];
    for compiler in compilers(["g++", "clang++"], "-std=c++20", "cpp") {
        let folder = scratch(&format!("hashmill-mixed-{}", compiler.name));
        let object = |name: &str, options: &[&str]| {
            let (include, file) = (prefix().join("include"), folder.join(name));
            let mut command = Command::new(compiler.name);
            command
                .args(["-O0", "-c"])
                .args(options)
                .arg("-I")
                .arg(include)
                .arg(source("hashmill/mixed.cpp"));
            output_of(command.arg("-o").arg(&file));
            file
        };
        for (first, second) in [(&["-std=c++20"][..], &newer[..]), (&newer[..], &["-std=c++20"][..])] {
            let units =
                [object("first.o", first), object("second.o", &[second, &["-DSECOND_UNIT"]].concat())];
            // The order decides which unit's copy of an inline function is kept.
            for units in [[&units[0], &units[1]], [&units[1], &units[0]]] {
                let program = folder.join("program");
                let mut link = Command::new(compiler.name);
                link.args(units).arg("-o").arg(&program).arg(prefix().join("lib/libhashmill.a")).args(NEEDS);
                output_of(&mut link);
                done(&program, &[]);
            }
        }
    }
}

/// The header is generated by one version of cbindgen, which `bindings/c/header` names.
#[test]
fn committed_header_equals_generated_header() {
    let folder = scratch("hashmill-header");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [("include/hashmill.h", "hashmill.h"), ("libhashmill.map", "libhashmill.map")];
    let mut write = Command::new(committed.join("header"));
    let output = write.args(files.map(|(_, file)| folder.join(file))).output().expect("bash");
    if output.status.code() == Some(3) {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return hashmill_testkit::skip("the header beside what cbindgen makes", &reason);
    }
    assert!(output.status.success(), "{output:?}");
    for (committed_file, generated_file) in files {
        let read = |path: PathBuf| fs::read_to_string(path).expect("a file");
        let same = read(committed.join(committed_file)) == read(folder.join(generated_file));
        assert!(same, "{committed_file} is not what the source says: run bindings/c/header");
    }
}
