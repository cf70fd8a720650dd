//! Why a line cannot stand in the journal.

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum JournalError {
    /// A line that is there is wrong.
    #[error("line {number}: {reason}")]
    Line { number: usize, reason: String },
    #[error("`{0}` is not a date of the form 2026-01-31T12:00:00Z")]
    Date(String),
    #[error("this would be attempt {found}, but the next is {expected}")]
    Number { found: u64, expected: u64 },
    #[error("the {0} is empty")]
    Empty(&'static str),
    #[error(
        "a prediction from {0} % to {1} % is none; write LOW,HIGH of the change of time, above -100, the lower first"
    )]
    Prediction(f64, f64),
    #[error("there is no attempt {0}")]
    Unknown(u64),
    #[error(
        "the report of {report} is older than the prediction of {prediction}: what was seen before cannot be predicted"
    )]
    TooOld { report: String, prediction: String },
    #[error("the report compares no case of `{0}`")]
    NoTarget(String),
    #[error("it cannot be adopted: {0} became slower")]
    Slower(String),
    #[error("it cannot be adopted: no report shows a case of `{0}` faster")]
    NotFaster(String),
}
