//! The official BLAKE3 vectors (`data/README.md` names source, licence and hash).

use serde::Deserialize;

const PASSWORDS: &str = include_str!("../data/passwords.txt");
const BLAKE3_JSON: &str = include_str!("../data/blake3_test_vectors.json");

/// The official BLAKE3 vectors: one key, one context, and the cases that use them.
#[derive(Debug)]
pub struct Blake3Vectors {
    /// The key of every keyed output.
    pub key: [u8; 32],
    /// The context string of every derive-key output.
    pub context: String,
    /// Sorted as in the file, by input length.
    pub cases: Vec<Blake3Case>,
}

/// One input and its extended output in each mode. The input is [`paint`](crate::paint())ed.
#[derive(Debug)]
pub struct Blake3Case {
    /// Length of the painted input.
    pub input_len: usize,
    /// Extended output of the default mode; the first 32 bytes are the digest.
    pub hash: Vec<u8>,
    /// Extended output of the keyed mode.
    pub keyed_hash: Vec<u8>,
    /// Extended output of the derive-key mode.
    pub derive_key: Vec<u8>,
}

/// Reads the official BLAKE3 vectors.
///
/// # Panics
/// When the committed file is damaged.
pub fn blake3() -> Blake3Vectors {
    #[derive(Deserialize)]
    struct File {
        key: String,
        context_string: String,
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        input_len: usize,
        hash: String,
        keyed_hash: String,
        derive_key: String,
    }
    let file: File = serde_json::from_str(BLAKE3_JSON).expect("the committed vectors are valid JSON");
    let case = |case: Case| Blake3Case {
        input_len: case.input_len,
        hash: unhex(&case.hash),
        keyed_hash: unhex(&case.keyed_hash),
        derive_key: unhex(&case.derive_key),
    };
    Blake3Vectors {
        key: file.key.as_bytes().try_into().expect("the key has 32 bytes"),
        context: file.context_string,
        cases: file.cases.into_iter().map(case).collect(),
    }
}

/// Bytes from lower- or uppercase hexadecimal digits.
///
/// # Panics
/// When `hex` is not an even number of hexadecimal digits: test data has no business being wrong.
pub fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "half a byte in {hex:?}");
    let digit = |c: u8| char::from(c).to_digit(16).unwrap_or_else(|| panic!("no hex digit in {hex:?}")) as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A password string that another program has made.
#[derive(Debug)]
pub struct PasswordString {
    /// Which program.
    pub maker: String,
    /// Which function.
    pub kind: String,
    /// The password.
    pub password: Vec<u8>,
    /// The string.
    pub stored: String,
}

/// The strings of `data/passwords.txt`.
///
/// # Panics
/// When the committed file is damaged.
pub fn passwords() -> Vec<PasswordString> {
    password_strings(PASSWORDS)
}

/// Fresh ones from the programs that are there, by `data/passwords.py`, and what it says of those that are not. Nothing without
/// Python.
///
/// # Panics
/// When the script fails.
pub fn fresh_passwords() -> Option<(Vec<PasswordString>, String)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/data/passwords.py");
    let output = std::process::Command::new("python3").arg(script).output().ok()?;
    let missing = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{missing}");
    Some((password_strings(&String::from_utf8_lossy(&output.stdout)), missing))
}

fn password_strings(text: &str) -> Vec<PasswordString> {
    let string = |line: &str| {
        let parts: Vec<_> = line.split(' ').collect();
        let [maker, kind, password, stored] = parts[..] else { panic!("four words: {line}") };
        let [maker, kind, stored] = [maker, kind, stored].map(str::to_owned);
        PasswordString { maker, kind, password: unhex(password), stored }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_file_is_the_one_that_the_readme_names() {
        let sha256 = "dcb91ea8accc77e6d6e632af7cdc1a99a9f3ae78cf648da595c7d064db32f624";
        assert_eq!(Sha256::digest(BLAKE3_JSON).to_vec(), unhex(sha256));
        assert!(include_str!("../data/README.md").contains(sha256));
    }

    #[test]
    fn the_cases_are_all_there() {
        let vectors = blake3();
        assert_eq!(vectors.cases.len(), 35);
        assert_eq!(vectors.cases.last().expect("cases").input_len, 102_400);
        for case in &vectors.cases {
            assert_eq!([case.hash.len(), case.keyed_hash.len(), case.derive_key.len()], [131; 3]);
        }
    }
}
