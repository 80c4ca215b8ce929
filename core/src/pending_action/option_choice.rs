//! Resolves an answer to one of several actions: by number, key or description, or by a word that is unique to one of them.

use std::collections::BTreeSet;

use crate::session::ClarificationOption;

/// Filler words around a number: "option 2", "the number 2, please".
const NUMBER_FILLERS: [&str; 7] = ["option", "number", "no", "the", "please", "action", "choice"];

/// Words without meaning of their own, and negations; with a negation no option is chosen by a word alone.
const STOP_WORDS: [&str; 30] = [
    "a", "an", "the", "my", "your", "our", "me", "you", "it", "i", "we", "to", "of", "for", "and", "or", "in", "on", "at", "by", "with",
    "is", "are", "be", "do", "this", "that", "please", "now", "one",
];
const NEGATIONS: [&str; 7] = ["not", "no", "don", "dont", "never", "without", "except"];

/// Returns the option that a text names and how it was matched; `None` when it names none or several.
pub fn choose_option<'o>(options: &'o [ClarificationOption], text: &str) -> Option<(&'o ClarificationOption, &'static str)> {
    let input = text.trim().trim_end_matches(['.', '!', '?', ',']).trim().to_lowercase();
    let words = split_words(&input);
    if input.is_empty() {
        return None;
    }
    let by_number = || parse_number(&words).and_then(|it| options.get(it.checked_sub(1)?));
    let is_same = |it: &str| it.trim().to_lowercase() == input;
    let by_key = || options.iter().find(|it| is_same(&it.key));
    let by_description = || options.iter().find(|it| it.description.as_deref().is_some_and(is_same));
    let found = by_key().map(|it| (it, "KEY")).or_else(|| by_description().map(|it| (it, "DESCRIPTION")));
    found.or_else(|| by_number().map(|it| (it, "NUMBER"))).or_else(|| match_word(options, &input, &words).map(|it| (it, "WORD")))
}

/// The number, when the text contains nothing else but fillers.
fn parse_number(words: &[String]) -> Option<usize> {
    let mut numbers = words.iter().filter(|it| !NUMBER_FILLERS.contains(&it.as_str()));
    let number = numbers.next()?.parse().ok();
    if numbers.next().is_some() { None } else { number }
}

/// The only option that has a unique word, or its key, in the text.
fn match_word<'o>(options: &'o [ClarificationOption], input: &str, words: &[String]) -> Option<&'o ClarificationOption> {
    if words.iter().any(|it| NEGATIONS.contains(&it.as_str())) {
        return None;
    }
    let tokens: Vec<&str> = input.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '-').collect();
    let word_sets: Vec<BTreeSet<String>> = options.iter().map(option_words).collect();
    let is_named = |at: usize, option: &ClarificationOption| {
        let is_unique = |word: &String| word_sets.iter().enumerate().all(|(other, it)| it.contains(word) == (other == at));
        tokens.contains(&option.key.to_lowercase().as_str()) || words.iter().any(is_unique)
    };
    let mut hits = options.iter().enumerate().filter(|(at, it)| is_named(*at, it)).map(|it| it.1);
    let hit = hits.next()?;
    if hits.next().is_some() { None } else { Some(hit) }
}

fn option_words(option: &ClarificationOption) -> BTreeSet<String> {
    let text = format!("{} {}", option.key, option.description.as_deref().unwrap_or_default());
    split_words(&text.to_lowercase()).into_iter().filter(|it| !STOP_WORDS.contains(&it.as_str())).collect()
}

fn split_words(text: &str) -> Vec<String> {
    text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_key(text: &str) -> Option<(String, &'static str)> {
        let option =
            |key: &str, description: Option<&str>| ClarificationOption { key: key.to_owned(), description: description.map(str::to_owned) };
        let options =
            [option("ISSUE_CARD", Some("Issue a replacement card")), option("BLOCK_CARD", Some("Block the card")), option("NOTIFY", None)];
        choose_option(&options, text).map(|(it, by)| (it.key.clone(), by))
    }

    #[test]
    fn an_answer_names_one_option() {
        for (text, key, by) in [
            ("2", "BLOCK_CARD", "NUMBER"),
            ("Option 1, please.", "ISSUE_CARD", "NUMBER"),
            ("notify", "NOTIFY", "KEY"),
            ("block the CARD!", "BLOCK_CARD", "DESCRIPTION"),
            ("I take the replacement", "ISSUE_CARD", "WORD"),
            ("do block_card now", "BLOCK_CARD", "WORD"),
        ] {
            assert_eq!(choose_key(text), Some((key.to_owned(), by)), "{text}");
        }
    }

    #[test]
    fn ambiguous_or_unknown_answers_choose_nothing() {
        for text in ["", "card", "4", "0", "I need 2 cards", "the one", "block and notify", "not the replacement", "what is the price"] {
            assert_eq!(choose_key(text), None, "{text}");
        }
    }
}
