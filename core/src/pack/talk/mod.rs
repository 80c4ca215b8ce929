//! Talks: the short text form of a pack's turns.
//!
//! Lines before the first `>` say what is played; each `>` begins a turn, indented lines below it are answers to what the
//! turn asks, and lines with a mark say what it must have done. `tests/README.md` has the whole form.

mod answer;
mod check;
mod flow;
mod line;
mod message;
mod time;

use serde_json::Value;

pub use self::message::conversation_of;

use self::line::Line;
use super::{BETWEEN_TURNS, FIRST_TURN_AT, Pack, PackError, PackTurn};
use crate::turn::{Map, Millis};

/// What stands before the first message.
#[derive(Default)]
struct Header<'t> {
    about: Option<&'t str>,
    name: Option<&'t str>,
    at: Option<Millis>,
    config: Option<Line<'t>>,
    /// The assistant, when a flow is played.
    assistant: Option<&'t str>,
    settings: Vec<(Line<'t>, Value)>,
}

impl Pack {
    /// Reads a talk; `config` gives the text of the pack that it names, whose turns are left out.
    ///
    /// # Errors
    /// [`PackError`] with line and column, and what to do.
    pub fn parse_talk(text: &str, config: impl Fn(&str) -> Result<String, String>) -> Result<Pack, PackError> {
        let mut header = Header::default();
        let mut turns: Vec<PackTurn> = Vec::new();
        let mut clock = None;
        let mut end = Line::new(1, "");
        for (number, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let line = Line::new(number, text);
            end = Line { number, column: 1, text: "" };
            if line.text.is_empty() {
                continue;
            }
            if let Some(comment) = line.after("#") {
                header.about.get_or_insert(comment.text);
            } else if let Some(said) = line.after(">") {
                turns.last().map_or(Ok(()), complete)?;
                turns.push(turn(&said, &header, &mut clock)?);
            } else if let Some(turn) = turns.last_mut() {
                part(turn, &line)?;
            } else {
                header.read(&line)?;
            }
        }
        let last = turns.last().ok_or_else(|| end.error("nothing is said; add a message such as '> Hello'"))?;
        complete(last)?;
        header.pack(turns, &end, config)
    }
}

/// Begins a turn, a minute after the one before it or as long as it says.
fn turn(said: &Line<'_>, header: &Header<'_>, clock: &mut Option<Millis>) -> Result<PackTurn, PackError> {
    let message = message::read(said, header.assistant)?;
    let start = header.at.unwrap_or(FIRST_TURN_AT);
    let at = match (*clock, message.wait) {
        (Some(before), wait) => before.saturating_add(wait.unwrap_or(BETWEEN_TURNS)),
        (None, wait) => start.saturating_add(wait.unwrap_or(0)),
    };
    *clock = Some(at);
    Ok(PackTurn {
        conversation: Some(message.conversation),
        request: Some(message.request),
        at: Some(at),
        line: said.number,
        ..PackTurn::default()
    })
}

/// Adds an answer or an expectation to a turn.
fn part(turn: &mut PackTurn, line: &Line<'_>) -> Result<(), PackError> {
    if line.indented() {
        if !turn.checks.is_empty() {
            return Err(line.error("answers stand before what is expected; move this line up"));
        }
        turn.answers.push(answer::read(line)?);
        return Ok(());
    }
    match check::read(line)? {
        Some(check) => check::add(&mut turn.checks, check),
        None => {
            return Err(line.error("a line below a message is an answer, indented, or begins with one of > < <~ ! = ~ ~! ? ?! % %! $ #"));
        }
    }
    Ok(())
}

/// A turn must be able to fail.
fn complete(turn: &PackTurn) -> Result<(), PackError> {
    if turn.checks.is_empty() {
        let line = Line { number: turn.line, column: 1, text: "" };
        return Err(line.error("nothing is expected of this message; add a line such as '< the reply'"));
    }
    Ok(())
}

impl<'t> Header<'t> {
    fn read(&mut self, line: &Line<'t>) -> Result<(), PackError> {
        let (word, rest) = line.word();
        match word.text {
            "name" => self.name = Some(rest.required("the name")?),
            "config" => {
                rest.required("the file of the pack")?;
                self.config = Some(rest);
            }
            "program" if rest.text.starts_with("flow") => {
                let (_, id) = rest.word();
                self.assistant = Some(id.required("the id of the assistant")?);
            }
            "program" => {
                let profile = rest.text.strip_prefix("pipeline").map(str::trim_start).filter(|it| ["", "v1", "v2"].contains(it));
                let profile = profile
                    .ok_or_else(|| rest.error("this is no program that can be played; write pipeline v1, pipeline v2 or flow ID"))?;
                if !profile.is_empty() {
                    self.settings.push((Line { text: "pipeline.profile", ..rest }, Value::from(profile)));
                }
            }
            "at" => {
                let at = time::instant(rest.text);
                self.at = Some(at.ok_or_else(|| rest.error("this is no time; write it as 2026-01-01T09:00:00Z"))?);
            }
            "set" => {
                let (key, value) = rest.split_once("=").ok_or_else(|| rest.error("write a setting as KEY=VALUE"))?;
                key.required("the key of the setting")?;
                let value = serde_json::from_str(value.text).unwrap_or_else(|_| Value::from(value.text));
                self.settings.push((key, value));
            }
            _ => {
                return Err(
                    line.error("before the first message stand name, program, config, at, set and comments; a message begins with >")
                );
            }
        }
        Ok(())
    }

    fn pack(self, turns: Vec<PackTurn>, end: &Line<'_>, config: impl Fn(&str) -> Result<String, String>) -> Result<Pack, PackError> {
        let file =
            self.config.ok_or_else(|| Line { number: 1, ..*end }.error("no configuration is named; add a line 'config FILE.json'"))?;
        let text = config(file.text).map_err(|reason| file.error(format!("{} cannot be read: {reason}", file.text)))?;
        let mut pack = Pack::parse(&text).map_err(|error| file.error(format!("{}: {error}", file.text)))?;
        for (key, value) in self.settings {
            let names: Vec<&str> = key.text.strip_prefix("convengine.").unwrap_or(key.text).split('.').collect();
            set(&mut pack.settings, &names, value);
        }
        if let Some(name) = self.name {
            name.clone_into(&mut pack.name);
        }
        if let Some(about) = self.about {
            about.clone_into(&mut pack.about);
        }
        pack.turns = turns;
        Ok(pack)
    }
}

/// Writes a setting into the tree, over one that is spelled otherwise.
fn set(tree: &mut Value, names: &[&str], value: Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    let Some(members) = tree.as_object_mut() else { return };
    let plain = |it: &str| it.replace('-', "").to_lowercase();
    let key = members.keys().find(|it| plain(it) == plain(name)).map_or_else(|| (*name).to_owned(), Clone::clone);
    set(members.entry(key).or_insert(Value::Null), rest, value);
}

#[cfg(test)]
mod tests;
