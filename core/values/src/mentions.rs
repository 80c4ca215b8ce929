//! Days and times of which a message only tells: something was then ("my last visit was on 3 March"), or the speaker has no time then ("I'm
//! away on Thursday").

use std::ops::Range;

use crate::compiled_language::{CompiledLanguage, language_of};
use crate::phrases::Phrases;
use crate::token::{Token, split_tokens};

/// How the clause of a day or a time speaks of it, where it does not ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// Something was then: "it was on 3 March".
    Past,
    /// Something that the speaker did, or the last of several events, was then: "I was there on 3 March", "my last visit was on 3 March". So
    /// was what stands beside a request for another day: "my visit was on 3 March, I'd like to come on 5 May".
    EarlierEvent,
    /// The speaker is away or busy then: "I'm on holiday on Thursday".
    Absence,
}

/// Reads whether a message only tells of a day or a time at `part`, in bytes. `find_values` returns the places of all its days and times,
/// whose words say nothing about each other; it is called where the message has a word that may tell of one.
///
/// A clause says it of the values in it: of "I was there on 3 March and would like to come on 5 May", only of the first. In a language whose
/// words are not known, English words say nothing.
pub fn read_mention(text: &str, part: &Range<usize>, find_values: impl FnOnce() -> Vec<Range<usize>>, locale: &str) -> Option<Mention> {
    let language = language_of(locale);
    let is_known = locale.split(['-', '_']).next().is_some_and(|it| it.eq_ignore_ascii_case(language.language.code));
    if !is_known {
        return None;
    }
    let words = &language.mentions;
    let tokens = split_tokens(text);
    let occur = |phrases: &Phrases| (0..tokens.len()).any(|at| phrases.read(&tokens, at).is_some());
    if ![&words.absences, &words.stays, &words.last_times, &words.pasts].into_iter().any(occur) {
        return None;
    }
    let values = &find_values();
    let message = Message { tokens: &tokens, value_tokens: mark_values(&tokens, part, values), language };
    let clause = message.clause_of(part)?;
    let has = |phrases: &Phrases, part: &Range<usize>| !message.find(phrases, part).is_empty();
    if has(&words.absences, &clause) || has(&words.stays, &clause) && has(&words.places, &clause) {
        return Some(Mention::Absence);
    }
    if has(&words.last_times, &clause) && !has(&words.comparisons, &clause) {
        return Some(Mention::EarlierEvent);
    }
    if !message.has_plain(&words.pasts, &clause) || has(&words.wishes, &clause) {
        return None;
    }
    // "My last visit, that was on 3 March"
    let topic = message.topic_of(&clause);
    let is_last = has(&words.last, &clause) || topic.is_some_and(|it| has(&words.last, &it));
    let is_earlier = is_last || message.has_plain(&words.own, &clause) || message.requests_other(&clause, values);
    Some(if is_earlier { Mention::EarlierEvent } else { Mention::Past })
}

/// Whether a question asks for something past: "When was your last visit?", "When did it happen?"
pub fn asks_for_past(question: &str, locale: &str) -> bool {
    let tokens = split_tokens(question);
    let message = Message::without_values(&tokens, locale);
    let words = &message.language.mentions;
    message.has_plain(&words.pasts, &(0..tokens.len())) || !message.find(&words.past_questions, &(0..tokens.len())).is_empty()
}

/// Whether a text tells of something that the speaker did: "I had an accident".
pub fn tells_of_past(text: &str, locale: &str) -> bool {
    let tokens = split_tokens(text);
    let message = Message::without_values(&tokens, locale);
    let words = &message.language.mentions;
    let all = 0..tokens.len();
    message.has_plain(&words.pasts, &all) && message.has_plain(&words.own, &all) && message.find(&words.wishes, &all).is_empty()
}

/// Whether a text speaks of holidays and other absences, as the question "When are you away?" does.
pub fn names_absence(text: &str, locale: &str) -> bool {
    let topics = &language_of(locale).mentions.absence_topics;
    let tokens = split_tokens(text);
    (0..tokens.len()).any(|at| topics.read(&tokens, at).is_some())
}

/// A message as tokens.
struct Message<'t> {
    tokens: &'t [Token],
    /// Which of them belong to days and times.
    value_tokens: Vec<bool>,
    language: &'static CompiledLanguage,
}

