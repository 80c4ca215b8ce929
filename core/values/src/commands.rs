//! What somebody says about the conversation itself: commands such as "go back", and corrections such as "no wait, Boston".
//!
//! A command is the whole message or nearly so: "cancel, please" is one, "cancel my order" is about an order.

use std::ops::Range;

use crate::compiled_language::language_of;
use crate::language::command_words::CommandWords;
use crate::phrases::Phrases;
use crate::token::{Token, TokenKind, split_tokens, token_before};

/// What somebody asks of the conversation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// To leave what is being done: "never mind".
    Cancel,
    /// To leave out a question.
    Skip,
    /// To hear a question again.
    Repeat,
    /// To hear what a question means, or why it is asked.
    Help,
    /// To return to the question before.
    Back,
    /// To begin anew.
    StartOver,
    /// To talk to a person.
    Person,
}

/// All commands, in the order in which they are described.
pub const COMMANDS: [Command; 7] =
    [Command::Cancel, Command::Skip, Command::Repeat, Command::Help, Command::Back, Command::StartOver, Command::Person];

/// A part of a message that replaces what was said before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The place of what is meant, in bytes.
    pub replacement: Range<usize>,
    /// The place of what it replaces within the message; `None` when the message replaces what an earlier one said.
    pub replaced: Option<Range<usize>>,
    /// Whether it says so plainly ("I meant"), and not with words that also begin other answers ("sorry").
    pub is_retraction: bool,
}

impl<List> CommandWords<List> {
    fn long_form(&self, word: &str) -> Option<&'static str> {
        self.abbreviations.split('|').find_map(|abbreviation| abbreviation.strip_prefix(word)?.strip_prefix('='))
    }

    fn phrases(&self, command: Command) -> &List {
        match command {
            Command::Cancel => &self.cancel,
            Command::Skip => &self.skip,
            Command::Repeat => &self.repeat,
            Command::Help => &self.help,
            Command::Back => &self.back,
            Command::StartOver => &self.start_over,
            Command::Person => &self.person,
        }
    }
}

/// Reads a command; `None` when the message says anything else, too.
pub fn read_command(text: &str, locale: &str) -> Option<Command> {
    let words = &language_of(locale).commands;
    let mut spoken: Vec<Token> = Vec::new();
    for token in split_tokens(text).into_iter().filter(|it| it.kind != TokenKind::Sign) {
        match words.long_form(&token.text) {
            Some(long) => spoken.extend(long.split(' ').map(|word| Token { text: word.to_owned(), ..token.clone() })),
            None => spoken.push(token),
        }
    }
    let mut found: Option<Command> = None;
    // Whether a command itself refuses something: "I don't want this any more".
    let mut is_refusal = false;
    let mut at = 0;
    while at < spoken.len() {
        let commands = COMMANDS.iter().filter_map(|command| Some((words.phrases(*command).read(&spoken, at)?, Some(*command))));
        let filler = words.fillers.read(&spoken, at).map(|it| (it, None));
        // Of equally long phrases a command wins.
        let (end, command) = commands.chain(filler).max_by_key(|(end, command)| (*end, command.is_some()))?;
        is_refusal |= command.is_some() && spoken.get(at..end).is_some_and(|it| refuses_within(it, words));
        found = match (found, command) {
            (known, None) => known,
            // "Help me again" asks for help.
            (None | Some(Command::Repeat), command) => command,
            (known, Some(Command::Repeat)) => known,
            (Some(known), Some(command)) if known == command => found,
            (Some(Command::Cancel), Some(Command::StartOver)) => Some(Command::StartOver),
            (Some(_), Some(_)) => return None,
        };
        at = end;
    }
    // "I don't want to cancel" is not a command.
    found.filter(|_| is_refusal || !has_refusal(text, locale))
}

