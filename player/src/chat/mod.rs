//! The command `convengine chat`: talks with a configuration on standard input and output, without a server.
//!
//! Turns run in the core with the answers of the pack, as in `convengine test`, so that what was said can be saved as a talk.

mod answer;
mod saved_talk;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use convengine_core::config::settings::HOST_KEYS;
use convengine_core::pack::{OpenTalk, Pack};
use convengine_core::turn::Millis;
use convengine_host::arguments::ChatArguments;
use convengine_host_base::exit::Failure;
use convengine_host_base::{clock, print_error_line, print_line};
use serde_json::{Value, json};

use super::core::{CorePlayer, CoreTurn, Suspend};
use super::read_pack;
use super::trace::trace_turn;

use self::saved_talk::{SavedTalk, TalkFile};

/// The line that ends the conversation, as the end of the input does.
const QUIT: &str = "/quit";

/// The latest time that a talk can have, the end of the year 9999.
const MAX_START: Millis = 253_402_300_799_000;

/// A pack to talk with.
#[derive(Debug)]
pub struct Chat {
    pack: Pack,
    start: Millis,
    talk_file: Option<TalkFile>,
    /// Whether answers are printed as JSON.
    as_json: bool,
    /// Whether each answer is followed by what the engine decided.
    with_reasons: bool,
}

impl Chat {
    /// Reads the pack, and checks the other arguments. Paths are relative to the current folder, which may be another one afterwards.
    ///
    /// # Errors
    /// Exit code 1 if the file cannot be read or is invalid, 2 if another argument is.
    pub fn open(file: &Path, arguments: &ChatArguments) -> Result<Chat, Failure> {
        let mut pack = read_pack(file).map_err(|error| Failure::check_failed(vec![error.to_string()]))?;
        // What is said here is not what is said there, so the answers of its turns do not fit.
        pack.turns.clear();
        let start = arguments.at.as_deref().map_or_else(|| Ok(clock::now()), parse_start)?;
        let talk_file = arguments.save.as_deref().map(|path| TalkFile::new(path, file)).transpose()?;
        Ok(Chat { pack, start, talk_file, as_json: arguments.json, with_reasons: arguments.why })
    }

    /// Holds the conversation until the input ends. `settings` is the tree below `convengine`, whose values win over those of the pack.
    ///
    /// # Errors
    /// Exit code 1 if the configuration cannot be used, 2 if the input or the file to be saved cannot, 3 if that file cannot be written.
    pub fn run(mut self, settings: &Value) -> Result<(), Failure> {
        let settings = turn_settings(settings);
        for (key, value) in &settings {
            self.pack.set_setting(key, value.clone());
        }
        let player = CorePlayer::new(&self.pack, Suspend::Never);
        let is_document = self.pack.flow_document().is_some();
        if let Some(issue) = player.issues.first().filter(|_| is_document) {
            return Err(Failure::check_failed(vec![issue.to_string()]));
        }
        player.issues.iter().filter(|it| it.is_error()).for_each(|it| print_error_line!("{it}"));
        let talk = OpenTalk::new(&self.pack, self.start);
        let saved = self.talk_file.as_ref().map(|file| file.create(&talk, &self.pack.name, &settings)).transpose()?;
        let is_terminal = io::stdin().is_terminal();
        let (as_json, with_reasons) = (self.as_json, self.with_reasons);
        let mut conversation = Conversation { player, talk, saved, is_terminal, as_json, with_reasons, number: 1, turns: 0 };
        if let Some(opening) = conversation.talk.opening() {
            conversation.say(0, opening)?;
        }
        conversation.read_lines()?;
        conversation.saved.map_or(Ok(()), SavedTalk::finish)
    }
}

/// A conversation while it is held.
struct Conversation {
    player: CorePlayer,
    talk: OpenTalk,
    saved: Option<SavedTalk>,
    is_terminal: bool,
    as_json: bool,
    with_reasons: bool,
    /// The number of the current session, which is its label in the talk; the first one needs none.
    number: u32,
    /// How many turns were played.
    turns: u32,
}

