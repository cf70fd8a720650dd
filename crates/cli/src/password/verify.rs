//! `password verify`: whether a password belongs to a hash.

use super::answer::Answer;
use super::bulk::{self, Given};
use super::entry::Layout;
use super::keeper::Keeper;
use super::stored;
use super::{By, costs, input, print, print_json};
use crate::engine;
use crate::flags::{Misuse, VerifyArgs};
use crate::out::progress::hushed;
use crate::{kept, memory, out};
use anyhow::bail;
use hashmill_hash::password::Passwords;
use hashmill_machine::free_kib;

pub(super) fn run(low: &VerifyArgs) -> anyhow::Result<u8> {
    let limits = costs::limits(&low.limits)?;
    let syntax = costs::syntax(low.limits.lenient);
    let plan = kept::argon2();
    let device = engine::computer(&low.engine)?;
    let keeper =
        |secret| Keeper::new(Passwords::default().plan(plan).limits(limits).syntax(syntax), secret, device);
    if let Some(file) = &low.stored.file {
        let password_on_stdin = low.passwords.is_none() && input::takes_stdin(&low.input);
        let lists_on_stdin = [Some(file), low.passwords.as_ref()].into_iter().flatten();
        let readers = lists_on_stdin.filter(|path| path.as_os_str() == "-").count();
        let readers = readers + usize::from(password_on_stdin);
        if readers > 1 {
            bail!(Misuse(
                "standard input cannot be the hashes and the password: see --password-fd".to_owned()
            ));
        }
        let secret = input::secret(&low.input, readers > 0)?;
        let given = match &low.passwords {
            Some(path) => Given::Each(path),
            None => Given::One(input::attempt(&low.input)?),
        };
        return bulk::run(keeper(secret), file, Layout::of(&low.layout)?, &given, low);
    }
    // Clap does not ask for the file once there is a hash.
    if low.passwords.is_some() {
        bail!(Misuse("--passwords goes with --file; for one hash, give the password itself".to_owned()));
    }
    let hash = stored::typed(&low.stored, Some(&low.input))?;
    // A hash that cannot be checked is told about before anybody is asked for a password.
    let (mut mishap, mut engines) = (None, Vec::new());
    let answer = match stored::decode(&hash, syntax, &limits) {
        Err(words) => Answer::none(words),
        Ok(hash) => {
            if let Some(words) = memory::refusal(hash.memory_kib(), free_kib()) {
                bail!(words);
            }
            let keeper = keeper(input::secret(&low.input, input::takes_stdin(&low.input))?);
            let password = input::attempt(&low.input)?;
            mishap = input::mishap(&password);
            let verdict = keeper.verify(&password, &hash, low.no_progress || hushed(low.quiet));
            engines = keeper.shares();
            Answer::from(verdict)
        }
    };
    if low.json {
        print_json(&By { what: &answer, engines })?;
    } else if let Some(matches) = answer.matches
        && !low.quiet
    {
        print(if matches { "match\n" } else { "no match\n" })?;
    }
    match (&answer, mishap) {
        (Answer { error: Some(error), .. }, _) if !low.json => out::complain(error),
        (Answer { matches: Some(false), .. }, Some(mishap)) if !low.quiet => {
            out::remark(&format!("take note: {mishap}"));
        }
        _ => {}
    }
    Ok(answer.code())
}
