//! Turns text into terms: normalised, split into words, stemmed. Chunks and questions use the same rules.

use std::collections::BTreeMap;

use convengine_text::language::{Language, Stemmer, language_of, stem};
use convengine_text::normal_form::compose;
use convengine_text::phrase::{Phrase, is_unspaced};
use convengine_text::stop_words::is_stop_word;

use super::invisible::without_invisible;

/// Longer tokens, such as encoded data, are truncated.
const MAX_TERM_CHARS: usize = 64;

/// Returns the terms that a question is looked up by: in the order of the question, without duplicates and function words.
///
/// `locales` are those of the searched sources, so that the terms match each source as it was stemmed. A question of function
/// words alone keeps them.
pub fn query_terms(query: &str, locales: &[&str]) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    let mut seen: Vec<(Option<Language>, Vec<String>)> = Vec::new();
    for locale in locales {
        let language = language_of(locale);
        let tokens = tokenize(query, locale, Grams::Query);
        if seen.iter().any(|other| other.0 == language && other.1 == tokens) {
            continue;
        }
        for term in question_terms(&tokens, language) {
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        seen.push((language, tokens));
    }
    terms
}

fn question_terms(tokens: &[String], language: Option<Language>) -> Vec<String> {
    let stemmer = language.map(Stemmer::create);
    let is_stop = |token: &&String| language.is_some_and(|language| is_stop_word(token, language));
    let only_stop_words = tokens.iter().all(|it| is_stop(&it));
    tokens.iter().filter(|token| only_stop_words || !is_stop(token)).map(|token| stem(token, stemmer.as_ref())).collect()
}

/// Counts the terms of a text.
pub(super) fn count_terms(text: &str, locale: &str, counts: &mut BTreeMap<String, u32>) {
    let stemmer = language_of(locale).map(Stemmer::create);
    let mut tokens: BTreeMap<String, u32> = BTreeMap::new();
    for token in tokenize(text, locale, Grams::Chunk) {
        *tokens.entry(token).or_default() += 1;
    }
    for (token, count) in tokens {
        *counts.entry(stem(&token, stemmer.as_ref())).or_default() += count;
    }
}

/// What becomes of text that has no spaces between words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grams {
    /// Characters and pairs, so that a question of one character finds them too.
    Chunk,
    /// Pairs; a character only when it stands alone.
    Query,
}

fn tokenize(text: &str, locale: &str, grams: Grams) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut run: Vec<char> = Vec::new();
    for token in Phrase::new(&without_invisible(text), locale).tokens() {
        // The stemmers expect composed letters, the normaliser decomposes them.
        let token: String = if token.is_ascii() { token.clone() } else { compose(token).collect() };
        if token.starts_with(is_unspaced) {
            run.extend(token.chars());
            continue;
        }
        push_run(&mut run, grams, &mut tokens);
        if token.starts_with(is_hangul) {
            // Particles are attached to Korean words, so parts of words must match.
            run.extend(token.chars());
            push_run(&mut run, grams, &mut tokens);
        } else if token.starts_with(char::is_alphanumeric) {
            tokens.push(truncate(token));
        }
    }
    push_run(&mut run, grams, &mut tokens);
    tokens
}

fn push_run(run: &mut Vec<char>, grams: Grams, tokens: &mut Vec<String>) {
    if grams == Grams::Chunk || run.len() == 1 {
        tokens.extend(run.iter().map(char::to_string));
    }
    tokens.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    run.clear();
}

fn is_hangul(character: char) -> bool {
    matches!(character, '\u{ac00}'..='\u{d7a3}')
}

fn truncate(token: String) -> String {
    if token.len() <= MAX_TERM_CHARS { token } else { token.chars().take(MAX_TERM_CHARS).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(query: &str, locale: &str) -> String {
        query_terms(query, &[locale]).join(" ")
    }

    #[test]
    fn questions_become_stemmed_terms() {
        for (query, locale, expected) in [
            ("How do I order replacement cards?", "en-GB", "order replac card"),
            ("cards, Cards and CARD", "en", "card"),
            ("who are you", "en", "who are you"),
            ("Wie kündige ich meine Verträge?", "de-AT", "kundig vertrag"),
            ("Wie kündige ich meine Verträge?", "xx", "wie kundige ich meine vertrage"),
            ("où est l’addition", "fr", "addit"),
            ("las tarjetas y la tarjeta", "es", "tarjet"),
            ("мои карты", "ru", "мо карт"),
            ("Πού είναι τα αυτοκίνητα μου;", "el-GR", "αυτοκινητ"),
            ("أين الكتاب", "ar-EG", "كتاب"),
            ("என் புத்தகங்கள் எங்கே", "ta", "புத்தகம்"),
            ("C++ 100 % €", "en", "c 100"),
            ("?! …", "en", ""),
            ("", "en", ""),
            ("大杯咖啡", "zh-CN", "大杯 杯咖 咖啡"),
            ("咖", "zh", "咖"),
            ("커피는 iPhone", "ko", "커피 피는 iphone"),
            ("ﬁne Ｆｕｌｌ", "xx", "fine full"),
            ("a\u{0}b", "en", "b"),
        ] {
            assert_eq!(terms(query, locale), expected, "{query} ({locale})");
        }
    }

    #[test]
    fn a_question_has_the_terms_of_every_locale() {
        assert_eq!(query_terms("Kosten der Karten", &["de", "en", "de-AT", "de"]).join(" "), "kost kart kosten der karten");
        assert_eq!(query_terms("fees", &["en-GB", "en-US"]), ["fee"]);
        assert!(query_terms("fees", &[]).is_empty());
    }

    #[test]
    fn chunks_contain_what_questions_look_for() {
        for (text, query, locale) in [
            ("Order a replacement card", "replacing cards", "en"),
            ("La città è chiusa", "citta chiuse", "it"),
            ("Les événements annulés", "evenement annulé", "fr"),
            ("Gebühren für Überweisungen", "Gebühr Überweisung", "de"),
            ("Οι επιτροπές και τα αυτοκίνητα", "επιτροπή αυτοκινήτου", "el"),
            ("كِتابكم والرسوم", "الكتاب", "ar"),
            ("புத்தகங்கள் மற்றும் அட்டைகள்", "புத்தகம்", "ta"),
            ("請問咖啡多少錢", "咖啡", "zh"),
            ("請問咖啡多少錢", "錢", "zh"),
            ("커피는 얼마예요", "커피", "ko"),
            ("สวัสดีครับ", "สวัสดี", "th"),
            ("نمی\u{200c}خواهم", "نمیخواهم", "fa"),
            ("क्\u{200d}षेत्र", "क्षेत्र", "hi"),
            ("Un\u{ad}believable", "unbelie\u{200b}vable", "en"),
        ] {
            let mut counts = BTreeMap::new();
            count_terms(text, locale, &mut counts);
            for term in query_terms(query, &[locale]) {
                assert!(counts.contains_key(&term), "{term} of {query} in {counts:?}");
            }
        }
    }

    #[test]
    fn enormous_words_are_truncated() {
        let terms = query_terms(&"ä".repeat(1_000_000), &["de"]);
        assert_eq!(terms.iter().map(|term| term.chars().count()).collect::<Vec<_>>(), [MAX_TERM_CHARS]);
    }
}
