//! Masks personal data that is known by its form: email addresses, phone numbers, card numbers and bank accounts.

/// A kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonalData {
    /// An email address.
    Email,
    /// A phone number.
    Phone,
    /// The number of a payment card, with a valid check digit.
    Card,
    /// An international bank account number, with valid check digits.
    Iban,
}

/// Maximum characters before the `@` of an address.
const MAX_LOCAL_CHARS: usize = 64;

/// The number of digits of a phone number.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// The number of digits of a phone number without any sign or separator.
const PLAIN_PHONE_DIGITS: usize = 10;

/// The number of digits of a card number.
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// The number of letters and digits of a bank account number.
const IBAN_LENGTH: std::ops::RangeInclusive<usize> = 15..=34;

impl PersonalData {
    /// All kinds.
    pub const ALL: [PersonalData; 4] = [PersonalData::Email, PersonalData::Phone, PersonalData::Card, PersonalData::Iban];

    /// What is written in its place.
    pub fn label(self) -> &'static str {
        match self {
            PersonalData::Email => "[email]",
            PersonalData::Phone => "[phone]",
            PersonalData::Card => "[card]",
            PersonalData::Iban => "[iban]",
        }
    }

    /// The length in bytes of such data at the beginning of a text.
    fn prefix_length(self, text: &str) -> Option<usize> {
        match self {
            PersonalData::Email => email_length(text),
            PersonalData::Phone => phone_length(text),
            PersonalData::Card => card_length(text),
            PersonalData::Iban => iban_length(text),
        }
    }
}

/// Replaces personal data of some kinds by labels such as `[email]`.
pub fn mask_personal_data(text: &str, kinds: &[PersonalData]) -> String {
    // A card number is not taken for a phone number, nor the digits of an address.
    let order = [PersonalData::Email, PersonalData::Iban, PersonalData::Card, PersonalData::Phone];
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let before = text.get(..text.len() - rest.len()).unwrap_or_default();
        let is_inside_word = before.ends_with(is_word_char);
        // The parts of dates and versions are no phone numbers.
        let is_part = before.strip_suffix(['-', '.', '/', ':']).is_some_and(|before| before.ends_with(|it: char| it.is_ascii_digit()));
        let is_searched = |kind: &PersonalData| kinds.contains(kind) && !(is_part && *kind == PersonalData::Phone);
        let find = || order.into_iter().filter(is_searched).find_map(|kind| Some((kind, kind.prefix_length(rest)?)));
        let length = match if is_inside_word { None } else { find() } {
            Some((kind, length)) => {
                masked.push_str(kind.label());
                length
            }
            None => {
                masked.push(first);
                first.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    masked
}

/// Whether a number is that of a card.
pub fn is_card_number(digits: &str) -> bool {
    CARD_DIGITS.contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit()) && has_luhn_digit(digits)
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn email_length(text: &str) -> Option<usize> {
    let is_local = |c: char| is_word_char(c) || ".%+'-".contains(c);
    let at = text.char_indices().take(MAX_LOCAL_CHARS + 1).find(|it| !is_local(it.1)).filter(|character| character.1 == '@')?.0;
    text.chars().next().filter(|it| is_word_char(*it))?;
    let domain = text.get(at + 1..)?;
    let end = domain.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '.').unwrap_or(domain.len());
    let domain = domain.get(..end)?.trim_end_matches(['.', '-']);
    let (_, last) = domain.rsplit_once('.')?;
    let is_domain = domain.split('.').all(|it| !it.is_empty()) && last.chars().count() >= 2 && last.chars().any(char::is_alphabetic);
    is_domain.then_some(at + 1 + domain.len())
}

fn phone_length(text: &str) -> Option<usize> {
    let start = text.trim_start_matches(['+', '(']);
    let signs = text.len() - start.len();
    let (digits, ends) = read_digits(start, " \u{a0}\u{202f}().-–/", 3)?;
    let is_phone = |count: usize, end: usize| {
        let number = start.get(..end).unwrap_or_default();
        let is_separated = number.contains([' ', '\u{a0}', '\u{202f}', '-', '–', '(']);
        let is_marked = signs > 0 || digits.starts_with('0') || is_separated || count >= PLAIN_PHONE_DIGITS;
        PHONE_DIGITS.contains(&count) && is_marked && !starts_with_date(number)
    };
    let found = ends.into_iter().rev().find(|(count, end)| is_phone(*count, *end))?;
    (signs <= 2).then_some(signs + found.1)
}

fn card_length(text: &str) -> Option<usize> {
    let (digits, ends) = read_digits(text, " -", 1)?;
    let is_card = |count: usize| digits.get(..count).is_some_and(is_card_number);
    ends.into_iter().rev().find(|it| is_card(it.0)).map(|it| it.1)
}

/// The digits at the beginning of a text, and the places where a group of them ends: the number of digits before, and the byte.
fn read_digits(text: &str, separators: &str, max_separators: usize) -> Option<(String, Vec<(usize, usize)>)> {
    let (mut digits, mut ends, mut between) = (String::new(), Vec::new(), 0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character.is_ascii_digit() {
            digits.push(character);
            between = 0;
            if characters.peek().is_none_or(|it| !is_word_char(it.1)) {
                ends.push((digits.len(), at + 1));
            }
        } else if digits.is_empty() || !separators.contains(character) || between == max_separators {
            break;
        } else {
            between += 1;
        }
    }
    (!ends.is_empty()).then_some((digits, ends))
}

/// Whether a text begins with a date such as 2026-01-31.
fn starts_with_date(text: &str) -> bool {
    let is_part = |(at, it): (usize, u8)| if at == 4 || at == 7 { it == b'-' } else { it.is_ascii_digit() };
    text.len() >= 10 && text.bytes().take(10).enumerate().all(is_part)
}

/// Whether the last digit of a card number is the check digit of the others.
fn has_luhn_digit(digits: &str) -> bool {
    let value = |(at, it): (usize, u8)| {
        let digit = u32::from(it - b'0');
        if at % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 }
    };
    digits.bytes().rev().enumerate().map(value).sum::<u32>().is_multiple_of(10)
}

