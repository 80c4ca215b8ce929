//! Languages: the words that stand beside values, and the texts that the engine itself says. Each language is one file.
//!
//! Rows of a table are separated by `|`, alternatives in a row by `,`. All words are folded.

mod de;
mod en;
mod engine_text;
mod es;
mod fr;
mod hi;
mod it;
mod nl;
mod pt;
mod texts;

pub use self::engine_text::EngineText;
pub use self::texts::{EngineTexts, engine_texts, find_engine_texts, insert_values};

use crate::phrase::fold_text;

/// A language.
pub struct Language {
    /// The language subtag of its locales.
    code: &'static str,
    /// The names of the days of the week from Monday on, each long and short.
    weekdays: [[&'static str; 2]; 7],
    words: LocaleWords,
    /// What the engine says; `None` where another language is spoken instead.
    texts: Option<EngineTexts>,
}

/// The words of a language that stand beside values; those of values are in `convengine-values`.
pub struct LocaleWords {
    /// Conjunctions between the last two items of a list.
    pub and: &'static str,
    /// Articles, possessives and demonstratives, which may stand between a preposition and a value.
    pub determiners: &'static str,
    /// Prepositions, each followed by its contractions with an article.
    pub contractions: &'static str,
    /// Words of questions that nobody says beside a value.
    pub questions: &'static str,
    /// Words of questions, and of the names of slots, whose answer may be a question itself: `problem`, `message`.
    pub free_words: &'static str,
}

/// Returns the words of a locale's language; English for an unsupported language.
pub fn words_of_locale(locale: &str) -> &'static LocaleWords {
    &find_language(locale).unwrap_or(&en::LANGUAGE).words
}

/// Returns the long and the short name of a day of the week, 0 for Monday, in a locale's language; in English for an unsupported language.
pub fn weekday_names(day: usize, locale: &str) -> [&'static str; 2] {
    find_language(locale).unwrap_or(&en::LANGUAGE).weekdays.get(day).copied().unwrap_or_default()
}

fn find_language(locale: &str) -> Option<&'static Language> {
    let language = language(locale);
    LANGUAGES.into_iter().find(|it| language.eq_ignore_ascii_case(it.code))
}

/// Whether a folded word is an article, a possessive or a demonstrative.
pub fn is_determiner(word: &str, locale: &str) -> bool {
    words_of_locale(locale).determiners.split(',').any(|it| it == word)
}

/// Whether a word joins values or belongs to questions, so that it says nothing about the value beside it.
pub fn is_question_word(word: &str, locale: &str) -> bool {
    let (words, folded) = (words_of_locale(locale), fold_text(word));
    [words.and, words.questions].iter().flat_map(|it| it.split(',')).any(|it| it == folded)
}

/// Whether a word of a question, without accents, says that its answer may be a question itself.
pub fn asks_for_free_words(word: &str, locale: &str) -> bool {
    words_of_locale(locale).free_words.split(',').any(|it| it == word)
}

/// The preposition that a folded word contracts with an article, such as `von` for the German `vom`; else the word.
pub fn without_article<'w>(word: &'w str, locale: &str) -> &'w str {
    let mut rows = words_of_locale(locale).contractions.split('|').filter(|it| !it.is_empty());
    rows.find(|row| row.split(',').any(|it| it == word)).and_then(|row| row.split(',').next()).unwrap_or(word)
}

/// The language of a locale.
pub fn language(locale: &str) -> &str {
    locale.split(['-', '_']).next().unwrap_or_default()
}

/// The region of a locale in upper case; empty without one.
pub fn region(locale: &str) -> String {
    let region = locale.split(['-', '_']).skip(1).find(|part| part.len() == 2);
    region.unwrap_or_default().to_ascii_uppercase()
}

const LANGUAGES: [&Language; 8] =
    [&en::LANGUAGE, &de::LANGUAGE, &es::LANGUAGE, &fr::LANGUAGE, &hi::LANGUAGE, &it::LANGUAGE, &pt::LANGUAGE, &nl::LANGUAGE];

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn locales_have_a_language_and_a_region() {
        for (locale, expected) in
            [("en-US", ("en", "US")), ("de", ("de", "")), ("zh-Hans-cn", ("zh", "CN")), ("pt_BR", ("pt", "BR")), ("", ("", ""))]
        {
            assert_eq!((language(locale), region(locale).as_str()), expected);
        }
        assert_eq!((words_of_locale("FR-be").and, words_of_locale("sv").and), ("et", "and"));
    }

    #[test]
    fn days_of_the_week_have_names_in_each_language() {
        for (day, locale, expected) in [
            (0, "en-US", ["Monday", "Mon"]),
            (6, "de-AT", ["Sonntag", "So"]),
            (2, "es", ["miércoles", "mié"]),
            (4, "fr-FR", ["vendredi", "ven."]),
            (5, "hi", ["शनिवार", "शनि"]),
            (0, "it", ["lunedì", "lun"]),
            (3, "NL", ["donderdag", "do"]),
            (1, "pt_BR", ["terça-feira", "ter."]),
            (0, "sv", ["Monday", "Mon"]),
            (7, "en", ["", ""]),
        ] {
            assert_eq!(weekday_names(day, locale), expected, "{locale}");
        }
    }

    #[test]
    fn words_beside_a_value_are_known() {
        assert!(is_determiner("my", "en-GB") && is_determiner("einem", "de") && !is_determiner("a", "es") && !is_determiner("from", "en"));
        for (word, locale, expected) in
            [("vom", "de-AT", "von"), ("zur", "de", "zu"), ("vom", "en", "vom"), ("dalla", "it", "da"), ("", "en", "")]
        {
            assert_eq!(without_article(word, locale), expected, "{word}");
        }
    }

    #[test]
    fn words_of_questions_are_known() {
        for (word, locale) in [("which", "en-US"), ("and", "en"), ("Möchten", "de"), ("où", "fr-FR"), ("und", "de-AT"), ("कृपया", "hi")]
        {
            assert!(is_question_word(word, locale), "{word}");
        }
        for (word, locale) in [("from", "en"), ("more", "en"), ("nach", "de"), ("de", "es"), ("which", "de"), ("", "en")] {
            assert!(!is_question_word(word, locale), "{word}");
        }
    }

    #[test]
    fn tables_are_folded() {
        for language in LANGUAGES {
            let it = &language.words;
            for words in [it.and, it.determiners, it.contractions, it.questions, it.free_words] {
                assert_eq!(fold_text(words), words);
                assert!(!words.contains(", ") && !words.contains(",,"), "{words}");
            }
        }
    }
}