/// Which tokens belong to days and times.
fn mark_values(tokens: &[Token], part: &Range<usize>, values: &[Range<usize>]) -> Vec<bool> {
    let is_in = |token: &Token, place: &Range<usize>| place.start <= token.range.start && token.range.end <= place.end;
    tokens.iter().map(|token| is_in(token, part) || values.iter().any(|place| is_in(token, place))).collect()
}

impl<'t> Message<'t> {
    fn without_values(tokens: &'t [Token], locale: &str) -> Message<'t> {
        Message { tokens, value_tokens: vec![false; tokens.len()], language: language_of(locale) }
    }

    fn is_value(&self, at: usize) -> bool {
        self.value_tokens.get(at).copied().unwrap_or_default()
    }

    /// The places of phrases in some tokens, without those that begin within a value: "last Thursday" tells of no last visit.
    fn find(&self, phrases: &Phrases, part: &Range<usize>) -> Vec<Range<usize>> {
        let places = part.clone().filter(|at| !self.is_value(*at)).filter_map(|at| Some(at..phrases.read(self.tokens, at)?));
        places.filter(|place| place.end <= part.end).collect()
    }

    /// Whether some tokens have one of the phrases of the past. Where accents make other words of these, it has none: "hatte" and not
    /// "hätte".
    fn has_plain(&self, phrases: &Phrases, part: &Range<usize>) -> bool {
        let has_accent = |place: &Range<usize>| self.tokens.get(place.clone()).unwrap_or_default().iter().any(|it| it.has_accent);
        let needs_none = self.language.mentions.has_plain_pasts;
        self.find(phrases, part).iter().any(|place| !needs_none || !has_accent(place))
    }

    /// The tokens of the clause of a value. What is nothing but a value shares the clause of the one that it is joined to: "on Thursday and
    /// Friday I'm away".
    fn clause_of(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let first = self.tokens.iter().position(|it| it.range.end > part.start)?;
        let last = self.tokens.iter().rposition(|it| it.range.start < part.end)?;
        let mut clause = self.clause_begin(first)..self.clause_end(last + 1);
        while self.is_bare(&clause) {
            let before = clause.start.checked_sub(1).filter(|at| self.joins_values(*at));
            if let Some(at) = before {
                clause.start = self.clause_begin(at);
            } else if self.joins_values(clause.end) {
                clause.end = self.clause_end(clause.end + 1);
            } else {
                break;
            }
        }
        Some(clause)
    }

    /// The tokens before a comma that name what a clause is about and have no value.
    fn topic_of(&self, clause: &Range<usize>) -> Option<Range<usize>> {
        let comma = clause.start.checked_sub(1).filter(|at| self.tokens.get(*at).is_some_and(|it| it.is_sign_of(",")))?;
        let topic = self.clause_begin(comma)..comma;
        Some(topic).filter(|it| !it.clone().any(|at| self.is_value(at)))
    }

    /// Whether another clause asks for its value.
    fn requests_other(&self, own: &Range<usize>, values: &[Range<usize>]) -> bool {
        let requests = &self.language.mentions.requests;
        let asks = |clause: &Range<usize>| !self.find(requests, clause).is_empty() || requests.read(self.tokens, clause.end).is_some();
        values.iter().filter_map(|place| self.clause_of(place)).any(|clause| clause != *own && asks(&clause))
    }

    /// The first token of the clause of what stands before a token.
    fn clause_begin(&self, before: usize) -> usize {
        let requests = &self.language.mentions.requests;
        for at in (0..before).rev() {
            if self.ends_clause(at) {
                return at + 1;
            }
            if !self.is_value(at) && requests.read(self.tokens, at).is_some() {
                return at;
            }
        }
        0
    }

    /// The token behind the clause of what stands at a token.
    fn clause_end(&self, from: usize) -> usize {
        let requests = &self.language.mentions.requests;
        let is_next = |at: usize| self.ends_clause(at) || !self.is_value(at) && requests.read(self.tokens, at).is_some();
        (from..self.tokens.len()).find(|at| is_next(*at)).unwrap_or(self.tokens.len())
    }

    /// Whether a token stands between two clauses.
    fn ends_clause(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at).filter(|_| !self.is_value(at)) else { return false };
        let is_dash = token.is_sign_of("-") && self.tokens.get(at + 1).is_none_or(|it| it.is_spaced);
        is_dash || token.is_sign_of(",;.!?…()।") || self.is_and(at) || self.language.mentions.clauses.has_word(&token.text)
    }

