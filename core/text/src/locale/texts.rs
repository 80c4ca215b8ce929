//! The texts that the engine itself says in flows (docs/reference/engine-texts.md).

use super::{EngineText, en, find_language};

/// The texts of a language. `{name}` stands for what is inserted.
pub struct EngineTexts {
    /// Asks whether `{value}` is right.
    pub confirm_value: &'static str,
    /// The button of consent.
    pub yes: &'static str,
    /// The button of refusal.
    pub no: &'static str,
    /// Asks for a slot without a prompt, by its `{name}`.
    pub ask_for_value: &'static str,
    /// Asks which of several `{values}` is meant.
    pub choose_value: &'static str,
    /// Asks whether the intent `{first}` or `{second}` is meant.
    pub choose_intent: &'static str,
    /// Answers a message that nothing else answers.
    pub not_understood: &'static str,
    /// Answers somebody who leaves what is being done.
    pub cancelled: &'static str,
    /// Answers somebody who wants to leave when nothing is being done.
    pub nothing_to_cancel: &'static str,
    /// Says that a question has to be answered.
    pub answer_needed: &'static str,
    /// Says why a question is asked: for the intent `{name}`.
    pub reason_for_question: &'static str,
    /// Says that there is no question before this one.
    pub first_question: &'static str,
    /// Says that a value has been used and cannot be changed.
    pub cannot_change: &'static str,
    /// Says that a slot has another `{value}` now.
    pub corrected: &'static str,
    /// Says that the conversation begins anew.
    pub started_over: &'static str,
    /// Says that nobody can take over.
    pub no_person: &'static str,
    /// Says that the conversation returns to the intent `{name}`.
    pub returned: &'static str,
    /// Names the intents, as `{names}`.
    pub can_help_with: &'static str,
    /// Answers the second message in a row that nothing else answers.
    pub not_understood_again: &'static str,
    /// Answers further messages in a row that nothing else answers.
    pub given_up: &'static str,
    /// Answers somebody who does not want what an intent is for.
    pub left_alone: &'static str,
    /// Reports a failure that nothing handles.
    pub error: &'static str,
}

impl EngineTexts {
    /// Returns a text.
    pub fn get(&self, text: EngineText) -> &'static str {
        match text {
            EngineText::ConfirmValue => self.confirm_value,
            EngineText::Yes => self.yes,
            EngineText::No => self.no,
            EngineText::AskForValue => self.ask_for_value,
            EngineText::ChooseValue => self.choose_value,
            EngineText::ChooseIntent => self.choose_intent,
            EngineText::NotUnderstood => self.not_understood,
            EngineText::Cancelled => self.cancelled,
            EngineText::NothingToCancel => self.nothing_to_cancel,
            EngineText::AnswerNeeded => self.answer_needed,
            EngineText::ReasonForQuestion => self.reason_for_question,
            EngineText::FirstQuestion => self.first_question,
            EngineText::CannotChange => self.cannot_change,
            EngineText::Corrected => self.corrected,
            EngineText::StartedOver => self.started_over,
            EngineText::NoPerson => self.no_person,
            EngineText::Returned => self.returned,
            EngineText::CanHelpWith => self.can_help_with,
            EngineText::NotUnderstoodAgain => self.not_understood_again,
            EngineText::GivenUp => self.given_up,
            EngineText::LeftAlone => self.left_alone,
            EngineText::Error => self.error,
        }
    }
}

/// Returns the texts of a locale's language, if the engine speaks it.
pub fn find_engine_texts(locale: &str) -> Option<&'static EngineTexts> {
    find_language(locale)?.texts.as_ref()
}

/// Returns the texts of the first locale whose language the engine speaks; English when it speaks none.
pub fn engine_texts(locales: [&str; 2]) -> &'static EngineTexts {
    locales.into_iter().find_map(find_engine_texts).unwrap_or(&en::TEXTS)
}

/// Inserts values into a text: each replaces its name in braces. Values are not searched for names.
pub fn insert_values(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let value = after.split_once('}').and_then(|(name, after)| Some((values.iter().find(|it| it.0 == name)?.1, after)));
        match value {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::super::LANGUAGES;
    use super::*;

    #[test]
    fn the_language_of_the_locale_decides_then_the_second_locale_then_english() {
        for (locales, expected) in [
            (["de-AT", "fr"], "Ja"),
            (["ES", "en"], "Sí"),
            (["hi-IN", "en"], "हाँ"),
            (["pt-BR", "fr-CA"], "Oui"),
            (["pt-BR", "sv"], "Yes"),
            (["", ""], "Yes"),
        ] {
            assert_eq!(engine_texts(locales).yes, expected, "{locales:?}");
        }
        assert!(find_engine_texts("it").is_none() && find_engine_texts("en-GB").is_some());
    }

    #[test]
    fn every_language_inserts_the_same_values() {
        let placeholders =
            |text: &str| text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect::<Vec<_>>();
        for language in LANGUAGES {
            let Some(texts) = &language.texts else { continue };
            for text in EngineText::ALL {
                assert_eq!(placeholders(texts.get(text)), placeholders(en::TEXTS.get(text)), "{} {}", language.code, text.name());
                assert!(!texts.get(text).trim().is_empty());
            }
        }
        assert_eq!(LANGUAGES.iter().filter(|it| it.texts.is_some()).count(), 5);
    }

    #[test]
    fn values_are_inserted_as_they_are() {
        let values = [("first", "{second}"), ("second", "b")];
        assert_eq!(insert_values("{first}, {second} or {third}?", &values), "{second}, b or {third}?");
        assert_eq!(insert_values("{ {first", &values), "{ {first");
        assert_eq!(insert_values("{{first}}", &values), "{{second}}");
    }
}
