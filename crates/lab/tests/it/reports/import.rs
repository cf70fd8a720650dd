//! `lab report import` of files in the formats of hyperfine and criterion.

use crate::program::{Folder, lab, result_of};

#[test]
fn both_make_one_table() {
    let folder = Folder::new("import");
    let hyperfine = folder.join("hyperfine.json");
    std::fs::write(&hyperfine, r#"{"results":[{"command":"true","times":[0.002,0.002,0.002]}]}"#)
        .expect("writable");
    let sample = folder.join("criterion/group/sum/new");
    std::fs::create_dir_all(&sample).expect("writable");
    std::fs::write(sample.join("sample.json"), r#"{"iters":[1.0,2.0],"times":[1000000.0,2000000.0]}"#)
        .expect("writable");
    let result = result_of(lab().args(["report", "import"]).arg(&hyperfine).arg(folder.join("criterion")));
    assert_eq!(result.code, Some(0), "{result:?}");
    let lines: Vec<&str> = result.out.lines().collect();
    assert!(lines[1].starts_with("true") && lines[1].contains("2.000 ms"), "{}", result.out);
    assert!(lines[2].starts_with("group/sum") && lines[2].ends_with("2.000×"), "{}", result.out);
    assert!(result.out.contains("so there is no verdict"), "{}", result.out);

    std::fs::write(&hyperfine, "{}").expect("writable");
    let foreign = result_of(lab().args(["report", "import"]).arg(&hyperfine));
    assert_eq!(foreign.code, Some(4), "{foreign:?}");
    for field in ["missing field `results`", "missing field `iters`"] {
        assert!(foreign.err.contains(field), "each form says what it lacks: {foreign:?}");
    }
    let absent = result_of(lab().args(["report", "import", "/nowhere"]));
    assert_eq!(absent.code, Some(2), "{absent:?}");
    let empty = result_of(lab().args(["report", "import"]).arg(folder.join("criterion/group/sum/new")));
    assert_eq!(empty.code, Some(0), "the folder of one benchmark will do: {empty:?}");
}
