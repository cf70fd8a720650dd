//! Rules for every text file: no trailing white space, no tabs, one newline at the end.

use super::{Fault, TextFile};

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            faults.push(Fault::new(&file.path, index + 1, "white space at the end of the line"));
        }
        if line.contains('\t') && !file.path.ends_with(".s") {
            faults.push(Fault::new(&file.path, index + 1, "a tab"));
        }
    }
    if !file.text.ends_with('\n') || file.text.ends_with("\n\n") {
        faults.push(Fault::new(&file.path, 0, "does not end with exactly one newline"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [(usize, String); 0] = [];

    fn messages(text: &str) -> Vec<(usize, String)> {
        let file = TextFile { path: "a.md".to_owned(), text: text.to_owned() };
        check(&file).into_iter().map(|fault| (fault.line, fault.message)).collect()
    }

    #[test]
    fn each_rule_is_checked() {
        assert_eq!(messages("a\nb\n"), CLEAN);
        assert_eq!(messages("a\r\nb\r\n"), CLEAN, "a checkout on Windows");
        assert_eq!(messages("a \nb\n"), [(1, "white space at the end of the line".to_owned())]);
        assert_eq!(messages("a\n\tb\n"), [(2, "a tab".to_owned())]);
        assert_eq!(messages("a").len(), 1);
        assert_eq!(messages("a\n\n").len(), 1);
    }
}
