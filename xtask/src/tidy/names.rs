//! Declared names of Rust with words that say nothing about the thing.
//!
//! A name says what the thing is in its place: `sent_heads`, not `told`. A synonym of the word is no repair.

use super::{Fault, TextFile};

/// Words that no declared name may have as a part.
const WORDS: [&str; 8] = ["asked", "begun", "heard", "held", "lent", "mine", "said", "told"];

/// Keywords before a declared name.
const KEYWORDS: [&str; 10] =
    ["const", "enum", "fn", "let", "mod", "mut", "static", "struct", "trait", "type"];

/// Two programs talk to each other in these tests.
const EXCEPT: &str = "crates/rivals/tests/javascript/";

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let mut faults = Vec::new();
    if file.path.starts_with(EXCEPT) {
        return faults;
    }
    for (index, line) in file.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let mut before = "";
        for token in code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| !token.is_empty())
        {
            let lower = token.to_lowercase();
            let word = lower.split('_').find(|part| WORDS.contains(part));
            if let Some(word) = word.filter(|_| KEYWORDS.contains(&before)) {
                let message = format!("`{token}`: name what the thing is; “{word}” does not say it");
                faults.push(Fault::new(&file.path, index + 1, message));
            }
            before = token;
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        check(&file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_declared_name_with_such_a_word_is_a_fault() {
        for (word, keyword) in WORDS.iter().flat_map(|word| KEYWORDS.map(|keyword| (word, keyword))) {
            for name in [(*word).to_owned(), format!("is_{word}"), format!("{}_BYTES", word.to_uppercase())] {
                let found = faults("crates/a/src/b.rs", &format!("\n    {keyword} {name} = 1;\n"));
                assert_eq!(found.len(), 1, "{keyword} {name}");
                assert!(found[0].starts_with(&format!("crates/a/src/b.rs:2: `{name}`")), "{found:?}");
            }
        }
    }

    #[test]
    fn uses_comments_and_parts_of_words_are_not_faults() {
        for word in WORDS {
            for text in [format!("x = {word};"), format!("// let {word} = 1;"), format!("let x{word} = 1;")] {
                assert!(faults("crates/a/src/b.rs", &text).is_empty(), "{text}");
            }
            assert!(faults(&format!("{EXCEPT}a.rs"), &format!("let {word} = 1;")).is_empty());
        }
    }
}
