//! Dialogue acts: the patterns that recognise them and the prompts that ask a model. (docs/spec/pipeline.md#2.6)

use convengine_text::json::into_members;
use convengine_text::locale::language;
use convengine_text::regex::Regex;
use convengine_text::template::Template;
use convengine_turn::{Candidate, TOO_MANY_STEPS, Verdict};
use convengine_values::{Command, Consent, is_question, read_command, read_consent_to, read_consent_to_in_any_language, read_correction};
use serde_json::{Value, json};

use super::built_in::{ComponentConfig, PromptPair};
use super::dialogue_act::{ACT_NAMES, DialogueAct};
use super::issue::Issue;
use super::tables::ConfigRows;

/// Default patterns of the acts that need no model, each with its key in `ce_config`.
const DEFAULT_PATTERNS: [(DialogueAct, &str, &str); 5] = [
    (DialogueAct::Affirm, "REGEX_AFFIRM", r"\s*(yes|yep|yeah|ok|okay|sure|go ahead|do that|please do|confirm|approve|approved)\s*"),
    (DialogueAct::Negate, "REGEX_NEGATE", r"\s*(no|nope|nah|cancel|stop|don't|do not)\s*"),
    (DialogueAct::Edit, "REGEX_EDIT", r"\s*(edit|revise|change|modify|update)\s*"),
    (DialogueAct::Reset, "REGEX_RESET", r"\s*(reset|restart|start over)\s*"),
    (DialogueAct::Greeting, "REGEX_GREETING", r"\s*(hi|hello|hey|greetings|good morning|good afternoon|good evening|howdy)\s*"),
];

/// The key of `ce_config` that turns the reading of commands off.
const READ_COMMANDS: &str = "READ_COMMANDS";

/// A prompt pair and the JSON Schema of the reply.
#[derive(Debug, Clone, Default)]
pub struct DialogueActPrompts {
    /// System prompt.
    pub system: Template,
    /// User prompt.
    pub user: Template,
    /// JSON Schema.
    pub schema: Value,
}

/// Compiled patterns and prompts.
#[derive(Debug, Clone, Default)]
pub struct DialogueActs {
    /// Whole-text patterns, in matching order.
    pub patterns: Vec<(DialogueAct, Regex)>,
    /// Whether consent is read as flows read it, too: unless the configuration has patterns of its own for it.
    pub reads_consent: bool,
    /// Whether commands and corrections are read as flows read them, too: unless the configuration says no, or has patterns of its own for them.
    pub reads_commands: bool,
    /// Prompts that classify the message only.
    pub plain: DialogueActPrompts,
    /// Prompts that also ask for a standalone rewrite of the message.
    pub rewrite: DialogueActPrompts,
}

impl DialogueActs {
    /// Returns the first act whose pattern matches the whole text.
    pub fn match_pattern(&self, text: &str) -> Option<DialogueAct> {
        self.patterns.iter().find(|pattern| pattern.1.is_match(text) == Ok(true)).map(|it| it.0)
    }

    /// Returns the act of a text that agrees or refuses and has little else; with a change it is an edit. Without a locale the text may be
    /// in any language.
    pub fn read_consent(&self, text: &str, locale: Option<&str>) -> Option<DialogueAct> {
        self.read_consent_to(text, locale, &[])
    }

    /// Returns the same of an answer to an offer, whose words it may repeat: "yes, order it" and "don't order it" where `offer` has names such
    /// as `ORDER_REFILL` and "Order the refill".
    pub fn read_consent_to(&self, text: &str, locale: Option<&str>, offer: &[&str]) -> Option<DialogueAct> {
        match read_consent_of(text, locale, offer).filter(|_| self.reads_consent)? {
            Consent::Yes => Some(DialogueAct::Affirm),
            Consent::No => Some(DialogueAct::Negate),
            Consent::YesBut | Consent::NoBut => Some(DialogueAct::Edit),
        }
    }

    /// Returns the act of a text that speaks about the conversation itself: "start over", "never mind", "go back", "I meant Friday".
    pub fn read_command(&self, text: &str, locale: &str) -> Option<DialogueAct> {
        if !self.reads_commands {
            return None;
        }
        match read_command(text, locale) {
            // A reset loses everything: in English, only the words of the pattern decide it.
            Some(Command::StartOver) => (language(locale) != "en").then_some(DialogueAct::Reset),
            Some(Command::Cancel) => Some(DialogueAct::Negate),
            Some(Command::Back) => Some(DialogueAct::Edit),
            // Tables have no act for these, and questions are known by their mark.
            Some(Command::Skip | Command::Person | Command::Repeat | Command::Help) => None,
            None => read_correction(text, locale)
                .filter(|correction| correction.replaced.is_none() && correction.is_retraction)
                .map(|_| DialogueAct::Edit),
        }
    }

