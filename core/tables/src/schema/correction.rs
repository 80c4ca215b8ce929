//! Parses a correction of one value from the user's words, without a model. (docs/spec/pipeline.md#2.9, single-field patch)
//!
//! Anything ambiguous is not a correction and is left to the model: two matching fields, two commands, a value that names another
//! field.

use convengine_config::{OutputSchema, SchemaField};
use serde_json::Value;

use super::coerce::coerce;

/// Verbs that begin a command.
const COMMANDS: [&str; 4] = ["change", "set", "update", "make"];

/// Maximum words of a field name; a longer description is a sentence.
const MAX_LABEL_WORDS: usize = 4;

/// Minimum characters of a significant word; shorter ones, such as "it", do not identify a field.
const MIN_WORD_CHARS: usize = 3;

/// Words allowed between a field name and its value.
const LINKS: [&str; 6] = ["should be", "must be", "is", "are", "to", "as"];

/// A name of a field, in lower case.
struct Alias<'s> {
    field: &'s SchemaField,
    words: Vec<String>,
    joined: String,
}

/// A field name found in a text, with its byte range.
struct Mention<'s> {
    field: &'s SchemaField,
    start: usize,
    end: usize,
}

/// Returns the corrected field and its new value; `None` when the message is ambiguous.
pub fn parse_correction<'s>(schema: &'s OutputSchema, text: &str) -> Option<(&'s str, Value)> {
    let aliases: Vec<Alias<'s>> = schema.fields.iter().flat_map(field_aliases).collect();
    let text = text.trim();
    let sentences = split_sentences(text);
    let commands: Vec<(&str, &str)> = sentences.iter().filter_map(|it| parse_command(it)).collect();
    let (field, value) = match commands.as_slice() {
        [] => parse_mention(&aliases, text)?,
        // The whole text first: a value may hold more than one sentence.
        [one] => parse_command(text).and_then(|it| apply_command(&aliases, it)).or_else(|| apply_command(&aliases, *one))?,
        _ => return None,
    };
    Some((&field.name, value))
}

fn field_aliases(field: &SchemaField) -> impl Iterator<Item = Alias<'_>> {
    let label = field.description.as_deref().filter(|label| split_words(label).len() <= MAX_LABEL_WORDS);
    [Some(field.name.as_str()), label].into_iter().flatten().filter_map(move |name| {
        let words: Vec<String> = split_words(&split_camel_case(name)).into_iter().map(|(word, _, _)| word).collect();
        (!words.is_empty()).then(|| Alias { field, joined: words.concat(), words })
    })
}

/// Splits camel case: `toAccount` becomes `to Account`.
fn split_camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            out.push(' ');
        }
        small = c.is_lowercase() || c.is_numeric();
        out.push(c);
    }
    out
}

/// The words of a text in lower case, with their byte ranges.
fn split_words(text: &str) -> Vec<(String, usize, usize)> {
    let mut found: Vec<(String, usize, usize)> = Vec::new();
    for (at, c) in text.char_indices().filter(|it| it.1.is_alphanumeric()) {
        match found.last_mut() {
            Some((word, _, end)) if *end == at => {
                word.extend(c.to_lowercase());
                *end = at + c.len_utf8();
            }
            Some(_) | None => found.push((c.to_lowercase().collect(), at, at + c.len_utf8())),
        }
    }
    found
}

/// Splits sentences; one ends where white space or nothing follows its mark.
fn split_sentences(text: &str) -> Vec<&str> {
    let ends = |after: &str| after.chars().next().is_none_or(char::is_whitespace);
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        if c == '\n' || (['.', '!', '?'].contains(&c) && text.get(next..).is_some_and(ends)) {
            found.extend(text.get(start..at));
            start = next;
        }
    }
    found.extend(text.get(start..));
    found.into_iter().map(str::trim).filter(|it| !it.is_empty()).collect()
}

