//! Parameters of commands: `{name}` is replaced by each value of a list or range, in all combinations.

use std::fmt;
use std::str::FromStr;

/// Maximum number of commands: all are started in each round.
pub(crate) const MOST: usize = 200;

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ParameterError {
    #[error("`{0}` is no number")]
    NotANumber(String),
    #[error("the range of `{name}` cannot go from {from} to {to} in steps of {step}")]
    Range { name: String, from: Decimal, to: Decimal, step: Decimal },
    #[error("the parameter `{0}` is given twice")]
    Twice(String),
    #[error("no command has `{{{0}}}` for the parameter")]
    Unused(String),
    #[error("these parameters make {0} commands; at most {MOST} can be compared at once")]
    TooMany(usize),
}

/// An exact decimal number: steps of 0.1 reach 0.3 exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    /// Number of digits after the point.
    behind: u32,
}

impl Decimal {
    fn at(self, behind: u32) -> i128 {
        self.digits * 10_i128.pow(behind - self.behind)
    }
}

impl FromStr for Decimal {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let error = || ParameterError::NotANumber(text.to_owned());
        let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, part) = bare.split_once('.').unwrap_or((bare, ""));
        let digits = format!("{whole}{part}");
        // Eighteen digits, so that the sums below cannot overflow.
        if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let digits = digits.parse::<i128>().map_err(|_| error())? * sign;
        Ok(Decimal { digits, behind: part.len() as u32 })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let unit = 10_u128.pow(self.behind);
        let digits = self.digits.unsigned_abs();
        write!(f, "{sign}{}", digits / unit)?;
        if self.behind == 0 {
            Ok(())
        } else {
            write!(f, ".{:0width$}", digits % unit, width = self.behind as usize)
        }
    }
}

/// The numbers `from`, `from + step`, … up to and including `to`.
pub(crate) fn scan(name: &str, from: &str, to: &str, step: &str) -> Result<Parameter, ParameterError> {
    let (from, to, step): (Decimal, Decimal, Decimal) = (from.parse()?, to.parse()?, step.parse()?);
    let behind = from.behind.max(to.behind).max(step.behind);
    let (low, high, stride) = (from.at(behind), to.at(behind), step.at(behind));
    if stride == 0 || (high - low) * stride < 0 {
        return Err(ParameterError::Range { name: name.to_owned(), from, to, step });
    }
    let count = usize::try_from((high - low) / stride + 1).unwrap_or(usize::MAX);
    if count > MOST {
        return Err(ParameterError::TooMany(count));
    }
    let value = |i: usize| Decimal { digits: low + stride * i as i128, behind }.to_string();
    Ok(Parameter { name: name.to_owned(), values: (0..count).map(value).collect() })
}

/// Values separated by commas; `\,` is a comma in a value.
pub(crate) fn list(name: &str, values: &str) -> Parameter {
    let mut parts = vec![String::new()];
    let mut chars = values.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = c == '\\' && chars.peek() == Some(&',');
        match parts.last_mut() {
            Some(last) if escaped => last.extend(chars.next()),
            Some(last) if c != ',' => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    Parameter { name: name.to_owned(), values: parts }
}

/// Values of all parameters in order.
pub(crate) type Choice = Vec<(String, String)>;

/// All combinations for `texts`: the last parameter changes fastest.
pub(crate) fn choices(parameters: &[Parameter], texts: &[String]) -> Result<Vec<Choice>, ParameterError> {
    let mut all: Vec<Choice> = vec![Vec::new()];
    for (index, parameter) in parameters.iter().enumerate() {
        if parameters[..index].iter().any(|other| other.name == parameter.name) {
            return Err(ParameterError::Twice(parameter.name.clone()));
        }
        let blank = format!("{{{}}}", parameter.name);
        if !texts.iter().any(|text| text.contains(&blank)) {
            return Err(ParameterError::Unused(parameter.name.clone()));
        }
        let count = all.len().saturating_mul(parameter.values.len());
        if count.saturating_mul(texts.len()) > MOST {
            return Err(ParameterError::TooMany(count.saturating_mul(texts.len())));
        }
        let extend = |choice: &Choice| -> Vec<Choice> {
            let values = parameter.values.iter();
            values.map(|value| [&choice[..], &[(parameter.name.clone(), value.clone())]].concat()).collect()
        };
        all = all.iter().flat_map(extend).collect();
    }
    Ok(all)
}

/// Replaces the parameters in `text`. Inserted values are not expanded again.
pub(crate) fn fill(text: &str, choice: &[(String, String)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled += &rest[..at];
        rest = &rest[at + 1..];
        let after = |name: &str| rest.strip_prefix(name)?.strip_prefix('}');
        match choice.iter().find_map(|(name, value)| Some((value, after(name)?))) {
            Some((value, after)) => {
                filled += value;
                rest = after;
            }
            None => filled.push('{'),
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(from: &str, to: &str, step: &str) -> Vec<String> {
        scan("n", from, to, step).expect("a range").values
    }

    #[test]
    fn ranges_are_exact() {
        assert_eq!(values("1", "4", "1"), ["1", "2", "3", "4"]);
        assert_eq!(values("0.1", "0.4", "0.1"), ["0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(values("-0.5", "1", "0.75"), ["-0.50", "0.25", "1.00"]);
        assert_eq!(values("8", "1", "-3"), ["8", "5", "2"]);
        assert_eq!(values("3", "3", "1"), ["3"]);
        for (from, to, step) in
            [("1", "4", "0"), ("1", "4", "-1"), ("4", "1", "1"), ("1", "201", "1"), ("0", "1", "x")]
        {
            assert!(scan("n", from, to, step).is_err(), "{from} {to} {step}");
        }
        assert!("".parse::<Decimal>().is_err() && ".".parse::<Decimal>().is_err());
        assert!("9999999999999999999".parse::<Decimal>().is_err(), "too long for exact sums");
    }

    #[test]
    fn lists_may_hold_commas() {
        assert_eq!(list("c", r"gcc,clang -x\,y,").values, ["gcc", "clang -x,y", ""]);
    }

    #[test]
    fn inserted_values_are_not_expanded_again() {
        let choice = [("a", "{b}"), ("b", "{a}x"), ("in{n", "y")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(fill("{a}{b} {c} {{a}} {a {b", &choice), "{b}{a}x {c} {{b}} {a {b");
        assert_eq!(fill("é{in{n}é{", &choice), "éyé{");
        assert_eq!(fill("", &choice), "");
    }

    #[test]
    fn expands_all_combinations() {
        let parameters = [list("a", "x,y"), scan("n", "1", "2", "1").expect("a range")];
        let texts = ["run {a} {n}".to_owned()];
        let expanded: Vec<String> =
            choices(&parameters, &texts).expect("few").iter().map(|choice| fill(&texts[0], choice)).collect();
        assert_eq!(expanded, ["run x 1", "run x 2", "run y 1", "run y 2"]);
        assert_eq!(choices(&[], &texts), Ok(vec![Vec::new()]));
        assert_eq!(choices(&[list("b", "1")], &texts), Err(ParameterError::Unused("b".to_owned())));
        let twice = [list("a", "1"), list("a", "2")];
        assert_eq!(choices(&twice, &texts), Err(ParameterError::Twice("a".to_owned())));
        let many = [scan("a", "1", "100", "1").expect("a range"), list("n", "1,2,3")];
        assert_eq!(choices(&many, &texts), Err(ParameterError::TooMany(300)));
    }
}
