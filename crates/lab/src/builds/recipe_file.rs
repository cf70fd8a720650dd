//! The file in which a repository says how its program is built and run.

use super::error::BuildError;
use super::git;
use super::source::Source;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Its name at the top of a repository.
pub(crate) const NAME: &str = "hashmill-lab.toml";

/// Content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecipeFile {
    /// Settings of the builds, as NAME=VALUE.
    pub(crate) settings: Vec<String>,
    /// Arguments of the program before those of the lab.
    pub(crate) arguments: Option<Vec<OsString>>,
    /// Names and command lines, if the program does not contain the lab.
    pub(crate) commands: Vec<(String, String)>,
    /// Folder of the file, for files that the commands read.
    pub(crate) folder: PathBuf,
}

impl RecipeFile {
    /// Reads the given file, or that of the repository of `source`, if any.
    pub(crate) fn find(named: Option<&Path>, source: &Source) -> Result<Option<Self>, BuildError> {
        let path = match (named, source) {
            (Some(path), _) => path.to_owned(),
            (None, Source::Program(_)) => return Ok(None),
            (None, Source::Directory(folder) | Source::Revision { folder, .. }) => {
                let top = git::locate(folder)?.map_or_else(|| folder.clone(), |location| location.top);
                top.join(NAME)
            }
        };
        let text = match fs::read_to_string(&path) {
            Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(BuildError::io(&path))?,
        };
        let path = std::path::absolute(&path).map_err(BuildError::io(&path))?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let read = parse(&text).map_err(|reason| BuildError::Recipe { path, reason })?;
        Ok(Some(RecipeFile { folder, ..read }))
    }
}

/// Without the feature, an existing file is an error: ignoring it would do something else than it says.
#[cfg(not(feature = "gates"))]
fn parse(_: &str) -> Result<RecipeFile, String> {
    Err("this program cannot read it: it was built without the feature `gates` of hashmill-lab".to_owned())
}

#[cfg(feature = "gates")]
use read::parse;

/// The text of a file.
#[cfg(feature = "gates")]
mod read {
    use crate::builds::recipe::NAMES;
    use crate::builds::recipe_file::RecipeFile;
    use crate::model::select::hint;
    use crate::requirements::gate::one_line;
    use std::ffi::OsString;
    use toml_edit::{DocumentMut, Item, Value};

    /// Keys besides the settings.
    const OTHERS: [&str; 2] = ["arguments", "commands"];

    pub(super) fn parse(text: &str) -> Result<RecipeFile, String> {
        let document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| one_line(&error.to_string()))?;
        let mut file = RecipeFile::default();
        for (name, item) in document.iter() {
            match name {
                "arguments" => file.arguments = Some(arguments(item)?),
                "commands" => file.commands = commands(item)?,
                name if NAMES.contains(&name) => file.settings.push(setting(name, item)?),
                name => {
                    let hint = hint(name, NAMES.into_iter().chain(OTHERS));
                    return Err(format!("there is no `{name}` in a recipe{hint}"));
                }
            }
        }
        if file.arguments.is_some() && !file.commands.is_empty() {
            return Err("`arguments` are for programs that contain the lab, `commands` for others".to_owned());
        }
        Ok(file)
    }

    fn setting(name: &str, item: &Item) -> Result<String, String> {
        let value = match item.as_value() {
            Some(Value::String(text)) => text.value().clone(),
            Some(Value::Boolean(yes)) => yes.value().to_string(),
            _ => return Err(format!("`{name}` must be a string, or true or false")),
        };
        Ok(format!("{name}={value}"))
    }

    fn arguments(item: &Item) -> Result<Vec<OsString>, String> {
        let words =
            item.as_array().and_then(|array| array.iter().map(Value::as_str).collect::<Option<Vec<&str>>>());
        let words = words.ok_or("`arguments` must be a list of strings")?;
        Ok(words.into_iter().map(OsString::from).collect())
    }

    fn commands(item: &Item) -> Result<Vec<(String, String)>, String> {
        let table = item.as_table_like().ok_or("`commands` must be a table of NAME = \"COMMAND\"")?;
        table.iter().map(|(name, line)| command(name, line)).collect()
    }

    fn command(name: &str, item: &Item) -> Result<(String, String), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!(
                "`{name}` is not a valid command name: use lower-case letters, digits and hyphens"
            ));
        }
        let line = item.as_str().ok_or_else(|| format!("the command `{name}` must be a string"))?;
        if !line.contains("{program}") {
            return Err(format!(
                "the command `{name}` does not run {{program}}, so both sides would be the same"
            ));
        }
        Ok((name.to_owned(), line.to_owned()))
    }
}

#[cfg(all(test, feature = "gates"))]
mod tests {
    use super::*;

    #[test]
    fn parses_recipe_files() {
        let file = parse(
            "build = 'make && cp tool \"$LAB_PROGRAM\"'\nnative = true\n[commands]\nsort = '{program} -n data'\n",
        );
        let file = file.expect("it is sound");
        assert_eq!(file.settings, ["build=make && cp tool \"$LAB_PROGRAM\"", "native=true"]);
        assert_eq!(file.commands, [("sort".to_owned(), "{program} -n data".to_owned())]);
        assert_eq!(file.arguments, None);
        let speaks = parse("bench = 'sort'\narguments = ['lab']\n").expect("it is sound");
        assert_eq!(speaks.arguments, Some(vec![OsString::from("lab")]));
        assert_eq!(parse("").expect("nothing is said"), RecipeFile::default());
    }

    #[test]
    fn parse_errors_are_one_line() {
        for (text, words) in [
            ("bild = 'make'", "there is no `bild` in a recipe (did you mean `build`?)"),
            ("build = ['make']", "`build` must be a string, or true or false"),
            ("arguments = 'lab'", "`arguments` must be a list of strings"),
            ("arguments = [1]", "`arguments` must be a list of strings"),
            ("commands = 'a'", "`commands` must be a table"),
            ("[commands]\na = 1", "the command `a` must be a string"),
            ("[commands]\n'a b' = '{program}'", "`a b` is not a valid command name"),
            ("[commands]\na = 'true'", "does not run {program}"),
            ("arguments = []\n[commands]\na = '{program}'", "that contain the lab"),
            ("build = 'make", "line 1"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn finds_the_recipe_at_the_top_or_at_the_given_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Source::Directory(folder.path().to_owned());
        assert_eq!(RecipeFile::find(None, &source).expect("none is needed"), None);
        let named = folder.path().join("other.toml");
        assert!(RecipeFile::find(Some(&named), &source).is_err(), "one that was named must be there");
        fs::write(folder.path().join(NAME), "bin = 'top'").expect("a writable folder");
        fs::write(&named, "bin = 'other'").expect("a writable folder");
        let of =
            |named| RecipeFile::find(named, &source).expect("sound").map(|file| file.settings[0].clone());
        assert_eq!(of(None).as_deref(), Some("bin=top"));
        assert_eq!(of(Some(&named)).as_deref(), Some("bin=other"));
        let program = Source::Program(named.clone());
        assert_eq!(RecipeFile::find(None, &program).expect("programs are there already"), None);
        fs::write(&named, "bin = 7").expect("a writable folder");
        let error = RecipeFile::find(Some(&named), &source).expect_err("no number").to_string();
        assert!(error.contains("other.toml: `bin` must be"), "{error}");
    }
}
