//! `@phone`: phone numbers, in international form when the region determines it.

use std::ops::Range;

use super::locale::region;
use super::phone_plan::{National, Plan, read_international};

/// Separators between digits.
const SEPARATORS: &str = " \u{a0}\u{202f}().-–/";

/// Signs in front of digits that are no phone number: `#20020211895`, `E-151673398`, `45*31-339243873`.
const BARRED_BEFORE: &str = "-–#*.=_@$€£₹%";

/// Words before a number that say what it is instead, in all languages.
const OTHER_NUMBERS: [&str; 42] = [
    "account",
    "acct",
    "card",
    "iban",
    "imei",
    "invoice",
    "isbn",
    "order",
    "ssn",
    "konto",
    "kontonummer",
    "karte",
    "kartennummer",
    "rechnung",
    "rechnungsnummer",
    "bestellung",
    "bestellnummer",
    "cuenta",
    "tarjeta",
    "factura",
    "pedido",
    "compte",
    "carte",
    "facture",
    "commande",
    "conto",
    "carta",
    "fattura",
    "ordine",
    "conta",
    "cartão",
    "fatura",
    "rekening",
    "rekeningnummer",
    "kaart",
    "factuur",
    "bestelling",
    "खाता",
    "खाते",
    "कार्ड",
    "चालान",
    "ऑर्डर",
];

/// The same for phones.
const PHONES: [&str; 27] = [
    "call",
    "cell",
    "fax",
    "mobile",
    "phone",
    "tel",
    "telephone",
    "whatsapp",
    "anrufen",
    "handy",
    "handynummer",
    "telefon",
    "telefonnummer",
    "llamar",
    "móvil",
    "teléfono",
    "portable",
    "téléphone",
    "cellulare",
    "telefono",
    "celular",
    "telefone",
    "telemóvel",
    "mobiel",
    "telefoonnummer",
    "फ़ोन",
    "मोबाइल",
];

/// How many words before a number may say what it is.
const NAMING_WORDS: usize = 4;

/// The most digits without a calling code, which cards exceed, where the region is not known.
const NATIONAL_DIGITS: usize = 12;

/// What is dialled in North America before a calling code.
const DIALLED_ABROAD: &str = "011";

/// The number of digits of a phone number.
const DIGIT_COUNT: std::ops::RangeInclusive<usize> = 7..=15;

/// Returns the phone numbers of a text with their places.
pub(super) fn find_all(text: &str, locale: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let run = leading_digits(from);
            let (outside, behind) = (before.trim_end_matches(['(', '+']), from.get(run.len()..)?);
            let is_plus = before.get(outside.len()..)?.contains('+');
            let begin = text.len() - rest.len() + outside.len();
            rest = behind;
            // Digits next to letters are ids, and next to signs parts of formulas.
            let before = text.get(..begin)?;
            if !before.ends_with(|it: char| it.is_alphanumeric() || BARRED_BEFORE.contains(it))
                && !behind.starts_with(char::is_alphanumeric)
                && !is_other_pattern(run)
                && (is_plus || !is_named_otherwise(before))
                && let Some(number) = to_international(run, is_plus, locale)
            {
                return Some((number, begin..text.len() - behind.len()));
            }
        }
        None
    })
}

/// Returns the leading digits of a text with at most three separators in a row.
fn leading_digits(text: &str) -> &str {
    let (mut end, mut signs) = (0, 0);
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            (end, signs) = (at + 1, 0);
        } else if SEPARATORS.contains(character) && signs < 3 {
            signs += 1;
        } else {
            break;
        }
    }
    text.get(..end).unwrap_or_default()
}