    /// Whether a text is a plain yes: by the patterns, else as flows read it.
    pub fn is_plain_yes(&self, text: &str, locale: Option<&str>) -> bool {
        let text = text.trim_end_matches(|it: char| !it.is_alphanumeric());
        self.match_pattern(text).or_else(|| self.read_consent(text, locale)) == Some(DialogueAct::Affirm)
    }

    /// Whether a text that was classified as consent may be one: it asks nothing, refuses nothing and changes nothing.
    pub fn may_agree(&self, text: &str, locale: Option<&str>) -> bool {
        self.match_pattern(text) == Some(DialogueAct::Affirm)
            || match read_consent_of(text, locale, &[]) {
                Some(consent) => consent == Consent::Yes,
                None => !is_question(text, locale.unwrap_or("en")),
            }
    }

    /// Returns the verdict on each pattern for a text.
    pub fn candidates(&self, text: &str) -> Vec<Candidate> {
        let mut named = false;
        let mut judge = |(act, regex): &(DialogueAct, Regex)| {
            let row = |verdict| Candidate::for_choice("ce_config", act.name(), verdict);
            let judged = match regex.is_match(text) {
                _ if named => row(Verdict::NotReached),
                Ok(true) => row(Verdict::Matched),
                Ok(false) => row(Verdict::NotMatched),
                Err(_) => row(Verdict::Failed).with_reason(TOO_MANY_STEPS),
            };
            named |= judged.verdict == Verdict::Matched;
            judged
        };
        self.patterns.iter().map(&mut judge).collect()
    }

    pub(super) fn compile(rows: &ConfigRows, issues: &mut Vec<Issue>) -> DialogueActs {
        let mut step = ComponentConfig { rows, name: "DialogueActStep", issues };
        let patterns =
            DEFAULT_PATTERNS.iter().filter_map(|(act, key, default)| Some((*act, compile_pattern(&mut step, key, default)?))).collect();
        let has_own = |key: &str| rows.value("DialogueActStep", key).is_some();
        let is_off = rows.value("DialogueActStep", READ_COMMANDS).is_some_and(|setting| setting.trim().eq_ignore_ascii_case("false"));
        DialogueActs {
            patterns,
            reads_consent: !has_own("REGEX_AFFIRM") && !has_own("REGEX_NEGATE"),
            reads_commands: !is_off && !["REGEX_AFFIRM", "REGEX_NEGATE", "REGEX_EDIT", "REGEX_RESET"].iter().any(|it| has_own(it)),
            plain: compile_prompts(&mut step, "", &PLAIN),
            rewrite: compile_prompts(&mut step, "QUERY_REWRITE_", &REWRITE),
        }
    }
}

fn read_consent_of(text: &str, locale: Option<&str>, offer: &[&str]) -> Option<Consent> {
    locale.map_or_else(|| read_consent_to_in_any_language(text, offer), |it| read_consent_to(text, it, offer))
}

fn compile_pattern(step: &mut ComponentConfig<'_>, key: &str, default: &str) -> Option<Regex> {
    if let Some(pattern) = step.rows.value(step.name, key) {
        match Regex::new_full_match(pattern) {
            Ok(regex) => return Some(regex),
            Err(reason) => step.report_invalid(key, reason),
        }
    }
    Regex::new_full_match(default).ok()
}

struct BuiltInPrompts {
    system: &'static str,
    user: &'static str,
    includes_rewrite: bool,
}

const PLAIN: BuiltInPrompts = BuiltInPrompts {
    system: "You label what a customer is doing with a message in a service chat. Pick exactly one label:\n\
        AFFIRM agrees or confirms; NEGATE refuses or calls something off; ANSWER gives a detail that was asked for; \
        EDIT wants to correct an earlier detail; RESET wants to begin again from nothing; QUESTION asks for information; \
        GREETING only says hello; NEW_REQUEST is anything else, such as a new wish.\n\
        Reply with one JSON object with the members dialogueAct and confidence (0 to 1), and with nothing else.",
    user: "The customer's message:\n{{user_input}}",
    includes_rewrite: false,
};

const REWRITE: BuiltInPrompts = BuiltInPrompts {
    system: "You label what a customer is doing with the newest message of a service chat, and you restate that message so that it can be \
        understood without the chat. Pick exactly one label:\n\
        AFFIRM agrees or confirms; NEGATE refuses or calls something off; ANSWER gives a detail that was asked for; \
        EDIT wants to correct an earlier detail; RESET wants to begin again from nothing; QUESTION asks for information; \
        GREETING only says hello; NEW_REQUEST is anything else, such as a new wish.\n\
        Restate in the customer's language; put names and numbers from the chat in place of words like 'it' or 'that one', and add nothing new.\n\
        Reply with one JSON object with the members dialogueAct, confidence (0 to 1) and standaloneQuery, and with nothing else.",
    user: "The chat so far, oldest first, as JSON:\n{{conversation_history}}\n\nThe customer's newest message:\n{{user_input}}",
    includes_rewrite: true,
};

