//! Talks: the concise text format for the turns of a pack.
//!
//! Lines before the first `>` are the header. Each `>` begins a turn, indented lines below it answer the requests of the turn, and
//! lines with a mark are its expectations. (docs/reference/talks.md)
//!
//! | line | says |
//! |---|---|
//! | `config FILE`, `set KEY=VALUE`, `at TIME`, `program …` | the header: what is played |
//! | `> text`, `> @label +45m text` | a message, of a conversation, some time after the one before |
//! | `  llm PURPOSE answer`, `  task …`, `  tool …`, `  container …` | what the outside answers in this turn |
//! | `< text`, `<~ part` | the reply, or a part of it |
//! | `! CODE` | the turn fails |
//! | `= INTENT / STATE` | where the conversation stands |
//! | `~ STAGE, …`, `~! STAGE` | stages that are audited, or not |
//! | `? path = JSON`, `? path ~ text`, `?! path` | what is at a path, or that nothing is |
//! | `% text`, `%! text` | a progress message, or none |
//! | `$ call, …` | the calls of the turn, and no others |

mod answer;
mod check;
mod flow;
mod line;
mod message;
mod open_talk;
mod time;

use serde_json::Value;

pub use self::message::conversation_id_for_label;
pub use self::open_talk::OpenTalk;

use convengine_turn::{Map, Millis};

use self::line::Line;
use super::{FIRST_TURN_AT, Pack, PackError, PackTurn, TURN_INTERVAL};

/// The lines before the first message.
#[derive(Default)]
struct Header<'t> {
    about: Option<&'t str>,
    name: Option<&'t str>,
    at: Option<Millis>,
    config: Option<Line<'t>>,
    /// The document, if the talk plays one.
    document: Option<flow::Document<'t>>,
    settings: Vec<(Line<'t>, Value)>,
}

impl Pack {
    /// Parses a talk. `config` returns the text of the pack that it refers to, whose turns are ignored.
    ///
    /// ```
    /// use convengine_pack::{Check, Pack};
    ///
    /// let talk = "# Opening hours.\nconfig bakery.json\n\n> When are you open?\n  llm response_text   From 6 to 14.\n< From 6 to 14.\n";
    /// let pack = Pack::parse_talk(talk, |file| {
    ///     assert_eq!(file, "bakery.json");
    ///     Ok(r#"{"name": "bakery"}"#.to_owned())
    /// })?;
    /// let turn = &pack.turns[0];
    /// assert_eq!((pack.about.as_str(), turn.answers.len()), ("Opening hours.", 1));
    /// assert_eq!(turn.checks[0].check, Check::Reply("From 6 to 14.".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PackError`] with line and column if the talk or its pack is invalid.
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
            if let Some(comment) = line.strip_mark("#") {
                header.about.get_or_insert(comment.text);
            } else if let Some(message) = line.strip_mark(">") {
                turns.last().map_or(Ok(()), check_complete)?;
                turns.push(new_turn(&message, &header, &mut clock)?);
            } else if let Some(turn) = turns.last_mut() {
                add_line(turn, &line)?;
            } else {
                header.parse_line(&line)?;
            }
        }
        let last = turns.last().ok_or_else(|| end.error("the talk has no messages; add one, such as '> Hello'"))?;
        check_complete(last)?;
        header.into_pack(turns, &end, config)
    }

    /// Sets a setting below `convengine`, as the line `set KEY=VALUE` of a talk does. Its names are in camel case or kebab case.
    ///
    /// ```
    /// use convengine_pack::Pack;
    ///
    /// let mut pack = Pack::parse(r#"{"name": "p", "settings": {"flow": {"dialogueAct": {"resolute": "LLM_ONLY"}}}}"#)?;
    /// pack.set_setting("flow.dialogue-act.resolute", "REGEX_ONLY".into());
    /// assert_eq!(pack.settings["flow"]["dialogueAct"]["resolute"], "REGEX_ONLY");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_setting(&mut self, key: &str, value: Value) {
        let names: Vec<&str> = key.strip_prefix("convengine.").unwrap_or(key).split('.').collect();
        set_path(&mut self.settings, &names, value);
    }
}

/// Returns the words that talks can have (marks of checks, roots of paths, kinds of failures), for the documentation.
pub fn talk_words() -> Vec<&'static str> {
    let marks = check::MARKS.iter().map(|it| it.0);
    marks.chain(check::ROOTS).chain(answer::ERROR_KEYWORDS.iter().map(|it| it.0)).collect()
}

