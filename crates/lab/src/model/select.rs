//! Pattern matching over names, and suggestions for misspelt ones.

/// Whether `text` matches `pattern`, where `*` matches any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut tail) = text.strip_prefix(head) else {
        return false;
    };
    // Each middle piece takes its first occurrence: what a later one could match, the `*` after it matches too.
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match tail.find(piece) {
            Some(at) => tail = &tail[at + piece.len()..],
            None => return false,
        }
    }
    tail.ends_with(last)
}

/// Candidate with the smallest edit distance to `text`, if it is close enough for a typing error.
pub(crate) fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (text.chars().count() / 3).max(2);
    let scored = candidates.into_iter().map(|candidate| (edits(text, candidate), candidate));
    scored
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Maximum number of names to list in full.
const LISTED: usize = 8;

/// Alternatives to `text`: all names if few, otherwise the nearest.
pub(crate) fn instead(text: &str, names: &[String]) -> String {
    if names.len() <= LISTED {
        return format!("there is {}", names.join(", "));
    }
    let mut near: Vec<&String> = names.iter().collect();
    near.sort_by_key(|name| (!(name.contains(text) || text.contains(name.as_str())), edits(text, name)));
    let near: Vec<&str> = near.into_iter().take(3).map(String::as_str).collect();
    format!("nearest of {} are {}; `list` shows all", names.len(), near.join(", "))
}

/// Suggestion with the nearest candidate for an error message, or nothing.
pub(crate) fn hint<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(text, candidates).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Levenshtein distance with one row of the table.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_run() {
        for (pattern, text, expected) in [
            ("kernel", "kernel", true),
            ("kernel", "kernels", false),
            ("*", "", true),
            ("kern*", "kernel", true),
            ("*nel", "kernel", true),
            ("k*n*l", "kernel", true),
            ("k*x*l", "kernel", false),
            ("a*ab", "aab", true),
            ("a*ab", "ab", false),
            ("file:*", "file:mmap", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn edit_distance_in_closed_form() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn of_many_names_the_nearest_three_are_shown() {
        let names = |count: usize| (0..count).map(|n| format!("work{n}")).collect::<Vec<_>>();
        assert_eq!(instead("x", &names(2)), "there is work0, work1");
        assert_eq!(instead("wrok2", &names(60)), "nearest of 60 are work2, work0, work1; `list` shows all");
        let mut many = names(60);
        many.push("bench-of-mine".to_owned());
        assert!(instead("mine", &many).starts_with("nearest of 61 are bench-of-mine, "));
        for count in [9, 60, 600] {
            assert!(instead("mybench", &names(count)).len() < 80, "{count}");
        }
    }

    #[test]
    fn suggests_only_similar_names() {
        let names = ["blake3", "argon2id", "documents"];
        assert_eq!(nearest("blake", names), Some("blake3"));
        assert_eq!(nearest("argon2di", names), Some("argon2id"));
        assert_eq!(nearest("sorting", names), None);
    }
}
