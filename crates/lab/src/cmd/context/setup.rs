//! Setup of the lab in a program that contains it.

use crate::model::registry::Registry;
use crate::report::schema::Build;
use std::path::PathBuf;

/// How a program contains the lab.
pub struct LabSetup<'a> {
    /// Name that the user types before the lab's commands.
    pub name: &'a str,
    /// Arguments that select the lab when this program starts itself again.
    pub arguments: &'a [&'a str],
    /// Workloads and engines.
    pub registry: &'a Registry,
    /// Cargo package of this program, for comparisons of builds. Needed where cargo does not build it by default.
    pub package: Option<&'a str>,
    /// Builder of this program, if it can be built again.
    pub builder: Option<&'a dyn ProgramBuilder>,
}

/// Describes how a program was built, and builds it in other ways for gates.
pub trait ProgramBuilder {
    /// Describes this program, without its label and hash. A field is `None` if it is not known by design, such as the commit of
    /// a source archive.
    ///
    /// # Errors
    /// When a tool that knows the answer failed.
    fn describe(&self) -> Result<Build, String>;

    /// Builds the program as `name` says and returns its path. The program must accept the lab's arguments and
    /// `session`, like this one.
    ///
    /// # Errors
    /// When there is no such build, or it failed.
    fn build(&self, name: &str) -> Result<PathBuf, String>;
}
