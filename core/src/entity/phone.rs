//! `@phone`: phone numbers, in international form when the region determines it.

use std::ops::Range;

use super::locale::region;

/// Regions with calling code, trunk prefix, and minimum and maximum digits of a national number without both.
const REGIONS: [(&str, &str, &str, usize, usize); 36] = [
    ("US", "1", "1", 10, 10),
    ("CA", "1", "1", 10, 10),
    ("GB", "44", "0", 9, 10),
    ("IE", "353", "0", 7, 9),
    ("DE", "49", "0", 6, 12),
    ("AT", "43", "0", 6, 12),
    ("CH", "41", "0", 9, 9),
    ("FR", "33", "0", 9, 9),
    ("BE", "32", "0", 8, 9),
    ("NL", "31", "0", 9, 9),
    ("LU", "352", "", 6, 9),
    ("IT", "39", "", 8, 11),
    ("ES", "34", "", 9, 9),
    ("PT", "351", "", 9, 9),
    ("GR", "30", "", 10, 10),
    ("DK", "45", "", 8, 8),
    ("NO", "47", "", 8, 8),
    ("SE", "46", "0", 7, 9),
    ("FI", "358", "0", 6, 10),
    ("PL", "48", "", 9, 9),
    ("CZ", "420", "", 9, 9),
    ("SK", "421", "0", 9, 9),
    ("RO", "40", "0", 9, 9),
    ("TR", "90", "0", 10, 10),
    ("UA", "380", "0", 9, 9),
    ("IN", "91", "0", 10, 10),
    ("JP", "81", "0", 9, 10),
    ("SG", "65", "", 8, 8),
    ("AU", "61", "0", 9, 9),
    ("NZ", "64", "0", 8, 9),
    ("ZA", "27", "0", 9, 9),
    ("BR", "55", "0", 10, 11),
    ("MX", "52", "", 10, 10),
    ("AR", "54", "0", 10, 10),
    ("CL", "56", "", 9, 9),
    ("CO", "57", "", 10, 10),
];

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

/// The most digits without a calling code, which cards exceed.
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
    let digits_of = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let digits = digits_of(run);
    let foreign = if is_plus { Some("") } else { digits.strip_prefix("00").map(|_| "00") };
    if let Some(prefix) = foreign {
        // `(0)` is the trunk prefix, and so is the zero of `(020)`.
        let digits = digits_of(&run.replacen("(0", "(", 1));
        let number = digits.strip_prefix(prefix)?;
        return (DIGIT_COUNT.contains(&number.len()) && !number.starts_with('0')).then(|| "+".to_owned() + number);
    }
    if !DIGIT_COUNT.contains(&digits.len()) || digits.len() > NATIONAL_DIGITS && !digits.starts_with(DIALLED_ABROAD) {
        return None;
    }
    let region = region(locale);
    let national = REGIONS.iter().find(|it| it.0 == region).and_then(|(_, code, trunk, least, most)| {
        let stripped = digits.strip_prefix(trunk).filter(|_| !trunk.is_empty());
        // When lengths vary, a number without a trunk prefix may lack its area code.
        let is_certain = stripped.is_some() || trunk.is_empty() || most - least < 2;
        let number = stripped.unwrap_or(&digits);
        // North American area codes do not start with 0 or 1.
        let is_dialled = *code == "1" && number.starts_with(['0', '1']);
        (is_certain && !is_dialled && (*least..=*most).contains(&number.len())).then(|| ["+", code, number].concat())
    });
    Some(national.unwrap_or(digits))
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
