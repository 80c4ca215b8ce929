//! Resolves an answer to one of several actions: by key, description, number or place, or by a word that is unique to one of them.

use convengine_values::{ChosenBy, read_choice};

use crate::session::ClarificationOption;

/// Returns the option that a text names and how it was matched; `None` when it names none or several, asks or negates.
pub fn choose_option<'o>(options: &'o [ClarificationOption], text: &str, locale: &str) -> Option<(&'o ClarificationOption, &'static str)> {
    let input = text.trim().trim_end_matches(['.', '!', ',']).trim();
    if let Some(option) = options.iter().find(|option| option.key.trim().eq_ignore_ascii_case(input)) {
        return Some((option, "KEY"));
    }
    let names: Vec<Vec<&str>> =
        options.iter().map(|option| [Some(option.key.as_str()), option.description.as_deref()].into_iter().flatten().collect()).collect();
    let (number, by) = read_choice(text, &names, locale)?;
    let by = match by {
        ChosenBy::Name => "DESCRIPTION",
        ChosenBy::Number => "NUMBER",
        ChosenBy::Word => "WORD",
    };
    Some((options.get(number)?, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_key(text: &str) -> Option<(String, &'static str)> {
        let option =
            |key: &str, description: Option<&str>| ClarificationOption { key: key.to_owned(), description: description.map(str::to_owned) };
        let options =
            [option("ISSUE_CARD", Some("Issue a replacement card")), option("BLOCK_CARD", Some("Block the card")), option("NOTIFY", None)];
        choose_option(&options, text, "en").map(|(option, by)| (option.key.clone(), by))
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
        for text in [
            "",
            "card",
            "4",
            "0",
            "I need 2 cards",
            "the one",
            "block and notify",
            "not the replacement",
            "what is the price",
            "What happens if I block the card?",
        ] {
            assert_eq!(choose_key(text), None, "{text}");
        }
    }
}
