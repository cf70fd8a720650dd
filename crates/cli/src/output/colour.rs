//! Colours of the output: on terminals by default, always, or never.
//!
//! Without a flag, `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` apply.

use crate::personality::Personality;
use clap::ValueEnum;

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ColourMode {
    #[default]
    Auto,
    Always,
    Never,
}

/// Applies the mode to standard output and standard error.
pub(crate) fn choose(mode: ColourMode) {
    let on = match mode {
        // b3sum and GNU's programs have no colours.
        ColourMode::Auto if Personality::current() == Personality::Hashmill => return,
        ColourMode::Always => true,
        ColourMode::Auto | ColourMode::Never => false,
    };
    console::set_colors_enabled(on);
    console::set_colors_enabled_stderr(on);
}

/// Styles by meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TextStyle {
    /// As expected, or added.
    Success,
    /// Wrong, or removed.
    Failure,
    /// Needs attention.
    Warning,
    /// Moved elsewhere.
    Moved,
}

/// The escape codes before and after a styled word.
pub(crate) type EscapeCodes = (&'static str, &'static str);

impl TextStyle {
    pub(crate) fn escape_codes(self, on: bool) -> EscapeCodes {
        let begin = match self {
            _ if !on => return ("", ""),
            TextStyle::Success => "\x1b[32m",
            TextStyle::Failure => "\x1b[31m",
            TextStyle::Warning => "\x1b[33m",
            TextStyle::Moved => "\x1b[36m",
        };
        (begin, "\x1b[0m")
    }

    pub(super) fn on_stdout(self) -> EscapeCodes {
        self.escape_codes(console::colors_enabled())
    }

    pub(super) fn on_stderr(self) -> EscapeCodes {
        self.escape_codes(console::colors_enabled_stderr())
    }
}
