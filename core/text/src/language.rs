//! The languages whose words are stemmed.

pub use rust_stemmers::{Algorithm as Language, Stemmer};

/// Returns the language of a locale such as `de-AT`, or none when its words are not stemmed.
pub fn language_of(locale: &str) -> Option<Language> {
    let code = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    Some(match code.as_str() {
        "ar" => Language::Arabic,
        "da" => Language::Danish,
        "nl" => Language::Dutch,
        "en" => Language::English,
        "fi" => Language::Finnish,
        "fr" => Language::French,
        "de" => Language::German,
        "el" => Language::Greek,
        "hu" => Language::Hungarian,
        "it" => Language::Italian,
        "no" | "nb" | "nn" => Language::Norwegian,
        "pt" => Language::Portuguese,
        "ro" => Language::Romanian,
        "ru" => Language::Russian,
        "es" => Language::Spanish,
        "sv" => Language::Swedish,
        "ta" => Language::Tamil,
        "tr" => Language::Turkish,
        _ => return None,
    })
}

/// Returns the stem of a word; the word itself where nothing would be left of it, or without a stemmer.
pub fn stem(word: &str, stemmer: Option<&Stemmer>) -> String {
    let stemmed = stemmer.filter(|_| word.contains(char::is_alphabetic)).map(|stemmer| stemmer.stem(word).into_owned());
    stemmed.filter(|it| !it.is_empty()).unwrap_or_else(|| word.to_owned())
}

/// Words that share a stem with another word and mean something else, by language, without accents: German `morgen` (tomorrow) and `morgens`.
const OWN_WORDS: [(&str, &str); 5] =
    [("de", "morgen fruher frueher spater spaeter"), ("en", "even lately"), ("es", "mes"), ("it", "presto"), ("pt", "mes")];

/// Whether a word, without accents, is no form of the other words with its stem.
pub fn is_own_word(word: &str, locale: &str) -> bool {
    let code = locale.split(['-', '_']).next().unwrap_or_default();
    OWN_WORDS.iter().any(|(language, words)| code.eq_ignore_ascii_case(language) && words.split(' ').any(|it| it == word))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::test_numbers::Rng;

    fn stem_in(word: &str, locale: &str) -> String {
        stem(word, language_of(locale).map(Stemmer::create).as_ref())
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (locale, forms) in [
            ("ar-EG", ["الكتاب", "كتابكم", "كتابها"]),
            ("el", ["αυτοκινητο", "αυτοκινητου", "αυτοκινητων"]),
            ("en", ["order", "orders", "ordered"]),
            ("ta_IN", ["புத்தகம்", "புத்தகங்கள்", "புத்தகத்தை"]),
            ("tr", ["kart", "kartlar", "kartlarım"]),
        ] {
            let stems = forms.map(|it| stem_in(it, locale));
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{locale}: {stems:?}");
        }
        assert_eq!((stem_in("orders", "xx"), stem_in("orders", "")), ("orders".to_owned(), "orders".to_owned()));
    }

    #[test]
    fn words_with_the_stem_of_another_are_known() {
        for (locale, word, other) in [
            ("de-AT", "morgen", "morgens"),
            ("de", "fruher", "fruh"),
            ("en-US", "even", "evening"),
            ("es", "mes", "mesa"),
            ("it", "presto", "prestito"),
            ("pt", "mes", "mesa"),
        ] {
            assert_eq!(stem_in(word, locale), stem_in(other, locale), "{locale}: {word}");
            assert!(is_own_word(word, locale) && !is_own_word(other, locale), "{locale}: {word}");
        }
        assert!(!is_own_word("morgen", "nl") && !is_own_word("morgen", ""));
    }

    #[test]
    fn any_text_has_a_stem() {
        let mut rng = Rng::new(5);
        let mut pick = |most: u32| u32::try_from(rng.next_u64() % u64::from(most)).unwrap();
        for (locale, start, count) in
            [("ar", 0x610, 0xf0), ("el", 0x370, 0x90), ("ta", 0xb80, 0x80), ("ru", 0x400, 0x60), ("tr", 0x61, 0x1a)]
        {
            for _ in 0..40_000 {
                let letters = (0..pick(14)).filter_map(|_| char::from_u32(start + pick(count)));
                let word: String = letters.collect();
                assert_eq!(stem_in(&word, locale).is_empty(), word.is_empty(), "{locale}: {word}");
            }
        }
    }
}
