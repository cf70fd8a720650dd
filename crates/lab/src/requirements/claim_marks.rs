//! Marks of numbers in documents: finds and renders them.

const BEGIN: &str = "<!-- lab:claim ";
const BEGIN_END: &str = " -->";
const END: &str = "<!-- /lab -->";

/// A number in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark<'a> {
    pub(crate) id: &'a str,
    pub(crate) line: usize,
    /// Current text.
    pub(crate) text: &'a str,
    start: usize,
}

/// All marks of a document in order, or the line of a mark without an end.
pub(crate) fn marks(text: &str) -> Result<Vec<Mark<'_>>, usize> {
    let mut marks = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN).map(|at| from + at) {
        let line = 1 + text[..at].matches('\n').count();
        let id_start = at + BEGIN.len();
        let id_end = text[id_start..].find(BEGIN_END).map(|end| id_start + end).ok_or(line)?;
        let start = id_end + BEGIN_END.len();
        let end = text[start..].find(END).map(|end| start + end).ok_or(line)?;
        marks.push(Mark { id: &text[id_start..id_end], line, text: &text[start..end], start });
        from = end + END.len();
    }
    Ok(marks)
}

/// The document with the numbers from `number`; if it returns none, the old text stays.
pub(crate) fn render(text: &str, marks: &[Mark<'_>], number: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for mark in marks {
        out.push_str(&text[from..mark.start]);
        out.push_str(&number(mark.id).unwrap_or_else(|| mark.text.to_owned()));
        from = mark.start + mark.text.len();
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "one\ntwo <!-- lab:claim a -->old<!-- /lab --> and <!-- lab:claim b --><!-- /lab -->\nend";

    #[test]
    fn numbers_are_found_with_their_lines_and_replaced() {
        let marks = marks(TEXT).expect("whole marks");
        let found: Vec<(&str, usize, &str)> =
            marks.iter().map(|mark| (mark.id, mark.line, mark.text)).collect();
        assert_eq!(found, [("a", 2, "old"), ("b", 2, "")]);
        let filled = render(TEXT, &marks, |id| (id == "b").then(|| "new".to_owned()));
        assert_eq!(filled, TEXT.replace("b --><", "b -->new<"));
        assert_eq!(render(TEXT, &marks, |_| None), TEXT);
    }

    #[test]
    fn a_mark_without_an_end_is_named_by_its_line() {
        assert_eq!(marks("\n\n<!-- lab:claim a --> 1"), Err(3));
        assert_eq!(marks("<!-- lab:claim a"), Err(1));
        assert_eq!(marks("no marks"), Ok(Vec::new()));
    }
}
