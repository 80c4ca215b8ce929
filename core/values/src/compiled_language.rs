//! A language with its compiled rules and lists, once for all that read it.

use std::sync::OnceLock;

use crate::grammar::Grammar;
use crate::language::command_words::CommandWords;
use crate::language::mention_words::{MentionWords, mention_words};
use crate::language::{Consent, LANGUAGES, Language, Veto};
use crate::phrases::Phrases;

/// A language with its compiled grammar and lists.
pub(crate) struct CompiledLanguage {
    pub language: &'static Language,
    pub grammar: Grammar,
    pub commands: CommandWords<Phrases>,
    pub consent: Consent<Phrases>,
    pub vetoes: Vec<Veto<Phrases>>,
    pub negations: Phrases,
    pub mock_negations: Phrases,
    pub mentions: MentionWords<Phrases>,
}

impl CompiledLanguage {
    fn new(language: &'static Language) -> CompiledLanguage {
        CompiledLanguage {
            language,
            grammar: Grammar::new(language),
            commands: language.commands.compile(),
            consent: language.consent.compile(),
            vetoes: language.vetoes.iter().map(Veto::compile).collect(),
            negations: Phrases::new(language.negations),
            mock_negations: Phrases::new(language.mock_negations),
            mentions: mention_words(language.code).compile(),
        }
    }
}

/// The language of a locale; English for one that is not known.
pub(crate) fn language_of(locale: &str) -> &'static CompiledLanguage {
    static COMPILED: [OnceLock<CompiledLanguage>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];
    let code = locale.split(['-', '_']).next().unwrap_or_default();
    let known = LANGUAGES.iter().zip(&COMPILED).find(|it| code.eq_ignore_ascii_case(it.0.code));
    let [english, ..] = &LANGUAGES;
    let [english_slot, ..] = &COMPILED;
    let (language, slot) = known.unwrap_or((english, english_slot));
    slot.get_or_init(|| CompiledLanguage::new(language))
}
