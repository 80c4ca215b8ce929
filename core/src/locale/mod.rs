//! Languages: the words that values and answers are read from, and the texts that the engine itself says. Each language is one file.
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

pub(crate) use self::engine_text::EngineText;
pub(crate) use self::texts::{EngineTexts, engine_texts, find_engine_texts, insert_values};

/// A language.
pub(crate) struct Language {
    /// The language subtag of its locales.
    code: &'static str,
    words: LocaleWords,
    /// What the engine says; `None` where another language is spoken instead.
    texts: Option<EngineTexts>,
}

/// The words of a language.
pub(crate) struct LocaleWords {
    /// Conjunctions between the last two items of a list.
    pub and: &'static str,
    /// Indefinite articles, which count as one.
    pub article: &'static str,
    /// Words for one half.
    pub half: &'static str,
    /// Articles, possessives and demonstratives, which may stand between a preposition and a value.
    pub determiners: &'static str,
    /// Prepositions, each followed by its contractions with an article.
    pub contractions: &'static str,
    /// Months, from January.
    pub months: &'static str,
    /// Weekdays, from Monday.
    pub weekdays: &'static str,
    /// Today, tomorrow, yesterday, the day after tomorrow.
    pub days: &'static str,
    /// Words before a past day, or before a word that only looks like a day.
    pub before_other_day: &'static str,
    /// Words after a past day.
    pub after_past_day: &'static str,
    /// Words before a month.
    pub before_month: &'static str,
    /// Words before an offset from today, such as "in".
    pub before_offset: &'static str,
    /// Words after an offset from today, such as "from now".
    pub after_offset: &'static str,
    /// Years, months, weeks, days, hours, minutes, seconds.
    pub units: &'static str,
    /// Words of consent.
    pub yes: &'static str,
    /// Words of refusal.
    pub no: &'static str,
    /// Words that negate consent and have no meaning alone.
    pub not: &'static str,
    /// Words of doubt.
    pub unsure: &'static str,
    /// Consent and refusal, only as the whole text.
    pub whole_text_only: [&'static str; 2],
    /// Number words; `None` where numbers are read from digits alone.
    pub numbers: Option<NumberWords>,
}

/// The number words of a language.
pub(crate) struct NumberWords {
    /// Zero, one, two and so on, as far as numbers have a name of their own.
    pub ones: &'static str,
    /// Twenty, thirty up to ninety.
    pub tens: &'static str,
    /// Tens that are followed by numbers up to nineteen, as in "soixante-dix".
    pub tens_before_teens: &'static str,
    /// One hundred, two hundred up to nine hundred, where they are one word.
    pub hundreds: &'static str,
    /// Words that multiply, each with its number of zeros.
    pub scales: &'static [(&'static str, u32)],
    /// A conjunction between tens and ones.
    pub and_after_ten: &'static str,
    /// A conjunction between a scale and what follows it.
    pub and_after_scale: &'static str,
    /// Words for the decimal mark.
    pub point: &'static str,
    /// Words for the minus sign at the beginning of a text, besides the English ones.
    pub minus: &'static str,
    /// Words for the percent sign, besides the English one.
    pub percent: &'static str,
    /// Whether a scale stands for one of it also within a number, as in "mille cent".
    pub is_one_implied: bool,
    /// The parts of numbers that are written as one word with the ones before the tens, as in "einundzwanzig".
    pub compound: Option<CompoundWords>,
}

/// The parts of numbers that are written as one word.
pub(crate) struct CompoundWords {
    /// Between ones and tens.
    pub and: &'static str,
    /// One hundred.
    pub hundred: &'static str,
    /// One thousand.
    pub thousand: &'static str,
}

impl NumberWords {
    /// No number words.
    const NONE: NumberWords = NumberWords {
        ones: "",
        tens: "",
        tens_before_teens: "",
        hundreds: "",
        scales: &[],
        and_after_ten: "",
        and_after_scale: "",
        point: "",
        minus: "",
        percent: "",
        is_one_implied: false,
        compound: None,
    };
}

/// Returns the words of a locale's language; English for an unsupported language.
pub(crate) fn words_of_locale(locale: &str) -> &'static LocaleWords {
    &find_language(locale).unwrap_or(&en::LANGUAGE).words
}

fn find_language(locale: &str) -> Option<&'static Language> {
    let language = language(locale);
    LANGUAGES.into_iter().find(|it| language.eq_ignore_ascii_case(it.code))
}

/// Whether a folded word is an article, a possessive or a demonstrative.
pub(crate) fn is_determiner(word: &str, locale: &str) -> bool {
    words_of_locale(locale).determiners.split(',').any(|it| it == word)
}

/// The preposition that a folded word contracts with an article, such as `von` for the German `vom`; else the word.
pub(crate) fn without_article<'w>(word: &'w str, locale: &str) -> &'w str {
    let mut rows = words_of_locale(locale).contractions.split('|').filter(|it| !it.is_empty());
    rows.find(|it| it.split(',').any(|it| it == word)).and_then(|it| it.split(',').next()).unwrap_or(word)
}

/// The language of a locale.
pub(crate) fn language(locale: &str) -> &str {
    locale.split(['-', '_']).next().unwrap_or_default()
}

/// The region of a locale in upper case; empty without one.
pub(crate) fn region(locale: &str) -> String {
    let region = locale.split(['-', '_']).skip(1).find(|it| it.len() == 2);
    region.unwrap_or_default().to_ascii_uppercase()
}

const LANGUAGES: [&Language; 8] =
    [&en::LANGUAGE, &de::LANGUAGE, &es::LANGUAGE, &fr::LANGUAGE, &hi::LANGUAGE, &it::LANGUAGE, &pt::LANGUAGE, &nl::LANGUAGE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::phrase::fold_text;

    #[test]
    fn locales_have_a_language_and_a_region() {
        for (locale, expected) in
            [("en-US", ("en", "US")), ("de", ("de", "")), ("zh-Hans-cn", ("zh", "CN")), ("pt_BR", ("pt", "BR")), ("", ("", ""))]
        {
            assert_eq!((language(locale), region(locale).as_str()), expected);
        }
        assert_eq!((words_of_locale("FR-be").half, words_of_locale("sv").half), ("demi,demie", "half"));
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
    fn tables_are_complete_and_folded() {
        for language in LANGUAGES {
            let it = &language.words;
            let rows = [it.months, it.weekdays, it.days, it.units].map(|it| it.split('|').count());
            assert_eq!(rows, [12, 7, 4, 7], "{}", language.code);
            for words in [
                it.months,
                it.weekdays,
                it.days,
                it.units,
                it.yes,
                it.no,
                it.not,
                it.unsure,
                it.and,
                it.half,
                it.determiners,
                it.contractions,
                it.before_other_day,
                it.after_offset,
                it.numbers.as_ref().map_or("", |it| it.ones),
                it.numbers.as_ref().map_or("", |it| it.tens),
                it.numbers.as_ref().map_or("", |it| it.hundreds),
                it.numbers.as_ref().map_or("", |it| it.point),
                it.numbers.as_ref().map_or("", |it| it.percent),
            ] {
                assert_eq!(fold_text(words), words);
                assert!(!words.contains(", ") && !words.contains(",,"), "{words}");
            }
        }
    }
}