impl Conversation {
    fn read_lines(&mut self) -> Result<(), Failure> {
        let mut lines = io::stdin().lock().lines();
        for number in 1.. {
            if self.is_terminal {
                prompt("> ");
            }
            let Some(line) = lines.next() else { break };
            let line = line.map_err(|error| Failure::invalid_usage(format!("cannot read standard input: {error}")))?;
            let text = line.trim();
            if text == QUIT {
                return Ok(());
            }
            if !text.is_empty() {
                self.say(number, text)?;
            }
        }
        if self.is_terminal {
            // The prompt of the shell begins a line.
            prompt("\n");
        }
        Ok(())
    }

    /// Plays the turn of a message, which comes from this line of the input.
    fn say(&mut self, line: u32, text: &str) -> Result<(), Failure> {
        let before = self.talk.clone();
        let number = self.number_for(text);
        // A message that names its conversation goes there.
        let message = if number == 1 || text.starts_with('@') { text.to_owned() } else { format!("@{number} {text}") };
        let played = match self.talk.read_message(line, &message) {
            Ok(turn) => self.player.play_next(turn),
            Err(error) => {
                print_error_line!("{error}");
                return Ok(());
            }
        };
        match played {
            Ok(turn) => {
                self.print(&turn);
                self.turns += 1;
                self.number = number;
                self.saved.as_mut().map_or(Ok(()), |saved| saved.add(&message, &turn.played.json))
            }
            Err(error) => {
                print_error_line!("line {line}: {error:#}");
                // A turn that was not played is not saved, so no time may pass in it.
                self.talk = before;
                Ok(())
            }
        }
    }

    /// The number of the session to which a message belongs: the current one, or a new one if it opens one and is not the first.
    fn number_for(&self, text: &str) -> u32 {
        let word = text.split_whitespace().next();
        let is_opening = word.is_some() && word == self.talk.opening();
        if is_opening && self.turns > 0 { self.number + 1 } else { self.number }
    }

    fn print(&self, turn: &CoreTurn) {
        let reasons = if self.with_reasons { trace_turn(&turn.journal, &self.player.config) } else { Vec::new() };
        if self.as_json {
            let mut answer = turn.played.json.clone();
            if self.with_reasons {
                answer["why"] = json!(reasons);
            }
            print_line!("{answer}");
            return;
        }
        // On a terminal the messages are between the answers.
        if self.turns > 0 && !self.is_terminal {
            print_line!("");
        }
        answer::lines(&turn.played.json).iter().for_each(|line| print_line!("{line}"));
        reasons.iter().for_each(|line| print_line!("    {line}"));
    }
}

/// Writes to standard error, which is not what somebody saves or reads on.
fn prompt(text: &str) {
    // A terminal that is gone needs no prompt.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn parse_start(text: &str) -> Result<Millis, Failure> {
    let invalid = || Failure::invalid_usage(format!("invalid time '{text}' for --at; use 2026-01-31 or 2026-01-31T09:00:00Z"));
    clock::parse(text).filter(|it| (0..=MAX_START).contains(it)).ok_or_else(invalid)
}

/// The settings that change turns, by their keys. The others are those of a server.
fn turn_settings(tree: &Value) -> Vec<(String, Value)> {
    let is_below = |key: &str, group: &str| key.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let mut found = Vec::new();
    collect_settings("", tree, &mut found);
    found.retain(|(key, _)| !HOST_KEYS.iter().any(|it| is_below(key, it)));
    found
}

fn collect_settings(key: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value.as_object() {
        Some(members) => {
            for (name, member) in members {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                collect_settings(&key, member, found);
            }
        }
        None if key.is_empty() => {}
        None => found.push((key.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_turns_are_taken() {
        let tree = json!({"flow": {"dialogue-act": {"resolute": "REGEX_ONLY"}}, "network": {"allow-private": ["a"]}, "input": {"max-chars": 9},
            "files": {"roots": {"a": "b"}}, "http": {}});
        let expected = [("flow.dialogue-act.resolute".to_owned(), json!("REGEX_ONLY")), ("input.max-chars".to_owned(), json!(9))];
        assert_eq!(turn_settings(&tree), expected);
        assert!(turn_settings(&Value::Null).is_empty());
    }

    #[test]
    fn a_start_is_a_time() {
        assert_eq!(parse_start("2026-01-01T09:00:00Z").unwrap(), 1_767_258_000_000);
        for text in ["noon", "", "-5", "99999-01-01"] {
            assert_eq!(parse_start(text).unwrap_err().code, 2, "{text}");
        }
    }
}