fn refuses_within(tokens: &[Token], words: &CommandWords<Phrases>) -> bool {
    (0..tokens.len()).any(|at| {
        let is_first = at == 0 && words.first_refusals.read(tokens, at).is_some();
        is_first || words.refusals.read(tokens, at).is_some() || words.last_refusals.read(tokens, at).is_some()
    })
}

/// Reads whether a message replaces something: a part of itself ("Chicago, no wait, Boston"), or what was said before ("sorry, I meant
/// Boston").
pub fn read_correction(text: &str, locale: &str) -> Option<Correction> {
    let words = &language_of(locale).commands;
    let spoken: Vec<Token> = split_tokens(text).into_iter().filter(|it| it.kind != TokenKind::Sign).collect();
    let mut last: Option<(usize, usize)> = None;
    let mut is_retraction = false;
    let mut at = 0;
    while at < spoken.len() {
        let retraction = words.retractions.read(&spoken, at);
        // "Instead of Madrid" and "no onions" say what is not meant.
        let denies = |end: usize| {
            let denial = words.denials_before.read(&spoken, at);
            let is_number = at > 0 && spoken.get(end).is_some_and(|it| it.kind == TokenKind::Digits);
            denial.is_some_and(|denied| denied > end || denied == end && !is_number && !is_parted(text, &spoken, end))
        };
        let Some(end) = retraction.max(words.corrections.read(&spoken, at)).filter(|it| !denies(*it)) else {
            at += 1;
            continue;
        };
        // Phrases in a row are one: "no, sorry, I meant".
        let row = last.filter(|it| it.1 == at);
        is_retraction = row.is_some() && is_retraction || retraction == Some(end);
        last = Some((row.map_or(at, |it| it.0), end));
        at = end;
    }
    let start = spoken.first()?.range.start;
    let end = spoken.last()?.range.end;
    if let Some((first, behind)) = last.filter(|(_, behind)| *behind < spoken.len()) {
        let replacement = spoken.get(behind)?.range.start..end;
        let replaced = token_before(&spoken, first).map(|token| start..token.range.end);
        return Some(Correction { replacement, replaced, is_retraction });
    }
    let is_ending = |count: &usize| words.endings.end_before(&spoken, spoken.len()) && *count > 1;
    Some(spoken.len()).filter(is_ending).map(|_| Correction { replacement: start..end, replaced: None, is_retraction: true })
}

/// Whether punctuation stands before a token.
fn is_parted(text: &str, tokens: &[Token], at: usize) -> bool {
    let places = token_before(tokens, at).zip(tokens.get(at));
    let gap = places.and_then(|(one, next)| text.get(one.range.end..next.range.start));
    gap.is_some_and(|gap| gap.chars().any(|it| !it.is_whitespace()))
}

/// Whether a message says of a part of it that it is not meant: `Chicago` in "not Chicago, Boston".
pub fn is_part_denied(text: &str, part: &Range<usize>, locale: &str) -> bool {
    let language = language_of(locale);
    let words = &language.commands;
    let tokens = split_tokens(text);
    let mut before = tokens.iter().position(|it| it.range.end > part.start).unwrap_or(tokens.len());
    for _ in 0..2 {
        let link = before.checked_sub(1).filter(|index| words.links.read(&tokens, *index) == Some(before));
        if words.denials_before.end_before(&tokens, before) {
            break;
        }
        before = link.unwrap_or(before);
    }
    let mut behind = tokens.iter().position(|it| it.range.start >= part.end).unwrap_or(tokens.len());
    // "Why not Chicago" denies nothing.
    if words.denials_before.end_before(&tokens, before) && !language.mock_negations.end_before(&tokens, before) {
        return true;
    }
    for _ in 0..2 {
        if words.denials_behind.read(&tokens, behind).is_some() {
            return true;
        }
        behind = words.links_behind.read(&tokens, behind).unwrap_or(behind);
    }
    false
}

