//! Parser of operands and register names in assembly text.

/// Splits at commas outside of brackets.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().expect("one at least").push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The whole register that a name stands for, and whether it names more than 128 bits of a vector.
pub(super) fn register(name: &str) -> Option<(String, bool)> {
    let number = |text: &str, end: u32| text.parse().ok().filter(|&number: &u32| number < end);
    let vector = [("xmm", false), ("ymm", true), ("zmm", true)].into_iter();
    for (prefix, wide) in vector {
        if let Some(number) = name.strip_prefix(prefix).and_then(|rest| number(rest, 32)) {
            return Some((format!("v{number}"), wide));
        }
    }
    if let Some(number) = name.strip_prefix('k').and_then(|rest| number(rest, 8)) {
        return Some((format!("k{number}"), false));
    }
    if let Some(rest) = name.strip_prefix('r')
        && let Some(number) = number(rest.trim_end_matches(['d', 'w', 'b']), 16).filter(|&number| number > 7)
    {
        return Some((format!("r{number}"), false));
    }
    let old = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
    let stem = name.strip_prefix(['r', 'e']).unwrap_or(name);
    let stem = match stem {
        "al" | "ah" => "ax",
        "bl" | "bh" => "bx",
        "cl" | "ch" => "cx",
        "dl" | "dh" => "dx",
        "sil" | "dil" | "bpl" | "spl" => &stem[..2],
        _ => stem,
    };
    old.contains(&stem).then(|| (format!("r{stem}"), false))
}