/// Creates a turn, by default one minute after the previous one.
fn new_turn(line: &Line<'_>, header: &Header<'_>, clock: &mut Option<Millis>) -> Result<PackTurn, PackError> {
    let message = message::parse_message(line, header.document)?;
    let start = header.at.unwrap_or(FIRST_TURN_AT);
    let at = match (*clock, message.wait) {
        (Some(previous), wait) => previous.saturating_add(wait.unwrap_or(TURN_INTERVAL)),
        (None, wait) => start.saturating_add(wait.unwrap_or(0)),
    };
    *clock = Some(at);
    Ok(PackTurn {
        conversation: Some(message.conversation),
        request: Some(message.request),
        at: Some(at),
        line: line.number,
        ..PackTurn::default()
    })
}

/// Adds an answer or a check to a turn.
fn add_line(turn: &mut PackTurn, line: &Line<'_>) -> Result<(), PackError> {
    if line.is_indented() {
        if !turn.checks.is_empty() {
            return Err(line.error("answers must come before checks; move this line up"));
        }
        turn.answers.push(answer::parse_answer(line)?);
        return Ok(());
    }
    match check::parse_check(line)? {
        Some(check) => check::add_check(&mut turn.checks, check),
        None => {
            return Err(line.error("expected an indented answer, or a line that begins with one of > < <~ ! = ~ ~! ? ?! % %! $ #"));
        }
    }
    Ok(())
}

/// Checks that a turn has at least one check, so that it can fail.
fn check_complete(turn: &PackTurn) -> Result<(), PackError> {
    if turn.checks.is_empty() {
        let line = Line { number: turn.line, column: 1, text: "" };
        return Err(line.error("the message has no checks; add one, such as '< the reply'"));
    }
    Ok(())
}

impl<'t> Header<'t> {
    fn parse_line(&mut self, line: &Line<'t>) -> Result<(), PackError> {
        let (word, rest) = line.split_word();
        match word.text {
            "name" => self.name = Some(rest.required("the name")?),
            "config" => {
                rest.required("the file of the pack")?;
                self.config = Some(rest);
            }
            "program" => {
                let (kind, id) = rest.split_word();
                if let Some(document) = flow::Document::from_word(kind.text, id.text) {
                    id.required(document.id_name())?;
                    self.document = Some(document);
                    return Ok(());
                }
                let profile = rest.text.strip_prefix("pipeline").map(str::trim_start).filter(|it| ["", "v1", "v2"].contains(it));
                let unknown =
                    || rest.error("unknown program; write pipeline v1, pipeline v2, flow ID, workflow ID, agent ID or chain SLUG");
                let profile = profile.ok_or_else(unknown)?;
                if !profile.is_empty() {
                    self.settings.push((Line { text: "pipeline.profile", ..rest }, Value::from(profile)));
                }
            }
            "at" => {
                let at = time::parse_instant(rest.text);
                self.at = Some(at.ok_or_else(|| rest.error("invalid time; write it as 2026-01-01T09:00:00Z"))?);
            }
            "set" => {
                let (key, value) = rest.split_once("=").ok_or_else(|| rest.error("expected KEY=VALUE"))?;
                key.required("the key of the setting")?;
                let value = serde_json::from_str(value.text).unwrap_or_else(|_| Value::from(value.text));
                self.settings.push((key, value));
            }
            _ => {
                return Err(line.error("unknown header line; use name, program, config, at, set or a comment, and begin a message with >"));
            }
        }
        Ok(())
    }

    fn into_pack(self, turns: Vec<PackTurn>, end: &Line<'_>, config: impl Fn(&str) -> Result<String, String>) -> Result<Pack, PackError> {
        let file =
            self.config.ok_or_else(|| Line { number: 1, ..*end }.error("the talk has no configuration; add a line 'config FILE.json'"))?;
        let text = config(file.text).map_err(|reason| file.error(format!("cannot read '{}': {reason}", file.text)))?;
        let mut pack = Pack::parse(&text).map_err(|error| file.error(format!("'{}': {error}", file.text)))?;
        for (key, value) in self.settings {
            pack.set_setting(key.text, value);
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

/// Sets a value in the settings tree; names match in kebab case and in camel case.
fn set_path(tree: &mut Value, names: &[&str], value: Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    let Some(members) = tree.as_object_mut() else { return };
    let normalize = |name: &str| name.replace('-', "").to_lowercase();
    let key = members.keys().find(|key| normalize(key) == normalize(name)).map_or_else(|| (*name).to_owned(), Clone::clone);
    set_path(members.entry(key).or_insert(Value::Null), rest, value);
}

#[cfg(test)]
mod tests;
