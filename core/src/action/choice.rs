//! Which of several actions an answer means: by its number, key or description, or by a word that only one of them has.

use std::collections::BTreeSet;

use crate::session::ClarificationOption;

/// Words around a number that say no more than the number: "option 2", "the number 2, please".
const AROUND_NUMBERS: [&str; 7] = ["option", "number", "no", "the", "please", "action", "choice"];

/// Words that name nothing, and words that turn the meaning round: with one of the latter a word alone is no choice.
const EMPTY: [&str; 30] = [
    "a", "an", "the", "my", "your", "our", "me", "you", "it", "i", "we", "to", "of", "for", "and", "or", "in", "on", "at", "by", "with",
    "is", "are", "be", "do", "this", "that", "please", "now", "one",
];
const NEGATIONS: [&str; 7] = ["not", "no", "don", "dont", "never", "without", "except"];

/// The option that a text names, and how; nothing when it names none or several.
pub fn choose<'o>(options: &'o [ClarificationOption], text: &str) -> Option<(&'o ClarificationOption, &'static str)> {
    let said = text.trim().trim_end_matches(['.', '!', '?', ',']).trim().to_lowercase();
    let words = words(&said);
    if said.is_empty() {
        return None;
    }
    let by_number = || number(&words).and_then(|it| options.get(it.checked_sub(1)?));
    let same = |it: &str| it.trim().to_lowercase() == said;
    let by_key = || options.iter().find(|it| same(&it.key));
    let by_description = || options.iter().find(|it| it.description.as_deref().is_some_and(same));
    let found = by_key().map(|it| (it, "KEY")).or_else(|| by_description().map(|it| (it, "DESCRIPTION")));
    found.or_else(|| by_number().map(|it| (it, "NUMBER"))).or_else(|| by_word(options, &said, &words).map(|it| (it, "WORD")))
}

/// The number when the text is nothing else.
fn number(words: &[String]) -> Option<usize> {
    let mut numbers = words.iter().filter(|it| !AROUND_NUMBERS.contains(&it.as_str()));
    let number = numbers.next()?.parse().ok();
    if numbers.next().is_some() { None } else { number }
}

/// The one option that has words of the text which no other has; a key within the text counts as such a word.
fn by_word<'o>(options: &'o [ClarificationOption], said: &str, words: &[String]) -> Option<&'o ClarificationOption> {
    if words.iter().any(|it| NEGATIONS.contains(&it.as_str())) {
        return None;
    }
    let spoken: Vec<&str> = said.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '-').collect();
    let own: Vec<BTreeSet<String>> = options.iter().map(words_of).collect();
    let names = |at: usize, option: &ClarificationOption| {
        let alone = |word: &String| own.iter().enumerate().all(|(other, it)| it.contains(word) == (other == at));
        spoken.contains(&option.key.to_lowercase().as_str()) || words.iter().any(alone)
    };
    let mut hits = options.iter().enumerate().filter(|(at, it)| names(*at, it)).map(|it| it.1);
    let hit = hits.next()?;
    if hits.next().is_some() { None } else { Some(hit) }
}

fn words_of(option: &ClarificationOption) -> BTreeSet<String> {
    let text = format!("{} {}", option.key, option.description.as_deref().unwrap_or_default());
    words(&text.to_lowercase()).into_iter().filter(|it| !EMPTY.contains(&it.as_str())).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Option<(String, &'static str)> {
        let option =
            |key: &str, description: Option<&str>| ClarificationOption { key: key.to_owned(), description: description.map(str::to_owned) };
        let options =
            [option("ISSUE_CARD", Some("Issue a replacement card")), option("BLOCK_CARD", Some("Block the card")), option("NOTIFY", None)];
        choose(&options, text).map(|(it, by)| (it.key.clone(), by))
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
            assert_eq!(chosen(text), Some((key.to_owned(), by)), "{text}");
        }
    }

    #[test]
    fn what_names_none_or_several_is_no_choice() {
        for text in ["", "card", "4", "0", "I need 2 cards", "the one", "block and notify", "not the replacement", "what is the price"] {
            assert_eq!(chosen(text), None, "{text}");
        }
    }
}