/// The parts of a message that may be denied by it: behind "not", and before words such as "is impossible". What is denied is the value that
/// is next to these words.
pub fn denied_parts(text: &str, locale: &str) -> Vec<Range<usize>> {
    let language = language_of(locale);
    let words = &language.commands;
    let tokens = split_tokens(text);
    let is_change = |it: &Token| language.consent.changes.has_word(&it.text);
    let ends_part = |token: &Token| is_change(token) || token.sign().is_some_and(|sign| !matches!(sign, '\'' | '-' | ':' | '/'));
    let mut parts = Vec::new();
    for at in 0..tokens.len() {
        if let Some(first) = words.denials_before.read(&tokens, at)
            && let Some(begin) = tokens.get(first).filter(|it| !ends_part(it))
        {
            let end = tokens.iter().skip(first).position(ends_part).map_or(tokens.len(), |offset| first + offset);
            parts.extend(tokens.get(end - 1).map(|token| begin.range.start..token.range.end));
        }
        if words.denials_behind.read(&tokens, at).is_some()
            && let Some(last) = token_before(&tokens, at).filter(|it| !ends_part(it))
        {
            let begin = tokens.iter().take(at).rposition(ends_part).map_or(0, |it| it + 1);
            parts.extend(tokens.get(begin).map(|token| token.range.start..last.range.end));
        }
    }
    parts
}

/// Whether a message adds something to what was said before: "and olives".
pub fn is_addition(text: &str, locale: &str) -> bool {
    let words = &language_of(locale).commands;
    let spoken: Vec<Token> = split_tokens(text).into_iter().filter(|it| it.kind != TokenKind::Sign).collect();
    let mut first = 0;
    // "Yes, and olives"
    while words.additions.read(&spoken, first).is_none() {
        match words.fillers.read(&spoken, first) {
            Some(end) => first = end,
            None => return words.last_additions.end_before(&spoken, spoken.len()),
        }
    }
    true
}

/// Whether a message has words besides some parts of it, those that lead to what is meant, and words of politeness and consent.
pub fn has_other_words(text: &str, parts: &[Range<usize>], locale: &str) -> bool {
    let language = language_of(locale);
    let (words, consent) = (&language.commands, &language.consent);
    let known = [
        &words.links,
        &words.links_behind,
        &words.fillers,
        &words.corrections,
        &words.retractions,
        &words.additions,
        &words.last_additions,
        &words.endings,
        &words.denials_before,
        &consent.fillers,
        &consent.changes,
    ];
    let is_part = |token: &Token| parts.iter().any(|part| part.start <= token.range.start && token.range.end <= part.end);
    let spoken: Vec<Token> = split_tokens(text).into_iter().filter(|token| token.kind != TokenKind::Sign && !is_part(token)).collect();
    let mut at = 0;
    while at < spoken.len() {
        match known.iter().filter_map(|it| it.read(&spoken, at)).max() {
            Some(end) => at = end,
            None => return true,
        }
    }
    false
}

/// The clauses of a message that refuse nothing: of "two pizzas, no ham", the pizzas.
pub fn without_refusals(text: &str, locale: &str) -> String {
    let words = &language_of(locale).commands;
    let tokens = split_tokens(text);
    let ends_clause = |token: &Token| token.is_sign_of(".,;!?");
    let mut kept = Vec::new();
    for clause in tokens.split(ends_clause) {
        let refuses = |at: usize| {
            let first = if at == 0 { words.first_refusals.read(clause, at) } else { None };
            first.or(words.refusals.read(clause, at)).or(words.last_refusals.read(clause, at)).is_some()
        };
        if let (Some(first), Some(last)) = (clause.first(), clause.last())
            && !(0..clause.len()).any(refuses)
        {
            kept.extend(text.get(first.range.start..last.range.end));
        }
    }
    kept.join(", ")
}

/// How many words may stand between a refusal and what is refused: "I don't want to (quickly) cancel".
const REFUSAL_REACH: usize = 3;

