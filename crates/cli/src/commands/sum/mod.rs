//! `hashmill sum`: hashes files, and checks, audits and updates checksum lists.

pub(crate) mod audit;
mod check;
mod duplicates;
mod expect;
mod hash;
mod job;
mod operands;
mod output_form;
mod tree;
mod update;
mod xattr;

pub(crate) use operands::files_below;

use crate::engines;
use crate::exit_code::{FAILED, OK};
use crate::flags::SumArgs;
use crate::os;
use crate::output::audit_output::or_incomplete;
use crate::output::progress::{Bar, ExpectedFiles};
use crate::output::{Out, OutputFile, display_path, print_note};
use anyhow::{Context, Result};
use hashmill_files::checksum_list::ListUpdate;
use hashmill_files::walk::Rules;
use hashmill_files::{FileId, Files, Function};
use job::{Action, SumJob, stdin_is_terminal};
use operands::{Operands, Paths};
use std::cell::RefCell;
use std::fs::Metadata;
use std::sync::Arc;

/// Runs the job that the flags describe.
pub(crate) fn run(flags: SumArgs) -> Result<u8> {
    let job = SumJob::from_flags(flags)?;
    let SumJob {
        action, paths, files_from, rules, algorithm, output, function, mode, style, options, ..
    } = job;
    let progress = job.progress;
    let files = Arc::new(engines::files(&job.engine, function, options)?);
    let target = output.as_deref().map(OutputFile::create).transpose()?.flatten();
    let rules = rules.map(|mut rules| {
        rules.except.extend(own_files(target.as_ref()));
        Arc::new(rules)
    });
    let make = |algorithm| Files::new(Function::by(algorithm).with_plan(job.plan), options);
    let used = RefCell::new(Vec::new());
    let out = |phase, files: Vec<Arc<Files>>, expected: Option<ExpectedFiles>| {
        used.borrow_mut().clone_from(&files);
        let bar = if progress { Bar::over(phase, files, expected) } else { None };
        match target {
            Some(target) => Out::into_file(target, bar),
            None => Out::new(bar),
        }
    };
    let code = match action {
        Action::Hash(hash_options) => {
            let paths = match &files_from {
                Some(from) => Paths::from(from)?,
                None => Paths::given(paths),
            };
            let expected =
                operands::expected_files(paths.as_slice().unwrap_or_default(), files_from, rules.as_ref());
            let mut out = out("hashing", vec![Arc::clone(&files)], expected);
            let reads_stdin =
                paths.as_slice().is_some_and(|paths| paths.iter().any(|path| path.as_os_str() == "-"));
            if reads_stdin && stdin_is_terminal() {
                out.note("standard input is the terminal: type the input, and Ctrl-D at the end");
            }
            hash::run(&files, Operands::new(paths, rules, mode), &hash_options, mode, style, &mut out);
            out.finish().exit_code(OK, FAILED)
        }
        Action::Tree(tree_options) => {
            let expected = operands::expected_files(&paths, None, Some(&Arc::default()));
            let mut out = out("hashing", vec![Arc::clone(&files)], expected);
            tree::run(&files, &paths, &tree_options, style, &mut out);
            out.finish().exit_code(OK, FAILED)
        }
        Action::Check(check_options) => {
            // A list may use any hash function, or several.
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let mut out =
                out("checking", hashers.all(), check::expected_files(&paths, &check_options, style));
            if paths.iter().any(|path| path.as_os_str() == "-") && stdin_is_terminal() {
                out.note("standard input is the terminal: type the list, and Ctrl-D at the end");
            }
            check::run(&hashers, &paths, &check_options, style, &mut out);
            out.finish().answer_code(OK, FAILED)
        }
        Action::Audit(list, findings) => {
            let old = match audit::AuditInput::read(&list, style.zero, &paths, algorithm, make) {
                Ok(old) => old,
                Err(error) => return or_incomplete(Err(error)),
            };
            let files = if old.algorithm == style.algorithm { files } else { Arc::new(make(old.algorithm)) };
            let rules = skipping(rules, old.ids.iter().copied());
            let expected = operands::expected_files(&paths, None, rules.as_ref());
            let mut out = out("auditing", vec![Arc::clone(&files)], expected);
            let items = Operands::new(Paths::given(paths), rules, mode);
            let failed = audit::run(&files, items, &old, findings, &mut out);
            out.finish().answer_code(OK, failed)
        }
        Action::Update(list, update_options) => {
            let algorithm = audit::algorithm_of(&list, &paths, algorithm, make)?;
            let (update, _temp_file) =
                os::TempFileGuard::create(|| ListUpdate::begin(&list, algorithm), ListUpdate::temporary_name)
                    .with_context(|| display_path(&list).into_owned())?;
            let algorithm = update.algorithm();
            let files = if algorithm == style.algorithm { files } else { Arc::new(make(algorithm)) };
            let rules = skipping(rules, update.files());
            let expected = operands::expected_files(&paths, None, rules.as_ref());
            let mut out = out("updating", vec![Arc::clone(&files)], expected);
            let items = Operands::new(Paths::given(paths.clone()), rules, mode);
            update::run(&files, items, update, &list, &paths, &update_options, &mut out);
            out.finish().answer_code(OK, FAILED)
        }
        Action::Duplicates(duplicates_options) => {
            let mut out = out("comparing sizes", vec![Arc::clone(&files)], None);
            let items = Operands::new(Paths::given(paths), rules, mode);
            duplicates::run(&files, items, &duplicates_options, &mut out);
            out.finish().exit_code(OK, FAILED)
        }
        Action::Xattr(xattr_options) => {
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let paths = match &files_from {
                Some(from) => Paths::from(from)?,
                None => Paths::given(paths),
            };
            let expected =
                operands::expected_files(paths.as_slice().unwrap_or_default(), files_from, rules.as_ref());
            let mut out = out("tagging", hashers.all(), expected);
            xattr::run(&hashers, Operands::new(paths, rules, mode), &xattr_options, &mut out);
            out.finish().answer_code(OK, FAILED)
        }
        Action::Expect(expect_options) => {
            let hashers = check::Hashers::new(style.algorithm, &files, make);
            let rules = expect_options.tree.then(Arc::default);
            let mut out =
                out("comparing", hashers.all(), operands::expected_files(&paths, None, rules.as_ref()));
            expect::run(&hashers, &paths[0], &expect_options, &mut out);
            out.finish().answer_code(OK, FAILED)
        }
    };
    if let Some(error) = used.borrow().iter().find_map(|files| files.direct_failure()) {
        print_note(&format!("--strategy direct: some reads went through the system's cache: {error}"));
    }
    Ok(code)
}

/// The same rules, which skip these files too.
fn skipping(rules: Option<Arc<Rules>>, ids: impl IntoIterator<Item = FileId>) -> Option<Arc<Rules>> {
    rules.map(|rules| {
        let mut rules = Arc::unwrap_or_clone(rules);
        rules.except.extend(ids);
        Arc::new(rules)
    })
}

/// The files that this run writes. They are skipped, as their content changes during the run.
fn own_files(target: Option<&OutputFile>) -> Vec<FileId> {
    let written = os::output_metadata().filter(Metadata::is_file);
    let written = written.as_ref().and_then(FileId::from_metadata);
    written.into_iter().chain(target.into_iter().flat_map(OutputFile::ids)).collect()
}