    /// Whether a token is the conjunction: Italian "e" and not "è".
    fn is_and(&self, at: usize) -> bool {
        !self.is_value(at) && self.tokens.get(at).is_some_and(|it| !it.has_accent && it.is_one_of(self.language.language.numbers.and))
    }

    /// Whether some tokens are nothing but values and the words before and between them.
    fn is_bare(&self, part: &Range<usize>) -> bool {
        part.clone().all(|at| self.is_value(at) || self.leads_in(at) || self.joins_values(at))
    }

    fn leads_in(&self, at: usize) -> bool {
        let CompiledLanguage { language, commands, .. } = self.language;
        self.tokens.get(at).is_some_and(|it| it.is_one_of(language.lead_ins) || commands.links.has_word(&it.text))
    }

    /// Whether a token is a conjunction, or a comma between values of which a conjunction joins the last: "Monday, Tuesday and Thursday".
    fn joins_values(&self, at: usize) -> bool {
        if self.is_and(at) {
            return true;
        }
        let is_comma = self.tokens.get(at).is_some_and(|it| it.is_sign_of(",")) && !self.is_value(at);
        let is_behind_value = at.checked_sub(1).is_some_and(|before| self.is_value(before));
        let ends_with_and = || (at + 1..self.tokens.len()).any(|it| self.is_and(it) && self.is_before_value(it));
        is_comma && is_behind_value && self.is_before_value(at) && ends_with_and()
    }