/// Whether somebody says of a part of a message that they do not want it: `cancel my booking` in "I don't want to cancel my booking".
pub fn is_refused(text: &str, part: &Range<usize>, locale: &str) -> bool {
    let language = language_of(locale);
    let words = &language.commands;
    let tokens = split_tokens(text);
    let ends_clause = |token: &Token| token.sign().is_some_and(|it| it != '\'') || language.consent.changes.has_word(&token.text);
    let first = tokens.iter().position(|it| it.range.end > part.start).unwrap_or(tokens.len());
    let begin = tokens.iter().take(first).rposition(ends_clause).map_or(0, |it| it + 1);
    let behind = tokens.iter().position(|it| it.range.start >= part.end).unwrap_or(tokens.len());
    let refuses = |at: usize| {
        let refusal = words.refusals.read(&tokens, at);
        let end = refusal.max(words.first_refusals.read(&tokens, at).filter(|_| at == begin));
        // The phrase may begin within the refusal: "no quiero cancelar", where it is "quiero cancelar".
        end.is_some_and(|end| first.saturating_sub(end) <= REFUSAL_REACH) && language.mock_negations.read(&tokens, at).is_none()
    };
    (begin..first).any(refuses) || words.last_refusals.read(&tokens, behind).is_some()
}

/// Whether somebody says that they do not want something, whatever that is.
pub fn has_refusal(text: &str, locale: &str) -> bool {
    let language = language_of(locale);
    let words = &language.commands;
    let tokens = split_tokens(text);
    let is_word = |at: usize| tokens.get(at).is_some_and(|it| it.kind != TokenKind::Sign);
    let refuses = |at: usize| {
        let begins_clause = at.checked_sub(1).is_none_or(|it| !is_word(it));
        let refusal = words.refusals.read(&tokens, at);
        let end = refusal.max(words.first_refusals.read(&tokens, at).filter(|_| begins_clause));
        end.is_some_and(is_word) && language.mock_negations.read(&tokens, at).is_none()
    };
    (0..tokens.len()).any(|at| refuses(at) || at > 0 && words.last_refusals.read(&tokens, at).is_some())
}

/// Whether two parts of a message are offered as alternatives: `Giro` and `Spar` in "from Giro or Spar".
pub fn are_alternatives(text: &str, one: &Range<usize>, other: &Range<usize>, locale: &str) -> bool {
    let words = &language_of(locale).commands;
    let between = text.get(one.end..other.start).unwrap_or_default();
    split_tokens(between).iter().any(|it| words.or.has_word(&it.text))
}

