//! JSON output of every command of `hashmill doc`.

use crate::world::{Done, World, hashmill};
use serde_json::{Value, json};
use std::fs;

impl World {
    /// The JSON of a command, on one line.
    #[track_caller]
    fn json_of(&self, args: &[&str]) -> Value {
        let done: Done = self.run(&hashmill(), ["doc"].iter().chain(args).chain(&["--json"]), b"");
        let text = done.quiet_success();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// A command that wrote `file` reports its content and these fields. Returns the object.
    #[track_caller]
    fn json_of_write(&self, file: &str, more: &[&str], args: &[&str]) -> Value {
        let object = self.json_of(args);
        let names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut expected = ["path", "written", "bytes", "changes", "operations", "heads"].to_vec();
        expected.extend(more);
        expected.sort_unstable();
        assert_eq!(names, expected, "{args:?}");
        let length = fs::metadata(self.path(file)).expect("a file").len();
        assert_eq!((&object["path"], &object["bytes"]), (&json!(file), &json!(length)), "{args:?}");
        object
    }
}

#[test]
fn editing_commands_print_json() {
    let world = World::new();
    let new = world.json_of_write("a.amrg", &[], &["new", "a.amrg"]);
    assert_eq!((&new["written"], &new["changes"], &new["heads"]), (&json!(true), &json!(0), &json!([])));
    let edit = |args: &[&str]| {
        let object = world.json_of_write("a.amrg", &["change", "pointer"], args);
        assert_eq!((&object["written"], &object["heads"]), (&json!(true), &json!([object["change"]])));
        object
    };
    assert_eq!(edit(&["put", "a.amrg", "/text", "one", "--text"])["pointer"], "/text");
    edit(&["put", "a.amrg", "/list", "[1]"]);
    assert_eq!(edit(&["put", "a.amrg", "/list/-", "2"])["pointer"], "/list/1");
    edit(&["splice", "a.amrg", "/text", "0", "0", "x"]);
    edit(&["mark", "a.amrg", "/text", "0", "1", "bold"]);
    let last = edit(&["delete", "a.amrg", "/list/0"]);
    assert_eq!(last["changes"], 6);

    let undone = world.json_of_write("a.amrg", &["change", "undone"], &["undo", "a.amrg"]);
    assert_eq!(undone["undone"], json!([last["change"]]));
    world.write("merge.json", r#"{"title":1}"#);
    let merge = ["patch", "a.amrg", "merge.json", "--merge"];
    assert_eq!(world.json_of_write("a.amrg", &["change"], &merge)["written"], true);
    // An edit without effect is no change, and nothing is written.
    let again = world.json_of_write("a.amrg", &["change"], &merge);
    assert_eq!(
        (&again["written"], &again["change"], &again["changes"]),
        (&json!(false), &Value::Null, &json!(8))
    );
    let hidden = edit(&["put", "a.amrg", "/x", "1"])["change"].clone();
    edit(&["put", "a.amrg", "/x", "2"]);
    let undo = ["undo", "a.amrg", hidden.as_str().expect("a hash")];
    let undone = world.json_of_write("a.amrg", &["change", "undone"], &undo);
    assert_eq!((&undone["change"], &undone["undone"]), (&Value::Null, &json!([hidden])));

    world.json_of_write("b.amrg", &[], &["fork", "a.amrg", "b.amrg"]);
    world.json_of(&["put", "b.amrg", "/b", "1"]);
    let received = |args: &[&str], file| world.json_of_write(file, &["received"], args)["received"].clone();
    assert_eq!(received(&["merge", "a.amrg", "b.amrg", "-o", "c.amrg"], "c.amrg"), 1);
    assert_eq!(received(&["merge", "a.amrg", "b.amrg"], "a.amrg"), 1);
    assert_eq!(received(&["merge", "a.amrg", "b.amrg"], "a.amrg"), 0);
}

#[test]
fn creating_commands_print_json() {
    let world = World::new();
    world.write("a.json", r#"{"a":[1,2],"t":"x"}"#);
    let import = world.json_of_write("a.amrg", &["change"], &["import", "a.json", "-o", "a.amrg"]);
    let change = import["change"].as_str().expect("a hash");
    world.json_of(&["put", "a.amrg", "/b", "1"]);
    let at = world.json_of_write("then.amrg", &[], &["at", "a.amrg", change, "-o", "then.amrg"]);
    assert_eq!((&at["heads"], &at["changes"]), (&json!([change]), &json!(1)));
    let squash = world.json_of_write("new.amrg", &["change"], &["squash", "a.amrg", "-o", "new.amrg"]);
    assert_eq!((&squash["changes"], &squash["heads"]), (&json!(1), &json!([squash["change"]])));
    let masked = world.json_of_write("x.amrg", &[], &["anonymise", "a.amrg", "-o", "x.amrg"]);
    assert_eq!((&masked["changes"], &masked["operations"]), (&json!(2), &json!(5)));
    assert_eq!(world.json_of_write("a.html", &[], &["view", "a.amrg", "-o", "a.html"])["changes"], 2);
    let whole = world.json_of_write("r.amrg", &["losses", "missing"], &["rescue", "a.amrg", "-o", "r.amrg"]);
    assert_eq!((&whole["losses"], &whole["missing"]), (&json!([]), &json!([])));

    let mut damaged = fs::read(world.path("a.amrg")).expect("a file");
    let end = damaged.len();
    damaged.extend(b"more");
    world.write("damaged", &damaged);
    let done = world.in_doc(["rescue", "damaged", "-o", "saved.amrg", "--json"]);
    assert_eq!((done.code(), &*done.err), (1, ""));
    let object: Value = serde_json::from_str(&done.text()).expect("JSON");
    let loss = &object["losses"][0];
    assert_eq!(
        (&loss["from"], &loss["to"], &loss["kept"]),
        (&json!(end), &json!(end + 4), &json!("nothing"))
    );
    assert!(loss["error"].as_str().expect("words").contains("not an Automerge document"), "{object}");
}

#[test]
fn values_have_types() {
    let world = World::new();
    let types = r#"{"c":{"__type":"counter","value":1},"b":{"__type":"bytes","value":"00ff"},"t":{"__type":"text","value":"x"},"u":{"__type":"uint","value":1},"d":{"__type":"timestamp","value":1},"s":"x","i":1,"f":0.5,"n":null,"y":true,"l":[],"m":{}}"#;
    world.write("types.json", types);
    world.json_of(&["import", "types.json", "-o", "a.amrg", "--tagged"]);
    for (key, kind) in [
        ("c", "counter"),
        ("b", "bytes"),
        ("t", "text"),
        ("u", "uint"),
        ("d", "timestamp"),
        ("s", "string"),
        ("i", "int"),
        ("f", "float64"),
        ("n", "null"),
        ("y", "boolean"),
        ("l", "list"),
        ("m", "map"),
    ] {
        let object = world.json_of(&["get", "a.amrg", &format!("/{key}")]);
        assert_eq!((&object["type"], &object["pointer"]), (&json!(kind), &json!(format!("/{key}"))));
        assert_eq!((object.get("value").is_some(), &object["path"]), (true, &json!("a.amrg")));
    }
    world.json_of(&["fork", "a.amrg", "b.amrg"]);
    world.json_of(&["put", "a.amrg", "/s", "1"]);
    world.json_of(&["put", "b.amrg", "/s", "2"]);
    world.json_of(&["merge", "a.amrg", "b.amrg"]);
    let all = world.in_doc(["get", "a.amrg", "/s", "--all", "--json"]).quiet_success();
    let values: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let winner = world.json_of(&["get", "a.amrg", "/s"]);
    assert_eq!((values.len(), &values[1]), (2, &winner));
}

#[test]
fn json_and_document_cannot_share_an_output() {
    let world = World::new();
    world.json_of(&["new", "a.amrg"]);
    let reason = "--json: standard output cannot take both the document and the JSON object";
    for args in [
        &["new", "-", "--json"][..],
        &["put", "-", "/a", "1", "--json"],
        &["fork", "a.amrg", "-", "--json"],
        &["view", "a.amrg", "-o", "-", "--json"],
        &["merge", "a.amrg", "a.amrg", "-o", "-", "--json"],
    ] {
        let done = world.run(&hashmill(), ["doc"].iter().chain(args), b"");
        assert_eq!((done.failure(2, &[reason]), done.out.len()), (String::new(), 0), "{args:?}");
    }
    // Commands that always print JSON accept --json.
    assert_eq!(world.json_of(&["export", "a.amrg"]), json!({}));
}

/// `-h` fits a screen and has at least two examples, which parse.
#[test]
fn short_help_fits_a_screen_and_has_examples() {
    let world = World::new();
    let help = |args: &[&str]| {
        let done = world.run(&hashmill(), ["doc"].iter().chain(args).chain(&["-h"]), b"");
        let text = done.quiet_success();
        let lines = text.lines().count();
        assert!(lines <= 40, "{args:?}: {lines} lines");
        let (_, examples) = text.split_once("Examples:\n").unwrap_or_else(|| panic!("{text}"));
        let examples: Vec<String> = examples.lines().map(str::to_owned).collect();
        assert!(examples.len() >= 2, "{text}");
        for line in &examples {
            assert!(line.starts_with("  ") && line.contains("hashmill doc ") && line.len() <= 100, "{line}");
        }
        text
    };
    let all = help(&[]);
    let verbs: Vec<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|verb| !["", "help"].contains(verb))
        .collect();
    assert_eq!(verbs.len(), 25, "{all}");
    for verb in verbs {
        let text = help(&[verb]);
        let (_, examples) = text.split_once("Examples:\n").expect("examples");
        assert!(examples.contains(&format!("hashmill doc {verb} ")), "{text}");
        assert!(text.contains("--json"), "{verb}: programs ask every verb");
    }
}
