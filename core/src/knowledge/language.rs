//! The languages whose words are stemmed.

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// A language with a stemmer and stop words. Each stemmer costs about 2 KB of the browser engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Turkish,
}

impl Language {
    /// Returns the language of a locale such as `de-AT`, or none when its words are not stemmed.
    pub(super) fn from_locale(locale: &str) -> Option<Language> {
        let code = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        Some(match code.as_str() {
            "da" => Language::Danish,
            "nl" => Language::Dutch,
            "en" => Language::English,
            "fi" => Language::Finnish,
            "fr" => Language::French,
            "de" => Language::German,
            "hu" => Language::Hungarian,
            "it" => Language::Italian,
            "no" | "nb" | "nn" => Language::Norwegian,
            "pt" => Language::Portuguese,
            "ro" => Language::Romanian,
            "ru" => Language::Russian,
            "es" => Language::Spanish,
            "sv" => Language::Swedish,
            "tr" => Language::Turkish,
            _ => return None,
        })
    }

    /// Returns the stemmer of the language.
    pub(super) fn stemmer(self) -> Stemmer {
        Stemmer::create(match self {
            Language::Danish => Algorithm::Danish,
            Language::Dutch => Algorithm::Dutch,
            Language::English => Algorithm::English,
            Language::Finnish => Algorithm::Finnish,
            Language::French => Algorithm::French,
            Language::German => Algorithm::German,
            Language::Hungarian => Algorithm::Hungarian,
            Language::Italian => Algorithm::Italian,
            Language::Norwegian => Algorithm::Norwegian,
            Language::Portuguese => Algorithm::Portuguese,
            Language::Romanian => Algorithm::Romanian,
            Language::Russian => Algorithm::Russian,
            Language::Spanish => Algorithm::Spanish,
            Language::Swedish => Algorithm::Swedish,
            Language::Turkish => Algorithm::Turkish,
        })
    }
}