/// Parses `change [the] FIELD [from OLD] to VALUE`.
fn parse_command(text: &str) -> Option<(&str, &str)> {
    let (verb, rest) = text.trim().split_once(char::is_whitespace)?;
    if !COMMANDS.iter().any(|it| it.eq_ignore_ascii_case(verb)) {
        return None;
    }
    let rest = strip_word(rest.trim_start(), "the").unwrap_or(rest);
    let link = split_words(rest).into_iter().find(|word| ["to", "as"].contains(&word.0.as_str()) && is_separate_word(rest, word))?;
    let (field, value) = (rest.get(..link.1)?, rest.get(link.2..)?.trim());
    let from = split_words(field).into_iter().find(|word| word.0 == "from" && is_separate_word(field, word));
    let field = from.and_then(|it| field.get(..it.1)).unwrap_or(field).trim();
    (!field.is_empty() && !value.is_empty()).then_some((field, value))
}

fn is_separate_word(text: &str, word: &(String, usize, usize)) -> bool {
    let space = |it: Option<char>| it.is_some_and(char::is_whitespace);
    space(text.get(..word.1).and_then(|before| before.chars().next_back()))
        && space(text.get(word.2..).and_then(|after| after.chars().next()))
}

/// The text after a leading word.
fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (begin, rest) = text.split_at_checked(word.len())?;
    (begin.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

fn apply_command<'s>(aliases: &[Alias<'s>], (name, value): (&str, &str)) -> Option<(&'s SchemaField, Value)> {
    let field = find_field(aliases, name)?;
    if find_mentions(aliases, value).iter().any(|mention| mention.field.name != field.name) {
        return None;
    }
    Some((field, coerce(&field.schema, value)?))
}

/// The best matching field; `None` for a tie.
fn find_field<'s>(aliases: &[Alias<'s>], name: &str) -> Option<&'s SchemaField> {
    let name: Vec<String> = split_words(&split_camel_case(name)).into_iter().map(|it| it.0).collect();
    let mut best: Option<(usize, &'s SchemaField)> = None;
    let mut tied = false;
    for alias in aliases {
        let fit = match_score(alias, &name);
        let Some((before, field)) = best.filter(|it| it.0 > 0) else {
            best = Some((fit, alias.field));
            continue;
        };
        if fit > before {
            (best, tied) = (Some((fit, alias.field)), false);
        } else if fit == before && field.name != alias.field.name {
            tied = true;
        }
    }
    best.filter(|&(fit, _)| fit > 0 && !tied).map(|it| it.1)
}

/// How well a name matches: exactly, else by shared words if all significant words of one occur in the other.
fn match_score(alias: &Alias<'_>, name: &[String]) -> usize {
    if alias.joined == name.concat() {
        return usize::MAX;
    }
    let significant =
        |words: &[String]| words.iter().filter(|word| word.chars().count() >= MIN_WORD_CHARS).cloned().collect::<Vec<String>>();
    let (own_words, text_words) = (significant(&alias.words), significant(name));
    let shared = own_words.iter().filter(|it| text_words.contains(it)).count();
    if shared == own_words.len() || shared == text_words.len() { shared } else { 0 }
}

/// Parses `FIELD [is] VALUE` anywhere in a text.
fn parse_mention<'s>(aliases: &[Alias<'s>], text: &str) -> Option<(&'s SchemaField, Value)> {
    let mentions = find_mentions(aliases, text);
    let best = mentions.iter().max_by_key(|mention| mention.end - mention.start)?;
    let is_covered =
        |mention: &Mention<'_>| mention.field.name == best.field.name || (mention.start >= best.start && mention.end <= best.end);
    if !mentions.iter().all(is_covered) {
        return None;
    }
    let value = text.get(best.end..)?.trim_start();
    let value = LINKS.iter().find_map(|it| strip_word(value, it)).unwrap_or(value);
    Some((best.field, coerce(&best.field.schema, value)?))
}

