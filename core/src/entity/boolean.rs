//! `@boolean`: words of consent and refusal.

use super::locale::words_of_locale;
use crate::text::phrase::Phrase;

/// Reads consent or refusal; `None` when the text has neither or both.
pub(super) fn find(text: &str, locale: &str) -> Option<bool> {
    let words = words_of_locale(locale);
    let phrase = Phrase::without_accents(text);
    let mut rest = phrase.tokens();
    if let ([only], [yes, no]) = (rest, words.whole_text_only) {
        let is = |list: &str| list.split(',').any(|it| it == only);
        match (is(yes), is(no), only.as_str()) {
            (true, _, _) | (_, _, "true") => return Some(true),
            (_, true, _) | (_, _, "false") => return Some(false),
            _ => {}
        }
    }
    let lists = [words.yes, words.no, words.not, words.unsure];
    let [mut yes, mut no, mut not, mut unsure] = [false; 4];
    while !rest.is_empty() {
        let lengths = lists.map(|list| longest_match(list, rest));
        let length = lengths.iter().copied().max().unwrap_or_default();
        for (length_of, is_found) in lengths.into_iter().zip([&mut yes, &mut no, &mut not, &mut unsure]) {
            *is_found |= length > 0 && length_of == length;
        }
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    match (yes, no) {
        _ if unsure => None,
        (true, false) if !not => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// The number of leading tokens in the longest matching phrase of a list.
fn longest_match(list: &str, tokens: &[String]) -> usize {
    let is_prefix = |phrase: &&str| phrase.split(' ').count() <= tokens.len() && phrase.split(' ').zip(tokens).all(|it| it.0 == it.1);
    list.split(',').filter(is_prefix).map(|it| it.split(' ').count()).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn consent_and_refusal_are_distinguished() {
        for (locale, yes, no, neither) in [
            (
                "en-US",
                "yes|Yes please!|Right.|yes right now|YEAH|sure|of course|ok.|true|1|y|that's right|no problem|yes, yes|why not",
                "no|Nope|no thanks|NAH|false|0|n|of course not|no I don't|absolutely not|never",
                "|yes and no|not sure|maybe|I don't know|I have 1 dog|not right|not right now|I want pizza|yesterday|nobody|right now|10",
            ),
            (
                "de-DE",
                "ja|Ja, gerne|klar|na klar!|jawohl|natürlich|kein Problem|j|auf jeden Fall",
                "nein|Nein danke|nö nee|niemals|auf keinen Fall|n",
                "ja nein|weiß nicht|keine Ahnung|jacke|nicht richtig|yes",
            ),
            (
                "es",
                "sí|Si|claro que sí|vale|por supuesto|s|¡Sí!",
                "no|No, gracias|nunca|claro que no",
                "no sé|no lo sé|sí y no|quizás|siempre",
            ),
            (
                "fr-FR",
                "oui|d'accord|D’accord !|bien sûr|ouais|pas de problème",
                "non|Non merci|pas du tout|jamais|bien sûr que non",
                "je ne sais pas|peut-être|oui non|pas|pas exactement",
            ),
            ("it", "sì|certo|va bene|d'accordo|assolutamente sì", "no|no grazie|assolutamente no|mai", "non lo so|forse|sì no"),
            ("pt-BR", "sim|claro|com certeza|está bem", "não|Não, obrigado|nunca|claro que não", "não sei|talvez|no carro"),
            (
                "nl",
                "ja|Ja hoor|graag|prima|is goed|oké|j",
                "nee|Nee dank je|liever niet|zeker niet",
                "weet ik niet|misschien|ja nee|niet juist",
            ),
            ("hi-IN", "हाँ|जी हां|ठीक है|बिल्कुल|ज़रूर|जरूर|सही|haan|ok|1", "नहीं|जी नहीं|बिल्कुल नहीं|ठीक नहीं|गलत|nahi|0", "पता नहीं|शायद|हाँ नहीं|मेज़"),
            ("sv", "yes|true|1", "no|false|0", "kanske"),
        ] {
            for (list, expected) in [(yes, Some(true)), (no, Some(false)), (neither, None)] {
                for text in list.split('|') {
                    assert_eq!(find(text, locale), expected, "{text} {locale}");
                }
            }
        }
        assert_eq!((find("true", "de"), find("FALSE", "nl")), (Some(true), Some(false)));
    }
}
