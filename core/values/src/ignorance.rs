//! Answers that say nothing but that the speaker does not know: "I don't know", "keine Ahnung".

use crate::compiled_language::language_of;
use crate::language::ignorance_words;
use crate::phrases::read_phrase;
use crate::token::{Token, TokenKind, split_tokens};

/// Whether a message says nothing but that the speaker does not know the answer, perhaps with words of politeness. Phrases of several words
/// are known in all languages, because a session may have another one than its user; single words only in that of the locale.
pub fn is_ignorance(text: &str, locale: &str) -> bool {
    let language = language_of(locale).language;
    let fillers = [language.consent.fillers, language.commands.fillers];
    let tokens: Vec<Token> = split_tokens(text).into_iter().filter(|it| it.kind != TokenKind::Sign).collect();
    let read_ignorance = |at: usize| {
        let ends = ignorance_words::ALL.iter().filter_map(|(code, phrases)| Some((*code, read_phrase(&tokens, phrases, at)?)));
        ends.filter(|(code, end)| *code == language.code || *end > at + 1).map(|it| it.1).max()
    };
    let mut is_found = false;
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = read_ignorance(at) {
            is_found = true;
            at = end;
        } else if let Some(end) = fillers.iter().filter_map(|it| read_phrase(&tokens, it, at)).max() {
            at = end;
        } else {
            return false;
        }
    }
    is_found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_know_gives_no_answer() {
        for (locale, texts, expected) in [
            ("en", "I don't know|i dont know|no idea|No idea, sorry!|well, I'm not sure|idk|I can't remember|keine Ahnung|no sé", true),
            (
                "de",
                "weiß nicht|Weiß ich nicht.|keine Ahnung|tut mir leid, das weiß ich leider nicht|ich bin mir nicht sicher|I don't know",
                true,
            ),
            ("es", "no sé|no lo sé|ni idea|no me acuerdo", true),
            ("fr", "je ne sais pas|aucune idée|j'ai oublié|Je n'en sais rien", true),
            ("hi", "पता नहीं|मुझे नहीं पता|याद नहीं है", true),
            ("it", "non lo so|boh|non ne ho idea", true),
            ("nl", "weet ik niet|geen idee|ik weet het niet", true),
            ("pt", "não sei|não faço ideia|sei lá", true),
            ("en", "Anna|I don't know, Anna|no|yes please|no idea is bad|Boh|please|sorry|I know|", false),
            ("de", "Ahnung|Anna Weiß|keine|nicht|ich weiß nicht, wo mein Paket ist|um elf bitte|weiß", false),
            ("es", "José|no|sé amable", false),
            ("fr", "Aucune|pas de sucre", false),
        ] {
            for text in texts.split('|') {
                assert_eq!(is_ignorance(text, locale), expected, "{locale}: {text}");
            }
        }
    }
}