    /// Whether a value stands behind a token, perhaps after a preposition.
    fn is_before_value(&self, at: usize) -> bool {
        (at + 1..self.tokens.len()).find(|it| !self.leads_in(*it) || self.is_value(*it)).is_some_and(|it| self.is_value(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mentions of the values in brackets.
    fn mentions(locale: &str, text: &str) -> String {
        let mut plain = String::new();
        let mut places: Vec<Range<usize>> = Vec::new();
        for character in text.chars() {
            match character {
                '[' => places.push(plain.len()..plain.len()),
                ']' => places.last_mut().unwrap().end = plain.len(),
                other => plain.push(other),
            }
        }
        let name = |place: &Range<usize>| match read_mention(&plain, place, || places.clone(), locale) {
            Some(Mention::Past) => "past",
            Some(Mention::EarlierEvent) => "earlier",
            Some(Mention::Absence) => "absence",
            None => "-",
        };
        places.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_clause_tells_of_its_values_or_wants_them() {
        for (locale, text, expected) in [
            ("en", "my last visit was on [3 March]", "earlier"),
            ("en", "yes, my last was on [3 March]", "earlier"),
            ("en", "my last visit, that was on [3 March]", "earlier"),
            ("en", "I'm away on [Thursday]", "absence"),
            ("en", "I'll be on vacation on [Thursday]", "absence"),
            ("en", "on [Thursday] and [Friday] I'm away", "absence absence"),
            ("en", "I'm away [Monday], [Tuesday] and [Thursday]", "absence absence absence"),
            ("en", "[Monday], [Tuesday] and [Thursday] I'm busy", "absence absence absence"),
            ("en", "I was there on [3 March] and would like to come on [5 May]", "earlier -"),
            ("en", "I was there on [3 March], [5 May] please", "earlier -"),
            ("en", "I was there on [3 March] and on [4 April]", "earlier earlier"),
            ("en", "my last appointment was at [3], this time at [4] please", "earlier -"),
            ("en", "my last appointment was on [3 March] I'd like [5 May]", "earlier -"),
            ("en", "I'm away on [Thursday], [Friday] works", "absence -"),
            ("en", "as I'm away on [Thursday] I'd like [Friday]", "absence -"),
            ("en", "I'm away on [Thursday] so [Friday] please", "absence -"),
            ("en", "it was on [3 March]", "past"),
            ("en", "it happened [last Thursday]", "past"),
            ("en", "it was [last night at 11]", "past"),
            ("en", "the accident was [yesterday at 4:40 pm]", "past"),
            ("en", "I was thinking of [Thursday]", "-"),
            ("en", "I had [Thursday] in mind", "-"),
            ("en", "I was hoping for [Thursday]", "-"),
            ("en", "I was told [Thursday] works", "-"),
            ("en", "I was wondering if [Thursday] works", "-"),
            ("en", "the last appointment on [Thursday] please", "-"),
            ("en", "same as last time, [Thursday] at [three]", "- -"),
            ("en", "last [Thursday]", "-"),
            ("en", "on [Thursday] please", "-"),
            ("en", "I have time on [Thursday]", "-"),
            ("en", "I've been there on [3 March]", "earlier"),
            ("en", "I had my checkup on [3 March]", "earlier"),
            ("en", "my trip to Rome on [3 March]", "-"),
            ("en", "I want to check out on [Thursday]", "-"),
            ("en", "Can I come on [Thursday] while I'm on holiday", "-"),
            ("pl", "chciałbym do was przyjść [2026-05-05]", "-"),
            ("es", "voy a comer fuera el [jueves]", "-"),
            ("es", "el [jueves] estoy fuera", "absence"),
            ("de", "mein letzter Termin war am [3. März]", "earlier"),
            ("de", "ja, mein letzter war am [3. März]", "earlier"),
            ("de", "mein letzter Termin, der war am [3. März]", "earlier"),
            ("de", "am [Donnerstag] bin ich im Urlaub", "absence"),
            ("de", "ich bin am [Donnerstag] verreist", "absence"),
            ("de", "ich bin am [Donnerstag] weg", "absence"),
            ("de", "[Donnerstag] bin ich im Urlaub, [Freitag] geht", "absence -"),
            ("de", "[Donnerstag] bin ich im Urlaub, [Freitag]", "absence -"),
            ("de", "am [Donnerstag] und [Freitag] bin ich nicht da", "absence absence"),
            ("de", "ich war am [3. März] da und möchte am [5. Mai] kommen", "earlier -"),
            ("de", "letzten Termin war [um drei], diesmal bitte [um vier]", "earlier -"),
            ("de", "ich bin am [3. März] bei Ihnen gewesen", "earlier"),
            ("de", "ja, zuletzt am [3. März]", "earlier"),
            ("en", "yes, last time on [3 March]", "earlier"),
            ("en", "same as last time on [Thursday]", "-"),
            ("it", "[giovedì] non ci sono", "absence"),
            ("en", "I had better come on [Thursday]", "-"),
            ("de", "mein Termin war am [3. März], ich möchte am [5. Mai] kommen", "earlier -"),
            ("de", "mein Termin war am [3. März], am [5. Mai] möchte ich kommen", "earlier -"),
            ("de", "es war am [3. März] um [drei], bitte helfen Sie mir", "past past"),
            ("de", "es war am [3. März]", "past"),
            ("de", "das war [gestern]", "past"),
            ("de", "passiert ist es [gestern]", "-"),
            ("de", "es ist am [3. März] passiert", "-"),
            ("de", "der Unfall war [gestern] um [7 Uhr]", "past past"),
            ("de", "ich hätte gerne am [Donnerstag] einen Termin", "-"),
            ("de", "ich hatte gerne am [Donnerstag] einen Termin", "-"),
            ("de", "am [Donnerstag] hätte ich Zeit", "-"),
            ("de", "am [Donnerstag] wäre gut", "-"),
            ("de", "am [Donnerstag] wär gut", "-"),
            ("de", "am [Donnerstag] war gut", "-"),
            ("de", "ich hatte an [Donnerstag] gedacht", "-"),
            ("de", "den letzten Termin am [Donnerstag] bitte", "-"),
            ("de", "wie letztes Mal am [Donnerstag] um [drei] bitte", "- -"),
            ("de", "am [Donnerstag] habe ich frei", "-"),
            ("de", "ich habe am [Donnerstag] Zeit", "-"),
            ("de", "ich bin am [Donnerstag] in Berlin", "-"),
            ("de", "[Donnerstag] bin ich da", "-"),
            ("de", "ich hatte am [3. März] einen Termin, den möchte ich auf den [5. Mai] verschieben", "earlier -"),
            ("de", "zuletzt war ich am [3. März] bei Ihnen", "earlier"),
            ("es", "mi última visita fue el [3 de marzo]", "earlier"),
            ("es", "sí, la última fue el [3 de marzo]", "earlier"),
            ("es", "el [jueves] estoy de vacaciones", "absence"),
            ("es", "estuve allí el [3 de marzo] y quiero venir el [5 de mayo]", "earlier -"),
            ("es", "fue el [3 de marzo]", "past"),
            ("es", "estaba pensando en el [jueves]", "-"),
            ("es", "mi última cita fue a las [tres y media] el [3 de marzo]", "earlier earlier"),
            ("es", "era para el [jueves]", "-"),
            ("es", "el [jueves] por favor", "-"),
            ("fr", "ma dernière visite était le [3 mars]", "earlier"),
            ("fr", "oui, mon dernier rendez-vous, c'était le [3 mars]", "earlier"),
            ("fr", "je suis en vacances [jeudi]", "absence"),
            ("fr", "[jeudi] je suis en vacances, [vendredi] ça va", "absence -"),
            ("fr", "j'étais là le [3 mars] et je voudrais venir le [5 mai]", "earlier -"),
            ("fr", "c'était le [3 mars]", "past"),
            ("fr", "j'avais pensé à [jeudi]", "-"),
            ("fr", "je pense que mon dernier rendez-vous était le [3 mars]", "earlier"),
            ("fr", "le dernier créneau de [jeudi], s'il vous plaît", "-"),
            ("it", "la mia ultima visita è stata il [3 marzo]", "earlier"),
            ("it", "sì, l'ultima era il [3 marzo]", "earlier"),
            ("it", "[giovedì] sono in vacanza", "absence"),
            ("it", "sono stato lì il [3 marzo] e vorrei venire il [5 maggio]", "earlier -"),
            ("it", "è stato il [3 marzo]", "past"),
            ("it", "avevo pensato a [giovedì]", "-"),
            ("it", "[giovedì] va bene", "-"),
            ("nl", "mijn laatste afspraak was op [3 maart]", "earlier"),
            ("nl", "[donderdag] ben ik op vakantie", "absence"),
            ("nl", "ik was er op [3 maart] en wil op [5 mei] komen", "earlier -"),
            ("nl", "het was op [3 maart]", "past"),
            ("nl", "ik had graag [donderdag] een afspraak", "-"),
            ("nl", "ik had aan [donderdag] gedacht", "-"),
            ("pt", "a minha última consulta foi no dia [3 de março]", "earlier"),
            ("pt", "na [quinta] estou de férias", "absence"),
            ("pt", "estive aí no dia [3 de março] e quero ir no dia [5 de maio]", "earlier -"),
            ("pt", "foi no dia [3 de março]", "past"),
            ("pt", "era para [quinta], por favor", "-"),
            ("pt", "tinha pensado na [quinta]", "-"),
            ("hi", "मेरी पिछली अपॉइंटमेंट [3 मार्च] को थी", "earlier"),
            ("hi", "[गुरुवार] को मैं छुट्टी पर हूँ", "absence"),
            ("hi", "मैं [3 मार्च] को आया था और [5 मई] को आना चाहता हूँ", "earlier -"),
            ("hi", "[3 मार्च] को हुआ था", "past"),
            ("hi", "[गुरुवार] को आना है", "-"),
        ] {
            assert_eq!(mentions(locale, text), expected, "{locale}: {text}");
        }
    }

    #[test]
    fn questions_ask_for_the_past_or_for_absences() {
        for (locale, question, asks_past, asks_absence) in [
            ("en", "When was your last visit?", true, false),
            ("en", "When did it happen?", true, false),
            ("en", "When would you like to come?", false, false),
            ("en", "From when are you on holiday?", false, true),
            ("en", "The day of the accident?", true, false),
            ("de", "Wann ist der Schaden passiert?", true, false),
            ("de", "Wann waren Sie zuletzt bei uns?", true, false),
            ("de", "Wann hätten Sie Zeit?", false, false),
            ("de", "Ab wann möchten Sie Urlaub nehmen?", false, true),
            ("es", "¿Cuándo fue su última visita?", true, false),
            ("es", "¿Qué día le viene bien?", false, false),
            ("fr", "Quand est-ce arrivé ?", true, false),
            ("fr", "Quel jour vous convient ?", false, false),
            ("hi", "यह कब हुआ?", true, false),
            ("it", "Quando è successo?", true, false),
            ("it", "Quale giorno preferisce?", false, false),
            ("nl", "Wanneer is het gebeurd?", true, false),
            ("nl", "Welke dag komt u uit?", false, false),
            ("pt", "Quando aconteceu?", true, false),
            ("pt", "Que dia prefere?", false, false),
        ] {
            assert_eq!(asks_for_past(question, locale), asks_past, "{question}");
            assert_eq!(names_absence(question, locale), asks_absence, "{question}");
        }
        assert!(tells_of_past("ich hatte einen Unfall", "de") && !tells_of_past("ich hätte gerne einen Termin", "de"));
        assert!(tells_of_past("I had an accident", "en") && !tells_of_past("the accident was yesterday", "en"));
    }
}
