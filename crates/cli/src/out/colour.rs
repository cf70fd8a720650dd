//! Colours for people: where a terminal shows them, unless somebody wants them elsewhere, or nowhere.
//!
//! `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` are heeded where no flag says it.

use crate::program::Program;
use clap::ValueEnum;

/// When there are colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// Settles it for both streams.
pub(crate) fn choose(when: When) {
    let on = match when {
        // Programs that others know have no colours.
        When::Auto if Program::this() == Program::Hashmill => return,
        When::Always => true,
        When::Auto | When::Never => false,
    };
    console::set_colors_enabled(on);
    console::set_colors_enabled_stderr(on);
}

/// What a colour says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// It is as it should be, or it came.
    Good,
    /// It is not, or it went.
    Bad,
    /// Somebody should look at it.
    Odd,
    /// It is somewhere else.
    Aside,
}

/// What stands before and behind a coloured word.
pub(crate) type Strokes = (&'static str, &'static str);

impl Ink {
    pub(crate) fn strokes(self, on: bool) -> Strokes {
        let begin = match self {
            _ if !on => return ("", ""),
            Ink::Good => "\x1b[32m",
            Ink::Bad => "\x1b[31m",
            Ink::Odd => "\x1b[33m",
            Ink::Aside => "\x1b[36m",
        };
        (begin, "\x1b[0m")
    }

    pub(super) fn on_stdout(self) -> Strokes {
        self.strokes(console::colors_enabled())
    }

    pub(super) fn on_stderr(self) -> Strokes {
        self.strokes(console::colors_enabled_stderr())
    }
}
