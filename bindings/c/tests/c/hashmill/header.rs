//! Checks of every function of hashmill.h. They are read from the header, so that none is forgotten.

use super::{done, for_c};
use crate::{has, output_of, prefix, scratch, source};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A parameter: its type, as `const hm_doc *`, and its name.
struct Parameter {
    kind: String,
    name: String,
}

struct Function {
    gives: String,
    name: String,
    parameters: Vec<Parameter>,
    is_explained: bool,
}

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file of the package")
}

/// The functions that the header declares.
fn functions() -> Vec<Function> {
    let header = read("include/hashmill.h");
    let declared = header.split("extern \"C\" {").nth(1).and_then(|text| text.split("}  // extern").next());
    let declared = declared
        .expect("the part that is C in C++, too")
        .split_once("#endif // __cplusplus\n")
        .expect("its guard")
        .1;
    declared.split(");\n").filter_map(function).collect()
}

/// Parses `// Comment. [HM_MUST_USE] hm_error *hm_x(const hm_doc *doc, size_t n)`.
fn function(text: &str) -> Option<Function> {
    let is_explained = text.trim_start().starts_with("// ");
    let lines = text.lines().filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join(" ").replace("HM_MUST_USE", "");
    let (head, parameters) = text.split_once('(')?;
    let parameter = |text: &str| {
        let name = text.trim().rsplit([' ', '*']).next()?;
        let kind = text.trim().strip_suffix(name)?.trim().to_owned();
        Some(Parameter { kind, name: name.to_owned() }).filter(|_| !["", "void"].contains(&text.trim()))
    };
    let name = head.rsplit([' ', '*']).next()?.to_owned();
    Some(Function {
        gives: head.trim().strip_suffix(&*name)?.trim().to_owned(),
        name,
        parameters: parameters.split(',').filter_map(parameter).collect(),
        is_explained,
    })
}

/// The names in the linker's version script.
fn exported() -> Vec<String> {
    let map = read("libhashmill.map");
    let names = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    names.filter(|name| name.starts_with("hm_")).map(str::to_owned).collect()
}

#[test]
fn header_list_and_library_have_equal_functions_with_comments() {
    let functions = functions();
    let mut names: Vec<_> = functions.iter().map(|function| function.name.clone()).collect();
    let mut listed = exported();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
    let silent: Vec<_> = functions.iter().filter(|function| !function.is_explained).collect();
    assert!(silent.is_empty(), "no comment: {:?}", silent.iter().map(|it| &it.name).collect::<Vec<_>>());
    if !has("nm") {
        return hashmill_testkit::skip("names of libhashmill.so.0", "no `nm` (Debian package binutils)");
    }
    let library = prefix().join("lib/libhashmill.so.0");
    let found = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let found: Vec<_> = found.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(found, names);
}