/// Finds field names in a text as whole words, written together or apart.
fn find_mentions<'s>(aliases: &[Alias<'s>], text: &str) -> Vec<Mention<'s>> {
    let words = split_words(text);
    let mut found = Vec::new();
    for alias in aliases {
        for at in 0..words.len() {
            let mut rest = alias.joined.as_str();
            for (word, _, end) in words.iter().skip(at) {
                let Some(after) = rest.strip_prefix(word.as_str()) else { break };
                rest = after;
                if rest.is_empty() {
                    let start = words.get(at).map_or(0, |it| it.1);
                    found.push(Mention { field: alias.field, start, end: *end });
                    break;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use convengine_config::{Config, Tables};
    use serde_json::json;

    use super::*;

    fn correct(text: &str) -> Option<(String, Value)> {
        let definition = json!({"properties": {
            "requestedAmount": {"type": "number", "description": "Requested amount in EUR"},
            "toAccount": {"type": "string", "description": "destination account"},
            "urgent": {"type": "boolean"},
            "termMonths": {"type": ["integer", "null"]},
            "purpose": {"type": "string", "enum": ["CAR", "HOME"], "description": "What the loan is going to be used for"},
            "downPayment": {"type": "integer"},
            "firstPayment": {"type": "string"},
            "tags": {"type": "array"},
        }});
        let tables: Tables = serde_json::from_value(json!({
            "ce_intent": [{"intent_code": "A"}],
            "ce_output_schema": [{"schema_id": 1, "intent_code": "A", "state_code": "ANY", "json_schema": definition}],
        }))
        .unwrap();
        let (config, _) = Config::compile(&tables, &Value::Null);
        parse_correction(config.schemas.find_by_id(1).unwrap(), text).map(|it| (it.0.to_owned(), it.1))
    }

    #[test]
    fn commands_and_mentions_are_read() {
        for (text, field, value) in [
            ("change the amount to 250", "requestedAmount", json!(250.0)),
            (" Set requestedAmount as 1,250.50! ", "requestedAmount", json!(1250.5)),
            ("Ohh wait, I missed one zero. Change amount to 350000.", "requestedAmount", json!(350_000.0)),
            ("Change amount to 350000. I have 2 kids.", "requestedAmount", json!(350_000.0)),
            ("change the amount from 100 to 250", "requestedAmount", json!(250.0)),
            ("set destination account to FR76-1", "toAccount", json!("FR76-1")),
            ("make to account to Mrs. Fox", "toAccount", json!("Mrs. Fox")),
            ("make urgent as Yes", "urgent", json!(true)),
            ("update term months to 3 please", "termMonths", json!(3)),
            ("set the purpose to car", "purpose", json!("CAR")),
            ("set term to null", "termMonths", Value::Null),
            ("requested amount 99.5", "requestedAmount", json!(99.5)),
            ("the destination account should be DE11.", "toAccount", json!("DE11")),
            ("toaccount = DE12", "toAccount", json!("DE12")),
            ("set down payment to 5", "downPayment", json!(5)),
        ] {
            assert_eq!(correct(text), Some((field.to_owned(), value)), "{text}");
        }
    }

    #[test]
    fn ambiguous_texts_are_not_corrections() {
        for text in [
            "",
            "edit",
            "change colour to red",
            "change it to 5",
            "change the loan to 5000",
            "set payment to 5",
            "set amount to lots",
            "set amount to 100 or 200",
            "set term to 1.5",
            "set purpose to boat",
            "set tags to a",
            "set destination account to .",
            "change amount to 5. Change term to 12.",
            "set destination account to DE11 and purpose to car",
            "requested amount and term months 24",
            "requested amount from 100 to 250",
            "settle the requested amount",
            "urgently needed",
        ] {
            assert_eq!(correct(text), None, "{text}");
        }
    }
}