fn compile_prompts(step: &mut ComponentConfig<'_>, prefix: &str, built_in: &BuiltInPrompts) -> DialogueActPrompts {
    let PromptPair { system, user } = step.prompt_pair(prefix, built_in.system, built_in.user);
    DialogueActPrompts { system, user, schema: reply_schema(step, &format!("{prefix}SCHEMA_PROMPT"), built_in.includes_rewrite) }
}

fn reply_schema(step: &mut ComponentConfig<'_>, key: &str, rewrites: bool) -> Value {
    if let Some(source) = step.rows.value(step.name, key) {
        match serde_json::from_str(source) {
            Ok(schema @ Value::Object(_)) => return schema,
            Ok(_) => step.report_invalid(key, "is not a JSON object".to_owned()),
            Err(error) => step.report_invalid(key, error.to_string()),
        }
    }
    let names: Vec<&str> = ACT_NAMES.iter().map(|it| it.0).collect();
    let mut properties = into_members(json!({
        "dialogueAct": {"type": "string", "enum": names},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }));
    if rewrites {
        properties.insert("standaloneQuery".to_owned(), json!({"type": "string"}));
    }
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn acts() -> DialogueActs {
        Config::compile(&Default::default(), &Value::Null).0.dialogue_acts.clone()
    }

    #[test]
    fn consent_is_read_in_every_language_unless_the_client_names_one() {
        let acts = acts();
        for text in ["yes please", "ja", "ja, gerne", "oui merci", "sí, por favor", "sì grazie", "हाँ", "sim, por favor", "ja graag"]
        {
            assert_eq!(acts.read_consent(text, None), Some(DialogueAct::Affirm), "{text}");
            assert!(acts.is_plain_yes(text, None) && acts.may_agree(text, None), "{text}");
        }
        for text in ["no thanks", "nein danke", "non merci", "no, gracias", "no grazie", "नहीं", "não, obrigado", "nee, dank je"] {
            assert_eq!(acts.read_consent(text, None), Some(DialogueAct::Negate), "{text}");
            assert!(!acts.is_plain_yes(text, None) && !acts.may_agree(text, None), "{text}");
        }
        for text in ["Lyon", "what does yes mean", "yes?", "ja oder nein", "RX-999999"] {
            assert_eq!(acts.read_consent(text, None), None, "{text}");
        }
        assert_eq!((acts.read_consent("ja", Some("en")), acts.read_consent("ja", Some("de-AT"))), (None, Some(DialogueAct::Affirm)));
    }

    #[test]
    fn an_answer_to_an_offer_may_repeat_it() {
        let acts = acts();
        let offer = ["ORDER_REFILL", "Order the refill"];
        for (text, expected) in [
            ("yes, order it", Some(DialogueAct::Affirm)),
            ("don't order it", Some(DialogueAct::Negate)),
            ("yes, but order two", Some(DialogueAct::Edit)),
            ("order it tomorrow instead", None),
            ("don't order it yet", None),
            ("yes, and what does it cost?", None),
        ] {
            for locale in [None, Some("en")] {
                assert_eq!(acts.read_consent_to(text, locale, &offer), expected, "{text}");
            }
        }
        assert_eq!(acts.read_consent("yes, order it", None), None, "nothing is offered");
    }

    #[test]
    fn commands_are_acts() {
        let acts = acts();
        for (locale, text, expected) in [
            ("en", "reset now", None),
            ("es", "empezar de nuevo", Some(DialogueAct::Reset)),
            ("de", "noch einmal von vorne", Some(DialogueAct::Reset)),
            ("en", "I changed my mind", Some(DialogueAct::Negate)),
            ("es", "olvídalo", Some(DialogueAct::Negate)),
            ("en", "go back", Some(DialogueAct::Edit)),
            ("fr", "je voulais dire vendredi", Some(DialogueAct::Edit)),
            ("en", "why do you ask?", None),
            ("en", "sorry, Friday", None),
            ("en", "cancel my order", None),
            ("en", "skip", None),
        ] {
            assert_eq!(acts.read_command(text, locale), expected, "{text}");
        }
    }

    #[test]
    fn what_a_model_takes_for_a_yes_may_be_none() {
        let acts = acts();
        for text in ["are you sure?", "no, better not", "yes, but call me first"] {
            assert!(!acts.may_agree(text, None), "{text}");
        }
        assert!(acts.may_agree("that suits me fine", None));
    }
}