fn to_international(run: &str, is_plus: bool, locale: &str) -> Option<String> {
    let digits = digits_of(run);
    let plan = Plan::of_region(&region(locale));
    let dialled = [plan.map_or("00", |it| it.abroad), "00"].into_iter().find(|it| digits.starts_with(it));
    if let Some(prefix) = if is_plus { Some("") } else { dialled } {
        // `(0)` is a trunk prefix almost everywhere, and so is the zero of `(020)`.
        let without_trunk = digits_of(&run.replacen("(0", "(", 1));
        let number = read_international(digits.strip_prefix(prefix)?, without_trunk.strip_prefix(prefix)?)?;
        return DIGIT_COUNT.contains(&number.len()).then(|| "+".to_owned() + &number);
    }
    let Some(plan) = plan else {
        let is_abroad = digits.len() <= *DIGIT_COUNT.end() && digits.starts_with(DIALLED_ABROAD);
        return ((*DIGIT_COUNT.start()..=NATIONAL_DIGITS).contains(&digits.len()) || is_abroad).then_some(digits);
    };
    let international = |number: String| Some(["+", plan.code, &number].concat());
    let is_apart = run.strip_prefix(plan.code).is_some_and(|it| it.starts_with(|it: char| SEPARATORS.contains(it)));
    if digits.len() < *DIGIT_COUNT.start() {
        return None;
    }
    match (plan.read_national(&digits), is_apart.then(|| plan.read_own_code(&digits)).flatten()) {
        (National::Complete(number), _) | (_, Some(number)) => international(number),
        (National::Unclear, None) => Some(digits),
        (National::Impossible, None) => None,
    }
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Whether digits are grouped as years (`2009/2010`), as a number of social security (`911-67-0060`), or by nested parentheses.
fn is_other_pattern(run: &str) -> bool {
    let groups: Vec<usize> = run.split(['-', '/']).map(|it| if it.bytes().all(|it| it.is_ascii_digit()) { it.len() } else { 0 }).collect();
    let is_years = run.contains('/') && groups == [4, 4];
    is_years || groups == [3, 2, 4] || run.contains("))")
}

/// Whether the words before a number name another kind: `account number 12345678`.
fn is_named_otherwise(before: &str) -> bool {
    let words = before.split(|it: char| !it.is_alphanumeric() && !is_mark(it)).rev().filter(|it| !it.is_empty());
    // "order 12 or 555 123 4567" names the other number.
    words.take(NAMING_WORDS).take_while(|it| !it.contains(|it: char| it.is_ascii_digit())).map(str::to_lowercase).find_map(|word| {
        let is_other = OTHER_NUMBERS.contains(&word.as_str());
        (is_other || PHONES.contains(&word.as_str())).then_some(is_other)
    }) == Some(true)
}

/// Vowel signs and the virama of Devanagari, which are no letters.
fn is_mark(character: char) -> bool {
    ('\u{900}'..='\u{97f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::find_all;

    /// The first value, and whether it is the whole text.
    fn find(text: &str, locale: &str) -> Option<(String, bool)> {
        find_all(text, locale).next().map(|it| (it.0, it.1 == (0..text.len())))
    }

    #[test]
    fn numbers_are_found() {
        for (text, locale, expected) in [
            ("+49 30 123456", "en-US", "+4930123456"),
            ("0049 30/123456", "en-US", "+4930123456"),
            ("+44 (020) 7946 0958", "en-GB", "+442079460958"),
            ("+49 176/12345678", "de-DE", "+4917612345678"),
            ("030/1234567", "de-DE", "+49301234567"),
            ("0049 30 123456", "en-US", "+4930123456"),
            ("+44 (0)20 7946 0958", "en-US", "+442079460958"),
            ("(+44) 20 7946 0958", "en-US", "+442079460958"),
            ("(555) 123-4567", "en-US", "+15551234567"),
            ("555.123.4567", "en-CA", "+15551234567"),
            ("1-555-123-4567", "en-US", "+15551234567"),
            ("call me at 555 123 4567, thanks", "en-US", "+15551234567"),
            ("555-1234", "en-US", "5551234"),
            ("5551234567", "en", "5551234567"),
            ("030 123456", "de-DE", "+4930123456"),
            ("0171 2345678", "de-DE", "+491712345678"),
            ("1234567", "de-DE", "1234567"),
            ("020 7946 0958", "en-GB", "+442079460958"),
            ("07911 123456", "en-GB", "+447911123456"),
            ("06 12 34 56 78", "fr-FR", "+33612345678"),
            ("612 34 56 78", "es-ES", "+34612345678"),
            ("06 1234 5678", "it-IT", "+390612345678"),
            ("06-12345678", "nl-NL", "+31612345678"),
            ("912 345 678", "pt-PT", "+351912345678"),
            ("(11) 91234-5678", "pt-BR", "+5511912345678"),
            ("0412 345 678", "en-AU", "+61412345678"),
            ("098765 43210", "en-IN", "+919876543210"),
            ("044 668 18 00", "de-CH", "+41446681800"),
            ("order 12 or 555 123 4567", "en-US", "+15551234567"),
            ("0201234567", "en-XX", "0201234567"),
            ("0301234567", "en-US", "0301234567"),
            ("1 (155) 523-4567", "en-CA", "11555234567"),
            ("1555234567", "en-US", "1555234567"),
            ("my account is locked, call 555 123 4567", "en-US", "+15551234567"),
            ("tel.: 030 123456", "de-DE", "+4930123456"),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0).unwrap_or_default(), expected, "{text} {locale}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in [
            "",
            "call me",
            "123456",
            "1234567890123456",
            "A1234567",
            "1234567B",
            "+0123456789",
            "+",
            "12 34",
            "1 2 3",
            "555    1234",
            "3782 822463 10005",
            "3600 0000 0000 009",
            "-2208960000",
            "45+31-339243873",
            "45*31-339243873",
            "(456 (4)) 345",
            "2009/2010",
            "911-67-0060",
            "#20020211895",
            "E-151673398",
            "account number 12345678",
            "my card number is 12345678",
            "Kontonummer 12345678",
            "खाता संख्या 12345678",
        ] {
            assert_eq!(find(text, "en-US"), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_by_the_plan_of_their_country() {
        for (text, locale, expected) in [
            ("+49 0170 1234567", "en-US", "+491701234567"),
            ("+44 020 7946 0958", "de-DE", "+442079460958"),
            ("+39 06 1234 5678", "en-US", "+390612345678"),
            ("+39 (06) 1234 5678", "it-IT", "+390612345678"),
            ("+39 (0)333 1234567", "it-IT", "+393331234567"),
            ("+52 1 55 1234 5678", "es-MX", "+525512345678"),
            ("+43 1 4000", "de-AT", "+4314000"),
            ("+34 (0)612 345 678", "es-ES", "+34612345678"),
            ("011 49 30 123456", "en-US", "+4930123456"),
            ("0011 49 30 123456", "en-AU", "+4930123456"),
            ("010 49 30 123456", "ja-JP", "+4930123456"),
            ("0044 20 7946 0958", "fr-FR", "+442079460958"),
            ("011 15-1234-5678", "es-AR", "+5491112345678"),
            ("0351 15 123 4567", "es-AR", "+5493511234567"),
            ("03711 15 12 3456", "es-AR", "+5493711123456"),
            ("011 4123-4567", "es-AR", "+541141234567"),
            ("15-1234-5678", "es-AR", "1512345678"),
            ("49 12345678", "de-DE", "4912345678"),
            ("91 98765 43210", "en-IN", "+919876543210"),
            ("55 11 91234-5678", "pt-BR", "+5511912345678"),
            ("49 30 1234567", "de-DE", "+49301234567"),
            ("34 612 345 678", "es-ES", "+34612345678"),
            ("0800 1111", "en-GB", "+448001111"),
            ("021 123 4567", "en-NZ", "+64211234567"),
            ("085 123 4567", "en-IE", "+353851234567"),
            ("1800 123 456", "en-IE", "1800123456"),
            ("+61 1300 123 456", "en-AU", "+611300123456"),
            ("0471 12 34 56", "nl-BE", "+32471123456"),
            ("01 58058", "de-AT", "+43158058"),
            ("7946 0958", "en-GB", "79460958"),
            ("4123-4567", "es-AR", "41234567"),
            ("20793460958", "en", "20793460958"),
            ("011 49 30 123456", "en", "0114930123456"),
            ("+86 189 1111 1111", "en", "+8618911111111"),
        ] {
            assert_eq!(find(text, locale), Some((expected.to_owned(), true)), "{text} {locale}");
        }
        for (text, locale) in [
            ("12345678", "en-US"),
            ("123456789", "en-US"),
            ("+1 555 1234", "en-US"),
            ("+1 155 523 4567", "en-US"),
            ("+1 555 123 45678", "en-US"),
            ("+44 20 7946 095", "en-GB"),
            ("+44 20 7946 09581", "en-GB"),
            ("+44 620 794 6095", "en-GB"),
            ("+33 6 12 34 56 7", "fr-FR"),
            ("06 12 34 56 7", "fr-FR"),
            ("1234567890", "fr-FR"),
            ("123 456 789", "es-ES"),
            ("123 456 789", "pt-PT"),
            ("1234567", "it-IT"),
            ("12345678", "it-IT"),
            ("012345678", "nl-NL"),
            ("044 668 18", "de-CH"),
            ("9123 4567 8901", "en-IN"),
            ("12345678909", "pt-BR"),
            ("+91 98765 4321", "hi-IN"),
            ("+61 4 1234 567", "en-AU"),
            ("+64 123 4567", "en-NZ"),
            ("+353 12 3456", "en-IE"),
            ("+32 471 12 34", "nl-BE"),
            ("+52 155 123 4567", "es-MX"),
            ("+54 15 1234 5678", "es-AR"),
            ("0341512345678", "es-AR"),
            ("+1 1 555 123 4567", "en-US"),
            ("+49 1", "de-DE"),
            ("+210 123 4567", "en-US"),
            ("+999 123 4567", "en"),
            ("+0 123 456 789", "en"),
            // A calling code without a sign belongs to no other country, and no country has a zero.
            ("86 18911111111", "en"),
            ("86 18911111111", "en-US"),
            ("44 20 7946 0958", "en-US"),
            ("000 111 82-2100", "en"),
            ("000 111 82-2100", "en-US"),
        ] {
            assert_eq!(find(text, locale), None, "{text} {locale}");
        }
    }

    #[test]
    fn a_whole_text_is_distinguished_from_a_part() {
        for (text, whole) in [
            ("+4930123456", true),
            ("(555) 123-4567", true),
            ("(+44) 20 7946 0958", true),
            ("tel 5551234567", false),
            ("5551234567.", false),
        ] {
            assert_eq!(find(text, "en-US").map(|it| it.1), Some(whole), "{text}");
        }
    }
}