/// The version in the header is that of the packages, and the library reports the same.
#[test]
fn header_and_library_have_the_package_version() {
    let program = scratch("hashmill-version").join("version.c");
    let text = "#include <hashmill.h>\n#include <stdio.h>\nint main(void) {\n  \
        printf(\"%d.%d.%d\\n\", HM_VERSION_MAJOR, HM_VERSION_MINOR, HM_VERSION_PATCH);\n  \
        return hm_version() != HM_VERSION;\n}\n";
    fs::write(&program, text).expect("a file");
    for compiler in for_c() {
        let version = output_of(&mut Command::new(compiler.compile(&program)));
        assert_eq!(version.trim_end(), env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn cpp_header_covers_all_functions() {
    let header = read("include/hashmill.hpp");
    let uses = |name: &str| header.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    // Functions replaced by a more general one.
    let replaced = ["hm_get_cursor"];
    // C++ uses the macros of hashmill.h directly.
    let shared = ["hm_version"];
    let missing: Vec<_> = exported().into_iter().filter(|name| !uses(name)).collect();
    let missing: Vec<_> = missing.iter().map(String::as_str).filter(|name| !shared.contains(name)).collect();
    assert_eq!(missing, replaced);
}

/// All names on the page exist, and it lists each function of automerge-c once.
#[test]
fn automerge_c_page_is_complete() {
    let (page, header) = (read("automerge-c.md"), read("include/hashmill.h"));
    let words: Vec<_> = page.split('`').skip(1).step_by(2).collect();
    let mut automerge_names: Vec<_> =
        words.iter().filter(|word| word.starts_with("AM") && **word != "AMresult").collect();
    automerge_names.sort_unstable();
    let count = automerge_names.len();
    automerge_names.dedup();
    assert_eq!((count, automerge_names.len()), (168, 168));
    let known =
        |name: &str| header.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let unknown: Vec<_> = words.iter().filter(|word| word.starts_with("hm_") && !known(word)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Parameters that may be NULL, by function, or everywhere.
const OPTIONAL: &[(&str, &[&str])] = &[
    ("", &["options", "limits", "pool", "obj"]),
    (
        "hm_get_cursor hm_get_cursor_moving hm_get_cursor_position hm_get_marks hm_get_marks_at hm_get_parts",
        &["heads"],
    ),
    ("hm_map_get hm_map_get_all hm_map_range hm_list_get hm_list_get_all hm_list_range", &["heads"]),
    ("hm_obj_size hm_obj_path hm_text hm_doc_fork hm_doc_get_missing_deps", &["heads"]),
    ("hm_doc_get_changes", &["have"]),
    ("hm_doc_commit hm_doc_commit_by", &["made", "hash"]),
    ("hm_doc_load_incremental hm_doc_rollback", &["operations"]),
    ("hm_map_put_object hm_list_put_object hm_split_block hm_replace_block", &["id"]),
    ("hm_obj_id_text", &["id"]),
    ("hm_passwords_verify hm_passwords_verify_until", &["upgrade"]),
    ("hm_receive_sync_message", &["refused"]),
];

fn is_optional(function: &str, Parameter { kind, name }: &Parameter) -> bool {
    let holds = |(functions, parameters): &(&str, &[&str])| {
        let everywhere = functions.is_empty() && !is_out(kind);
        (everywhere || functions.split(' ').any(|it| it == function)) && parameters.contains(&name.as_str())
    };
    OPTIONAL.iter().any(holds)
}

/// Spans that must be texts.
const TEXTS: &[&str] = &["key", "name", "text", "message", "begin", "end"];

/// A valid argument for a parameter type. Results go to variables of the same name with a leading underscore.
fn right(function: &str, Parameter { kind, name }: &Parameter) -> String {
    let handle = |kind: &str| kind.trim_start_matches("const ").trim_end_matches(['*', ' ']).to_owned();
    match kind.as_str() {
        kind if is_out(kind) => format!("&_{name}"),
        "hm_doc *" if name == "other" => "other".into(),
        "const hm_obj_id *" => "NULL".into(),
        "const void *" | "void *" => "NULL".into(),
        kind if kind.ends_with('*') => format!("some_{}", handle(kind)),
        "hm_span" if name == "cursor" => "hm_view(cursor)".into(),
        "hm_span" if function == "hm_receive_sync_message" => "hm_view(message)".into(),
        "hm_span" if name == "stored" => "hm_view(stored)".into(),
        "hm_span" => "hm_str(\"sesame\")".into(),
        "hm_spans" if name == "stored" => "hm_spans_of(&stored_span, 1)".into(),
        "hm_spans" => "hm_spans_of(&span, 1)".into(),
        "hm_values" => "hm_values_of(&value, 1)".into(),
        "hm_room" => "hm_room_of(room, 32)".into(),
        "hm_function" => "hm_blake3()".into(),
        "hm_value" => "value".into(),
        "hm_kind" => "HM_KIND_MAP".into(),
        _ => "0".into(),
    }
}

/// Whether the function writes there.
fn is_out(kind: &str) -> bool {
    let plain = ["bool *", "size_t *", "hm_kind *", "hm_policy *", "hm_file_digest *", "hm_change_hash *"];
    kind.ends_with("**") || plain.contains(&kind)
}

/// A wrong argument for a parameter: its expression, the expected error code, and the expected text.
fn wrong(function: &str, parameter: &Parameter) -> Vec<(String, &'static str, String)> {
    let Parameter { kind, name } = parameter;
    let spans = |make: &str| {
        let argument =
            |first: &str, len: &str| (format!("{make}({first}, {len})"), "HM_ARGUMENT", name.clone());
        vec![
            argument("NULL", "5"),
            argument("somewhere", "SIZE_MAX"),
            argument("somewhere", "SIZE_MAX / 2 + 1"),
        ]
    };
    match kind.as_str() {
        kind if kind.ends_with('*') && is_optional(function, parameter) => {
            let absent = ("NULL".into(), "FINE", format!("{name} is NULL"));
            let reserved =
                reserved(kind).into_iter().map(|options| (options, "HM_ARGUMENT", "reserved".into()));
            [absent].into_iter().chain(reserved).collect()
        }
        kind if kind.ends_with('*') => vec![("NULL".into(), "HM_ARGUMENT", format!("{name} is NULL"))],
        "hm_span" => {
            let text = if TEXTS.contains(&name.as_str()) { "HM_NOT_UTF8" } else { "ANY" };
            let text = if function == "hm_receive_sync_message" { "ANY" } else { text };
            [spans("hm_span_of"), vec![("hm_str(\"\\xff\")".into(), text, name.clone())]].concat()
        }
        "hm_spans" => spans("hm_spans_of"),
        "hm_values" => spans("hm_values_of"),
        "hm_room" => spans("hm_room_of"),
        "hm_function" => {
            let lie = ("hm_blake3_keyed(lie())".to_owned(), "HM_ARGUMENT", "key".to_owned());
            let text = ("hm_blake3_derive(hm_str(\"\\xff\"))".to_owned(), "HM_NOT_UTF8", "key".to_owned());
            vec![lie, text, ("(hm_function){77, {NULL, 0}}".into(), "HM_ARGUMENT", "mode".into())]
        }
        "hm_value" => vec![
            ("hm_string(lie())".into(), "HM_ARGUMENT", "value".into()),
            ("hm_string(hm_str(\"\\xff\"))".into(), "HM_NOT_UTF8", "value".into()),
            ("(hm_value){.kind = 77}".into(), "HM_ARGUMENT", "77".into()),
        ],
        "hm_kind" | "hm_expand" | "hm_move" => vec![("77".into(), "HM_ARGUMENT", "77".into())],
        "uint32_t" => vec![("UINT32_MAX".into(), "HM_ARGUMENT", String::new())],
        "size_t" => {
            vec![("SIZE_MAX".into(), "ANY", String::new()), ("SIZE_MAX / 2".into(), "ANY", String::new())]
        }
        "ptrdiff_t" => {
            vec![("PTRDIFF_MIN".into(), "ANY", String::new()), ("PTRDIFF_MAX".into(), "ANY", String::new())]
        }
        "uint64_t" => vec![("UINT64_MAX".into(), "ANY", String::new())],
        "int64_t" => vec![("INT64_MIN".into(), "ANY", String::new())],
        "bool" => vec![("true".into(), "ANY", String::new())],
        other => panic!("{function}: nothing is known of {other}"),
    }
}

/// Options with a reserved field set: the first and the last of each structure, and of nested structures.
fn reserved(kind: &str) -> Vec<String> {
    let fields: &[&str] = match kind {
        "const hm_file_options *" => &[".reserved[0]", ".reserved[4]"],
        "const hm_password_options *" | "const hm_doc_limits *" => &[".reserved[0]", ".reserved[3]"],
        "const hm_doc_options *" => {
            &[".reserved[0]", ".reserved[3]", ".limits.reserved[0]", ".limits.reserved[3]"]
        }
        options if options.ends_with("options *") || options.ends_with("limits *") => {
            panic!("{options} must be able to grow: give it reserved fields and name them here")
        }
        _ => &[],
    };
    let kind = kind.trim_start_matches("const ").trim_end_matches(['*', ' ']);
    fields.iter().map(|field| format!("&({kind}){{{field} = 1}}")).collect()
}

/// One call with one wrong argument, and the expected result.
fn call(
    text: &mut String,
    function: &Function,
    position: usize,
    (argument, code, message): &(String, &str, String),
) {
    let outs = || function.parameters.iter().filter(|parameter| is_out(&parameter.kind));
    let arguments = function.parameters.iter().enumerate();
    let arguments =
        arguments.map(
            |(at, parameter)| {
                if at == position { argument.clone() } else { right(&function.name, parameter) }
            },
        );
    let arguments: Vec<_> = arguments.collect();
    let mut line = || -> std::fmt::Result {
        write!(text, "  {{ ")?;
        for Parameter { kind, name } in outs() {
            let (kind, filled) = (kind.trim_end_matches('*').trim(), kind.ends_with("**"));
            let star = if filled { "*" } else { "" };
            write!(text, "{kind} {star}_{name}; memset(&_{name}, 1, sizeof _{name}); ")?;
        }
        let (name, arguments) = (&function.name, arguments.join(", "));
        write!(text, "hm_error *error = {name}({arguments}); ")?;
        writeln!(
            text,
            "bool failed = seen(error, {code}, {message:?}, {:?});",
            format!("{name}({arguments})")
        )?;
        for (at, Parameter { kind, name }) in function.parameters.iter().enumerate() {
            if is_out(kind) && at == position {
                write!(text, "    (void)_{name};")?;
            } else if let Some(kind) = kind.strip_suffix("**") {
                let kind = kind.trim();
                write!(text, "    LEFT(!failed || _{name} == NULL); {kind}_free(_{name});")?;
            } else if is_out(kind) {
                write!(text, "    LEFT(!failed || zeros(&_{name}, sizeof _{name}));")?;
            }
        }
        writeln!(text, "    (void)failed; }}")
    };
    line().expect("a text");
}

/// Tests every parameter of every function: NULL, lengths without memory, impossible lengths, invalid texts, invalid numbers.
#[test]
fn wrong_arguments_are_errors_without_results() {
    let (mut text, mut count) = (String::new(), 0);
    for function in functions() {
        let Function { gives, name, parameters, .. } = &function;
        if gives != "hm_error *" {
            // These accept NULL and do nothing; `hm_version` has no parameters.
            assert!(parameters.iter().all(|parameter| parameter.kind.ends_with('*')), "{name}");
            writeln!(text, "  (void){name}({});", vec!["NULL"; parameters.len()].join(", ")).expect("a text");
            count += parameters.len();
            continue;
        }
        for (position, parameter) in parameters.iter().enumerate() {
            for case in wrong(name, parameter) {
                call(&mut text, &function, position, &case);
                count += 1;
            }
        }
    }
    assert!(count > 400, "{count}");
    let program =
        fs::read_to_string(source("hashmill/wrong.c")).expect("a file").replace("  // CALLS\n", &text);
    let file = scratch("hashmill-wrong").join("wrong.c");
    fs::write(&file, program).expect("a file");
    fs::copy(source("hashmill/check.h"), file.with_file_name("check.h")).expect("a file");
    for compiler in for_c() {
        done(&compiler.compile(&file), &[]);
    }
}
