//! Value parser for a flag with known values: completions offer them, and the type itself parses.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;
use std::fmt;

/// The names for completions, and the parser.
#[derive(Clone)]
pub(super) struct KnownValues<T> {
    names: Vec<&'static str>,
    read: fn(&str) -> Result<T, String>,
}

impl<T> KnownValues<T> {
    pub(super) fn new(
        names: impl IntoIterator<Item = &'static str>,
        read: fn(&str) -> Result<T, String>,
    ) -> KnownValues<T> {
        KnownValues { names: names.into_iter().collect(), read }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for KnownValues<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let read = self.read;
        let parser = StringValueParser::new().try_map(move |text| read(&text).map_err(ValueError));
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().copied().map(PossibleValue::new)))
    }
}

/// Why a value was refused.
#[derive(Debug)]
struct ValueError(String);

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}