fn iban_length(text: &str) -> Option<usize> {
    let (mut account, mut ends, mut is_after_space) = (String::new(), Vec::new(), false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_expected = if account.len() < 2 { character.is_ascii_alphabetic() } else { character.is_ascii_digit() };
        match character {
            ' ' if !is_after_space && account.len() >= 4 => is_after_space = true,
            _ if character.is_ascii_alphanumeric() && account.len() < *IBAN_LENGTH.end() && (account.len() >= 4 || is_expected) => {
                account.push(character.to_ascii_uppercase());
                is_after_space = false;
                if characters.peek().is_none_or(|it| !is_word_char(it.1)) {
                    ends.push((account.len(), at + 1));
                }
            }
            _ => break,
        }
    }
    let is_iban = |length: usize| IBAN_LENGTH.contains(&length) && account.get(..length).is_some_and(has_iban_digits);
    ends.into_iter().rev().find(|it| is_iban(it.0)).map(|it| it.1)
}

/// Whether the check digits of a bank account number are right (ISO 7064, MOD 97-10).
fn has_iban_digits(account: &str) -> bool {
    let (head, tail) = account.split_at_checked(4).unwrap_or_default();
    let add = |rest: u32, it: char| {
        let value = it.to_digit(36).unwrap_or_default();
        (rest * if value > 9 { 100 } else { 10 } + value) % 97
    };
    tail.chars().chain(head.chars()).fold(0, add) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> String {
        mask_personal_data(text, &PersonalData::ALL)
    }

    #[test]
    fn personal_data_is_masked() {
        for (text, masked) in [
            ("write to bob.smith+x@mail.example.co.uk.", "write to [email]."),
            ("<ann@example.com>, 4711@shop.example", "<[email]>, [email]"),
            ("call +49 170 1234567 today", "call [phone] today"),
            ("(030) 901820-10 or 089/1234567", "[phone] or [phone]"),
            ("(+1) 415-555-0100, 4155550100", "[phone], [phone]"),
            ("card 4111 1111 1111 1111, 12/27", "card [card], 12/27"),
            ("4111-1111-1111-1111 and 5500005555555559", "[card] and [card]"),
            ("pay DE89 3704 0044 0532 0130 00 now", "pay [iban] now"),
            ("GB82WEST12345698765432", "[iban]"),
        ] {
            assert_eq!(mask(text), masked, "{text}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "order 4711 of 2026-01-31 at 09:00, 3 pieces",
            "2026-01-31 09:00:00",
            "2026-01-31 2026-02-01",
            "1.234.567,89 EUR",
            "id call_0123456789 and x0301234567",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301x",
            "me @ home, a@b",
            "1234567",
            "Straße 12, 10115 Berlin",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn only_chosen_kinds_are_masked_and_check_digits_count() {
        assert_eq!(mask_personal_data("a@b.de 0301234567", &[PersonalData::Email]), "[email] 0301234567");
        assert_eq!(mask_personal_data("4111 1111 1111 1112", &[PersonalData::Card]), "4111 1111 1111 1112");
        assert_eq!(mask_personal_data("DE89370400440532013001", &[PersonalData::Iban]), "DE89370400440532013001");
        assert!(is_card_number("4111111111111111") && !is_card_number("4111111111111112") && !is_card_number("41x1111111111111"));
    }
}