/// The two parts of a message that offers alternatives and nothing else: "Monday" and "Tuesday" of "Monday or Tuesday".
pub fn split_alternatives<'t>(text: &'t str, locale: &str) -> Option<[&'t str; 2]> {
    let words = &language_of(locale).commands;
    let mut ors = split_tokens(text).into_iter().filter(|it| words.or.has_word(&it.text));
    let place = ors.next().filter(|_| ors.next().is_none())?.range;
    Some([text.get(..place.start)?, text.get(place.end..)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_whole_messages() {
        for (locale, texts, expected) in [
            ("en", "cancel|Never mind.|ok, cancel that please|No, forget it|I changed my mind|can we stop?", Some(Command::Cancel)),
            ("en", "skip|can I skip this?|pass|I'd rather not say", Some(Command::Skip)),
            ("en", "again please|Sorry, what was the question?|could you repeat that", Some(Command::Repeat)),
            ("en", "What do you mean?|why do you ask|help|Why do you need that?|what?", Some(Command::Help)),
            ("en", "why do u need that?|why u ask|what do u mean", Some(Command::Help)),
            ("en", "I already told you|i just said that!", Some(Command::Repeat)),
            ("en", "u|I told you about it|y|are|repeat after me", None),
            ("en", "go back|I want to go back please|previous question|hang on, go back|wait, go back pls", Some(Command::Back)),
            ("en", "start over|Let's start again|cancel and start over", Some(Command::StartOver)),
            ("en", "person please|Can I talk to a human?|let me speak to someone|agent", Some(Command::Person)),
            ("en", "cancel my order|I want it back|help me with my card|the agent was rude|skip the line|stop sign|repeat order 5", None),
            ("en", "I don't want to cancel|do not cancel|I don't want to start over", None),
            ("es", "no quiero cancelar|no cancelar|no quiero empezar de nuevo|no quiero volver", None),
            ("hi", "रद्द नहीं करना", None),
            ("pt", "não quero cancelar", None),
            ("en", "I don't want this anymore|no, cancel", Some(Command::Cancel)),
            ("en", "I have a dog|Anna Person|back pain|not sure|yes|5|never mind the cost|go back to London", None),
            // Somebody to whom all is the same does not want to leave.
            ("en", "I don't care|whatever|it doesn't matter|I don't mind", None),
            ("de", "egal|ach egal|mir egal|ist mir egal", None),
            ("es", "no importa|me da igual|da igual", None),
            ("fr", "peu importe|ça m'est égal", None),
            ("it", "non importa|fa lo stesso|è lo stesso", None),
            ("nl", "maakt niet uit|het maakt me niet uit", None),
            ("pt", "não importa|tanto faz|tanto me faz", None),
            ("de", "das habe ich doch schon gesagt", Some(Command::Repeat)),
            ("de", "Moment mal, zurück bitte", Some(Command::Back)),
            ("es", "ya se lo dije", Some(Command::Repeat)),
            ("es", "¿xq preguntas?", Some(Command::Help)),
            ("fr", "je vous l'ai déjà dit", Some(Command::Repeat)),
            ("fr", "pk cette question", Some(Command::Help)),
            ("fr", "attends, annule", Some(Command::Cancel)),
            ("de", "abbrechen|vergiss es|lass gut sein|ich hab's mir anders überlegt", Some(Command::Cancel)),
            ("de", "überspringen|bitte überspringen|keine Angabe", Some(Command::Skip)),
            ("de", "noch einmal bitte|wie bitte?|können Sie das wiederholen?", Some(Command::Repeat)),
            ("de", "Warum fragen Sie das?|was meinst du?|Hilfe|wozu?", Some(Command::Help)),
            ("de", "zurück|einen Schritt zurück bitte", Some(Command::Back)),
            ("de", "von vorne|nochmal von vorn|neu anfangen", Some(Command::StartOver)),
            ("de", "Mensch bitte|ich möchte mit einem Menschen sprechen|Mitarbeiter", Some(Command::Person)),
            ("de", "Bestellung abbrechen|ich will das Geld zurück|der Mitarbeiter war nett|Hilfe beim Umzug", None),
            ("es", "cancelar|olvídalo|déjalo|mejor no", Some(Command::Cancel)),
            ("es", "saltar|omitir esta pregunta por favor", Some(Command::Skip)),
            ("es", "¿puede repetir?|otra vez, por favor", Some(Command::Repeat)),
            ("es", "¿por qué lo pregunta?|ayuda|¿qué quiere decir?", Some(Command::Help)),
            ("es", "volver|atrás|pregunta anterior", Some(Command::Back)),
            ("es", "empezar de nuevo|quiero empezar de cero", Some(Command::StartOver)),
            ("es", "quiero hablar con una persona|agente por favor", Some(Command::Person)),
            ("es", "cancelar mi pedido|quiero volver a Madrid|necesito ayuda con mi tarjeta", None),
            ("fr", "annuler|laisse tomber|laissez tomber|j'ai changé d'avis", Some(Command::Cancel)),
            ("fr", "passer|passer cette question s'il vous plaît", Some(Command::Skip)),
            ("fr", "vous pouvez répéter ?|encore une fois", Some(Command::Repeat)),
            ("fr", "pourquoi vous demandez ça ?|aide|que voulez-vous dire ?", Some(Command::Help)),
            ("fr", "retour|revenir en arrière|question précédente", Some(Command::Back)),
            ("fr", "recommencer|je veux tout recommencer", Some(Command::StartOver)),
            ("fr", "je veux parler à quelqu'un|un conseiller s'il vous plaît", Some(Command::Person)),
            ("fr", "annuler ma commande|le retour du colis|aide au logement", None),
            ("hi", "रद्द करो|रहने दो|छोड़ो", Some(Command::Cancel)),
            ("hi", "फिर से बोलिए|दोहराइए", Some(Command::Repeat)),
            ("hi", "मदद|आप क्यों पूछ रहे हैं|क्या मतलब", Some(Command::Help)),
            ("hi", "वापस|पीछे जाओ", Some(Command::Back)),
            ("hi", "शुरू से|फिर से शुरू करो", Some(Command::StartOver)),
            ("hi", "मुझे किसी इंसान से बात करनी है", Some(Command::Person)),
            ("hi", "मेरा ऑर्डर रद्द करो|पैसे वापस चाहिए", None),
            ("it", "annulla|lascia perdere", Some(Command::Cancel)),
            ("pt", "cancelar|deixa pra lá", Some(Command::Cancel)),
            ("nl", "annuleren|laat maar", Some(Command::Cancel)),
            ("nl", "ik wil een mens spreken", Some(Command::Person)),
            ("en", "I want to talk about a person|talk to Mr Person", None),
            ("de", "Ich möchte mit Frau Mensch sprechen|ich möchte über einen Menschen sprechen", None),
            ("es", "quiero hablar de una persona|quiero hablar con la señora Persona", None),
            ("fr", "je veux parler d'une personne|je voudrais parler à Madame Personne", None),
            ("hi", "मुझे इंसान के बारे में बात करनी है", None),
            ("it", "vorrei parlare di una persona", None),
            ("nl", "ik wil over een mens spreken", None),
            ("pt", "quero falar sobre uma pessoa", None),
            ("it", "vorrei parlare con un operatore", Some(Command::Person)),
            ("pt", "quero falar com uma pessoa", Some(Command::Person)),
        ] {
            for text in texts.split('|') {
                assert_eq!(read_command(text, locale), expected, "{locale}: {text}");
            }
        }
    }

    #[test]
    fn what_is_refused_is_not_wanted() {
        for (locale, text, part, expected) in [
            ("en", "I don't want to cancel my booking", "cancel my booking", true),
            ("en", "please don't book a repair", "book a repair", true),
            ("en", "I dont want to talk to a person", "talk to a person", true),
            ("en", "no book a repair", "book a repair", true),
            ("en", "no, book a repair", "book a repair", false),
            ("en", "I don't want to wait, cancel my booking", "cancel my booking", false),
            ("en", "I have not received my order", "my order", false),
            ("en", "I can't log in", "log in", false),
            ("en", "why not book a repair", "book a repair", false),
            ("de", "ich will nicht 200 Euro überweisen", "überweisen", true),
            ("de", "nicht überweisen", "überweisen", true),
            ("de", "ich kann mich nicht einloggen", "einloggen", false),
            ("es", "no quiero cancelar mi reserva", "cancelar mi reserva", true),
            ("es", "perdón, no quería cancelar", "cancelar", true),
            ("es", "no, cancelar", "cancelar", false),
            ("es", "no quiero cancelar mi reserva", "quiero cancelar", true),
            ("fr", "je ne veux pas annuler ma commande", "annuler ma commande", true),
            ("hi", "मुझे मरम्मत बुक नहीं करनी", "मरम्मत बुक", true),
            ("hi", "मरम्मत बुक करनी है", "मरम्मत बुक", false),
        ] {
            let at = text.find(part).unwrap();
            assert_eq!(is_refused(text, &(at..at + part.len()), locale), expected, "{text}");
        }
    }

    #[test]
    fn refusals_and_alternatives_are_read() {
        for (locale, text, expected) in [
            ("en", "i don't want to cancel my booking", true),
            ("es", "perdón, no quería cancelar", true),
            ("de", "ich möchte keine Reparatur", true),
            ("en", "no", false),
            ("en", "I have not received it", false),
            ("en", "I will not book a repair", true),
            ("en", "my card won't work", false),
            ("de", "ich habe noch keine Antwort", false),
            ("fr", "je n'ai pas encore reçu mon colis", false),
            ("es", "todavía no he recibido mi pedido", false),
            ("en", "cancel my booking", false),
        ] {
            assert_eq!(has_refusal(text, locale), expected, "{text}");
        }
        for (locale, text, expected) in
            [("en", "from Giro or Spar", true), ("de", "vom Giro aufs Spar", false), ("de", "Giro oder Spar", true)]
        {
            let at = |part: &str| text.find(part).map(|start| start..start + part.len()).unwrap();
            assert_eq!(are_alternatives(text, &at("Giro"), &at("Spar"), locale), expected, "{text}");
        }
    }

    #[test]
    fn tables_are_folded() {
        for language in crate::language::LANGUAGES {
            let words = &language.commands;
            let long_forms: Vec<&str> = words.abbreviations.split('|').filter_map(|form| Some(form.split_once('=')?.1)).collect();
            let others = [
                words.fillers,
                words.corrections,
                words.retractions,
                words.refusals,
                words.first_refusals,
                words.last_refusals,
                words.endings,
                words.denials_before,
                words.denials_behind,
                words.links,
                words.links_behind,
                words.additions,
                words.last_additions,
            ];
            for phrase in
                COMMANDS.iter().map(|it| *words.phrases(*it)).chain(others).chain(long_forms).flat_map(|phrases| phrases.split('|'))
            {
                let spoken: Vec<String> = split_tokens(phrase).into_iter().map(|it| it.text).collect();
                assert_eq!(spoken.join(" "), phrase, "{}", language.code);
            }
        }
    }

    /// The correction of a text as `replaced > meant`.
    fn corrected(locale: &str, text: &str) -> String {
        let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default().to_owned();
        let shown = |correction: Correction| {
            format!("{} > {}", correction.replaced.as_ref().map(part).unwrap_or_default(), part(&correction.replacement))
        };
        read_correction(text, locale).map_or_else(|| "none".to_owned(), shown)
    }

    #[test]
    fn corrections_replace_what_was_said() {
        for (locale, text, expected) in [
            ("en", "Chicago, no wait, Boston", "Chicago > Boston"),
            ("en", "on Friday, sorry, I mean on Monday", "on Friday > on Monday"),
            ("en", "sorry, I meant from Chicago", " > from Chicago"),
            ("en", "No, I meant 5", " > 5"),
            ("en", "actually make it 6", " > 6"),
            ("en", "Boston instead", " > Boston instead"),
            ("en", "I said small", " > small"),
            ("de", "ich sagte Freitag", " > Freitag"),
            ("en", "Boston", "none"),
            ("en", "sorry", "none"),
            ("en", "Boston, sorry", "none"),
            ("en", "Berlin instead of Madrid", "none"),
            ("en", "ham, no cheese", "none"),
            ("en", "ham, no, cheese", "ham > cheese"),
            ("de", "Freitag, nein warte, Montag", "Freitag > Montag"),
            ("de", "Entschuldigung, ich meinte aus Köln", " > aus Köln"),
            ("es", "viernes, no, perdón, lunes", "viernes > lunes"),
            ("es", "quise decir desde Madrid", " > desde Madrid"),
            ("fr", "vendredi, non attends, lundi", "vendredi > lundi"),
            ("fr", "pardon, je voulais dire de Lyon", " > de Lyon"),
            ("hi", "शुक्रवार, नहीं रुको, सोमवार", "शुक्रवार > सोमवार"),
            ("it", "venerdì, anzi lunedì", "venerdì > lunedì"),
            ("pt", "sexta, quer dizer, segunda", "sexta > segunda"),
            ("nl", "vrijdag, nee wacht, maandag", "vrijdag > maandag"),
        ] {
            assert_eq!(corrected(locale, text), expected, "{locale}: {text}");
        }
    }

    #[test]
    fn what_else_is_said_is_found() {
        for (locale, text, value, expected) in [
            ("en", "but on Friday please", "Friday", false),
            ("en", "and in Denver", "Denver", false),
            ("en", "I'll confirm on Friday", "Friday", true),
            ("en", "call me on Friday", "Friday", true),
            ("de", "aber am Freitag", "Freitag", false),
            ("de", "ich rufe am Freitag an", "Freitag", true),
            ("es", "pero el viernes", "viernes", false),
            ("fr", "mais vendredi", "vendredi", false),
        ] {
            let at = text.find(value).unwrap();
            let place = at..at + value.len();
            assert_eq!(has_other_words(text, std::slice::from_ref(&place), locale), expected, "{text}");
        }
    }

    #[test]
    fn additions_are_read() {
        for (locale, text, expected) in [
            ("en", "and olives", true),
            ("en", "oh, add olives please", true),
            ("en", "yes, with olives too", true),
            ("en", "olives", false),
            ("en", "ham and olives", false),
            ("de", "und Oliven", true),
            ("es", "aceitunas también", true),
            ("fr", "et des olives", true),
            ("hi", "ज़ैतून भी", true),
        ] {
            assert_eq!(is_addition(text, locale), expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_denied_stands_beside_the_denial() {
        let parts = |locale: &str, text: &str| {
            denied_parts(text, locale).into_iter().filter_map(|range| text.get(range).map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(parts("en", "not tomorrow, friday"), ["tomorrow"]);
        assert_eq!(parts("en", "tomorrow won't do"), ["tomorrow"]);
        assert_eq!(parts("en", "not friday but saturday"), ["friday"]);
        assert_eq!(parts("hi", "कल नहीं, शुक्रवार"), ["कल"]);
        assert_eq!(parts("en", "tomorrow"), [""; 0]);
        assert_eq!(without_refusals("two pizzas please, no ham", "en"), "two pizzas please");
        assert_eq!(without_refusals("I don't want pizza", "en"), "");
        assert_eq!(split_alternatives("Monday or Tuesday", "en"), Some(["Monday ", " Tuesday"]));
        assert_eq!(split_alternatives("Monday", "en"), None);
    }

    #[test]
    fn what_is_denied_is_not_meant() {
        for (locale, text, part, expected) in [
            ("en", "not Chicago, Boston", "Chicago", true),
            ("en", "not Chicago, Boston", "Boston", false),
            ("en", "Boston, not Chicago", "Chicago", true),
            ("en", "not to the airport but to Boston", "airport", true),
            ("en", "no, Chicago", "Chicago", false),
            ("en", "Berlin instead of Madrid", "Madrid", true),
            ("en", "ham but no onions", "onions", true),
            ("en", "pizza without olives", "olives", true),
            ("de", "alles außer Rom", "Rom", true),
            ("fr", "tout sauf Paris", "Paris", true),
            ("en", "why not Chicago", "Chicago", false),
            ("de", "nicht Köln, sondern Bonn", "Köln", true),
            ("de", "nicht Köln, sondern Bonn", "Bonn", false),
            ("fr", "pas Lyon, Paris", "Lyon", true),
            ("es", "no Madrid, sino Sevilla", "Madrid", true),
            ("es", "no, Madrid", "Madrid", false),
            ("hi", "दिल्ली नहीं, मुंबई", "दिल्ली", true),
            ("hi", "दिल्ली नहीं, मुंबई", "मुंबई", false),
            ("nl", "niet Gent maar Brugge", "Gent", true),
        ] {
            let at = text.find(part).unwrap();
            assert_eq!(is_part_denied(text, &(at..at + part.len()), locale), expected, "{text}: {part}");
        }
    }
}
